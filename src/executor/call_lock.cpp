#include "executor/call_lock.h"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

#include "base/error.h"

namespace enr::executor {

namespace {

// Counts forks: which process of a family this is.
std::atomic<uint32_t>& process_number() {
  static std::atomic<uint32_t>* const number = [] {
    auto* created = new std::atomic<uint32_t>(1);
#if defined(__unix__) || defined(__APPLE__)
    pthread_atfork(nullptr, nullptr, [] { ++process_number(); });
#endif
    return created;
  }();
  return *number;
}

uint32_t thread_number() noexcept {
  static std::atomic<uint32_t> next = 1;
  static thread_local const uint32_t number = next++;
  return number;
}

std::atomic<bool (*)()> is_ending = nullptr;

constexpr uint64_t process_of(uint64_t holder) noexcept { return holder >> 32; }

uint64_t this_thread() { return uint64_t{process_number().load(std::memory_order_relaxed)} << 32 | thread_number(); }

}  // namespace

// Whether the lock is taken; if not, `holder` has it.
bool CallLock::take(uint64_t self, uint64_t& holder) {
  holder = 0;
  while (!holder_.compare_exchange_weak(holder, self, std::memory_order_acquire, std::memory_order_relaxed)) {
    if (holder == self) {
      fail_execution(
          "the method is handing over its outputs on this thread: a finalizer or signal handler must not call it");
    }
    if (holder != 0 && process_of(holder) == process_of(self)) return false;
  }
  return true;
}

void CallLock::set_is_ending(bool (*given)()) noexcept { is_ending = given; }

void CallLock::lock() {
  const uint64_t self = this_thread();
  for (uint64_t holder; !take(self, holder);) {
    const auto asks = is_ending.load(std::memory_order_relaxed);
    if (asks != nullptr && asks()) {
      fail_execution(
          "the interpreter is shutting down during a call of this method on another thread, which never ends");
    }
    holder_.wait(holder, std::memory_order_relaxed);
  }
}

bool CallLock::try_lock() {
  uint64_t holder;
  return take(this_thread(), holder);
}

void CallLock::unlock() noexcept {
  holder_.store(0, std::memory_order_release);
  holder_.notify_one();
}

}  // namespace enr::executor
