// Advanced indexing: index and index_put.

#include <cstring>

#include "kernels/transpose/copy_threads.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/index/indexing.h"

namespace enr::ops {

namespace {

// kSize bytes at a time where the chunk has that many, else any number.
template <size_t kSize>
void gather_chunks(const IndexedTransfer& transfer, std::byte* view, const std::byte* region, int64_t element,
                   size_t begin, size_t end) noexcept {
  const size_t chunk_bytes = kSize != 0 ? kSize : static_cast<size_t>(transfer.chunk * element);
  const size_t count = transfer.positions.size();
  size_t r = begin / count, i = begin % count;
  for (size_t n = begin; n < end; ++r, i = 0) {
    std::byte* to = view + transfer.rest_in_view[r] * element;
    const std::byte* from = region + transfer.rest_in_region[r] * element;
    for (; i < count && n < end; ++i, ++n) {
      std::memcpy(to + transfer.index_in_view[i] * element, from + transfer.positions[i] * element, chunk_bytes);
    }
  }
}

void gather_region(const IndexedTransfer& transfer, std::byte* view, const std::byte* region, int64_t element) {
  if (transfer.chunk == 0) return;
  const auto chunk_bytes = static_cast<size_t>(transfer.chunk * element);
  const auto run = [&](size_t begin, size_t end) {
    switch (chunk_bytes) {
      case 1:
        return gather_chunks<1>(transfer, view, region, element, begin, end);
      case 2:
        return gather_chunks<2>(transfer, view, region, element, begin, end);
      case 4:
        return gather_chunks<4>(transfer, view, region, element, begin, end);
      case 8:
        return gather_chunks<8>(transfer, view, region, element, begin, end);
      default:
        return gather_chunks<0>(transfer, view, region, element, begin, end);
    }
  };
  kernels::parallel_copy(transfer.positions.size() * transfer.rest_in_view.size(), chunk_bytes + 16, run);
}

void index_out(OpContext& context, const Tensor& self, OptionalTensors indices, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  if (indices.items.empty()) fail_execution("indices: expected at least one, got none");
  const IndexedRegion region = resolve_indices(context, self, indices);
  context.resize(out, region.shape);
  if (out.numel() == 0) return;
  const IndexedTransfer transfer = plan_transfer(context, region, StridedView(out));
  gather_region(transfer, out.data, self.data, static_cast<int64_t>(dtype_size(self.dtype)));
}

// Calls body(rest, position, first, last) for the elements [first, last) of every chunk, spread over threads. Equal
// positions stay on one thread and in order, so that of equal indices the last one stays: threads share what is not
// indexed, or the elements of a few long chunks, or else the target.
template <class Body>
void for_each_chunk(const IndexedTransfer& transfer, int64_t element, int64_t target_count, const Body& body) {
  const size_t rests = transfer.rest_in_region.size(), count = transfer.positions.size();
  const int64_t chunk = transfer.chunk;
  const auto chunk_bytes = static_cast<size_t>(chunk * element);
  const auto run = [&](size_t begin, size_t end, int64_t first, int64_t last) {
    for (size_t r = begin; r < end; ++r) {
      for (size_t i = 0; i < count; ++i) body(r, i, first, last);
    }
  };
  if (rests > 1) {
    return kernels::parallel_copy(rests, count * (chunk_bytes + 16),
                                  [&](size_t begin, size_t end) { run(begin, end, 0, chunk); });
  }
  constexpr size_t kLongChunk = 512, kFewChunks = 256;
  if (chunk_bytes >= kLongChunk && count < kFewChunks) {
    const auto lines = static_cast<size_t>(chunk * element) / 64;
    const int64_t line = 64 / element;
    return kernels::parallel_copy(lines, count * 64, [&](size_t begin, size_t end) {
      run(0, rests, static_cast<int64_t>(begin) * line, end == lines ? chunk : static_cast<int64_t>(end) * line);
    });
  }
  constexpr size_t kPaysThreads = size_t{640} << 10;
  if (count * (chunk_bytes + 16) < kPaysThreads) return run(0, rests, 0, chunk);
  const auto pieces = static_cast<int64_t>(num_threads());
  parallel_for(num_threads(), [&](size_t piece) {
    const int64_t low = static_cast<int64_t>(piece) * target_count / pieces;
    const int64_t high = (static_cast<int64_t>(piece) + 1) * target_count / pieces;
    for (size_t i = 0; i < count; ++i) {
      if (transfer.positions[i] >= low && transfer.positions[i] < high) body(0, i, 0, chunk);
    }
  });
}

template <size_t kSize>
void put_chunks(const IndexedTransfer& transfer, std::byte* region, const std::byte* view, int64_t element,
                int64_t target_count) {
  for_each_chunk(transfer, element, target_count, [&](size_t r, size_t i, int64_t first, int64_t last) {
    std::byte* to = region + (transfer.rest_in_region[r] + transfer.positions[i] + first) * element;
    const std::byte* from = view + (transfer.rest_in_view[r] + transfer.index_in_view[i] + first) * element;
    std::memcpy(to, from, kSize != 0 ? kSize : static_cast<size_t>((last - first) * element));
  });
}

void put_region(const IndexedTransfer& transfer, std::byte* region, const std::byte* view, int64_t element,
                int64_t target_count) {
  switch (transfer.chunk * element) {
    case 1:
      return put_chunks<1>(transfer, region, view, element, target_count);
    case 2:
      return put_chunks<2>(transfer, region, view, element, target_count);
    case 4:
      return put_chunks<4>(transfer, region, view, element, target_count);
    case 8:
      return put_chunks<8>(transfer, region, view, element, target_count);
    default:
      return put_chunks<0>(transfer, region, view, element, target_count);
  }
}

template <class T>
void add_region(const IndexedTransfer& transfer, T* region, const T* view, int64_t target_count) {
  for_each_chunk(transfer, sizeof(T), target_count, [&](size_t r, size_t i, int64_t first, int64_t last) {
    T* to = region + transfer.rest_in_region[r] + transfer.positions[i];
    const T* from = view + transfer.rest_in_view[r] + transfer.index_in_view[i];
    for (int64_t k = first; k < last; ++k) to[k] = wrapping_add(to[k], from[k]);
  });
}

// A few chunks one by one, more with all that lies between them.
void announce(OpContext& context, const IndexedTransfer& transfer, Tensor& target) {
  constexpr size_t kFewChunks = 256;
  const size_t chunks = transfer.positions.size() * transfer.rest_in_region.size();
  if (chunks > kFewChunks) return context.overwriting(target.data, target.size_bytes());
  const auto element = static_cast<int64_t>(dtype_size(target.dtype));
  for (const int64_t rest : transfer.rest_in_region) {
    for (const int64_t position : transfer.positions)
      context.overwriting(target.data + (rest + position) * element, static_cast<size_t>(transfer.chunk * element));
  }
}

// Writes values over target[indices], where the region was resolved for a tensor of target's layout.
void put_values(OpContext& context, const IndexedRegion& region, const StridedView& values, bool accumulate,
                Tensor& target) {
  if (values.numel() == 0) return;
  const IndexedTransfer transfer = plan_transfer(context, region, values);
  if (context.keeps_what_is_overwritten()) announce(context, transfer, target);
  const int64_t count = target.numel();
  if (!accumulate) {
    return put_region(transfer, target.data, values.data, static_cast<int64_t>(dtype_size(target.dtype)), count);
  }
  with_number_type(target.dtype, "self", [&]<class T>() {
    add_region(transfer, target.as<T>(), reinterpret_cast<const T*>(values.data), count);
  });
}

void check_values(const Tensor& self, const Tensor& values, const IndexedRegion& region) {
  require_dtype(values, self.dtype, "values");
  const Shape shape = broadcast(region.shape, values.sizes(), "values");
  if (!std::ranges::equal(Sizes(shape), Sizes(region.shape))) {
    fail_execution("values: expected a shape that broadcasts to the indexed ", Sizes(region.shape), ", got ",
                   values.sizes());
  }
}

// values as a view of the region's shape; saved to scratch where writing the target would change it.
StridedView expand_values(OpContext& context, const Tensor& values, const IndexedRegion& region, const Tensor& target) {
  StridedView view(values);
  if (overlaps(values, target)) {
    view = StridedView(context.scratch(values.size_bytes()), values.dtype, values.sizes());
    copy_view(context, view, StridedView(values));
  }
  view.expand(region.shape);
  return view;
}

void index_put_in_place(OpContext& context, Tensor& self, OptionalTensors indices, const Tensor& values,
                        bool accumulate) {
  const IndexedRegion region = resolve_indices(context, self, indices);
  check_values(self, values, region);
  put_values(context, region, expand_values(context, values, region, self), accumulate, self);
}

void index_put_out(OpContext& context, const Tensor& self, OptionalTensors indices, const Tensor& values,
                   bool accumulate, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  IndexedRegion region = resolve_indices(context, self, indices);
  check_values(self, values, region);
  context.resize(out, self.sizes());
  if (!same_layout(out, self)) region = resolve_indices(context, out, indices);
  const StridedView source = expand_values(context, values, region, out);
  copy_tensor(context, out, self);
  put_values(context, region, source, accumulate, out);
}

void unsafe_index_put_out(OpContext& context, const Tensor& self, OptionalTensors indices, const Tensor& values,
                          bool accumulate, bool, Tensor& out) {
  index_put_out(context, self, indices, values, accumulate, out);
}

}  // namespace

void register_index(OperatorTable& table) {
  table.add<index_out>("aten::index.Tensor_out", "self, indices, out", kTruth<1>);
  table.add<index_put_out>("aten::index_put.out", "self, indices, values, accumulate, out", kTruth<1>);
  table.add<index_put_in_place>("aten::index_put_", "self, indices, values, accumulate", kTruth<1>);
  table.add<unsafe_index_put_out>("aten::_index_put_impl.out", "self, indices, values, accumulate, unsafe, out",
                                  kTruth<1>);
}

}  // namespace enr::ops
