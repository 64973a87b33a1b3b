#pragma once

// The numpy C API, included one way everywhere. Exactly one file defines ENR_NUMPY_OWNER first.

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL enr_numpy_api
#ifndef ENR_NUMPY_OWNER
#define NO_IMPORT_ARRAY
#endif

#include <Python.h>

#include <numpy/arrayobject.h>
