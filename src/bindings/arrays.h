#pragma once

// numpy arrays as inputs, outputs as numpy arrays.

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings/numpy_api.h"
#include "executor/method.h"

namespace enr::bindings {

// Imports numpy's C API; returns -1 with a Python error set where numpy is missing.
int import_numpy();

// numpy's type number of a dtype that numpy itself has; -1 for the others (bfloat16, float8).
int numpy_type(DType dtype) noexcept;

// The inputs of one call, ready for Method::run, with the arrays they point into kept alive until clear().
class Inputs {
 public:
  Inputs() = default;
  ~Inputs() { clear(); }
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  // Reads a Python sequence. What is not an array of the right dtype already goes through the package's own
  // conversion in Python, which makes one or raises. False with a Python error set on failure.
  bool read(PyObject* sequence, const executor::MethodSpec& spec);

  std::span<const executor::Input> items() const noexcept { return items_; }

  // Empty again, ready for another call, which finds the memory there.
  void clear() noexcept;

 private:
  bool add(PyObject* object, const executor::MethodSpec& spec, size_t index);
  bool add_array(PyArrayObject* array);
  bool add_plain(PyObject* object);
  void read_array(PyArrayObject* array, const executor::ValueSpec& expected, size_t index);

  std::vector<executor::Input> items_;
  std::vector<std::pair<size_t, PyArrayObject*>> arrays_;  // which item is which array
  std::vector<int64_t> layouts_;  // sizes and strides of the arrays, which other threads may reshape meanwhile
  std::vector<PyObject*> owned_;
};

// A fresh Python object holding a copy of the value; null with a Python error set on failure.
PyObject* to_python(const Value& value);

// A fresh, uninitialised array for elements of `dtype`; bfloat16 comes as ml_dtypes.bfloat16 where that package is
// installed and as uint16 elsewhere.
PyObject* new_array(DType dtype, Sizes sizes);

// The data of a C-contiguous array made by new_array.
void* array_data(PyObject* array) noexcept;

}  // namespace enr::bindings
