#include "ops/image/convolution_plain.h"

#include <algorithm>
#include <array>
#include <complex>

#include "base/thread_pool.h"
#include "ops/element.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

// Positions w of a dim of `walked` for which w * stride + offset lies in [0, bound): [first, end).
struct Meeting {
  int64_t first, end;
};
Meeting meeting(int64_t walked, int64_t stride, int64_t offset, int64_t bound) noexcept {
  const int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const int64_t end = offset >= bound ? 0 : (bound - 1 - offset) / stride + 1;
  return {first, std::min(end, walked)};
}

// What one tap of a filter adds to an output plane: walks the output and gathers or, where transposed, walks the input
// and scatters.
template <class T>
void add_tap(const ConvolutionArguments& a, int64_t depth, int64_t row, int64_t column, const T* source, T weight,
             T* plane) noexcept {
  const auto& walked = a.transposed ? a.input : a.output;
  const auto& bound = a.transposed ? a.output : a.input;
  const std::array<int64_t, 3> tap{depth, row, column};
  std::array<int64_t, 3> offset;
  std::array<Meeting, 3> range;
  for (size_t d = 0; d < 3; ++d) {
    offset[d] = tap[d] * a.dilation[d] - a.padding[d];
    range[d] = meeting(walked[d], a.stride[d], offset[d], bound[d]);
  }
  const int64_t stride = a.stride[2];
  for (int64_t z = range[0].first; z < range[0].end; ++z) {
    for (int64_t y = range[1].first; y < range[1].end; ++y) {
      const int64_t met = (z * a.stride[0] + offset[0]) * bound[1] + y * a.stride[1] + offset[1];
      const int64_t walked_row = (z * walked[1] + y) * walked[2], met_row = met * bound[2] + offset[2];
      const int64_t first = range[2].first, end = range[2].end;
      if (a.transposed) {
        for (int64_t x = first; x < end; ++x) plane[met_row + x * stride] += source[walked_row + x] * weight;
      } else if (stride == 1) {
        for (int64_t x = first; x < end; ++x) plane[walked_row + x] += source[met_row + x] * weight;
      } else {
        for (int64_t x = first; x < end; ++x) plane[walked_row + x] += source[met_row + x * stride] * weight;
      }
    }
  }
}

template <class T>
void convolve_as(OpContext& context, const ConvolutionArguments& a, const Tensor& input, const Tensor& weight,
                 const Tensor* bias, Tensor& out) {
  const T* in = row_major_as<T>(context, input);
  const T* w = row_major_as<T>(context, weight);
  const T* b = bias == nullptr ? nullptr : row_major_as<T>(context, *bias);
  RowMajorOut result(context, out, dtype_of<T>);
  T* to = overlaps(out, input) || overlaps(out, weight) ? context.scratch_of<T>(static_cast<size_t>(out.numel()))
                                                        : result.template as<T>();
  const int64_t group_in = a.input_channels / a.groups, group_out = a.output_channels / a.groups;
  const int64_t out_size = product(a.output), in_size = product(a.input), taps = product(a.kernel);
  parallel_ranges(static_cast<size_t>(a.batch * a.output_channels), 1, [&](size_t begin, size_t end) {
    for (auto at = static_cast<int64_t>(begin); at < static_cast<int64_t>(end); ++at) {
      const int64_t n = at / a.output_channels, o = at % a.output_channels;
      T* plane = to + at * out_size;
      std::fill(plane, plane + out_size, b == nullptr ? T{} : b[o]);
      for (int64_t i = 0; i < group_in; ++i) {
        const int64_t channel = o / group_out * group_in + i;
        const T* source = in + (n * a.input_channels + channel) * in_size;
        const T* filter = w + (a.transposed ? channel * group_out + o % group_out : o * group_in + i) * taps;
        for (int64_t t = 0; t < taps; ++t) {
          add_tap(a, t / (a.kernel[1] * a.kernel[2]), t / a.kernel[2] % a.kernel[1], t % a.kernel[2], source, filter[t],
                  plane);
        }
      }
    }
  });
  if (to != result.template as<T>()) std::copy(to, to + out.numel(), result.template as<T>());
  result.commit();
}

}  // namespace

void convolve_plain(OpContext& context, const ConvolutionArguments& arguments, const Tensor& input,
                    const Tensor& weight, const Tensor* bias, Tensor& out) {
  if (is_floating(out.dtype)) return convolve_as<double>(context, arguments, input, weight, bias, out);
  if (is_complex(out.dtype)) {
    return convolve_as<std::complex<double>>(context, arguments, input, weight, bias, out);
  }
  convolve_as<int64_t>(context, arguments, input, weight, bias, out);
}

}  // namespace enr::ops
