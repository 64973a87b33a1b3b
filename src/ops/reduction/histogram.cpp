// Histograms with bins of any width.

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "ops/families.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

// Counts (or sums the weights of) the elements between edges; the last bin holds its upper edge.
void count_bins(OpContext& context, const Tensor& self, const std::vector<double>& edges, bool is_even,
                const Tensor* weight, bool density, Tensor& hist) {
  const auto* values = row_major_as<double>(context, self);
  const double* weights = weight == nullptr ? nullptr : row_major_as<double>(context, *weight);
  const size_t bins = edges.size() - 1;
  std::vector<double> sums(bins);
  const double low = edges.front(), high = edges.back();
  for (int64_t i = 0; i < self.numel(); ++i) {
    const double value = values[i];
    if (!(value >= low && value <= high)) continue;
    size_t bin = 0;
    if (is_even) {
      bin = std::min(bins - 1, static_cast<size_t>((value - low) / (high - low) * static_cast<double>(bins)));
    } else {
      const auto above = std::upper_bound(edges.begin(), edges.end(), value) - edges.begin();
      bin = std::min(bins - 1, static_cast<size_t>(above - 1));
    }
    sums[bin] += weights == nullptr ? 1 : weights[i];
  }
  if (density) {
    double total = 0;
    for (const double sum : sums) total += sum;
    for (size_t i = 0; i < bins; ++i) sums[i] /= total * (edges[i + 1] - edges[i]);
  }
  RowMajorOut to(context, hist, DType::kFloat64);
  std::copy(sums.begin(), sums.end(), to.as<double>());
  to.commit();
}

void check(const Tensor& self, const Tensor* weight) {
  require_floating(self.dtype, "self");
  if (weight == nullptr) return;
  require_dtype(*weight, self.dtype, "weight");
  if (weight->numel() != self.numel()) {
    fail_execution("weight: expected ", self.numel(), " elements as self has, got shape ", weight->sizes());
  }
}

void write_edges(OpContext& context, const std::vector<double>& edges, Tensor& out) {
  RowMajorOut to(context, out, DType::kFloat64);
  std::copy(edges.begin(), edges.end(), to.as<double>());
  to.commit();
}

void histogram_bin_ct_out(OpContext& context, const Tensor& self, int64_t bins,
                          std::optional<std::span<const double>> range, const Tensor* weight, bool density,
                          Tensor& hist, Tensor& bin_edges) {
  check(self, weight);
  if (bins < 1) fail_execution("bins: expected at least 1, got ", bins);
  context.resize(hist, {bins}, "hist");
  context.resize(bin_edges, {bins + 1}, "bin_edges");
  double low = 0, high = 1;
  if (range) {
    if (range->size() != 2) fail_execution("range: expected two numbers, got ", range->size());
    low = (*range)[0];
    high = (*range)[1];
  } else if (self.numel() != 0) {
    const auto* values = row_major_as<double>(context, self);
    const auto [least, most] = std::minmax_element(values, values + self.numel());
    low = *least;
    high = *most;
  }
  if (!(low <= high) || !std::isfinite(low) || !std::isfinite(high)) {
    fail_execution("range: expected finite numbers in order, got ", low, " and ", high);
  }
  if (low == high) {
    low -= 0.5;
    high += 0.5;
  }
  std::vector<double> edges(static_cast<size_t>(bins) + 1);
  for (size_t i = 0; i < edges.size(); ++i) {
    edges[i] = low + (high - low) / static_cast<double>(bins) * static_cast<double>(i);
  }
  edges.back() = high;
  count_bins(context, self, edges, true, weight, density, hist);
  write_edges(context, edges, bin_edges);
}

void histogram_bins_tensor_out(OpContext& context, const Tensor& self, const Tensor& bins, const Tensor* weight,
                               bool density, Tensor& hist, Tensor& bin_edges) {
  check(self, weight);
  require_dtype(bins, self.dtype, "bins");
  require_rank(bins, 1, "bins");
  if (bins.size(0) < 2) fail_execution("bins: expected at least two edges, got ", bins.size(0));
  const auto* from = row_major_as<double>(context, bins);
  const std::vector<double> edges(from, from + bins.size(0));
  context.resize(hist, {bins.size(0) - 1}, "hist");
  context.resize(bin_edges, bins.sizes(), "bin_edges");
  count_bins(context, self, edges, false, weight, density, hist);
  write_edges(context, edges, bin_edges);
}

}  // namespace

void register_histogram(OperatorTable& table) {
  table.add<histogram_bin_ct_out>("aten::histogram.bin_ct_out", "self, bins, range, weight, density, hist, bin_edges");
  table.add<histogram_bins_tensor_out>("aten::histogram.bins_tensor_out",
                                       "self, bins, weight, density, hist, bin_edges");
}

}  // namespace enr::ops
