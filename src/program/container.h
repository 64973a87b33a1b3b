#pragma once

// The outermost layer of a .pte: where its flatbuffer ends and where its segments start.

#include <cstdint>

#include "base/bytes.h"

namespace enr::program {

struct Container {
  Bytes flatbuffer;           // from the start of the file, headers included
  uint64_t segment_base = 0;  // from the start of the file; 0 where there are no segments
  uint64_t segments_end = 0;  // where the header says that the last one ends; the end of the file where it does not say
  bool has_header = false;
};

// Recognises the file and checks the header against the file's size.
Container read_container(Bytes file);

// The bytes of a segment.
Bytes segment_bytes(Bytes file, const Container& container, uint64_t offset, uint64_t size);

}  // namespace enr::program
