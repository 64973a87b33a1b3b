#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/panels.h"

namespace enr::kernels {

namespace {

constexpr size_t kTaskFloats = 16 * 1024;

void pack_panel(WeightLayout layout, size_t columns, size_t width, size_t k, const float* weights, size_t stride,
                float* out) noexcept {
  const PackKernels& kernels = pack_kernels();
  (layout == WeightLayout::kInputMajor ? kernels.pack_columns : kernels.pack_rows)(weights, stride, columns, width, k,
                                                                                   1.0f, out);
}

// Of 16-bit weights. Reading along the source's rows keeps the source's cache lines in use.
void pack_panel(WeightLayout layout, size_t columns, size_t width, size_t k, const uint16_t* weights, size_t stride,
                uint16_t* out) noexcept {
  if (layout == WeightLayout::kInputMajor) {
    for (size_t p = 0; p < k; ++p, out += width) {
      std::copy_n(weights + p * stride, columns, out);
      std::fill(out + columns, out + width, uint16_t{0});
    }
    return;
  }
  constexpr size_t kStep = 16;
  for (size_t from = 0; from < k; from += kStep) {
    const size_t steps = k - from < kStep ? k - from : kStep;
    uint16_t* block = out + from * width;
    for (size_t j = 0; j < width; ++j) {
      const uint16_t* row = weights + j * stride + from;
      for (size_t p = 0; p < steps; ++p) block[p * width + j] = j < columns ? row[p] : uint16_t{0};
    }
  }
}

// place(panel): where a panel starts.
template <class T, class Place>
void pack(WeightLayout layout, const Panels& panels, const T* weights, size_t stride, const float* bias,
          const Place& place) noexcept {
  const auto pack_one = [&](size_t panel) {
    float* out = place(panel);
    const size_t first = panel * panels.width, width = panels.width_of(panel), columns = panels.columns_of(panel);
    for (size_t j = 0; j < width; ++j) out[j] = bias != nullptr && j < columns ? bias[first + j] : 0.0f;
    if (panels.k == 0) return;  // there may be no weights at all
    pack_panel(layout, columns, width, panels.k, weights + first * (layout == WeightLayout::kOutputMajor ? stride : 1),
               stride, reinterpret_cast<T*>(out + width));
  };
  const size_t floats = panels.width * (1 + panels.k);
  parallel_ranges(panels.count, 1 + kTaskFloats / floats, [&](size_t begin, size_t end) {
    for (size_t panel = begin; panel < end; ++panel) pack_one(panel);
  });
}

}  // namespace

size_t gemm_packed_bytes(size_t n, size_t k) noexcept { return Panels(n, k).size() * sizeof(float); }

void gemm_pack(WeightLayout layout, size_t n, size_t k, const float* weights, size_t stride, const float* bias,
               void* packed) noexcept {
  const Panels panels(n, k);
  pack(layout, panels, weights, stride, bias,
       [&](size_t panel) { return static_cast<float*>(packed) + panels.offset_of(panel); });
}

size_t gemm_half_packed_bytes(size_t n, size_t k) noexcept { return Panels(n, k).half_bytes(); }

void gemm_half_pack(WeightLayout layout, size_t n, size_t k, const uint16_t* weights, size_t stride, const float* bias,
                    void* packed) noexcept {
  const Panels panels(n, k);
  pack(layout, panels, weights, stride, bias, [&](size_t panel) {
    return reinterpret_cast<float*>(static_cast<std::byte*>(packed) + panels.half_offset_of(panel));
  });
}

}  // namespace enr::kernels
