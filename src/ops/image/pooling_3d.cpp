// Three-dimensional pooling: average, maximum with indices, adaptive.

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/thread_pool.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

using Triple = std::array<int64_t, 3>;

Triple triple_of(Sizes list, const char* what) {
  if (list.size() == 1) return {list[0], list[0], list[0]};
  if (list.size() == 3) return {list[0], list[1], list[2]};
  fail_execution(what, ": expected one or three numbers, got ", list);
}

// A range of input positions for each output position of one dim.
struct Span {
  int64_t begin, end;  // inside the input, `step` apart
  int64_t step = 1;
  int64_t padded_size = 0;  // with the padding that counts for an average
};

// Where there is no output position, `of` has none and `count` may be any.
struct Spans {
  Triple count{};
  std::array<std::vector<Span>, 3> of;

  size_t outputs() const noexcept { return of[0].size() * of[1].size() * of[2].size(); }
};

struct Volume {
  Triple size;
  int64_t planes;

  explicit Volume(const Tensor& self) {
    require_planes(self, 3);
    for (size_t d = 0; d < 3; ++d) size[d] = self.size(self.rank - 3u + d);
    planes = product(self.sizes(), 0, self.rank - 3u);
  }
};

Shape pooled_shape(const Tensor& self, const Spans& spans) {
  Shape shape(self.sizes());
  for (size_t d = 0; d < 3; ++d) shape[shape.rank - 3 + d] = spans.count[d];
  return shape;
}

// Output position i takes the input from floor(i in / out) to ceil((i + 1) in / out).
Spans adaptive_spans(OpContext& context, const Tensor& self, const Volume& volume, Sizes output_size, Tensor& out) {
  if (output_size.size() != 3) fail_execution("output_size: expected three numbers, got ", output_size);
  const Triple size = triple_of(output_size, "output_size");
  Shape shape(self.sizes());
  for (size_t d = 0; d < 3; ++d) {
    if (size[d] < 0) fail_execution("output_size: expected at least 0, got ", output_size);
    shape[shape.rank - 3 + d] = size[d];
  }
  context.resize(out, shape);  // first of all: it bounds the sizes
  Spans spans{.count = size, .of = {}};
  if (out.numel() == 0) return spans;
  for (size_t d = 0; d < 3; ++d) {
    for (int64_t i = 0; i < size[d]; ++i) {
      const int64_t begin = i * volume.size[d] / size[d];
      const int64_t end = ((i + 1) * volume.size[d] + size[d] - 1) / size[d];
      spans.of[d].push_back({begin, end, 1, end - begin});
    }
  }
  return spans;
}

Spans window_spans(const Volume& volume, Sizes kernel_size, Sizes strides, Sizes paddings, Sizes dilations,
                   bool ceil_mode) {
  const Triple kernel = triple_of(kernel_size, "kernel_size");
  const Triple stride = strides.empty() ? kernel : triple_of(strides, "stride");
  const Triple padding = triple_of(paddings, "padding"), dilation = triple_of(dilations, "dilation");
  Spans spans;
  for (size_t d = 0; d < 3; ++d) {
    constexpr int64_t kLimit = int64_t{1} << 31;
    if (kernel[d] < 1 || kernel[d] > kLimit) fail_execution("kernel_size: expected at least 1, got ", kernel_size);
    if (stride[d] < 1 || stride[d] > kLimit) fail_execution("stride: expected at least 1, got ", strides);
    if (dilation[d] < 1 || dilation[d] > kLimit) fail_execution("dilation: expected at least 1, got ", dilations);
    const int64_t reach = dilation[d] * (kernel[d] - 1) + 1;
    if (padding[d] < 0 || padding[d] > reach / 2) {
      fail_execution("padding: expected 0 to half of kernel size ", kernel_size, ", got ", paddings);
    }
    const int64_t size = volume.size[d], span = size + 2 * padding[d] - reach;
    if (span < 0) {
      fail_execution("self: expected a padded size of at least the window's reach, ", reach, ", got ",
                     size + 2 * padding[d]);
    }
    int64_t count = (span + (ceil_mode ? stride[d] - 1 : 0)) / stride[d] + 1;
    // The last window must start inside the input or its left padding.
    if (ceil_mode && (count - 1) * stride[d] >= size + padding[d]) --count;
    spans.count[d] = count;
    for (int64_t i = 0; volume.planes > 0 && i < count; ++i) {
      const int64_t first = i * stride[d] - padding[d];
      const int64_t skipped = first < 0 ? (-first + dilation[d] - 1) / dilation[d] * dilation[d] : 0;
      const int64_t padded = std::min(first + reach, size + padding[d]) - first;
      spans.of[d].push_back({first + skipped, std::min(first + reach, size), dilation[d], padded});
    }
  }
  return spans;
}

// visit(output index, plane's input, the three spans) for every output of every plane.
template <class T, class Visit>
void for_each_window(const Volume& volume, const Spans& spans, const T* in, const Visit& visit) {
  const auto [depth, height, width] = volume.size;
  const size_t outputs = spans.outputs();
  parallel_ranges(static_cast<size_t>(volume.planes), std::max<size_t>(1, 4096 / std::max<size_t>(1, outputs)),
                  [&](size_t begin, size_t end) {
                    for (size_t plane = begin; plane < end; ++plane) {
                      const T* from = in + static_cast<int64_t>(plane) * depth * height * width;
                      size_t index = plane * outputs;
                      for (const Span& z : spans.of[0]) {
                        for (const Span& y : spans.of[1]) {
                          for (const Span& x : spans.of[2]) visit(index++, from, z, y, x);
                        }
                      }
                    }
                  });
}

// step(offset in the plane) for every position of a window.
template <class Step>
void for_each_position(const Volume& volume, const Span& z, const Span& y, const Span& x, const Step& step) {
  for (int64_t i = z.begin; i < z.end; i += z.step) {
    for (int64_t j = y.begin; j < y.end; j += y.step) {
      for (int64_t k = x.begin; k < x.end; k += x.step) step((i * volume.size[1] + j) * volume.size[2] + k);
    }
  }
}

enum class Divisor { kPadded, kInside, kGiven };

template <class T>
void average(OpContext& context, const Volume& volume, const Spans& spans, const Tensor& self, Divisor divisor,
             int64_t given, Tensor& out) {
  RowMajorOut result(context, out, dtype_of<T>);
  T* to = result.template as<T>();
  for_each_window(volume, spans, row_major_as<T>(context, self),
                  [&](size_t index, const T* from, const Span& z, const Span& y, const Span& x) {
                    T sum = 0;
                    int64_t inside = 0;
                    for_each_position(volume, z, y, x, [&](int64_t offset) {
                      sum += from[offset];
                      ++inside;
                    });
                    const int64_t count = divisor == Divisor::kGiven    ? given
                                          : divisor == Divisor::kInside ? std::max<int64_t>(inside, 1)
                                                                        : z.padded_size * y.padded_size * x.padded_size;
                    to[index] = sum / static_cast<T>(count);
                  });
  result.commit();
}

void average(OpContext& context, const Volume& volume, const Spans& spans, const Tensor& self, Divisor divisor,
             int64_t given, Tensor& out) {
  require_same_dtype(out, self.dtype, "out");
  if (self.dtype != DType::kInt64) require_floating(self.dtype, "self");
  context.resize(out, pooled_shape(self, spans));
  const auto run = self.dtype == DType::kFloat64 ? &average<double>
                   : self.dtype == DType::kInt64 ? &average<int64_t>
                                                 : &average<float>;
  run(context, volume, spans, self, divisor, given, out);
}

void avg_pool3d_out(OpContext& context, const Tensor& self, Sizes kernel_size, Sizes stride, Sizes padding,
                    bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override, Tensor& out) {
  if (divisor_override && *divisor_override == 0)
    fail_execution("divisor_override: expected a number other than 0, got 0");
  const Volume volume(self);
  const int64_t one = 1;
  const Spans spans = window_spans(volume, kernel_size, stride, padding, Sizes(&one, 1), ceil_mode);
  for (size_t d = 0; d < 3; ++d) {
    const int64_t reach = kernel_size[kernel_size.size() == 1 ? 0 : d];
    if (volume.size[d] < reach) {
      fail_execution("self: expected sizes of at least the kernel's, ", kernel_size, ", got shape ", self.sizes());
    }
  }
  average(context, volume, spans, self,
          divisor_override    ? Divisor::kGiven
          : count_include_pad ? Divisor::kPadded
                              : Divisor::kInside,
          divisor_override.value_or(1), out);
}

void adaptive_avg_pool3d_out(OpContext& context, const Tensor& self, Sizes output_size, Tensor& out) {
  const Volume volume(self);
  average(context, volume, adaptive_spans(context, self, volume, output_size, out), self, Divisor::kPadded, 1, out);
}

// Without branches: which of two elements is larger is hard to predict.
template <class T>
T choose(bool first, T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const Bits mask = Bits{0} - static_cast<Bits>(first);
  return std::bit_cast<T>(static_cast<Bits>((std::bit_cast<Bits>(a) & mask) | (std::bit_cast<Bits>(b) & ~mask)));
}

// A largest element and where it lies in its plane. Of equal ones the first is kept, of NaNs the last.
template <class T>
struct Largest {
  T* values;
  int64_t* places;

  void put(size_t at, T value, int64_t place) const {
    values[at] = value;
    places[at] = place;
  }
  void meet(size_t at, T value, int64_t place) const {
    const bool wins = static_cast<int>(value > values[at]) | static_cast<int>(value != value);
    put(at, choose(wins, value, values[at]), choose(wins, place, places[at]));
  }
};

// Of each row's windows.
template <class T>
void row_maxima(const Volume& volume, const std::vector<Span>& spans, const T* from, const Largest<T>& rows) {
  const auto [depth, height, width] = volume.size;
  size_t at = 0;
  for (int64_t start = 0; start < depth * height * width; start += width) {
    for (const Span& x : spans) {
      rows.put(at, from[start + x.begin], start + x.begin);
      for (int64_t k = x.begin + x.step; k < x.end; k += x.step) rows.meet(at, from[start + k], start + k);
      ++at;
    }
  }
}

// Then of the rows in a window, all along them.
template <class T>
void plane_maxima(const Volume& volume, const Spans& spans, const T* from, const Largest<T>& rows,
                  const Largest<T>& out) {
  row_maxima(volume, spans.of[2], from, rows);
  const size_t width = spans.of[2].size();
  size_t start = 0;
  for (const Span& z : spans.of[0]) {
    for (const Span& y : spans.of[1]) {
      for (int64_t i = z.begin; i < z.end; i += z.step) {
        for (int64_t j = y.begin; j < y.end; j += y.step) {
          const size_t row = static_cast<size_t>(i * volume.size[1] + j) * width;
          const bool is_first = i == z.begin && j == y.begin;
          for (size_t x = 0; x < width; ++x) {
            const T value = rows.values[row + x];
            const int64_t place = rows.places[row + x];
            is_first ? out.put(start + x, value, place) : out.meet(start + x, value, place);
          }
        }
      }
      start += width;
    }
  }
}

template <class T>
void maximum(OpContext& context, const Volume& volume, const Spans& spans, const Tensor& self, Tensor& out,
             Tensor& indices) {
  RowMajorOut result(context, out, dtype_of<T>), index(context, indices);
  const T* in = row_major_as<T>(context, self);
  T* to = result.template as<T>();
  auto* places = index.as<int64_t>();
  const auto [depth, height, width] = volume.size;
  const size_t outputs = spans.outputs();
  const size_t rows = static_cast<size_t>(depth * height) * spans.of[2].size();
  parallel_ranges(static_cast<size_t>(volume.planes), std::max<size_t>(1, 4096 / std::max<size_t>(1, outputs)),
                  [&, size = depth * height * width](size_t begin, size_t end) {
                    std::vector<T> row_values(rows);
                    std::vector<int64_t> row_places(rows);
                    for (size_t plane = begin; plane < end; ++plane) {
                      plane_maxima(volume, spans, in + static_cast<int64_t>(plane) * size,
                                   Largest<T>{row_values.data(), row_places.data()},
                                   Largest<T>{to + plane * outputs, places + plane * outputs});
                    }
                  });
  result.commit();
  index.commit();
}

void maximum(OpContext& context, const Volume& volume, const Spans& spans, const Tensor& self, Tensor& out,
             Tensor& indices) {
  require_same_dtype(out, self.dtype, "out");
  require_same_dtype(indices, DType::kInt64, "indices");
  require_not_bool(self.dtype, "self");
  require_real(self.dtype, "self");
  for (size_t d = 0; d < 3; ++d) {
    for (const Span& span : spans.of[d]) {
      if (span.begin >= span.end)
        fail_execution("padding: expected windows with elements of self, got one without for ", self.sizes());
    }
  }
  const Shape shape = pooled_shape(self, spans);
  context.resize(out, shape);
  context.resize(indices, shape, "indices");
  const auto run = self.dtype == DType::kFloat64  ? &maximum<double>
                   : is_floating(self.dtype)      ? &maximum<float>
                   : self.dtype == DType::kUInt64 ? &maximum<uint64_t>
                                                  : &maximum<int64_t>;
  run(context, volume, spans, self, out, indices);
}

void max_pool3d_with_indices_out(OpContext& context, const Tensor& self, Sizes kernel_size, Sizes stride, Sizes padding,
                                 Sizes dilation, bool ceil_mode, Tensor& out, Tensor& indices) {
  const Volume volume(self);
  maximum(context, volume, window_spans(volume, kernel_size, stride, padding, dilation, ceil_mode), self, out, indices);
}

void adaptive_max_pool3d_out(OpContext& context, const Tensor& self, Sizes output_size, Tensor& out, Tensor& indices) {
  const Volume volume(self);
  maximum(context, volume, adaptive_spans(context, self, volume, output_size, out), self, out, indices);
}

}  // namespace

void register_pooling_3d(OperatorTable& table) {
  table.add<avg_pool3d_out>("aten::avg_pool3d.out",
                            "self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, out");
  table.add<adaptive_avg_pool3d_out>("aten::_adaptive_avg_pool3d.out", "self, output_size, out");
  table.add<adaptive_avg_pool3d_out>("aten::adaptive_avg_pool3d.out", "self, output_size, out");
  table.add<max_pool3d_with_indices_out>("aten::max_pool3d_with_indices.out",
                                         "self, kernel_size, stride, padding, dilation, ceil_mode, out, indices");
  table.add<adaptive_max_pool3d_out>("aten::adaptive_max_pool3d.out", "self, output_size, out, indices");
}

}  // namespace enr::ops
