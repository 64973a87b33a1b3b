#pragma once

// The lock of a method: one call at a time.

#include <atomic>
#include <cstdint>

namespace enr::executor {

// A mutex that knows who holds it. A thread that holds it already (a finalizer or a signal handler that calls the
// method while its outputs are handed over) gets an error rather than wait for itself for ever. In a forked child,
// where a call of another thread was under way and will never end, it is free; the next call then finds a half-done
// one. Where the runtime that made the threads says that it is ending, and with it threads that hold locks, lock()
// fails rather than wait.
class CallLock {
 public:
  static void set_is_ending(bool (*is_ending)()) noexcept;

  CallLock() = default;
  CallLock(const CallLock&) = delete;
  CallLock& operator=(const CallLock&) = delete;

  void lock();
  bool try_lock();
  void unlock() noexcept;

 private:
  bool take(uint64_t self, uint64_t& holder);

  std::atomic<uint64_t> holder_ = 0;  // of the process and the thread; 0: nobody
};

}  // namespace enr::executor
