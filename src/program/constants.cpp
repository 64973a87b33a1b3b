#include "program/constants.h"

#include "base/error.h"
#include "program/program.h"

namespace enr::program {

namespace {

using flatbuffer::for_each_table;
using flatbuffer::in_field;
using flatbuffer::Table;

Subsegments read_subsegments(const Table& table, const std::vector<Bytes>& segments) {
  Subsegments result;
  const auto offsets = table.vector<uint64_t>({1, "offsets"});
  if (offsets.size() <= 1) return result;  // entry 0 stands for "no data"
  const auto index = table.scalar<uint32_t>({0, "segment_index"});
  if (index >= segments.size()) fail_load("segment_index: is ", index, ", expected less than ", segments.size());
  result.segment = segments[index];
  result.offsets.reserve(offsets.size());
  for (size_t i = 0; i < offsets.size(); ++i) result.offsets.push_back(offsets[i]);
  return result;
}

Bytes subsegment_bytes(const Subsegments& data, uint32_t index, uint64_t size_bytes, const char* what) {
  if (index >= data.offsets.size()) {
    fail_load("data_buffer_idx: is ", index, ", the program has ", data.offsets.size(), " ", what);
  }
  const uint64_t offset = data.offsets[index];
  if (!is_range_within(offset, size_bytes, data.segment.size())) {
    fail_load("data_buffer_idx: ", what, " ", index, " needs bytes ", offset, " + ", size_bytes, " of a segment of ",
              data.segment.size());
  }
  return data.segment.subspan(offset, size_bytes);
}

}  // namespace

DataTables read_data_tables(const Table& program, Bytes file, const Container& container) {
  DataTables data;
  data.aligned = AlignedViews(kConstantAlignment, file.size());
  for_each_table(program, {4, "segments"}, [&](const Table& segment, size_t) {
    data.segments.push_back(
        segment_bytes(file, container, segment.scalar<uint64_t>({0, "offset"}), segment.scalar<uint64_t>({1, "size"})));
  });
  for_each_table(program, {2, "constant_buffer"},
                 [&](const Table& buffer, size_t) { data.inline_constants.push_back(buffer.bytes({0, "storage"})); });
  for_each_table(program, {3, "backend_delegate_data"},
                 [&](const Table& delegate, size_t) { data.inline_delegates.push_back(delegate.bytes({0, "data"})); });
  if (const auto constants = program.table({5, "constant_segment"})) {
    in_field("constant_segment", [&] { data.constants = read_subsegments(*constants, data.segments); });
  }
  if (!data.constants.offsets.empty() && !data.inline_constants.empty()) {
    fail_load("constant_buffer: has ", data.inline_constants.size(), " constants next to the ",
              data.constants.offsets.size(), " of constant_segment, expected one of the two");
  }
  for_each_table(program, {6, "mutable_data_segments"}, [&](const Table& states, size_t i) {
    Subsegments subsegments = read_subsegments(states, data.segments);
    if (i == 0) data.initial_states = std::move(subsegments);
  });
  return data;
}

Bytes constant_bytes(DataTables& data, uint32_t index, uint64_t size_bytes) {
  if (!data.constants.offsets.empty()) {
    return data.aligned.align(subsegment_bytes(data.constants, index, size_bytes, "constants"));
  }
  if (index >= data.inline_constants.size()) {
    fail_load("data_buffer_idx: is ", index, ", the program has ", data.inline_constants.size(), " constants");
  }
  const Bytes storage = data.inline_constants[index];
  if (storage.size() < size_bytes) {
    fail_load("data_buffer_idx: constant ", index, " has ", storage.size(), " bytes, the tensor needs ", size_bytes);
  }
  return data.aligned.align(storage.first(size_bytes));
}

Bytes initial_state_bytes(const DataTables& data, uint32_t index, uint64_t size_bytes) {
  return subsegment_bytes(data.initial_states, index, size_bytes, "initial states");
}

}  // namespace enr::program
