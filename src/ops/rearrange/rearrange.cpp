// Elements moved by a rule of their position: flip, roll, rot90, pixel and channel shuffles, triangles, diagonals.

#include <algorithm>
#include <cstring>

#include "kernels/transpose/copy_threads.h"
#include "kernels/transpose/pad.h"
#include "ops/families.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

void flip_dim(StridedView& view, size_t dim) noexcept {
  if (view.size(dim) > 0) view.advance((view.size(dim) - 1) * view.stride(dim));
  view.stride_array[dim] = -view.stride_array[dim];
}

void flip_out(OpContext& context, const Tensor& self, Sizes dims, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  std::array<bool, kMaxRank + 1> flipped{};
  for (const int64_t dim : dims) {
    bool& flag = flipped[normalize_dim(dim, self.rank, "dims")];
    if (flag) fail_execution("dims: expected each dim once, got ", dims);
    flag = true;
  }
  context.resize(out, self.sizes());
  StridedView in(self);
  for (size_t d = 0; d < in.rank; ++d) {
    if (flipped[d]) flip_dim(in, d);
  }
  copy_view(context, StridedView(out), in);
}

void rot90_out(OpContext& context, const Tensor& self, int64_t k, Sizes dims, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  if (dims.size() != 2) fail_execution("dims: expected two dims, got ", dims);
  if (self.rank < 2) fail_execution("self: expected a rank of at least 2, got shape ", self.sizes());
  const size_t a = normalize_dim(dims[0], self.rank, "dims");
  const size_t b = normalize_dim(dims[1], self.rank, "dims");
  if (a == b) fail_execution("dims: expected two different dims, got ", dims);
  const int64_t turns = ((k % 4) + 4) % 4;
  StridedView in(self);
  if (turns == 1) flip_dim(in, b);
  if (turns == 3) flip_dim(in, a);
  if (turns == 2) {
    flip_dim(in, a);
    flip_dim(in, b);
  }
  if (turns % 2 == 1) in.swap(a, b);
  context.resize(out, in.sizes());
  copy_view(context, StridedView(out), in);
}

// Copies the box piece by piece: each rolled dim is cut where it wraps around.
void roll_view(OpContext& context, const StridedView& out, const StridedView& in, std::span<const int64_t> shifts,
               size_t dim) {
  while (dim < in.rank && (shifts[dim] == 0 || in.size(dim) == 0)) ++dim;
  if (dim == in.rank) return copy_view(context, out, in);
  const int64_t size = in.size(dim), shift = shifts[dim];
  StridedView head_out = out, head_in = in, tail_out = out, tail_in = in;
  head_in.slice(dim, size - shift, shift);
  head_out.slice(dim, 0, shift);
  tail_in.slice(dim, 0, size - shift);
  tail_out.slice(dim, shift, size - shift);
  roll_view(context, head_out, head_in, shifts, dim + 1);
  roll_view(context, tail_out, tail_in, shifts, dim + 1);
}

int64_t wrapped(int64_t shift, int64_t size) noexcept { return size == 0 ? 0 : ((shift % size) + size) % size; }

void roll_out(OpContext& context, const Tensor& self, Sizes shifts, Sizes dims, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  if (dims.empty() ? shifts.size() != 1 : shifts.size() != dims.size()) {
    fail_execution("shifts: expected ", std::max<size_t>(dims.size(), 1), " shifts for dims ", dims, ", got ", shifts);
  }
  std::array<int64_t, kMaxRank + 1> totals{};
  for (size_t i = 0; i < dims.size(); ++i) {
    if (self.rank == 0) fail_execution("dims: expected none for rank 0, got ", dims);
    const size_t d = normalize_dim(dims[i], self.rank, "dims");
    totals[d] = wrapped(totals[d] + wrapped(shifts[i], self.size(d)), self.size(d));
  }
  context.resize(out, self.sizes());
  if (!dims.empty()) return roll_view(context, StridedView(out), StridedView(self), totals, 0);
  const int64_t count = self.numel();
  totals[0] = wrapped(shifts[0], count);
  RowMajorOut to(context, out);
  const Shape flat(Sizes(&count, 1));
  roll_view(context, StridedView(to.data(), self.dtype, flat), StridedView(row_major(context, self), self.dtype, flat),
            totals, 0);
  to.commit();
}

// The view with dim `dim` seen as [outer, size / outer].
void split_dim(StridedView& view, size_t dim, int64_t outer) noexcept {
  const int64_t inner = outer == 0 ? 0 : view.size(dim) / outer;
  view.insert(dim + 1, inner, view.stride(dim));
  view.stride_array[dim] *= inner;
  view.size_array[dim] = outer;
}

// Moves dim `from` to position `to`, shifting those between.
void move_dim(StridedView& view, size_t from, size_t to) noexcept {
  const int64_t size = view.size(from), stride = view.stride(from);
  view.erase(from);
  view.insert(to, size, stride);
}

void require_image(const Tensor& self, int64_t factor, const char* factor_name) {
  if (self.rank < 3) fail_execution("self: expected a rank of at least 3, got shape ", self.sizes());
  if (factor < 1 || factor > (int64_t{1} << 20)) {
    fail_execution(factor_name, ": expected at least 1, got ", factor);
  }
}

void pixel_shuffle_out(OpContext& context, const Tensor& self, int64_t factor, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  require_image(self, factor, "upscale_factor");
  const size_t c = self.rank - 3u;
  if (self.size(c) % (factor * factor) != 0) {
    fail_execution("self: expected channels in multiples of ", factor * factor, ", got shape ", self.sizes());
  }
  Shape shape(self.sizes());
  shape[c] /= factor * factor;
  if (__builtin_mul_overflow(shape[c + 1], factor, &shape[c + 1]) ||
      __builtin_mul_overflow(shape[c + 2], factor, &shape[c + 2])) {
    fail_execution("upscale_factor: expected a smaller one for shape ", self.sizes(), ", got ", factor);
  }
  context.resize(out, shape);
  // Both as [..., channels, row in block, column in block, height, width].
  StridedView in(self), target(out);
  split_dim(in, c, shape[c]);
  split_dim(in, c + 1, factor);
  split_dim(target, c + 2, self.size(c + 2));
  split_dim(target, c + 1, self.size(c + 1));
  move_dim(target, c + 2, c + 1);
  move_dim(target, c + 4, c + 2);
  copy_view(context, target, in);
}

void pixel_unshuffle_out(OpContext& context, const Tensor& self, int64_t factor, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  require_image(self, factor, "downscale_factor");
  const size_t c = self.rank - 3u;
  Shape shape(self.sizes());
  if (shape[c + 1] % factor != 0 || shape[c + 2] % factor != 0) {
    fail_execution("self: expected height and width in multiples of ", factor, ", got shape ", self.sizes());
  }
  if (__builtin_mul_overflow(shape[c], factor * factor, &shape[c])) {
    fail_execution("downscale_factor: expected a smaller one for shape ", self.sizes(), ", got ", factor);
  }
  shape[c + 1] /= factor;
  shape[c + 2] /= factor;
  context.resize(out, shape);
  StridedView in(self), target(out);
  split_dim(target, c, self.size(c));
  split_dim(target, c + 1, factor);
  split_dim(in, c + 2, shape[c + 2]);
  split_dim(in, c + 1, shape[c + 1]);
  move_dim(in, c + 2, c + 1);
  move_dim(in, c + 4, c + 2);
  copy_view(context, target, in);
}

void channel_shuffle_out(OpContext& context, const Tensor& self, int64_t groups, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  if (self.rank < 3) fail_execution("self: expected a rank of at least 3, got shape ", self.sizes());
  if (groups < 1 || self.size(1) % groups != 0) {
    fail_execution("groups: expected a divisor of ", self.size(1), " channels, got ", groups);
  }
  context.resize(out, self.sizes());
  StridedView in(self), target(out);
  split_dim(in, 1, groups);
  in.swap(1, 2);
  split_dim(target, 1, self.size(1) / groups);
  copy_view(context, target, in);
}

// Keeps columns [first(row), last(row)) of every row of every matrix and zeroes the others.
template <class KeptColumns>
void keep_triangle(OpContext& context, const Tensor& self, Tensor& out, const KeptColumns& kept_columns) {
  require_dtype(out, self.dtype, "out");
  if (self.rank < 2) fail_execution("self: expected a rank of at least 2, got shape ", self.sizes());
  context.resize(out, self.sizes());
  if (self.numel() == 0) return;
  const std::byte* in = row_major(context, self);
  RowMajorOut to(context, out);
  const int64_t columns = self.size(self.rank - 1u), height = self.size(self.rank - 2u);
  const auto rows = static_cast<size_t>(self.numel() / columns);
  const auto element = static_cast<int64_t>(dtype_size(self.dtype));
  kernels::parallel_copy(rows, static_cast<size_t>(columns * element), [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      const auto [first, last] = kept_columns(static_cast<int64_t>(r) % height, columns);
      const int64_t row = static_cast<int64_t>(r) * columns * element;
      std::memset(to.data() + row, 0, static_cast<size_t>(first * element));
      std::memcpy(to.data() + row + first * element, in + row + first * element,
                  static_cast<size_t>((last - first) * element));
      std::memset(to.data() + row + last * element, 0, static_cast<size_t>((columns - last) * element));
    }
  });
  to.commit();
}

int64_t limited_diagonal(int64_t diagonal) noexcept {
  return std::clamp(diagonal, -(int64_t{1} << 60), int64_t{1} << 60);
}

void tril_out(OpContext& context, const Tensor& self, int64_t diagonal, Tensor& out) {
  keep_triangle(context, self, out, [k = limited_diagonal(diagonal)](int64_t row, int64_t columns) {
    return std::pair(int64_t{0}, std::clamp<int64_t>(row + k + 1, 0, columns));
  });
}

void triu_out(OpContext& context, const Tensor& self, int64_t diagonal, Tensor& out) {
  keep_triangle(context, self, out, [k = limited_diagonal(diagonal)](int64_t row, int64_t columns) {
    return std::pair(std::clamp<int64_t>(row + k, 0, columns), columns);
  });
}

void diag_embed_out(OpContext& context, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  if (self.rank == 0) fail_execution("self: expected a rank of at least 1, got rank 0");
  const size_t a = normalize_dim(dim1, self.rank + 1u, "dim1");
  const size_t b = normalize_dim(dim2, self.rank + 1u, "dim2");
  if (a == b) fail_execution("dim2: expected another dim than dim1, got ", dim1, " and ", dim2);
  if (offset < -(int64_t{1} << 31) || offset > (int64_t{1} << 31)) {
    fail_execution("offset: expected at most 2147483648 either way, got ", offset);
  }
  const int64_t length = self.size(self.rank - 1u);
  const int64_t side = length + (offset < 0 ? -offset : offset);
  Shape shape;
  for (size_t d = 0, from = 0; d <= self.rank; ++d) {
    shape.push_back(d == a || d == b ? side : self.size(from++));
  }
  context.resize(out, shape);
  const std::array<std::byte, 16> zero{};
  kernels::fill(out.data, zero.data(), static_cast<size_t>(out.numel()), dtype_size(out.dtype));
  StridedView diagonal(out);
  const int64_t row = offset < 0 ? -offset : 0, column = offset > 0 ? offset : 0;
  if (length > 0) diagonal.advance(row * out.stride(a) + column * out.stride(b));
  const int64_t stride = out.stride(a) + out.stride(b);
  diagonal.erase(std::max(a, b));
  diagonal.erase(std::min(a, b));
  diagonal.push_back(length, stride);
  copy_view(context, diagonal, StridedView(self));
}

// An image [channels, height, width] as square tiles, row by row.
void tile_crop_out(OpContext& context, const Tensor& input, int64_t tile_size, Tensor& out) {
  require_dtype(out, input.dtype, "out");
  require_rank(input, 3, "input");
  const int64_t channels = input.size(0), height = input.size(1), width = input.size(2);
  if (tile_size <= 0 || height % tile_size != 0 || width % tile_size != 0) {
    fail_execution("tile_size: expected a divisor of the height and width of ", input.sizes(), ", got ", tile_size);
  }
  const int64_t down = height / tile_size, across = width / tile_size;
  context.resize(out, {down * across, channels, tile_size, tile_size});
  StridedView in(input);
  const int64_t row = in.stride(1), column = in.stride(2);
  in.size_array = {down, across, channels, tile_size, tile_size};
  in.stride_array = {row * tile_size, column * tile_size, in.stride(0), row, column};
  in.rank = 5;
  RowMajorOut result(context, out);
  copy_view(context, StridedView(result.data(), out.dtype, in.sizes()), in);
  result.commit();
}

}  // namespace

void register_rearrange(OperatorTable& table) {
  table.add<tile_crop_out>("preprocess::tile_crop.out", "input, tile_size, out");
  table.add<flip_out>("aten::flip.out", "self, dims, out");
  table.add<rot90_out>("aten::rot90.out", "self, k, dims, out");
  table.add<roll_out>("aten::roll.out", "self, shifts, dims, out");
  table.add<pixel_shuffle_out>("aten::pixel_shuffle.out", "self, upscale_factor, out");
  table.add<pixel_unshuffle_out>("aten::pixel_unshuffle.out", "self, downscale_factor, out");
  table.add<channel_shuffle_out>("aten::channel_shuffle.out", "self, groups, out");
  table.add<tril_out>("aten::tril.out", "self, diagonal, out");
  table.add<triu_out>("aten::triu.out", "self, diagonal, out");
  table.add<diag_embed_out>("aten::diag_embed.out", "self, offset, dim1, dim2, out");
}

}  // namespace enr::ops
