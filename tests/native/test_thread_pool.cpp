#include <doctest/doctest.h>

#include <atomic>
#include <new>
#include <thread>
#include <vector>

#include "base/thread_pool.h"

using enr::parallel_for;

TEST_SUITE_BEGIN("threads");

TEST_CASE("parallel_for runs every index once") {
  for (const size_t threads : {size_t{1}, size_t{2}, size_t{5}}) {
    enr::set_num_threads(threads);
    for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, size_t{1000}}) {
      std::vector<std::atomic<int>> hits(count);
      parallel_for(count, [&](size_t i) { hits[i].fetch_add(1); });
      for (const auto& hit : hits) CHECK(hit.load() == 1);
    }
  }
  enr::set_num_threads(0);
}

TEST_CASE("what a caller wrote before parallel_for and the threads wrote in it is seen after it") {
  enr::set_num_threads(3);
  std::vector<int> data(512, 1);
  for (int round = 0; round < 200; ++round) {
    parallel_for(data.size(), [&](size_t i) { ++data[i]; });
  }
  for (const int value : data) CHECK(value == 201);
  enr::set_num_threads(0);
}

TEST_CASE("a nested parallel_for runs on its caller") {
  enr::set_num_threads(4);
  std::atomic<int> sum{0};
  parallel_for(8, [&](size_t) { parallel_for(8, [&](size_t) { sum.fetch_add(1); }); });
  CHECK(sum.load() == 64);
  enr::set_num_threads(0);
}

TEST_CASE("callers from many threads do not wait for each other's pool") {
  enr::set_num_threads(3);
  std::vector<std::thread> callers;
  std::atomic<size_t> total{0};
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 300; ++round) parallel_for(16, [&](size_t i) { total.fetch_add(i); });
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(total.load() == size_t{4} * 300 * 120);
  enr::set_num_threads(0);
}

TEST_CASE("the number of threads may change between calls") {
  std::atomic<int> sum{0};
  for (int round = 0; round < 20; ++round) {
    enr::set_num_threads(1 + static_cast<size_t>(round % 4));
    parallel_for(10, [&](size_t) { sum.fetch_add(1); });
  }
  CHECK(sum.load() == 200);
  enr::set_num_threads(0);
}

TEST_CASE("what a body throws goes on when every range is done") {
  for (const size_t threads : {size_t{1}, size_t{4}}) {
    enr::set_num_threads(threads);
    std::atomic<size_t> done{0};
    const auto body = [&](size_t begin, size_t end) {
      done += end - begin;
      if (begin == 0) throw std::bad_alloc();
    };
    CHECK_THROWS_AS(enr::parallel_ranges_or_throw(1000, 10, body), std::bad_alloc);
    CHECK(done == 1000);
    done = 0;
    enr::parallel_ranges_or_throw(1000, 10, [&](size_t begin, size_t end) { done += end - begin; });
    CHECK(done == 1000);
  }
  enr::set_num_threads(0);
}

TEST_CASE("parallel_ranges covers everything without overlap") {
  enr::set_num_threads(3);
  std::vector<std::atomic<int>> hits(1001);
  enr::parallel_ranges(hits.size(), 10, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) hits[i].fetch_add(1);
  });
  for (const auto& hit : hits) CHECK(hit.load() == 1);
  enr::set_num_threads(0);
}

TEST_SUITE_END();
