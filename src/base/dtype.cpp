#include "base/dtype.h"

namespace enr {

const char* dtype_name(DType dtype) noexcept {
  switch (dtype) {
    case DType::kUInt8:
      return "uint8";
    case DType::kInt8:
      return "int8";
    case DType::kInt16:
      return "int16";
    case DType::kInt32:
      return "int32";
    case DType::kInt64:
      return "int64";
    case DType::kFloat16:
      return "float16";
    case DType::kFloat32:
      return "float32";
    case DType::kFloat64:
      return "float64";
    case DType::kComplex32:
      return "complex32";
    case DType::kComplex64:
      return "complex64";
    case DType::kComplex128:
      return "complex128";
    case DType::kBool:
      return "bool";
    case DType::kQInt8:
      return "qint8";
    case DType::kQUInt8:
      return "quint8";
    case DType::kQInt32:
      return "qint32";
    case DType::kBFloat16:
      return "bfloat16";
    case DType::kQUInt4x2:
      return "quint4x2";
    case DType::kQUInt2x4:
      return "quint2x4";
    case DType::kBits16:
      return "bits16";
    case DType::kFloat8E5M2:
      return "float8_e5m2";
    case DType::kFloat8E4M3FN:
      return "float8_e4m3fn";
    case DType::kFloat8E5M2FNUZ:
      return "float8_e5m2fnuz";
    case DType::kFloat8E4M3FNUZ:
      return "float8_e4m3fnuz";
    case DType::kUInt16:
      return "uint16";
    case DType::kUInt32:
      return "uint32";
    case DType::kUInt64:
      return "uint64";
  }
  return "unknown dtype";
}

size_t dtype_size(DType dtype) noexcept {
  switch (dtype) {
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kBool:
    case DType::kQInt8:
    case DType::kQUInt8:
    case DType::kQUInt4x2:
    case DType::kQUInt2x4:
    case DType::kFloat8E5M2:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat8E4M3FNUZ:
      return 1;
    case DType::kInt16:
    case DType::kUInt16:
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kBits16:
      return 2;
    case DType::kInt32:
    case DType::kUInt32:
    case DType::kFloat32:
    case DType::kQInt32:
    case DType::kComplex32:
      return 4;
    case DType::kInt64:
    case DType::kUInt64:
    case DType::kFloat64:
    case DType::kComplex64:
      return 8;
    case DType::kComplex128:
      return 16;
  }
  return 0;
}

namespace {

// Category order of torch's lattice: bool < integer < floating < complex.
int category(DType d) noexcept { return is_bool(d) ? 0 : is_integer(d) ? 1 : is_floating(d) ? 2 : 3; }

DType promote_integers(DType a, DType b) noexcept {
  if (is_unsigned(a) == is_unsigned(b)) return dtype_size(a) >= dtype_size(b) ? a : b;
  const DType u = is_unsigned(a) ? a : b;
  const DType s = is_unsigned(a) ? b : a;
  if (dtype_size(s) > dtype_size(u)) return s;
  switch (u) {
    case DType::kUInt8:
      return DType::kInt16;
    default:
      return DType::kInt64;
  }
}

DType promote_floats(DType a, DType b) noexcept {
  if (a == b) return a;
  if (dtype_size(a) == dtype_size(b)) return DType::kFloat32;  // float16 with bfloat16
  return dtype_size(a) > dtype_size(b) ? a : b;
}

DType promote_to_complex(DType a, DType b) noexcept {
  const auto component_size = [](DType d) -> size_t {
    if (is_complex(d)) return dtype_size(d) / 2;
    return is_floating(d) ? dtype_size(d) : 0;
  };
  const size_t size = component_size(a) > component_size(b) ? component_size(a) : component_size(b);
  return size >= 8 ? DType::kComplex128 : size >= 4 ? DType::kComplex64 : DType::kComplex32;
}

}  // namespace

DType promote(DType a, DType b) noexcept {
  if (a == b) return a;
  const int ca = category(a);
  const int cb = category(b);
  if (ca == 3 || cb == 3) return promote_to_complex(a, b);
  if (ca != cb) return ca > cb ? a : b;
  return ca == 1 ? promote_integers(a, b) : promote_floats(a, b);
}

}  // namespace enr
