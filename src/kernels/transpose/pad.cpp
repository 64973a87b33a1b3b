#include "kernels/transpose/pad.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/transpose/copy_threads.h"
#include "kernels/transpose/strided_copy.h"
#include "kernels/transpose/transpose_kernels.h"

namespace enr::kernels {

namespace {

// `count` copies of an element, on this thread: a small one is doubled up to a block, then blocks are copied.
void fill_serial(char* out, const void* value, size_t count, size_t element_size) noexcept {
  const size_t size_bytes = count * element_size;
  if (size_bytes == 0) return;
  if (element_size == 1) {
    std::memset(out, *static_cast<const unsigned char*>(value), count);
    return;
  }
  std::memcpy(out, value, element_size);
  size_t done = element_size;
  const size_t block = std::max<size_t>(element_size, 4096 / element_size * element_size);
  while (done < size_bytes) {
    const size_t step = std::min({done, block, size_bytes - done});
    std::memcpy(out + done, out, step);
    done += step;
  }
}

// What one dimension of the output holds: `low` indices before, then the input's from `skip` on, `high` after.
struct Extent {
  int64_t low, skip, copied, high;

  Extent(int64_t size, int64_t before, int64_t after) noexcept
      : low(std::max<int64_t>(before, 0)),
        skip(low - before),
        copied(std::max<int64_t>(size + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0), 0)),
        high(std::max<int64_t>(size + before + after - low - copied, 0)) {}
};

struct Padding {
  std::span<const int64_t> in_sizes, before, after;
  const void* value;
  size_t element_size;
  std::array<int64_t, kMaxCopyRank> in_bytes, out_bytes;  // of everything inside of one index of a dimension
  std::array<char, 256> values;                           // as many copies of the value as fit

  // Dimension d's part of the output: what lies before, the copy, what lies after.
  void run(char* out, const char* in, size_t d) const noexcept {
    const Extent extent = extent_of(d);
    fill_bytes(out, extent.low * out_bytes[d]);
    char* to = out + extent.low * out_bytes[d];
    run_rows(to, in + extent.skip * in_bytes[d], extent.copied, d);
    fill_bytes(to + extent.copied * out_bytes[d], extent.high * out_bytes[d]);
  }

  // `count` indices of dimension d, from the same number of the input's.
  void run_rows(char* out, const char* in, int64_t count, size_t d) const noexcept {
    constexpr int64_t strip_bytes = 16384;
    if (is_copy_inside(d)) {
      if (count > 0) std::memcpy(out, in, static_cast<size_t>(count * in_bytes[d]));
    } else if (!is_copy_inside(d + 1)) {
      for (int64_t i = 0; i < count; ++i) run(out + i * out_bytes[d], in + i * in_bytes[d], d + 1);
    } else {
      const int64_t strip = std::max<int64_t>(strip_bytes / out_bytes[d], 1);
      for (int64_t i = 0; i < count; i += strip) {
        run_strip(out + i * out_bytes[d], in + i * in_bytes[d], std::min(strip, count - i), d);
      }
    }
  }

  // The same where nothing inside of d + 1 is padded: what lies between the copies of two rows is one gap.
  void run_strip(char* out, const char* in, int64_t count, size_t d) const noexcept {
    const Extent extent = extent_of(d + 1);
    const int64_t inner = out_bytes[d + 1];
    const int64_t low = extent.low * inner, copied = extent.copied * inner, gap = out_bytes[d] - copied;
    const auto copy_rows = transpose_kernels().copy_rows;
    copy_rows(out + low, out_bytes[d], in + extent.skip * inner, in_bytes[d], static_cast<size_t>(copied),
              static_cast<size_t>(count));
    fill_bytes(out, low);
    char* between = out + low + copied;
    if (gap <= static_cast<int64_t>(values.size() / element_size * element_size)) {
      copy_rows(between, out_bytes[d], values.data(), 0, static_cast<size_t>(gap), static_cast<size_t>(count - 1));
    } else {
      for (int64_t i = 0; i + 1 < count; ++i) fill_bytes(between + i * out_bytes[d], gap);
    }
    fill_bytes(between + (count - 1) * out_bytes[d], gap - low);
  }

  Extent extent_of(size_t d) const noexcept { return {in_sizes[d], before[d], after[d]}; }

  bool is_copy_inside(size_t d) const noexcept {
    for (size_t k = d + 1; k < in_sizes.size(); ++k) {
      if (before[k] != 0 || after[k] != 0) return false;
    }
    return true;
  }

  void fill_bytes(char* out, int64_t size_bytes) const noexcept {
    if (size_bytes > 0) fill_serial(out, value, static_cast<size_t>(size_bytes) / element_size, element_size);
  }
};

}  // namespace

void fill(void* out, const void* value, size_t count, size_t element_size) noexcept {
  parallel_copy(count, element_size, [&](size_t begin, size_t end) {
    fill_serial(static_cast<char*>(out) + begin * element_size, value, end - begin, element_size);
  });
}

void pad_constant(void* out, const void* in, std::span<const int64_t> in_sizes, std::span<const int64_t> before,
                  std::span<const int64_t> after, const void* value, size_t element_size) noexcept {
  Padding padding{in_sizes, before, after, value, element_size, {}, {}, {}};
  fill_serial(padding.values.data(), value, padding.values.size() / element_size, element_size);
  auto in_bytes = static_cast<int64_t>(element_size), out_bytes = in_bytes;
  for (size_t d = in_sizes.size(); d-- > 0;) {
    padding.in_bytes[d] = in_bytes;
    padding.out_bytes[d] = out_bytes;
    in_bytes *= in_sizes[d];
    out_bytes *= std::max<int64_t>(in_sizes[d] + before[d] + after[d], 0);
  }
  if (out_bytes <= 0) return;
  if (in_sizes.empty()) {
    std::memcpy(out, in, element_size);
    return;
  }
  // Leading dimensions without padding are independent images.
  int64_t images = 1;
  size_t first = 0;
  while (first + 1 < in_sizes.size() && before[first] == 0 && after[first] == 0) images *= in_sizes[first++];
  const int64_t image_in = padding.in_bytes[first] * in_sizes[first];
  const int64_t image_out = out_bytes / images;
  char* to = static_cast<char*>(out);
  const char* from = static_cast<const char*>(in);
  if (padding.is_copy_inside(first)) {
    parallel_copy(static_cast<size_t>(images), static_cast<size_t>(image_out), [&](size_t begin, size_t end) {
      for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); ++i) {
        padding.run(to + i * image_out, from + i * image_in, first);
      }
    });
    return;
  }
  // So are the rows of the first padded dimension.
  const int64_t row_out = padding.out_bytes[first], rows = image_out / row_out;
  parallel_copy(static_cast<size_t>(images * rows), static_cast<size_t>(row_out), [&](size_t begin, size_t end) {
    for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end);) {
      const int64_t row = i % rows - before[first];
      const int64_t left = std::min(static_cast<int64_t>(end) - i, rows - i % rows);
      const bool is_copied = row >= 0 && row < in_sizes[first];
      const int64_t count = std::min(left, row < 0 ? -row : is_copied ? in_sizes[first] - row : left);
      if (is_copied) {
        padding.run_rows(to + i * row_out, from + i / rows * image_in + row * padding.in_bytes[first], count, first);
      } else {
        padding.fill_bytes(to + i * row_out, count * row_out);
      }
      i += count;
    }
  });
}

}  // namespace enr::kernels
