#define ENR_NUMPY_OWNER
#include "bindings/arrays.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "base/error.h"
#include "bindings/gil.h"
#include "kernels/transpose/strided_copy.h"

namespace enr::bindings {

int import_numpy() {
  import_array1(-1);
  return 0;
}

int numpy_type(DType dtype) noexcept {
  switch (dtype) {
    case DType::kBool:
      return NPY_BOOL;
    case DType::kUInt8:
    case DType::kQUInt8:
    case DType::kQUInt4x2:
    case DType::kQUInt2x4:
      return NPY_UINT8;
    case DType::kInt8:
    case DType::kQInt8:
      return NPY_INT8;
    case DType::kInt16:
      return NPY_INT16;
    case DType::kUInt16:
    case DType::kBits16:
      return NPY_UINT16;
    case DType::kInt32:
    case DType::kQInt32:
      return NPY_INT32;
    case DType::kUInt32:
      return NPY_UINT32;
    case DType::kInt64:
      return NPY_INT64;
    case DType::kUInt64:
      return NPY_UINT64;
    case DType::kFloat16:
      return NPY_FLOAT16;
    case DType::kFloat32:
      return NPY_FLOAT32;
    case DType::kFloat64:
      return NPY_FLOAT64;
    case DType::kComplex64:
      return NPY_COMPLEX64;
    case DType::kComplex128:
      return NPY_COMPLEX128;
    default:
      return -1;
  }
}

namespace {

// A function of the package's private Python module; a new reference, null with an error set.
PyObject* python_function(const char* module_name, const char* name) {
  PyObject* module = PyImport_ImportModule(module_name);
  if (module == nullptr) return nullptr;
  PyObject* function = PyObject_GetAttrString(module, name);
  Py_DECREF(module);
  return function;
}

// numpy has two types of 64 bits (long and long long) and maybe two of 32: same kind and width are the same dtype to
// us.
bool has_dtype(PyArrayObject* array, DType dtype) noexcept {
  const int want = numpy_type(dtype);
  const int got = PyArray_TYPE(array);
  if (want < 0 || !PyArray_ISNOTSWAPPED(array)) return false;
  return got == want || PyArray_EquivTypenums(got, want);
}

// The numpy dtype object of an element type numpy does not have itself: ml_dtypes' where installed.
PyArray_Descr* extension_descr(DType dtype) {
  PyObject* function = python_function("executorch_numpy_runtime._dtypes", "numpy_dtype");
  if (function == nullptr) return nullptr;
  PyObject* result = PyObject_CallFunction(function, "i", static_cast<int>(dtype));
  Py_DECREF(function);
  if (result == nullptr) return nullptr;
  PyArray_Descr* descr = nullptr;
  if (PyArray_DescrConverter(result, &descr) == 0) descr = nullptr;
  Py_DECREF(result);
  return descr;
}

// The name of the object's type.
std::string type_name(PyObject* object) {
  PyObject* name = PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__");
  const char* text = name == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(name, nullptr);
  std::string result = text == nullptr ? "an object" : text;
  Py_XDECREF(name);
  PyErr_Clear();
  return result;
}

void refuse_type(PyObject* inputs) {
  PyErr_Format(PyExc_TypeError, "inputs: expected a sequence of arrays, got %s", type_name(inputs).c_str());
}

// A list of what the iterator gives; ends, and is too long, after one more than the method takes.
PyObject* list_of(PyObject* iterator, const executor::MethodSpec& spec) {
  PyObject* list = PyList_New(0);
  while (list != nullptr && PyList_Size(list) <= static_cast<Py_ssize_t>(spec.inputs.size())) {
    PyObject* item = PyIter_Next(iterator);
    if (item == nullptr && PyErr_Occurred() == nullptr) return list;
    if (item == nullptr || PyList_Append(list, item) < 0) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

// The list or tuple itself, or a list of what it iterates over; a new reference, null with an error set.
PyObject* list_or_tuple(PyObject* inputs, const executor::MethodSpec& spec) {
  if (PyList_Check(inputs) != 0 || PyTuple_Check(inputs) != 0) return Py_NewRef(inputs);
  PyObject* iterator = PyObject_GetIter(inputs);
  if (iterator == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) != 0) refuse_type(inputs);
    return nullptr;
  }
  PyObject* list = list_of(iterator, spec);
  Py_DECREF(iterator);
  return list;
}

// Input 0 in the place of the sequence of inputs, or what names inputs: both could be iterated over.
bool refuse_other_than_sequence(PyObject* inputs, const executor::MethodSpec& spec) {
  if (PyDict_Check(inputs) != 0 || PyUnicode_Check(inputs) != 0 || PyBytes_Check(inputs) != 0) {
    refuse_type(inputs);
    return true;
  }
  if (!PyArray_Check(inputs) || spec.inputs.empty() || spec.inputs[0].kind != executor::ValueKind::kTensor)
    return false;
  const int rank = PyArray_NDIM(reinterpret_cast<PyArrayObject*>(inputs));
  const Sizes sizes = spec.inputs[0].sizes;
  // A row of numbers is a sequence of inputs that are one number each.
  if (static_cast<size_t>(rank) != sizes.size() || (rank == 1 && sizes[0] == 1)) return false;
  PyErr_Format(PyExc_TypeError, "inputs: expected a sequence of arrays, got one array of rank %d, which input 0 has",
               rank);
  return true;
}

}  // namespace

void Inputs::clear() noexcept {
  items_.clear();
  arrays_.clear();
  layouts_.clear();
  for (PyObject* object : owned_) Py_DECREF(object);
  owned_.clear();
}

bool Inputs::read(PyObject* sequence, const executor::MethodSpec& spec) {
  if (refuse_other_than_sequence(sequence, spec)) return false;
  PyObject* fast = list_or_tuple(sequence, spec);
  if (fast == nullptr) return false;
  owned_.push_back(fast);
  const bool is_list = PyList_Check(fast) != 0;
  const Py_ssize_t count = is_list ? PyList_Size(fast) : PyTuple_Size(fast);
  if (static_cast<size_t>(count) > spec.inputs.size()) {  // how many there are, where that is known
    const Py_ssize_t total = fast == sequence ? count : PyObject_Size(sequence);
    PyErr_Clear();
    executor::fail_input_count(spec, static_cast<size_t>(std::max(count, total)), total < count);
  }
  items_.reserve(static_cast<size_t>(count));
  arrays_.reserve(static_cast<size_t>(count));
  layouts_.reserve(static_cast<size_t>(count) * 2 * kMaxRank);
  owned_.reserve(static_cast<size_t>(count) + 1);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = is_list ? PyList_GetItem(fast, i) : PyTuple_GetItem(fast, i);  // borrowed
    if (item == nullptr) return false;
    // The caller may change the list while conversions or the call itself let other code run.
    if (is_list) owned_.push_back(Py_NewRef(item));
    if (!add(item, spec, static_cast<size_t>(i))) return false;
  }
  // Only now, when no conversion can run code that changes an array anymore.
  for (const auto& [index, array] : arrays_) read_array(array, spec.inputs[index], index);
  return true;
}

bool Inputs::add(PyObject* object, const executor::MethodSpec& spec, size_t index) {
  const executor::ValueSpec& expected = spec.inputs[index];
  if (expected.kind != executor::ValueKind::kTensor) return add_plain(object);
  if (PyArray_CheckExact(object)) {
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    if (has_dtype(array, expected.dtype) && PyArray_ISALIGNED(array)) return add_array(array);
  }
  PyObject* convert = python_function("executorch_numpy_runtime._inputs", "to_array");
  if (convert == nullptr) return false;
  PyObject* converted = PyObject_CallFunction(convert, "Oisn", object, static_cast<int>(expected.dtype),
                                              spec.name.c_str(), static_cast<Py_ssize_t>(index));
  Py_DECREF(convert);
  if (converted == nullptr) return false;
  owned_.push_back(converted);
  if (!PyArray_Check(converted)) {
    PyErr_SetString(PyExc_TypeError, "the input conversion did not give an array");
    return false;
  }
  return add_array(reinterpret_cast<PyArrayObject*>(converted));
}

bool Inputs::add_array(PyArrayObject* array) {
  arrays_.emplace_back(items_.size(), array);
  items_.emplace_back();
  return true;
}

void Inputs::read_array(PyArrayObject* array, const executor::ValueSpec& expected, size_t index) {
  executor::TensorInput input;
  input.data = PyArray_DATA(array);
  input.dtype = expected.dtype;
  input.rank = static_cast<size_t>(PyArray_NDIM(array));
  if (input.rank <= kMaxRank) {
    int64_t* layout = layouts_.data() + layouts_.size();  // reserved: it does not move
    if (input.rank == 0 && expected.sizes.size() == 1) {  // a number where the program takes a vector: one of size 1
      input.rank = 1;
      layouts_.insert(layouts_.end(), {1, 0});
    } else {
      layouts_.insert(layouts_.end(), PyArray_DIMS(array), PyArray_DIMS(array) + input.rank);
      layouts_.insert(layouts_.end(), PyArray_STRIDES(array), PyArray_STRIDES(array) + input.rank);
    }
    input.sizes = layout;
    input.strides_bytes = layout + input.rank;
  }
  items_[index] = input;
}

bool Inputs::add_plain(PyObject* object) {
  if (object == Py_None) {
    items_.emplace_back();
    return true;
  }
  if (PyBool_Check(object)) {
    items_.emplace_back(object == Py_True);
    return true;
  }
  if (PyUnicode_Check(object)) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text == nullptr) {  // lone surrogates: never what was traced
      PyErr_Clear();
      PyObject* bytes = PyUnicode_AsEncodedString(object, "utf-8", "surrogatepass");
      if (bytes == nullptr) return false;
      owned_.push_back(bytes);
      text = PyBytes_AsString(bytes);
      size = PyBytes_Size(bytes);
    }
    items_.emplace_back(std::string_view(text, static_cast<size_t>(size)));
    return true;
  }
  // numpy scalars and one-element arrays count as the number they hold.
  PyObject* convert = python_function("executorch_numpy_runtime._inputs", "to_number");
  if (convert == nullptr) return false;
  PyObject* number = PyLong_CheckExact(object) || PyFloat_CheckExact(object)
                         ? Py_NewRef(object)
                         : PyObject_CallFunction(convert, "O", object);
  Py_DECREF(convert);
  if (number == nullptr) return false;
  if (number == Py_None) {
    items_.emplace_back(executor::UnknownInput{type_name(object)});
  } else if (PyBool_Check(number)) {
    items_.emplace_back(number == Py_True);
  } else if (PyLong_Check(number)) {
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow == 0) {
      items_.emplace_back(value);
    } else {  // beyond what a program can hold: refused as the float next to it
      double real = PyLong_AsDouble(number);
      if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        real = overflow * std::numeric_limits<double>::infinity();
      }
      items_.emplace_back(real);
    }
  } else {
    items_.emplace_back(PyFloat_AsDouble(number));
  }
  Py_DECREF(number);
  return PyErr_Occurred() == nullptr;
}

PyObject* new_array(DType dtype, Sizes sizes) {
  std::array<npy_intp, kMaxRank> dims;
  for (size_t d = 0; d < sizes.size(); ++d) dims[d] = static_cast<npy_intp>(sizes[d]);
  const int type = numpy_type(dtype);
  if (type >= 0) return PyArray_SimpleNew(static_cast<int>(sizes.size()), dims.data(), type);
  PyArray_Descr* descr = extension_descr(dtype);
  if (descr == nullptr) return nullptr;
  return PyArray_NewFromDescr(&PyArray_Type, descr, static_cast<int>(sizes.size()), dims.data(), nullptr, nullptr, 0,
                              nullptr);
}

void* array_data(PyObject* array) noexcept { return PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)); }

namespace {

PyObject* tensor_to_python(const Tensor& tensor) {
  PyObject* array = new_array(tensor.dtype, tensor.sizes());
  if (array == nullptr) return nullptr;
  const size_t size_bytes = tensor.size_bytes();
  if (size_bytes == 0) return array;
  void* out = array_data(array);
  constexpr size_t kWorthReleasing = 1 << 16;
  PyThreadState* state = size_bytes >= kWorthReleasing ? PyEval_SaveThread() : nullptr;
  if (tensor.is_contiguous()) {
    std::memcpy(out, tensor.data, size_bytes);
  } else {
    const size_t element = dtype_size(tensor.dtype);
    std::array<int64_t, kMaxRank> strides_bytes{};
    for (size_t d = 0; d < tensor.rank; ++d) strides_bytes[d] = tensor.stride(d) * static_cast<int64_t>(element);
    kernels::strided_copy_to_contiguous(out, tensor.data, {strides_bytes.data(), tensor.rank}, tensor.sizes(), element);
  }
  if (state != nullptr) take_gil([state] { PyEval_RestoreThread(state); });
  return array;
}

template <class Items, class Convert>
PyObject* list_to_python(const Items& items, Convert convert) {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(items.size()));
  if (list == nullptr) return nullptr;
  for (size_t i = 0; i < items.size(); ++i) {
    PyObject* item = convert(items[i]);
    if (item == nullptr || PyList_SetItem(list, static_cast<Py_ssize_t>(i), item) < 0) {
      Py_DECREF(list);
      return nullptr;
    }
  }
  return list;
}

}  // namespace

PyObject* to_python(const Value& value) {
  if (const auto* tensor = value.get<Tensor>()) return tensor_to_python(*tensor);
  if (const auto* i = value.get<int64_t>()) return PyLong_FromLongLong(*i);
  if (const auto* d = value.get<double>()) return PyFloat_FromDouble(*d);
  if (const auto* b = value.get<bool>()) return PyBool_FromLong(*b);
  if (const auto* text = value.get<std::string>()) {
    return PyUnicode_FromStringAndSize(text->data(), static_cast<Py_ssize_t>(text->size()));
  }
  if (const auto* ints = value.get<IntList>()) {
    return list_to_python(ints->items, [](const Value* item) { return to_python(*item); });
  }
  if (const auto* doubles = value.get<DoubleList>()) {
    return list_to_python(doubles->items, [](double item) { return PyFloat_FromDouble(item); });
  }
  if (const auto* bools = value.get<BoolList>()) {
    return list_to_python(bools->items, [](uint8_t item) { return PyBool_FromLong(item); });
  }
  if (const auto* tensors = value.get<TensorList>()) {
    return list_to_python(tensors->items,
                          [](const Value* item) { return item == nullptr ? Py_NewRef(Py_None) : to_python(*item); });
  }
  return Py_NewRef(Py_None);
}

}  // namespace enr::bindings
