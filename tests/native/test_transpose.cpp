#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/transpose/concat.h"
#include "kernels/transpose/gather.h"
#include "kernels/transpose/layout.h"
#include "kernels/transpose/pad.h"
#include "kernels/transpose/strided_copy.h"

namespace {

using namespace enr;
using namespace enr::kernels;
using Shape = std::vector<int64_t>;
using Buffer = std::vector<unsigned char>;

Buffer random_bytes(size_t size_bytes, unsigned seed) {
  std::mt19937 engine(seed);
  Buffer bytes(size_bytes);
  for (unsigned char& b : bytes) b = static_cast<unsigned char>(engine());
  return bytes;
}

size_t count_of(const Shape& shape) {
  return static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
}

Shape contiguous(const Shape& sizes, size_t element) {
  Shape strides(sizes.size());
  auto stride = static_cast<int64_t>(element);
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= sizes[d];
  }
  return strides;
}

// body(index) for every index of the shape, in row-major order.
template <class Body>
void for_each_index(const Shape& sizes, const Body& body) {
  Shape index(sizes.size());
  for (size_t i = 0; i < count_of(sizes); ++i) {
    size_t rest = i;
    for (size_t d = sizes.size(); d-- > 0;) {
      index[d] = static_cast<int64_t>(rest % static_cast<size_t>(sizes[d]));
      rest /= static_cast<size_t>(sizes[d]);
    }
    body(index);
  }
}

int64_t offset(const Shape& index, const Shape& strides) {
  return std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0});
}

void copy_reference(unsigned char* out, const Shape& out_strides, const unsigned char* in, const Shape& in_strides,
                    const Shape& sizes, size_t element) {
  for_each_index(sizes, [&](const Shape& index) {
    std::memcpy(out + offset(index, out_strides), in + offset(index, in_strides), element);
  });
}

void check_permute(const Shape& sizes, const Shape& order, size_t element) {
  CAPTURE(element);
  const Buffer in = random_bytes(count_of(sizes) * element, 1);
  Buffer out(in.size() + 1, 7), expected(out);
  const Shape strides = contiguous(sizes, element);
  Shape out_sizes, in_strides;
  for (const int64_t d : order) {
    out_sizes.push_back(sizes[static_cast<size_t>(d)]);
    in_strides.push_back(strides[static_cast<size_t>(d)]);
  }
  copy_reference(expected.data(), contiguous(out_sizes, element), in.data(), in_strides, out_sizes, element);
  permute(out.data(), in.data(), sizes, order, element);
  CHECK(out == expected);
}

constexpr size_t kElementSizes[] = {1, 2, 4, 8, 16};

}  // namespace

TEST_CASE("permute: every order of four dimensions") {
  Shape order = {0, 1, 2, 3};
  do {
    for (const size_t element : kElementSizes) {
      check_permute({3, 5, 7, 9}, order, element);
      check_permute({2, 33, 1, 20}, order, element);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("permute: matrices around the block sizes") {
  for (const size_t element : kElementSizes) {
    for (const int64_t rows : {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100}) {
      for (const int64_t columns : {1, 2, 3, 4, 5, 15, 16, 17, 33, 64, 65, 300}) {
        CAPTURE(rows);
        CAPTURE(columns);
        check_permute({rows, columns}, {1, 0}, element);
      }
    }
  }
}

TEST_CASE("permute: ranks 0 to 6, sizes 0 and 1, odd element sizes") {
  check_permute({}, {}, 4);
  check_permute({0}, {0}, 4);
  check_permute({3, 0, 2}, {2, 1, 0}, 4);
  check_permute({2, 3, 4, 5, 2, 3}, {5, 3, 1, 4, 2, 0}, 2);
  check_permute({4, 3, 2, 5, 6}, {4, 2, 3, 0, 1}, 8);
  check_permute({1, 1, 6, 1}, {3, 2, 0, 1}, 1);
  check_permute({5, 7}, {1, 0}, 12);
  check_permute({5, 7, 3}, {1, 0, 2}, 3);
}

TEST_CASE("permute: large ones, on several threads") {
  set_num_threads(3);
  for (const size_t element : {size_t{1}, size_t{4}, size_t{8}}) {
    check_permute({1, 67, 120, 130}, {0, 2, 3, 1}, element);
    check_permute({1, 120, 130, 67}, {0, 3, 1, 2}, element);
    check_permute({700, 801}, {1, 0}, element);
    check_permute({3, 300, 500}, {1, 2, 0}, element);
    check_permute({300, 500, 3}, {2, 0, 1}, element);
    check_permute({2, 90, 8, 300}, {0, 2, 1, 3}, element);
  }
  set_num_threads(0);
}

TEST_CASE("strided_copy: broadcasts, reversed, gaps on both sides") {
  for (const size_t element : kElementSizes) {
    const auto e = static_cast<int64_t>(element);
    const Buffer in = random_bytes(4000 * element, 2);
    const Shape sizes = {6, 5, 19};
    const std::array<Shape, 6> ins = {Shape{0, 0, e},     Shape{0, 40 * e, 0},          Shape{500 * e, 0, 2 * e},
                                      Shape{e, 0, 6 * e}, Shape{-500 * e, -50 * e, -e}, Shape{-e, 20 * e, 60 * e}};
    const std::array<Shape, 3> outs = {Shape{95 * e, 19 * e, e}, Shape{300 * e, 50 * e, 2 * e},
                                       Shape{e, 7 * e, 40 * e}};
    for (const Shape& in_strides : ins) {
      for (const Shape& out_strides : outs) {
        CAPTURE(element);
        CAPTURE(in_strides[0]);
        Buffer out(2000 * element, 9), expected(out);
        const unsigned char* from = in.data() + (in_strides[0] < 0 ? 2750 * element : 0);
        strided_copy(out.data(), out_strides, from, in_strides, sizes, element);
        copy_reference(expected.data(), out_strides, from, in_strides, sizes, element);
        CHECK(out == expected);
        // The same elements, walked through backwards on both sides.
        Shape back_out(out_strides), back_in(in_strides);
        int64_t last_out = 0, last_in = 0;
        for (size_t d = 0; d < 3; ++d) {
          last_out += (sizes[d] - 1) * out_strides[d];
          last_in += (sizes[d] - 1) * in_strides[d];
          back_out[d] = -back_out[d];
          back_in[d] = -back_in[d];
        }
        std::fill(out.begin(), out.end(), 9);
        strided_copy(out.data() + last_out, back_out, from + last_in, back_in, sizes, element);
        CHECK(out == expected);
      }
    }
  }
}

TEST_CASE("strided_copy: rows repeated a few times each") {
  set_num_threads(3);
  for (const size_t element : {1, 2, 3, 4, 8, 16}) {
    for (const int64_t width : {1, 2, 3, 5, 8, 16, 17, 31, 64, 65, 130}) {
      for (const int64_t repeats : {2, 3, 7, 70}) {
        for (const int64_t rows : {1, 2, 5, 64, 3000}) {
          if (rows == 3000 && static_cast<int64_t>(element) * width * repeats > 600) continue;
          CAPTURE(element);
          CAPTURE(width);
          CAPTURE(repeats);
          CAPTURE(rows);
          const auto size = static_cast<int64_t>(element);
          for (const int64_t gap : {0, 3}) {  // bytes between the rows of the input
            const Shape sizes = {rows, repeats, width}, strides = {width * size + gap, 0, size};
            const Shape out_strides = contiguous(sizes, element);
            // Exactly what is read and written: the sanitizers see every byte more.
            const Buffer in = random_bytes(static_cast<size_t>((rows - 1) * strides[0] + width * size), 9);
            Buffer out(count_of(sizes) * element, 7), expected(out);
            copy_reference(expected.data(), out_strides, in.data(), strides, sizes, element);
            strided_copy(out.data(), out_strides, in.data(), strides, sizes, element);
            REQUIRE(out == expected);
          }
        }
      }
    }
  }
  set_num_threads(0);
}

TEST_CASE("layout: NCHW and NHWC are each other's inverse") {
  for (const size_t element : kElementSizes) {
    for (const size_t channels : {1, 2, 3, 4, 5, 8, 16, 17, 40, 64}) {
      for (const size_t pixels : {1, 5, 16, 49, 63, 400}) {
        CAPTURE(element);
        CAPTURE(channels);
        CAPTURE(pixels);
        const Buffer in = random_bytes(2 * channels * pixels * element, 3);
        Buffer nhwc(in.size()), back(in.size());
        nchw_to_nhwc(nhwc.data(), in.data(), 2, channels, pixels, element);
        nhwc_to_nchw(back.data(), nhwc.data(), 2, channels, pixels, element);
        CHECK(back == in);
        const size_t c = channels / 2, p = pixels - 1;
        CHECK(std::memcmp(&nhwc[((pixels + p) * channels + c) * element], &in[((channels + c) * pixels + p) * element],
                          element) == 0);
      }
    }
  }
}

TEST_CASE("layout: transpose_2d leaves the gaps between rows alone") {
  for (const size_t columns : {3, 4, 33}) {
    for (const size_t rows : {3, 4, 40}) {
      const size_t in_stride = columns + 2, out_stride = rows + 1;
      std::vector<float> in(2 * rows * in_stride), out(2 * columns * out_stride, -1.0f), expected(out);
      std::iota(in.begin(), in.end(), 0.0f);
      for (size_t b = 0; b < 2; ++b) {
        for (size_t i = 0; i < rows; ++i) {
          for (size_t j = 0; j < columns; ++j) {
            expected[(b * columns + j) * out_stride + i] = in[(b * rows + i) * in_stride + j];
          }
        }
      }
      transpose_2d(out.data(), out_stride * 4, columns * out_stride * 4, in.data(), in_stride * 4, rows * in_stride * 4,
                   2, rows, columns, 4);
      CHECK(out == expected);
    }
  }
}

TEST_CASE("slice_copy and flip") {
  for (const size_t element : kElementSizes) {
    const Shape sizes = {6, 7, 21};
    const Shape strides = contiguous(sizes, element);
    const Buffer in = random_bytes(count_of(sizes) * element, 4);
    const Shape starts = {1, 0, 3}, steps = {2, 3, 4}, ones = {1, 1, 1}, out_sizes = {2, 2, 5};
    for (const Shape& step : {steps, ones, Shape{}}) {
      Buffer out(count_of(out_sizes) * element), expected(out.size());
      slice_copy(out.data(), in.data(), sizes, starts, step, out_sizes, element);
      Shape in_strides(strides);
      for (size_t d = 0; d < 3 && !step.empty(); ++d) in_strides[d] *= step[d];
      copy_reference(expected.data(), contiguous(out_sizes, element), in.data() + offset(starts, strides), in_strides,
                     out_sizes, element);
      CHECK(out == expected);
    }
    for (int mask = 0; mask < 8; ++mask) {
      const std::array<bool, 3> flipped = {(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0};
      Buffer out(in.size()), expected(in.size());
      flip(out.data(), in.data(), sizes, flipped, element);
      for_each_index(sizes, [&](const Shape& index) {
        Shape from(index);
        for (size_t d = 0; d < 3; ++d) from[d] = flipped[d] ? sizes[d] - 1 - index[d] : index[d];
        std::memcpy(&expected[static_cast<size_t>(offset(index, strides))],
                    &in[static_cast<size_t>(offset(from, strides))], element);
      });
      CHECK(out == expected);
    }
  }
}

TEST_CASE("rows of every length: backwards, with gaps, one element repeated") {
  for (const size_t element : kElementSizes) {
    const auto size = static_cast<int64_t>(element);
    for (int64_t columns = 1; columns < 140; ++columns) {
      CAPTURE(element);
      CAPTURE(columns);
      const Shape sizes = {3, columns};
      const Buffer in = random_bytes(static_cast<size_t>(3 * 3 * columns * size), 7);
      for (const int64_t step : {int64_t{-1}, int64_t{-2}, int64_t{2}, int64_t{3}, int64_t{0}}) {
        const Shape strides = {3 * columns * size, step * size};
        const unsigned char* first = in.data() + (step < 0 ? -step * (columns - 1) * size : 0);
        Buffer out(static_cast<size_t>(3 * columns * size)), expected(out.size());
        strided_copy_to_contiguous(out.data(), first, strides, sizes, element);
        copy_reference(expected.data(), contiguous(sizes, element), first, strides, sizes, element);
        REQUIRE(out == expected);
      }
    }
  }
}

TEST_CASE("pad_constant: padding, cropping, both") {
  const auto check = [](const Shape& sizes, const Shape& before, const Shape& after, size_t element) {
    CAPTURE(element);
    const Buffer in = random_bytes(count_of(sizes) * element, 5), value = random_bytes(element, 6);
    Shape out_sizes(sizes);
    for (size_t d = 0; d < sizes.size(); ++d) out_sizes[d] = std::max<int64_t>(sizes[d] + before[d] + after[d], 0);
    Buffer out(count_of(out_sizes) * element), expected(out.size());
    const Shape in_strides = contiguous(sizes, element), out_strides = contiguous(out_sizes, element);
    for_each_index(out_sizes, [&](const Shape& index) {
      bool inside = true;
      Shape from(index);
      for (size_t d = 0; d < sizes.size(); ++d) {
        from[d] -= before[d];
        inside &= from[d] >= 0 && from[d] < sizes[d];
      }
      std::memcpy(&expected[static_cast<size_t>(offset(index, out_strides))],
                  inside ? &in[static_cast<size_t>(offset(from, in_strides))] : value.data(), element);
    });
    pad_constant(out.data(), in.data(), sizes, before, after, value.data(), element);
    CHECK(out == expected);
  };
  for (const size_t element : kElementSizes) {
    check({2, 3, 5, 7}, {0, 0, 1, 2}, {0, 0, 2, 1}, element);
    check({2, 3, 5, 7}, {0, 0, 0, 0}, {0, 0, 0, 0}, element);
    check({2, 3, 5, 7}, {1, 0, 0, 0}, {0, 2, 0, 0}, element);
    check({2, 3, 5, 7}, {0, -1, 1, -3}, {0, 1, -2, 2}, element);
    check({4, 6}, {-2, 1}, {-1, -5}, element);
    check({4, 6}, {-3, 0}, {-2, 0}, element);
    check({0, 3}, {1, 1}, {1, 0}, element);
    check({40, 30, 2}, {1, 2, 0}, {0, 3, 0}, element);
    check({2, 30, 5}, {0, 2, 70}, {0, 1, 200}, element);
    check({9, 4}, {0, -3}, {1, -2}, element);
    check({3}, {2}, {5}, element);
    check({}, {}, {}, element);
  }
  set_num_threads(3);
  check({1, 120, 130, 40}, {0, 1, 1, 0}, {0, 1, 1, 0}, 4);
  check({1, 40, 120, 130}, {0, 0, 1, 1}, {0, 0, 1, 1}, 4);
  set_num_threads(0);
}

TEST_CASE("fill writes every element and nothing else") {
  for (const size_t element : kElementSizes) {
    for (const size_t count : {0, 1, 2, 3, 100, 5000, 300000}) {
      const Buffer value = random_bytes(element, 7);
      Buffer out(count * element + 1, 3);
      fill(out.data(), value.data(), count, element);
      size_t wrong = 0;
      for (size_t i = 0; i < count; ++i) wrong += std::memcmp(&out[i * element], value.data(), element) != 0;
      CHECK(wrong == 0);
      CHECK(out.back() == 3);
    }
  }
}

TEST_CASE("concat and split are each other's inverse") {
  for (const size_t outer : {1, 2, 7, 3000}) {
    const std::array<size_t, 5> bytes = {4, 60, 0, 1, 333};
    std::vector<Buffer> parts, back;
    std::vector<ConcatSource> sources;
    std::vector<SplitTarget> targets;
    size_t row = 0;
    for (const size_t b : bytes) {
      parts.push_back(random_bytes(b * outer, static_cast<unsigned>(b)));
      back.emplace_back(b * outer);
      row += b;
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      sources.push_back({parts[i].data(), bytes[i]});
      targets.push_back({back[i].data(), bytes[i]});
    }
    Buffer joined(row * outer), expected;
    concat(joined.data(), sources, outer);
    for (size_t o = 0; o < outer; ++o) {
      for (size_t i = 0; i < parts.size(); ++i) {
        expected.insert(expected.end(), parts[i].begin() + static_cast<long>(o * bytes[i]),
                        parts[i].begin() + static_cast<long>((o + 1) * bytes[i]));
      }
    }
    CHECK(joined == expected);
    split(targets, joined.data(), outer);
    CHECK(back == parts);
  }
}

TEST_CASE("gather and scatter rows") {
  const std::vector<int64_t> indices = {3, 0, -1, 9, 3, -10, 5};
  const std::vector<int32_t> narrow(indices.begin(), indices.end());
  for (const size_t row_bytes : {1, 2, 4, 8, 16, 3, 40}) {
    const Buffer in = random_bytes(2 * 10 * row_bytes, 8);
    Buffer out(2 * indices.size() * row_bytes), out_narrow(out.size()), expected(out.size());
    for (size_t o = 0; o < 2; ++o) {
      for (size_t i = 0; i < indices.size(); ++i) {
        const auto row = static_cast<size_t>(indices[i] < 0 ? indices[i] + 10 : indices[i]);
        std::memcpy(&expected[(o * indices.size() + i) * row_bytes], &in[(o * 10 + row) * row_bytes], row_bytes);
      }
    }
    gather_rows(out.data(), in.data(), 2, 10, row_bytes, indices.data(), indices.size());
    gather_rows(out_narrow.data(), in.data(), 2, 10, row_bytes, narrow.data(), narrow.size());
    CHECK(out == expected);
    CHECK(out_narrow == expected);
    Buffer scattered(10 * row_bytes, 1);
    scatter_rows(scattered.data(), 10, in.data(), row_bytes, indices.data(), indices.size());
    CHECK(std::memcmp(&scattered[3 * row_bytes], &in[4 * row_bytes], row_bytes) == 0);  // the later of two
    CHECK(std::memcmp(&scattered[9 * row_bytes], &in[3 * row_bytes], row_bytes) == 0);
    CHECK(scattered[row_bytes] == 1);
  }
  CHECK(first_index_outside(indices.data(), indices.size(), -10, 10) == indices.size());
  CHECK(first_index_outside(indices.data(), indices.size(), -9, 10) == 5);
  CHECK(first_index_outside(narrow.data(), narrow.size(), 0, 9) == 2);
  CHECK(first_index_outside(narrow.data(), 0, 0, 0) == 0);
}

TEST_CASE("offsets of indices") {
  for (size_t count : {0, 1, 7, 8, 33, 1000}) {
    for (const int64_t size : {1, 10, 5000}) {
      std::mt19937 engine(static_cast<unsigned>(count));
      std::uniform_int_distribution<int64_t> any(-size, size - 1);
      std::vector<int64_t> indices(count), offsets(count, 77), sums(count, 77), expected(count);
      for (size_t i = 0; i < count; ++i) {
        indices[i] = i == 0 ? -size : i == 1 ? size - 1 : any(engine);
        expected[i] = (indices[i] < 0 ? indices[i] + size : indices[i]) * -3;
      }
      CHECK(set_index_offsets(indices.data(), count, size, -3, offsets.data()));
      CHECK(offsets == expected);
      CHECK(add_index_offsets(indices.data(), count, size, -3, sums.data()));
      for (int64_t& sum : sums) sum -= 77;
      CHECK(sums == expected);
      for (const int64_t outside : {size, -size - 1, std::numeric_limits<int64_t>::min()}) {
        if (count == 0) continue;
        std::vector<int64_t> bad = indices;
        bad[count / 2] = outside;
        CHECK_FALSE(set_index_offsets(bad.data(), count, size, 1, offsets.data()));
      }
    }
  }
}

TEST_CASE("gather_elements picks along a dimension") {
  for (const size_t element : kElementSizes) {
    const size_t outer = 2, in_rows = 5, out_rows = 3, inner = 7;
    const Buffer in = random_bytes(outer * in_rows * inner * element, 9);
    std::vector<int64_t> indices(outer * out_rows * inner);
    for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i * 7 % 10) - 5;
    Buffer out(indices.size() * element), expected(out.size());
    for (size_t i = 0; i < indices.size(); ++i) {
      const size_t o = i / (out_rows * inner), k = i % inner;
      const auto row = static_cast<size_t>(indices[i] < 0 ? indices[i] + 5 : indices[i]);
      std::memcpy(&expected[i * element], &in[((o * in_rows + row) * inner + k) * element], element);
    }
    gather_elements(out.data(), in.data(), indices.data(), outer, in_rows, out_rows, inner, element);
    CHECK(out == expected);
  }
}
