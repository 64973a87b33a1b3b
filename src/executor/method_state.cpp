// The buffers of a method that outlive a call: their first values, reading and writing them, keeping them when a call
// fails.

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "executor/method.h"
#include "kernels/transpose/strided_copy.h"

namespace enr::executor {

namespace {

std::array<int64_t, kMaxRank> strides_in_bytes(const Tensor& tensor) {
  std::array<int64_t, kMaxRank> strides{};
  for (size_t d = 0; d < tensor.rank; ++d)
    strides[d] = tensor.stride(d) * static_cast<int64_t>(dtype_size(tensor.dtype));
  return strides;
}

}  // namespace

// At load a shared buffer gets its initial value from the first method only; a reset writes them all.
void Method::write_initial_values(bool all) {
  for (size_t s = 0; s < state_tensors_.size(); ++s) {
    const auto& source = std::get<program::Tensor>(plan_->method->values[plan_->states[s].value]);
    const Tensor& tensor = state_tensors_[s];
    const bool is_shared = shares_ && source.placement.arena > 0;
    const bool is_first = !is_shared || program_->claim_initial_value(source.placement.arena, source.placement.offset);
    if (tensor.data == nullptr || (!all && !is_first)) continue;
    if (!source.bytes.empty()) {
      std::memcpy(tensor.data, source.bytes.data(), source.size_bytes);
    } else if (all) {
      std::memset(tensor.data, 0, source.size_bytes);
    }
  }
}

void Method::save_states(size_t index) {
  for (const uint32_t s : plan_->state_writes[index]) {
    if (is_saved_[s] != 0) continue;
    const auto& source = std::get<program::Tensor>(plan_->method->values[plan_->states[s].value]);
    journal_.keep(state_tensors_[s].data, source.size_bytes);
    is_saved_[s] = 1;
  }
}

void Method::restore_states() noexcept {
  journal_.restore();
  forget_saved_states();
}

void Method::forget_saved_states() noexcept {
  journal_.clear();
  std::fill(is_saved_.begin(), is_saved_.end(), uint8_t{0});
}

void Method::get_state(size_t index, std::byte* out, size_t size_bytes) {
  const std::lock_guard guard(lock());
  const Tensor& tensor = state_tensors_.at(index);
  if (tensor.size_bytes() != size_bytes)
    fail_execution(states_[index].name, ": expected ", tensor.size_bytes(), " bytes, got ", size_bytes);
  if (size_bytes == 0) return;
  const auto strides = strides_in_bytes(tensor);
  kernels::strided_copy_to_contiguous(out, tensor.data, {strides.data(), tensor.rank}, tensor.sizes(),
                                      dtype_size(tensor.dtype));
}

void Method::set_state(size_t index, const std::byte* in, size_t size_bytes) {
  const std::lock_guard guard(lock());
  const Tensor& tensor = state_tensors_.at(index);
  if (tensor.size_bytes() != size_bytes)
    fail_execution(states_[index].name, ": expected ", tensor.size_bytes(), " bytes, got ", size_bytes);
  if (size_bytes == 0) return;
  const auto element = static_cast<int64_t>(dtype_size(tensor.dtype));
  std::array<int64_t, kMaxRank> row_major{};
  int64_t stride = element;
  for (size_t d = tensor.rank; d-- > 0;) {
    row_major[d] = stride;
    stride *= tensor.size(d);
  }
  const auto strides = strides_in_bytes(tensor);
  kernels::strided_copy(tensor.data, {strides.data(), tensor.rank}, in, {row_major.data(), tensor.rank}, tensor.sizes(),
                        static_cast<size_t>(element));
}

void Method::reset() {
  const std::lock_guard guard(lock());
  write_initial_values(true);
}

}  // namespace enr::executor
