#include "program/container.h"

#include "base/error.h"
#include "program/file_kind.h"

namespace enr::program {

namespace {

constexpr uint32_t kShortHeader = 24;  // up to ExecuTorch 0.7
constexpr uint32_t kLongHeader = 32;   // adds the size of the segments
constexpr uint64_t kHeaderStart = 8;

}  // namespace

Container read_container(Bytes file) {
  if (file.size() < 8 || as_text(file.subspan(4, 4)) != "ET12") {
    fail_wrong_file(file, "an ExecuTorch program (.pte)", "ET12");
  }
  if (file.size() < kHeaderStart + 4 || as_text(file.subspan(kHeaderStart, 4)) != "eh00") {
    return {.flatbuffer = file, .segments_end = file.size()};
  }

  if (file.size() < kHeaderStart + kShortHeader) {
    fail_load("file truncated: needs ", kHeaderStart + kShortHeader, " bytes for its header, has ", file.size());
  }
  const uint32_t length = load_unaligned<uint32_t>(file, 12);
  if (length < kShortHeader) fail_load("extended header: length is ", length, ", expected ", kShortHeader, " or more");
  if (!is_range_within(kHeaderStart, length, file.size())) {
    fail_load("file truncated: needs ", kHeaderStart + length, " bytes for its header, has ", file.size());
  }
  const uint64_t program_size = load_unaligned<uint64_t>(file, 16);
  const uint64_t segment_base = load_unaligned<uint64_t>(file, 24);
  const uint64_t segments_size = length >= kLongHeader ? load_unaligned<uint64_t>(file, 32) : 0;

  if (program_size > file.size()) {
    fail_load("file truncated: needs ", program_size, " bytes for its program, has ", file.size());
  }
  if (program_size < kHeaderStart + length) {
    fail_load("extended header: program size is ", program_size, ", smaller than the header of ",
              kHeaderStart + length);
  }
  if (segment_base != 0 && segment_base < program_size) {
    fail_load("extended header: segments start at byte ", segment_base, ", inside of the program of ", program_size,
              " bytes");
  }
  if (segment_base == 0 && segments_size != 0) {
    fail_load("extended header: ", segments_size, " bytes of segments without a place where they start");
  }
  if (!is_range_within(segment_base, segments_size, file.size())) {
    fail_load("file truncated: needs ", segment_base, " + ", segments_size, " bytes for its segments, has ",
              file.size());
  }
  return {.flatbuffer = file.first(program_size),
          .segment_base = segment_base,
          .segments_end = segments_size != 0 ? segment_base + segments_size : file.size(),
          .has_header = true};
}

Bytes segment_bytes(Bytes file, const Container& container, uint64_t offset, uint64_t size) {
  if (size == 0) return {};
  if (container.segment_base == 0) fail_load("size: ", size, " bytes in a file whose header gives segments no place");
  const uint64_t available = container.segments_end - container.segment_base;
  if (is_range_within(offset, size, available)) return file.subspan(container.segment_base + offset, size);
  // Old headers do not say how much there should be, so a short file shows here.
  const char* hint =
      container.segments_end == file.size() ? " left in the file (truncated or damaged file)" : " of segments";
  fail_load("offset: bytes ", offset, " + ", size, " do not fit in the ", available, " bytes", hint);
}

}  // namespace enr::program
