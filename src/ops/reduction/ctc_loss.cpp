// Connectionist temporal classification: the probability of all alignments of a sequence of labels with frames.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/families.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();  // the logarithm of probability zero

double log_sum(double a, double b, double c) {
  const double most = std::max({a, b, c});
  if (most == kNever) return kNever;
  return std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most)) + most;
}

// One sequence: log_probs has `classes` numbers for each frame, frames lie `stride` apart. Writes for each frame the
// logarithms of the probabilities of all states: blank, label, blank, label, ..., blank.
template <class T>
double negative_log_likelihood(const T* log_probs, size_t stride, size_t frames, const std::vector<int64_t>& labels,
                               int64_t blank, T* log_alpha, size_t width) {
  const size_t states = 2 * labels.size() + 1;
  const auto label_of = [&](size_t s) { return s % 2 == 0 ? blank : labels[s / 2]; };
  if (frames == 0) return labels.empty() ? 0 : -kNever;
  for (size_t s = 0; s < states; ++s) log_alpha[s] = s < 2 ? log_probs[label_of(s)] : static_cast<T>(kNever);
  for (size_t t = 1; t < frames; ++t) {
    const T* before = log_alpha + (t - 1) * width;
    for (size_t s = 0; s < states; ++s) {
      const double stay = static_cast<double>(before[s]), next = s > 0 ? static_cast<double>(before[s - 1]) : kNever;
      const bool skips_blank = s > 1 && label_of(s) != label_of(s - 2);
      const double skip = skips_blank ? static_cast<double>(before[s - 2]) : kNever;
      log_alpha[t * width + s] =
          static_cast<T>(log_sum(stay, next, skip)) + log_probs[t * stride + size_t(label_of(s))];
    }
  }
  const T* last = log_alpha + (frames - 1) * width;
  const double at_label = states > 1 ? static_cast<double>(last[states - 2]) : kNever;
  return -log_sum(static_cast<double>(last[states - 1]), at_label, kNever);
}

void check_lengths(Sizes lengths, int64_t batch, int64_t most, const char* what) {
  if (lengths.size() != static_cast<size_t>(batch)) {
    fail_execution(what, ": expected ", batch, " of them, got ", lengths.size());
  }
  for (const int64_t length : lengths) {
    if (length < 0 || length > most) fail_execution(what, ": expected from 0 to ", most, ", got ", length);
  }
}

void ctc_loss_out(OpContext& context, const Tensor& log_probs, const Tensor& targets, Sizes input_lengths,
                  Sizes target_lengths, int64_t blank, bool, Tensor& losses, Tensor& log_alpha) {
  require_rank(log_probs, 3, "log_probs");
  if (log_probs.dtype != DType::kFloat32 && log_probs.dtype != DType::kFloat64) {
    fail_execution("log_probs: expected float32 or float64, got ", describe(log_probs));
  }
  require_same_dtype(losses, log_probs.dtype, "out0");
  require_same_dtype(log_alpha, log_probs.dtype, "out1");
  require_index_dtype(targets, "targets");
  const int64_t frames = log_probs.size(0), batch = log_probs.size(1), classes = log_probs.size(2);
  if (blank < 0 || blank >= classes) fail_execution("blank: expected from 0 to ", classes - 1, ", got ", blank);
  if (targets.rank != 1 && (targets.rank != 2 || targets.size(0) != batch)) {
    fail_execution("targets: expected labels for ", batch, " sequences, got shape ", targets.sizes());
  }
  check_lengths(input_lengths, batch, frames, "input_lengths");
  check_lengths(target_lengths, batch, targets.size(targets.rank - 1u), "target_lengths");

  // The labels of all sequences one after the other, or in padded rows.
  const auto* label = row_major_as<int64_t>(context, targets);
  std::vector<std::vector<int64_t>> labels;
  int64_t longest = 0, position = 0;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t length = target_lengths[size_t(b)], begin = targets.rank == 2 ? b * targets.size(1) : position;
    position += length;
    if (begin + length > targets.numel()) {
      fail_execution("targets: expected as many labels as target_lengths add up to, got ", targets.numel());
    }
    labels.emplace_back(label + begin, label + begin + length);
    longest = std::max(longest, length);
    for (const int64_t one : labels.back()) {
      if (one < 0 || one >= classes) fail_execution("targets: expected from 0 to ", classes - 1, ", got ", one);
    }
  }
  if (targets.rank == 1 && position != targets.size(0)) {
    fail_execution("targets: expected ", position, " labels, as target_lengths add up to, got ", targets.size(0));
  }
  context.resize(losses, {batch}, "out0");
  context.resize(log_alpha, {batch, frames, 2 * longest + 1}, "out1");

  const auto run = [&]<class T>(T) {
    const T* numbers = row_major_as<T>(context, log_probs);
    RowMajorOut loss(context, losses), alpha(context, log_alpha);
    const auto width = static_cast<size_t>(2 * longest + 1);
    std::fill_n(alpha.as<T>(), log_alpha.numel(), static_cast<T>(kNever));
    for (size_t b = 0; b < labels.size(); ++b) {
      loss.as<T>()[b] = static_cast<T>(negative_log_likelihood(numbers + b * size_t(classes), size_t(batch * classes),
                                                               size_t(input_lengths[b]), labels[b], blank,
                                                               alpha.as<T>() + b * size_t(frames) * width, width));
    }
    loss.commit();
    alpha.commit();
  };
  log_probs.dtype == DType::kFloat32 ? run(float{}) : run(double{});
}

void ctc_loss_tensor_out(OpContext& context, const Tensor& log_probs, const Tensor& targets,
                         const Tensor& input_lengths, const Tensor& target_lengths, int64_t blank, bool zero_infinity,
                         Tensor& losses, Tensor& log_alpha) {
  const auto read = [&](const Tensor& lengths, const char* what) {
    if (!is_integer(lengths.dtype)) fail_execution(what, ": expected integers, got ", describe(lengths));
    return Sizes(row_major_as<int64_t>(context, lengths), static_cast<size_t>(lengths.numel()));
  };
  ctc_loss_out(context, log_probs, targets, read(input_lengths, "input_lengths"),
               read(target_lengths, "target_lengths"), blank, zero_infinity, losses, log_alpha);
}

}  // namespace

void register_ctc_loss(OperatorTable& table) {
  table.add<ctc_loss_out>("aten::_ctc_loss.out",
                          "log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, out0, out1");
  table.add<ctc_loss_tensor_out>("aten::_ctc_loss.Tensor_out",
                                 "log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, out0, out1");
}

}  // namespace enr::ops
