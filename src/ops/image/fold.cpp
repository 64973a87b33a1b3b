// Images taken apart into sliding blocks and put together again: im2col, col2im, max_unpool2d.

#include <algorithm>
#include <array>

#include "base/thread_pool.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

using Pair = std::array<int64_t, 2>;

Pair pair_of(Sizes list, const char* what, int64_t least) {
  if (list.size() != 2) fail_execution(what, ": expected two numbers, got ", list);
  const Pair pair{list[0], list[1]};
  constexpr int64_t kLimit = int64_t{1} << 31;
  for (const int64_t number : pair) {
    if (number < least || number > kLimit) fail_execution(what, ": expected at least ", least, ", got ", list);
  }
  return pair;
}

struct Blocks {
  Pair image, kernel, dilation, padding, stride, count{};

  Blocks(const Pair& size, Sizes kernel_size, Sizes dilations, Sizes paddings, Sizes strides)
      : image(size),
        kernel(pair_of(kernel_size, "kernel_size", 1)),
        dilation(pair_of(dilations, "dilation", 1)),
        padding(pair_of(paddings, "padding", 0)),
        stride(pair_of(strides, "stride", 1)) {
    for (size_t d = 0; d < 2; ++d) {
      const int64_t reach = dilation[d] * (kernel[d] - 1) + 1;
      if (image[d] < 1 || image[d] + 2 * padding[d] < reach) {
        fail_execution("kernel_size: expected a reach of at most the padded size, ", image[d] + 2 * padding[d],
                       ", got ", reach);
      }
      count[d] = (image[d] + 2 * padding[d] - reach) / stride[d] + 1;
    }
    // Keeps all products below far from overflowing.
    if (kernel[0] > (int64_t{1} << 20) / kernel[1] || count[0] > (int64_t{1} << 36) / count[1]) {
      fail_execution("kernel_size: expected fewer taps and blocks, got ", kernel, " and ", count,
                     ", which are too many");
    }
  }

  int64_t taps() const noexcept { return kernel[0] * kernel[1]; }
  int64_t blocks() const noexcept { return count[0] * count[1]; }

  // visit(element of a channel's columns, pixel or -1), in the order of the columns.
  template <class Visit>
  void for_each(const Visit& visit) const {
    int64_t at = 0;
    for (int64_t tap = 0; tap < taps(); ++tap) {
      const int64_t row = tap / kernel[1] * dilation[0] - padding[0],
                    column = tap % kernel[1] * dilation[1] - padding[1];
      for (int64_t y = 0; y < count[0]; ++y) {
        for (int64_t x = 0; x < count[1]; ++x) {
          const int64_t r = row + y * stride[0], c = column + x * stride[1];
          const bool is_inside = r >= 0 && r < image[0] && c >= 0 && c < image[1];
          visit(at++, is_inside ? r * image[1] + c : -1);
        }
      }
    }
  }
};

// Calls body(plane) for every channel of every image.
template <class Body>
void for_each_plane(int64_t planes, int64_t work, const Body& body) {
  const auto grain = static_cast<size_t>(std::max<int64_t>(1, 8192 / std::max<int64_t>(1, work)));
  parallel_ranges(static_cast<size_t>(planes), grain, [&](size_t begin, size_t end) {
    for (size_t plane = begin; plane < end; ++plane) body(static_cast<int64_t>(plane));
  });
}

void im2col_out(OpContext& context, const Tensor& self, Sizes kernel_size, Sizes dilation, Sizes padding, Sizes stride,
                Tensor& out) {
  require_dtype(out, self.dtype, "out");
  require_planes(self, 2);
  const size_t r = self.rank;
  const Blocks b({self.size(r - 2), self.size(r - 1)}, kernel_size, dilation, padding, stride);
  const int64_t channels = self.size(r - 3), batch = r == 4 ? self.size(0) : 1;
  Shape shape;
  if (r == 4) shape.push_back(batch);
  shape.push_back(channels * b.taps());
  shape.push_back(b.blocks());
  context.resize(out, shape);
  with_number_type(self.dtype, "self", [&]<class T>() {
    const auto* in = reinterpret_cast<const T*>(row_major(context, self));
    RowMajorOut result(context, out);
    const int64_t pixels = b.image[0] * b.image[1], elements = b.taps() * b.blocks();
    for_each_plane(batch * channels, elements, [&](int64_t plane) {
      T* to = result.as<T>() + plane * elements;
      const T* from = in + plane * pixels;
      b.for_each([&](int64_t at, int64_t pixel) { to[at] = pixel < 0 ? T(0.0f) : from[pixel]; });
    });
    result.commit();
  });
}

// Overlapping blocks add up.
void col2im_out(OpContext& context, const Tensor& self, Sizes output_size, Sizes kernel_size, Sizes dilation,
                Sizes padding, Sizes stride, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  require_planes(self, 1);
  const size_t r = self.rank;
  const Blocks b(pair_of(output_size, "output_size", 1), kernel_size, dilation, padding, stride);
  if (self.size(r - 1) != b.blocks() || self.size(r - 2) % b.taps() != 0) {
    fail_execution("self: expected [channels * ", b.taps(), ", ", b.blocks(), "] blocks, got ", self.sizes());
  }
  const int64_t channels = self.size(r - 2) / b.taps(), batch = r == 3 ? self.size(0) : 1;
  Shape shape;
  if (r == 3) shape.push_back(batch);
  for (const int64_t size : {channels, b.image[0], b.image[1]}) shape.push_back(size);
  context.resize(out, shape);
  with_number_type(self.dtype, "self", [&]<class T>() {
    const auto* in = reinterpret_cast<const T*>(row_major(context, self));
    RowMajorOut result(context, out);
    const int64_t pixels = b.image[0] * b.image[1], elements = b.taps() * b.blocks();
    for_each_plane(batch * channels, elements, [&](int64_t plane) {
      T* to = result.as<T>() + plane * pixels;
      const T* from = in + plane * elements;
      std::fill_n(to, pixels, T(0.0f));
      b.for_each([&](int64_t at, int64_t pixel) {
        if (pixel >= 0) to[pixel] = wrapping_add(to[pixel], from[at]);
      });
    });
    result.commit();
  });
}

// Each pooled element back to where it came from, zeros elsewhere.
void max_unpool2d_out(OpContext& context, const Tensor& self, const Tensor& indices, Sizes output_size, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  require_dtype(indices, DType::kInt64, "indices");
  require_sizes(indices, self.sizes(), "indices");
  require_planes(self, 2);
  const Pair size = pair_of(output_size, "output_size", 0);
  const int64_t pixels = size[0] * size[1], pooled = self.size(self.rank - 2u) * self.size(self.rank - 1u);
  const auto* positions = row_major_as<int64_t>(context, indices);
  for (int64_t i = 0; i < indices.numel(); ++i) {
    if (positions[i] < 0 || positions[i] >= pixels) {
      fail_execution("indices: expected 0 to ", pixels - 1, ", got ", positions[i], " at ", i);
    }
  }
  Shape shape(self.sizes());
  shape[shape.rank - 2] = size[0];
  shape[shape.rank - 1] = size[1];
  context.resize(out, shape);
  with_real_type(self.dtype, "self", [&]<class T>() {
    const auto* in = reinterpret_cast<const T*>(row_major(context, self));
    RowMajorOut result(context, out);
    const int64_t planes = pooled == 0 ? 0 : self.numel() / pooled;
    std::fill_n(result.as<T>(), out.numel(), T(0.0f));
    for_each_plane(planes, pooled, [&](int64_t plane) {
      for (int64_t i = plane * pooled; i < (plane + 1) * pooled; ++i) {
        result.as<T>()[plane * pixels + positions[i]] = in[i];
      }
    });
    result.commit();
  });
}

}  // namespace

void register_fold(OperatorTable& table) {
  table.add<im2col_out>("aten::im2col.out", "self, kernel_size, dilation, padding, stride, out");
  table.add<col2im_out>("aten::col2im.out", "self, output_size, kernel_size, dilation, padding, stride, out");
  table.add<max_unpool2d_out>("aten::max_unpool2d.out", "self, indices, output_size, out");
}

}  // namespace enr::ops
