// Padding with a constant, by reflection and by the border.

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/transpose/copy_threads.h"
#include "kernels/transpose/pad.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

// Sizes with the paddings, which come in pairs from the last dim on, added. `before` is filled for every dim.
Shape padded_shape(const Tensor& self, Sizes pad, Shape& before, Shape& after) {
  if (pad.size() % 2 != 0 || pad.size() / 2 > self.rank) {
    fail_execution("pad: expected pairs for at most ", int{self.rank}, " dims, got ", pad);
  }
  Shape shape(self.sizes());
  before.rank = after.rank = shape.rank;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const size_t d = shape.rank - 1 - i;
    before[d] = pad[2 * i];
    after[d] = pad[2 * i + 1];
    if (__builtin_add_overflow(shape[d], before[d], &shape[d]) ||
        __builtin_add_overflow(shape[d], after[d], &shape[d]) || shape[d] < 0) {
      fail_execution("pad: expected sizes that fit shape ", self.sizes(), ", got ", pad);
    }
  }
  return shape;
}

void constant_pad_nd_out(OpContext& context, const Tensor& self, Sizes pad, const Scalar& value, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  const Element element = element_of(value, out.dtype, "value");
  Shape before, after;
  const Shape shape = padded_shape(self, pad, before, after);
  for (size_t d = 0; d < shape.rank; ++d) {
    const int64_t cropped = std::max<int64_t>(0, -before[d]) + std::max<int64_t>(0, -after[d]);
    if (cropped > self.size(d))
      fail_execution("pad: expected to crop at most what shape ", self.sizes(), " has, got ", pad);
  }
  context.resize(out, shape);
  if (self.is_contiguous() && out.is_contiguous()) {
    return kernels::pad_constant(out.data, self.data, self.sizes(), before, after, element.bytes.data(),
                                 dtype_size(out.dtype));
  }
  kernels::fill(out.data, element.bytes.data(), static_cast<size_t>(out.numel()), dtype_size(out.dtype));
  StridedView in(self), target(out);
  for (size_t d = 0; d < shape.rank; ++d) {
    const int64_t crop_before = std::max<int64_t>(0, -before[d]), crop_after = std::max<int64_t>(0, -after[d]);
    const int64_t count = std::max<int64_t>(0, self.size(d) - crop_before - crop_after);
    in.slice(d, crop_before, count);
    target.slice(d, std::max<int64_t>(0, before[d]), count);
  }
  copy_view(context, target, in);
}

// For each position of a padded dim, the input position it takes its value from.
using Source = int64_t (*)(int64_t position, int64_t size);

int64_t reflected(int64_t position, int64_t size) {
  if (position < 0) position = -position;
  return position < size ? position : 2 * (size - 1) - position;
}

int64_t replicated(int64_t position, int64_t size) { return std::clamp<int64_t>(position, 0, size - 1); }

std::vector<int64_t> source_positions(Source source, int64_t size, int64_t padded_size, int64_t before) {
  std::vector<int64_t> positions(static_cast<size_t>(padded_size));
  for (int64_t i = 0; i < padded_size; ++i) positions[static_cast<size_t>(i)] = source(i - before, size);
  return positions;
}

template <size_t kSize>
void take_elements(std::byte* to, const std::byte* from, const int64_t* positions, int64_t count) noexcept {
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * int64_t{kSize}, from + positions[i] * int64_t{kSize}, kSize);
}

// One output row: the border by its map, what comes straight from the input as one copy.
struct RowPadder {
  const int64_t* positions;
  int64_t padded_width, width, before, element;

  void operator()(std::byte* to, const std::byte* from) const noexcept {
    const int64_t first = std::clamp<int64_t>(before, 0, padded_width);
    const int64_t last = std::clamp<int64_t>(before + width, first, padded_width);
    take(to, from, 0, first);
    std::memcpy(to + first * element, from + (first - before) * element, static_cast<size_t>((last - first) * element));
    take(to, from, last, padded_width);
  }

 private:
  void take(std::byte* to, const std::byte* from, int64_t begin, int64_t end) const noexcept {
    to += begin * element;
    switch (element) {
      case 1:
        return take_elements<1>(to, from, positions + begin, end - begin);
      case 2:
        return take_elements<2>(to, from, positions + begin, end - begin);
      case 4:
        return take_elements<4>(to, from, positions + begin, end - begin);
      case 8:
        return take_elements<8>(to, from, positions + begin, end - begin);
      default:
        return take_elements<16>(to, from, positions + begin, end - begin);
    }
  }
};

// Pads the last `dims` dims (1 to 3), taking border values from inside.
void pad_from_inside(OpContext& context, const Tensor& self, Sizes padding, Tensor& out, size_t dims, Source source) {
  require_dtype(out, self.dtype, "out");
  if (padding.size() != 2 * dims) fail_execution("padding: expected ", 2 * dims, " numbers, got ", padding);
  require_planes(self, dims);
  Shape before, after;
  const Shape shape = padded_shape(self, padding, before, after);
  const size_t outer_dims = self.rank - dims;
  for (size_t d = outer_dims; d < shape.rank; ++d) {
    if (source == reflected && (before[d] >= self.size(d) || after[d] >= self.size(d))) {
      fail_execution("padding: expected less than the padded dim's size, got ", padding, " for shape ", self.sizes());
    }
  }
  const Sizes padded = Sizes(shape).subspan(outer_dims);
  if (std::ranges::all_of(padded, [](int64_t size) { return size == 0; })) {
    fail_execution("padding: expected to leave some of shape ", self.sizes(), ", got ", padding);
  }
  context.resize(out, shape);
  if (out.numel() == 0) return;

  // All as [planes, depth, height, width] with leading ones.
  std::array<int64_t, 3> in_sizes{1, 1, 1}, out_sizes{1, 1, 1}, start{};
  std::array<std::vector<int64_t>, 3> maps;
  for (size_t i = 0; i < dims; ++i) {
    in_sizes[2 - i] = self.size(shape.rank - 1 - i);
    out_sizes[2 - i] = shape[shape.rank - 1 - i];
    start[2 - i] = before[shape.rank - 1 - i];
  }
  for (size_t i = 0; i < 3; ++i) maps[i] = source_positions(source, in_sizes[i], out_sizes[i], start[i]);
  const std::byte* in = row_major(context, self);
  RowMajorOut to(context, out);
  const auto element = static_cast<int64_t>(dtype_size(out.dtype));
  const RowPadder pad_row{maps[2].data(), out_sizes[2], in_sizes[2], start[2], element};
  const auto rows = static_cast<size_t>(out.numel() / out_sizes[2]);
  kernels::parallel_copy(rows, static_cast<size_t>(out_sizes[2] * element), [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      const auto row = static_cast<int64_t>(r);
      const int64_t y = row % out_sizes[1], z = row / out_sizes[1] % out_sizes[0];
      const int64_t plane = row / out_sizes[1] / out_sizes[0];
      const int64_t in_row =
          (plane * in_sizes[0] + maps[0][static_cast<size_t>(z)]) * in_sizes[1] + maps[1][static_cast<size_t>(y)];
      pad_row(to.data() + row * out_sizes[2] * element, in + in_row * in_sizes[2] * element);
    }
  });
  to.commit();
}

template <size_t kDims>
void reflection_pad_out(OpContext& context, const Tensor& self, Sizes padding, Tensor& out) {
  pad_from_inside(context, self, padding, out, kDims, reflected);
}

template <size_t kDims>
void replication_pad_out(OpContext& context, const Tensor& self, Sizes padding, Tensor& out) {
  pad_from_inside(context, self, padding, out, kDims, replicated);
}

}  // namespace

void register_pad(OperatorTable& table) {
  table.add<constant_pad_nd_out>("aten::constant_pad_nd.out", "self, pad, value, out");
  table.add<reflection_pad_out<1>>("aten::reflection_pad1d.out", "self, padding, out");
  table.add<reflection_pad_out<2>>("aten::reflection_pad2d.out", "self, padding, out");
  table.add<reflection_pad_out<3>>("aten::reflection_pad3d.out", "self, padding, out");
  table.add<replication_pad_out<1>>("aten::replication_pad1d.out", "self, padding, out");
  table.add<replication_pad_out<2>>("aten::replication_pad2d.out", "self, padding, out");
  table.add<replication_pad_out<3>>("aten::replication_pad3d.out", "self, padding, out");
}

}  // namespace enr::ops
