// Sequences of different lengths as recurrent networks take them: all first steps, then all second ones, and so on.

#include <cstring>

#include "ops/families.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

void pack_padded_sequence_out(OpContext& context, const Tensor& input, const Tensor& lengths, bool batch_first,
                              Tensor& data, Tensor& batch_sizes) {
  require_same_dtype(data, input.dtype, "out0");
  require_dtype(lengths, DType::kInt64, "lengths");
  require_dtype(batch_sizes, DType::kInt64, "out1");
  require_rank(lengths, 1, "lengths");
  if (input.numel() == 0) fail_execution("input: expected elements, got shape ", input.sizes());
  if (input.rank < 2) fail_execution("input: expected steps and sequences, got shape ", input.sizes());
  const int64_t steps = input.size(batch_first ? 1 : 0), batch = input.size(batch_first ? 0 : 1);
  if (lengths.size(0) != batch || batch == 0) {
    fail_execution("lengths: expected one for each of ", batch, " sequences, got ", lengths.size(0));
  }
  const auto* length = row_major_as<int64_t>(context, lengths);
  int64_t total = 0;
  for (int64_t b = 0; b < batch; ++b) {
    if (length[b] < 1 || length[b] > steps) {
      fail_execution("lengths: expected from 1 to ", steps, ", got ", length[b], " at ", b);
    }
    if (b > 0 && length[b] > length[b - 1]) fail_execution("lengths: expected descending ones, got more at ", b);
    total += length[b];
  }

  Shape shape;
  shape.push_back(total);
  for (size_t d = 2; d < input.rank; ++d) shape.push_back(input.size(d));
  context.resize(data, shape, "out0");
  context.resize(batch_sizes, {length[0]}, "out1");
  const size_t row_bytes = static_cast<size_t>(product(input.sizes(), 2, input.rank)) * dtype_size(input.dtype);
  const std::byte* from = row_major(context, input);
  RowMajorOut packed(context, data), sizes(context, batch_sizes);
  std::byte* to = packed.data();
  int64_t running = batch;  // sequences that have this step
  for (int64_t step = 0; step < length[0]; ++step) {
    while (length[running - 1] <= step) --running;
    for (int64_t b = 0; b < running; ++b, to += row_bytes) {
      const int64_t row = batch_first ? b * steps + step : step * batch + b;
      std::memcpy(to, from + static_cast<size_t>(row) * row_bytes, row_bytes);
    }
    sizes.as<int64_t>()[step] = running;
  }
  packed.commit();
  sizes.commit();
}

}  // namespace

void register_packed_sequence(OperatorTable& table) {
  table.add<pack_padded_sequence_out>("aten::_pack_padded_sequence.out", "input, lengths, batch_first, out0, out1");
}

}  // namespace enr::ops
