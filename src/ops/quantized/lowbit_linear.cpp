// torchao's linear layers: weights of 1 to 8 bits, activations quantised to 8 bits for each row.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "base/thread_pool.h"
#include "kernels/gemm/gemm.h"
#include "kernels/qgemm/qgemm.h"
#include "ops/quantized/lowbit_weights.h"

namespace enr::ops {

namespace {

// Weights ready to be multiplied: packed for products of 8-bit activations with 4-bit or 8-bit weights, or, where they
// do not fit those, as float32.
class PackedLinear {
 public:
  // What pack gave for these weights.
  PackedLinear(const LinearWeights& weights, const AlignedBuffer& packed)
      : PackedLinear(weights, *reinterpret_cast<const Kind*>(packed.data())) {
    packed_ = packed.data() + kKindBytes;
  }

  static AlignedBuffer pack(const LinearWeights& weights) {
    const size_t n = weights.n(), k = weights.k(), group = weights.group_size();
    std::vector<int16_t> numbers(n * k);  // less their zero points
    std::vector<float> scales(n * weights.groups()), bias(n);
    bool fits = true;
    for (size_t first = 0; first < n; first += weights.block_rows()) {
      const auto keep = [&](size_t j, size_t g, const int8_t* from, float scale, int32_t zero) {
        scales[(first + j) * weights.groups() + g] = scale;
        int16_t* to = numbers.data() + (first + j) * k + g * group;
        for (size_t i = 0; i < group; ++i) {
          const int64_t number = int64_t{from[i]} - zero;
          fits = fits && number >= -128 && number <= 127;
          to[i] = static_cast<int16_t>(number);
        }
      };
      weights.visit_block(first, bias.data() + first, keep);
    }
    const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
    const bool is_whole = weights.groups() == 1, is_blocked = group % 32 == 0;
    Kind kind = Kind::kFloat;
    if (fits && *least >= -8 && *most <= 7 && (is_whole || is_blocked)) {
      kind = Kind::kInt4;
    } else if (fits && is_whole) {
      kind = Kind::kInt8;
    } else if (fits && is_blocked && *most < 120) {
      kind = Kind::kDigits;
    }
    return PackedLinear(weights, kind).packed_as(weights, numbers, scales, bias);
  }

  void multiply(OpContext& context, const float* activations, size_t m, float* out) const {
    if (kind_ == Kind::kFloat) return multiply_floats(context, activations, m, out);
    const kernels::QWeights shape = product();
    auto* levels = context.scratch_of<int8_t>(m * shape.k);
    auto* parameters = context.scratch_of<kernels::Quantization>(m);
    parallel_ranges(m, std::max<size_t>(1, 16384 / k_), [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        int8_t* to = levels + i * shape.k;
        parameters[i] = quantize_row(activations + i * k_, to);
        if (kind_ == Kind::kDigits) double_blocks(to);
      }
    });
    const size_t bytes = kernels::qgemm_workspace_bytes(m, n_, shape.k);
    kernels::qgemm_dynamic(m, shape, levels, shape.k, parameters, packed_, {}, out, n_,
                           {context.scratch(bytes), bytes});
  }

 private:
  enum class Kind : int32_t {
    kInt4,    // numbers of 4 bits, in blocks
    kDigits,  // numbers of more, as two digits of 4 bits: twice as many inputs
    kInt8,    // one block
    kFloat
  };
  static constexpr size_t kKindBytes = 64;  // what stands in front of the packed weights

  PackedLinear(const LinearWeights& weights, Kind kind)
      : n_(weights.n()), k_(weights.k()), group_(weights.group_size()), kind_(kind) {}

  // What the kernels are told of the weights.
  kernels::QWeights product() const noexcept {
    kernels::QWeights w;
    w.type = kind_ == Kind::kInt8 ? kernels::QWeightType::kInt8 : kernels::QWeightType::kInt4;
    w.n = n_;
    w.k = kind_ == Kind::kDigits ? 2 * k_ : k_;
    w.block_size = kind_ == Kind::kDigits || group_ != k_ ? group_ : 0;
    w.has_float_scales = w.block_size != 0;
    return w;
  }

  AlignedBuffer with_kind(size_t bytes) const {
    AlignedBuffer buffer(kKindBytes + bytes);
    std::memcpy(buffer.data(), &kind_, sizeof kind_);
    return buffer;
  }

  AlignedBuffer packed_as(const LinearWeights& weights, const std::vector<int16_t>& numbers,
                          const std::vector<float>& scales, const std::vector<float>& bias) const {
    if (kind_ == Kind::kFloat) {
      std::vector<float> rows(n_ * k_), unused(n_);
      for (size_t first = 0; first < n_; first += weights.block_rows()) {
        weights.unpack_block(first, rows.data() + first * k_, unused.data() + first);
      }
      AlignedBuffer packed = with_kind(kernels::gemm_packed_bytes(n_, k_));
      kernels::gemm_pack(kernels::WeightLayout::kOutputMajor, n_, k_, rows.data(), k_, bias.data(),
                         packed.data() + kKindBytes);
      return packed;
    }
    kernels::QWeights w = product();
    std::vector<uint8_t> stored;
    std::vector<float> all_scales;
    if (kind_ == Kind::kInt8) {
      w.row_bytes = k_;
      stored.assign(numbers.begin(), numbers.end());
    } else {
      w.zero_point = 8;
      w.row_bytes = (w.k + 1) / 2;
      stored.resize(n_ * w.row_bytes);
      const auto put = [&](size_t row, size_t column, int digit) {
        stored[row * w.row_bytes + column / 2] |= static_cast<uint8_t>((digit + 8) << (column % 2 * 4));
      };
      for (size_t r = 0; r < n_; ++r) {
        for (size_t i = 0; i < k_; ++i) {
          const int number = numbers[r * k_ + i];
          if (kind_ == Kind::kInt4) {
            put(r, i, number);
            continue;
          }
          // number = 16 high + low, a block of low digits behind each block of high ones.
          const int low = (number + 136) % 16 - 8, at = 2 * static_cast<int>(i / group_ * group_);
          put(r, static_cast<size_t>(at) + i % group_, (number - low) / 16);
          put(r, static_cast<size_t>(at) + group_ + i % group_, low);
        }
      }
    }
    for (size_t i = 0; kind_ == Kind::kDigits && i < scales.size(); ++i) {
      all_scales.push_back(16 * scales[i]);
      all_scales.push_back(scales[i]);
    }
    w.data = stored.data();
    kernels::QDynamic quantization;
    quantization.scales = kind_ == Kind::kDigits ? all_scales.data() : scales.data();
    quantization.scale_count = kind_ == Kind::kDigits ? all_scales.size() : scales.size();
    quantization.bias = bias.data();
    AlignedBuffer packed = with_kind(kernels::qgemm_packed_bytes(w));
    kernels::qgemm_pack_dynamic(w, quantization, packed.data() + kKindBytes);
    return packed;
  }

  // A row as 256 levels between its smallest and largest number, 0 included.
  kernels::Quantization quantize_row(const float* in, int8_t* out) const noexcept {
    float low = 0, high = 0, sum = 0;  // sum: of zeros, unless there is a NaN or an infinity
    kernels::extremes_with_zero(in, k_, low, high);
    for (size_t i = 0; i < k_; ++i) sum += 0 * in[i];
    const float scale = (high - low) / 255;
    if (!(scale > 0) || !std::isfinite(scale) || sum != 0) {
      std::fill_n(out, k_, int8_t{0});
      return {scale == 0 && sum == 0 ? 1 : std::numeric_limits<float>::quiet_NaN(), 0};
    }
    const auto zero = static_cast<int32_t>(-128 - std::round(low / scale));
    kernels::quantize_by(in, out, k_, 1 / scale, zero, -128, 127);
    return {scale, zero};
  }

  // Every block twice, in place; from the last on, for they move behind.
  void double_blocks(int8_t* row) const noexcept {
    for (size_t g = k_ / group_; g-- > 0;) {
      std::memmove(row + (2 * g + 1) * group_, row + g * group_, group_);
      std::memmove(row + 2 * g * group_, row + (2 * g + 1) * group_, group_);
    }
  }

  void multiply_floats(OpContext& context, const float* activations, size_t m, float* out) const {
    auto* rounded = context.scratch_of<float>(m * k_);
    parallel_ranges_or_throw(m, std::max<size_t>(1, 4096 / k_), [&](size_t begin, size_t end) {
      std::vector<int8_t> levels(k_);
      for (size_t i = begin; i < end; ++i) {
        const kernels::Quantization q = quantize_row(activations + i * k_, levels.data());
        for (size_t j = 0; j < k_; ++j) rounded[i * k_ + j] = static_cast<float>(levels[j] - q.zero_point) * q.scale;
      }
    });
    kernels::gemm(m, n_, k_, rounded, k_, packed_, out, n_);
  }

  size_t n_, k_, group_;
  Kind kind_;
  const std::byte* packed_ = nullptr;
};

template <int kBits>
void linear_out(OpContext& context, const Tensor& activations, const Tensor& packed_weights, int64_t group_size,
                int64_t n, int64_t k, Tensor& out) {
  require_rank(activations, 2, "activations");
  require_dtype(activations, DType::kFloat32, "activations");
  require_dtype(out, DType::kFloat32, "out");
  const LinearWeights weights(context, packed_weights, kBits, group_size, n, k);
  if (activations.size(1) != k) {
    fail_execution("activations: expected ", k, " columns, got shape ", activations.sizes());
  }
  const auto m = static_cast<size_t>(activations.size(0));
  context.resize(out, {activations.size(0), n});
  if (m == 0) return;
  std::shared_ptr<const AlignedBuffer> packed;
  if (packed_weights.is_constant) {
    const std::string packing = concat("torchao linear ", kBits, " ", n, "x", k, " ", group_size);
    packed = context.weights().get(packed_weights.data, packing, [&] { return PackedLinear::pack(weights); });
  } else {
    packed = std::make_shared<const AlignedBuffer>(PackedLinear::pack(weights));
  }
  const float* in = row_major_as<float>(context, activations);
  RowMajorOut result(context, out);
  PackedLinear(weights, *packed).multiply(context, in, m, result.as<float>());
  result.commit();
}

}  // namespace

void register_lowbit_linear(OperatorTable& table) {
  for_each_width([&]<int kBits>() {
    table.add<linear_out<kBits>>(concat("torchao::_linear_8bit_act_", kBits, "bit_weight.out"),
                                 "activations, packed_weights, group_size, n, k, out");
  });
}

}  // namespace enr::ops
