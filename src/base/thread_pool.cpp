#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "base/cpu_info.h"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace enr {

namespace {

constexpr auto kSpinTime = std::chrono::microseconds(60);
constexpr size_t kMaxThreads = 256;

void cpu_relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Spins for a little while `unchanged` holds; tells whether it changed.
template <class Predicate>
bool spin_while(Predicate unchanged) noexcept {
  const auto end = std::chrono::steady_clock::now() + kSpinTime;
  for (;;) {
    for (int i = 0; i < 64; ++i) {
      if (!unchanged()) return true;
      cpu_relax();
    }
    if (std::chrono::steady_clock::now() > end) return false;
  }
}

class Pool {
 public:
  explicit Pool(size_t workers) : slices_(workers + 1) {
    workers_.reserve(workers);
    // Where the system gives no more threads, those there are do all the work.
    try {
      for (size_t i = 0; i < workers; ++i) workers_.emplace_back([this, i] { work(i + 1); });
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch)
    }
  }

  ~Pool() {
    stopping_.store(true);
    generation_.fetch_add(1);
    generation_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // One caller at a time. Waits only for the workers that took part: one that the system has not woken yet, because
  // others keep its processor busy, does not hold the caller up.
  void run(size_t count, FunctionRef<void(size_t)> body) noexcept {
    body_ = &body;
    for (size_t i = 0; i < slices_.size(); ++i) {
      slices_[i].next.store(count * i / slices_.size(), std::memory_order_relaxed);
      slices_[i].end = count * (i + 1) / slices_.size();
    }
    const uint32_t generation = generation_.load(std::memory_order_relaxed) + 1;
    job_.store(make_job(generation, true), std::memory_order_release);
    generation_.store(generation, std::memory_order_release);
    generation_.notify_all();
    take(body, 0);
    uint64_t job = job_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    const auto is_busy = [&] { return ((job = job_.load(std::memory_order_acquire)) & kActive) != 0; };
    if ((job & kActive) != 0) spin_while(is_busy);
    while ((job & kActive) != 0) {
      job_.wait(job, std::memory_order_acquire);
      job = job_.load(std::memory_order_acquire);
    }
  }

  // How many workers were asked for.
  size_t size() const noexcept { return slices_.size() - 1; }

 private:
  // A job's state in one word: generation, whether workers may still join, how many are at work.
  static constexpr uint64_t kActive = 0xFFFF;
  static constexpr uint64_t kOpen = 0x10000;
  static constexpr uint64_t make_job(uint32_t generation, bool open) noexcept {
    return uint64_t{generation} << 32 | (open ? kOpen : 0);
  }

  bool join(uint32_t generation) noexcept {
    uint64_t job = job_.load(std::memory_order_acquire);
    while ((job & kOpen) != 0 && job >> 32 == generation) {
      if (job_.compare_exchange_weak(job, job + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

  void leave() noexcept {
    const uint64_t job = job_.fetch_sub(1, std::memory_order_acq_rel) - 1;
    if ((job & (kActive | kOpen)) == 0) job_.notify_one();
  }

  // Every thread has a slice of the indices of its own, the same from call to call, so that what a thread wrote in one
  // call is in its cache in the next; then it helps the others.
  struct alignas(64) Slice {
    std::atomic<size_t> next{0};
    size_t end = 0;
  };

  void take(const FunctionRef<void(size_t)>& body, size_t participant) noexcept {
    for (size_t k = 0; k < slices_.size(); ++k) {
      Slice& slice = slices_[(participant + k) % slices_.size()];
      for (size_t i = slice.next.fetch_add(1, std::memory_order_relaxed); i < slice.end;
           i = slice.next.fetch_add(1, std::memory_order_relaxed)) {
        body(i);
      }
    }
  }

  void work(size_t participant) noexcept {
    uint32_t seen = 0;
    for (;;) {
      if (!spin_while([&] { return generation_.load(std::memory_order_acquire) == seen; })) {
        generation_.wait(seen, std::memory_order_acquire);
      }
      const uint32_t now = generation_.load(std::memory_order_acquire);
      if (now == seen) continue;
      seen = now;
      if (stopping_.load()) return;
      if (!join(now)) continue;
      take(*body_, participant);
      leave();
    }
  }

  std::vector<Slice> slices_;
  const FunctionRef<void(size_t)>* body_ = nullptr;
  alignas(64) std::atomic<uint64_t> job_{0};
  alignas(64) std::atomic<uint32_t> generation_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;  // last: they use the others
};

// Null where memory is short.
Pool* make_pool(size_t workers) noexcept {
  try {
    return new Pool(workers);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

struct State {
  std::mutex busy;  // held for the length of a parallel_for, and to change the pool
  Pool* pool = nullptr;
  std::atomic<size_t> threads{0};
};

State& state() {
  // Never destroyed: threads may still call in while the process exits.
  static State* const instance = [] {
    auto* created = new State;
#if defined(__unix__) || defined(__APPLE__)
    // A forked child has none of the parent's threads: it starts over with a free lock and no pool.
    pthread_atfork(nullptr, nullptr, [] {
      State& s = state();
      new (&s.busy) std::mutex;
      s.pool = nullptr;
    });
#endif
    return created;
  }();
  return *instance;
}

size_t default_threads() {
  const char* text = std::getenv("ENR_NUM_THREADS");
  if (text != nullptr) {
    const long value = std::strtol(text, nullptr, 10);
    if (value > 0) return std::min<size_t>(static_cast<size_t>(value), kMaxThreads);
  }
  return std::min(usable_processors(), kMaxThreads);
}

thread_local bool inside_parallel = false;

}  // namespace

size_t num_threads() noexcept {
  State& s = state();
  size_t threads = s.threads.load(std::memory_order_relaxed);
  if (threads == 0) {
    threads = default_threads();
    s.threads.store(threads, std::memory_order_relaxed);
  }
  return threads;
}

void set_num_threads(size_t count) { state().threads.store(std::min(count, kMaxThreads), std::memory_order_relaxed); }

void parallel_for(size_t count, FunctionRef<void(size_t)> body) noexcept {
  const size_t threads = count > 1 ? num_threads() : 1;
  State& s = state();
  if (threads > 1 && !inside_parallel && s.busy.try_lock()) {
    const std::lock_guard<std::mutex> lock(s.busy, std::adopt_lock);
    if (s.pool != nullptr && s.pool->size() != threads - 1) {
      delete s.pool;
      s.pool = nullptr;
    }
    if (s.pool == nullptr) s.pool = make_pool(threads - 1);
    if (s.pool != nullptr) {
      const auto guarded = [&](size_t i) {
        inside_parallel = true;
        body(i);
        inside_parallel = false;
      };
      s.pool->run(count, guarded);
      return;
    }
  }
  for (size_t i = 0; i < count; ++i) body(i);
}

void parallel_ranges(size_t count, size_t grain, FunctionRef<void(size_t, size_t)> body) noexcept {
  if (count == 0) return;
  const size_t threads = num_threads(), most = (count + grain - 1) / grain;
  // A multiple of the threads, in equal parts: the threads' shares of different arrays then agree.
  const size_t pieces = most <= threads ? std::min(most, threads) : std::min(most / threads, size_t{4}) * threads;
  if (pieces <= 1 || threads == 1) return body(0, count);
  parallel_for(pieces, [&](size_t i) { body(count * i / pieces, count * (i + 1) / pieces); });
}

void parallel_ranges_or_throw(size_t count, size_t grain, FunctionRef<void(size_t, size_t)> body) {
  std::mutex mutex;
  std::exception_ptr first;
  parallel_ranges(count, grain, [&](size_t begin, size_t end) {
    try {
      body(begin, end);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (first == nullptr) first = std::current_exception();
    }
  });
  if (first != nullptr) std::rethrow_exception(first);
}

}  // namespace enr
