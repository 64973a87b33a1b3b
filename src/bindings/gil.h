#pragma once

// Releasing and taking Python's lock, also while the interpreter shuts down.

#include <Python.h>

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#endif
#if defined(__GLIBCXX__) || defined(__GLIBCPP__)
#include <cxxabi.h>
#endif

#include <chrono>
#include <thread>

namespace enr::bindings {

// Runs what takes the lock. Before Python 3.14, a thread that asks for it while the interpreter shuts down is ended
// by unwinding its stack, which C++ frames that must not throw turn into an abort: such a thread sleeps instead.
template <class Take>
auto take_gil(Take take) {
#if defined(__GLIBCXX__) || defined(__GLIBCPP__)
  try {
    return take();
  } catch (abi::__forced_unwind&) {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
#else
  return take();
#endif
}

// Whether the interpreter shuts down; needs no lock. Looked up by name, which changed with Python 3.13: the stable ABI
// has no such function.
inline bool is_interpreter_ending() noexcept {
#if defined(__unix__) || defined(__APPLE__)
  static const auto asks = [] {
    void* found = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    if (found == nullptr) found = dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    return reinterpret_cast<int (*)()>(found);
  }();
  return asks != nullptr && asks() != 0;
#else
  return false;
#endif
}

class ReleasedGil {
 public:
  ReleasedGil() noexcept : state_(PyEval_SaveThread()) {}
  ~ReleasedGil() { take_back(); }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

  // Ends the release before the life of this object does.
  void take_back() {
    if (state_ == nullptr) return;
    take_gil([this] { PyEval_RestoreThread(state_); });
    state_ = nullptr;
  }

 private:
  PyThreadState* state_;
};

class TakenGil {
 public:
  TakenGil() : state_(take_gil([] { return PyGILState_Ensure(); })) {}
  ~TakenGil() { PyGILState_Release(state_); }
  TakenGil(const TakenGil&) = delete;
  TakenGil& operator=(const TakenGil&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace enr::bindings
