#pragma once

// Everything in a .pte that is data rather than structure, by the indices that the structure uses.

#include <cstdint>
#include <vector>

#include "base/aligned_views.h"
#include "base/bytes.h"
#include "base/flatbuffer.h"
#include "program/container.h"

namespace enr::program {

// Offsets into one segment; the data at an offset is as long as its user says.
struct Subsegments {
  Bytes segment;
  std::vector<uint64_t> offsets;
};

struct DataTables {
  std::vector<Bytes> segments;
  std::vector<Bytes> inline_constants;  // of files up to ExecuTorch 0.1
  Subsegments constants;
  Subsegments initial_states;
  std::vector<Bytes> inline_delegates;
  AlignedViews aligned{16, 0};
};

DataTables read_data_tables(const flatbuffer::Table& program, Bytes file, const Container& container);

// The constant with this index, of `size_bytes`, aligned. Throws for an index or size that is not there.
Bytes constant_bytes(DataTables& data, uint32_t index, uint64_t size_bytes);

// Initial bytes of a mutable buffer, of any alignment.
Bytes initial_state_bytes(const DataTables& data, uint32_t index, uint64_t size_bytes);

}  // namespace enr::program
