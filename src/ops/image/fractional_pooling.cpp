// Maxima of windows at random places, and volumes put together again from maxima.

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/thread_pool.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

// Where windows of one dim begin: about equally far apart, shifted by a sample between 0 and 1. T is what eager
// computes in.
template <class T>
std::vector<int64_t> window_starts(T sample, int64_t input, int64_t output, int64_t window) {
  std::vector<int64_t> starts(static_cast<size_t>(output));
  if (output == 0) return starts;
  if (output > 1) {
    const T step = static_cast<T>(input - window) / static_cast<T>(output - 1);
    const auto whole = [](T value) { return Scalar(static_cast<double>(std::trunc(value))).to<int64_t>(); };
    for (int64_t i = 0; i + 1 < output; ++i) {
      const int64_t start = whole((static_cast<T>(i) + sample) * step) - whole(sample * step);
      starts[static_cast<size_t>(i)] = std::clamp<int64_t>(start, 0, input - window);
    }
  }
  starts.back() = input - window;
  return starts;
}

// kDims is 2 or 3. The samples of a plane are for the width first if there are two, for the depth first if there are
// three.
template <size_t kDims>
void fractional_max_pool_out(OpContext& context, const Tensor& self, Sizes kernel_size, Sizes output_size,
                             const Tensor& samples, Tensor& output, Tensor& indices) {
  if (self.rank != kDims + 1 && self.rank != kDims + 2) {
    fail_execution("self: expected rank ", kDims + 1, " or ", kDims + 2, ", got shape ", self.sizes());
  }
  if (!is_floating(self.dtype)) fail_execution("self: expected a floating dtype, got ", dtype_name(self.dtype));
  require_dtype(output, self.dtype, "output");
  require_dtype(indices, DType::kInt64, "indices");
  require_dtype(samples, self.dtype, "random_samples");
  if (kernel_size.size() != kDims || output_size.size() != kDims) {
    fail_execution("kernel_size: expected ", kDims, " numbers, as in output_size, got ", kernel_size, " and ",
                   output_size);
  }
  // As volumes, of depth 1 where there are two dims.
  std::array<int64_t, 3> size{1, 1, 1}, window{1, 1, 1}, count{1, 1, 1};
  Shape shape(self.sizes());
  for (size_t d = 0; d < kDims; ++d) {
    const size_t to = 3 - kDims + d, dim = self.rank - kDims + d;
    size[to] = self.size(dim);
    window[to] = kernel_size[d];
    count[to] = shape[dim] = output_size[d];
    if (window[to] < 1 || count[to] < 0 || window[to] > size[to] || count[to] > size[to] - window[to] + 1) {
      fail_execution("output_size: expected 1 to as many windows of ", kernel_size, " as fit into ", self.sizes(),
                     ", got ", output_size);
    }
  }
  const int64_t planes = product(self.sizes(), 0, self.rank - kDims);
  if (samples.rank != 3 || samples.size(2) != static_cast<int64_t>(kDims) ||
      samples.size(0) * samples.size(1) != planes) {
    fail_execution("random_samples: expected ", kDims, " numbers for each of ", planes, " planes, got shape ",
                   samples.sizes());
  }
  context.resize(output, shape, "output");
  context.resize(indices, shape, "indices");
  const auto run = [&]<class T>(T) {
    const T* in = row_major_as<T>(context, self);
    const T* chances = row_major_as<T>(context, samples);
    RowMajorOut values(context, output, dtype_of<T>), positions(context, indices);
    parallel_ranges_or_throw(static_cast<size_t>(planes), 1, [&](size_t begin, size_t end) {
      for (size_t plane = begin; plane < end; ++plane) {
        const T* sample = chances + plane * kDims;
        std::array<std::vector<int64_t>, 3> starts;
        for (size_t d = 0; d < 3; ++d) {
          const size_t chance = kDims == 3 ? d : d == 2 ? 0 : 1;
          starts[d] = window_starts(d < 3 - kDims ? T{0} : sample[chance], size[d], count[d], window[d]);
        }
        const T* volume = in + static_cast<int64_t>(plane) * size[0] * size[1] * size[2];
        auto at = static_cast<int64_t>(plane) * count[0] * count[1] * count[2];
        for (const int64_t z0 : starts[0]) {
          for (const int64_t y0 : starts[1]) {
            for (const int64_t x0 : starts[2]) {
              int64_t best = (z0 * size[1] + y0) * size[2] + x0;
              for (int64_t z = z0; z < z0 + window[0]; ++z) {
                for (int64_t y = y0; y < y0 + window[1]; ++y) {
                  for (int64_t x = x0; x < x0 + window[2]; ++x) {
                    const int64_t here = (z * size[1] + y) * size[2] + x;
                    if (volume[here] > volume[best] || std::isnan(volume[here])) best = here;
                  }
                }
              }
              values.template as<T>()[at] = volume[best];
              positions.template as<int64_t>()[at++] = best;
            }
          }
        }
      }
    });
    values.commit();
    positions.commit();
  };
  if (self.dtype == DType::kFloat64) {
    run(double{});
  } else {
    run(float{});
  }
}

void max_unpool3d_out(OpContext& context, const Tensor& self, const Tensor& indices, Sizes output_size, Sizes stride,
                      Sizes padding, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  require_dtype(indices, DType::kInt64, "indices");
  require_sizes(indices, self.sizes(), "indices");
  if (self.rank != 4 && self.rank != 5) fail_execution("self: expected rank 4 or 5, got shape ", self.sizes());
  if (output_size.size() != 3) fail_execution("output_size: expected three sizes, got ", output_size);
  if (stride.size() != 3 || padding.size() != 3 || std::ranges::any_of(stride, [](int64_t s) { return s < 1; })) {
    fail_execution("stride: expected three numbers of at least 1, and three of padding, got ", stride, " and ",
                   padding);
  }
  Shape shape(self.sizes());
  for (size_t d = 0; d < 3; ++d) {
    if (output_size[d] < 0) fail_execution("output_size: expected at least 0, got ", output_size);
    shape[shape.rank - 3 + d] = output_size[d];
  }
  context.resize(out, shape);  // first of all: it bounds the sizes
  const int64_t positions = product(output_size), planes = product(self.sizes(), 0, self.rank - 3u);
  const int64_t pooled = planes == 0 ? 0 : self.numel() / planes;
  const auto* places = row_major_as<int64_t>(context, indices);
  for (int64_t i = 0; i < indices.numel(); ++i) {
    if (places[i] < 0 || places[i] >= positions) {
      fail_execution("indices: expected 0 to ", positions - 1, ", got ", places[i], " at ", i);
    }
  }
  with_real_type(self.dtype, "self", [&]<class T>() {
    const auto* in = reinterpret_cast<const T*>(row_major(context, self));
    RowMajorOut result(context, out);
    std::fill_n(result.as<T>(), out.numel(), T(0.0f));
    for (int64_t i = 0; i < self.numel(); ++i) result.as<T>()[i / pooled * positions + places[i]] = in[i];
    result.commit();
  });
}

}  // namespace

void register_fractional_pooling(OperatorTable& table) {
  table.add<fractional_max_pool_out<2>>("aten::fractional_max_pool2d.output",
                                        "self, kernel_size, output_size, random_samples, output, indices");
  table.add<fractional_max_pool_out<3>>("aten::fractional_max_pool3d.output",
                                        "self, kernel_size, output_size, random_samples, output, indices");
  table.add<max_unpool3d_out>("aten::max_unpool3d.out", "self, indices, output_size, stride, padding, out");
}

}  // namespace enr::ops
