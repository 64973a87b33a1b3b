#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "executor/call_lock.h"

namespace {

using enr::executor::CallLock;

TEST_CASE("call lock: one thread at a time") {
  CallLock lock;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const std::lock_guard guard(lock);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(count == 8000);
}

TEST_CASE("call lock: who does not want to wait is told, and who would wait for itself") {
  CallLock lock;
  lock.lock();
  CHECK_THROWS_AS(lock.lock(), enr::Error);
  CHECK_THROWS_AS(lock.try_lock(), enr::Error);
  std::thread([&] { CHECK(!lock.try_lock()); }).join();
  lock.unlock();
  std::thread([&] {
    CHECK(lock.try_lock());
    lock.unlock();
  }).join();
  CHECK(lock.try_lock());
  lock.unlock();
}

}  // namespace
