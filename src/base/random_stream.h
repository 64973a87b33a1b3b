#pragma once

// Random numbers by position: number i of a stream is a hash of its key and i, so that any thread may make any part of
// them. The hash is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).

#include <cstdint>
#include <limits>

namespace enr {

inline constexpr uint64_t kRandomIncrement = 0x9e3779b97f4a7c15;

constexpr uint64_t mix_bits(uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Number i of those that RandomStream::take set apart.
constexpr uint64_t random_number(uint64_t start, uint64_t i) noexcept {
  return mix_bits(start + (i + 1) * kRandomIncrement);
}

// Also a generator for the standard library's distributions.
class RandomStream {
 public:
  using result_type = uint64_t;

  // Streams of one seed are unrelated.
  void seed(uint64_t value, uint64_t stream) noexcept {
    key_ = stream == 0 ? value : mix_bits(value + mix_bits(stream));
    position_ = 0;
  }

  static constexpr uint64_t min() noexcept { return 0; }
  static constexpr uint64_t max() noexcept { return std::numeric_limits<uint64_t>::max(); }
  uint64_t operator()() noexcept { return random_number(take(1), 0); }

  // Sets `count` numbers apart; random_number makes them from the start returned.
  uint64_t take(uint64_t count) noexcept {
    const uint64_t start = key_ + position_ * kRandomIncrement;
    position_ += count;
    return start;
  }

 private:
  uint64_t key_ = 0, position_ = 0;
};

}  // namespace enr
