#include "program/data_file.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/flatbuffer.h"
#include "base/text.h"
#include "program/file_kind.h"
#include "program/tensor_decoder.h"

namespace enr::program {

namespace {

using flatbuffer::for_each_table;
using flatbuffer::in_field;
using flatbuffer::Table;

constexpr uint32_t kHeaderLength = 40;
constexpr uint64_t kHeaderStart = 8;

struct Header {
  Bytes flatbuffer;  // from the start of the file
  Bytes segments;
};

Header read_header(Bytes file) {
  if (file.size() < 8 || as_text(file.subspan(4, 4)) != "FT01")
    fail_wrong_file(file, "a tensor data file (.ptd)", "FT01");
  if (file.size() < kHeaderStart + kHeaderLength) {
    fail_load("data file truncated: needs ", kHeaderStart + kHeaderLength, " bytes for its header, has ", file.size());
  }
  if (as_text(file.subspan(kHeaderStart, 4)) != "FH01") {
    fail_load("data file header: is ", quoted(as_text(file.subspan(kHeaderStart, 4))), ", expected 'FH01'");
  }
  const auto length = load_unaligned<uint32_t>(file, 12);
  if (length < kHeaderLength)
    fail_load("data file header: length is ", length, ", expected ", kHeaderLength, " or more");
  const auto offset = load_unaligned<uint64_t>(file, 16);
  const auto size = load_unaligned<uint64_t>(file, 24);
  const auto segment_base = load_unaligned<uint64_t>(file, 32);
  const auto segments_size = load_unaligned<uint64_t>(file, 40);
  if (!is_range_within(offset, size, file.size())) {
    fail_load("data file truncated: needs ", offset, " + ", size, " bytes for its tables, has ", file.size());
  }
  if (!is_range_within(segment_base, segments_size, file.size())) {
    fail_load("data file truncated: needs ", segment_base, " + ", segments_size, " bytes for its segments, has ",
              file.size());
  }
  return {file.first(offset + size), file.subspan(segment_base, segments_size)};
}

std::vector<Bytes> read_segments(const Table& root, Bytes area) {
  std::vector<Bytes> segments;
  for_each_table(root, {1, "segments"}, [&](const Table& segment, size_t) {
    const auto offset = segment.scalar<uint64_t>({0, "offset"});
    const auto size = segment.scalar<uint64_t>({1, "size"});
    if (!is_range_within(offset, size, area.size())) {
      fail_load("offset: bytes ", offset, " + ", size, " do not fit in the ", area.size(), " bytes of segments");
    }
    segments.push_back(area.subspan(offset, size));
  });
  return segments;
}

DataEntry read_entry(const Table& table, const std::vector<Bytes>& segments) {
  DataEntry entry;
  const auto index = table.scalar<uint32_t>({1, "segment_index"});
  if (index >= segments.size()) fail_load("segment_index: is ", index, ", the file has ", segments.size(), " segments");
  entry.bytes = segments[index];
  if (const auto layout = table.table({2, "tensor_layout"})) {
    in_field("tensor_layout", [&] {
      DataLayout& result = entry.layout.emplace();
      result.dtype = decode_dtype(layout->scalar<int8_t>({0, "scalar_type"}));
      result.sizes = decode_sizes(layout->vector<int32_t>({1, "sizes"}));
      result.dim_order = decode_dim_order(layout->vector<uint8_t>({2, "dim_order"}), result.sizes.size());
      const uint64_t expected = dense_size_bytes(result.dtype, result.sizes);
      if (entry.bytes.size() != expected) {
        fail_load("sizes: ", dtype_name(result.dtype), result.sizes, " takes ", expected, " bytes, segment ", index,
                  " has ", entry.bytes.size());
      }
    });
  }
  return entry;
}

bool same_data(const DataEntry& a, const DataEntry& b) {
  return a.layout == b.layout && std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
}

}  // namespace

void DataMap::add(std::shared_ptr<const FileData> file) {
  const Header header = read_header(file->bytes());
  const flatbuffer::Buffer buffer(header.flatbuffer, "data file");
  const Table root = buffer.root();
  // The same marks stood for another layout in 0.6, which had these fields; the newer one has neither.
  if (root.has({3, "segments"}) || root.has({4, "named_data"})) {
    fail_load("data file: is of the layout that ExecuTorch 0.6 wrote, which 0.7 replaced: export it again");
  }
  const auto version = root.scalar<uint32_t>({0, "version"});
  if (version > 0) fail_load("data file version: is ", version, ", this runtime reads versions up to 0");

  const std::vector<Bytes> segments = read_segments(root, header.segments);
  std::map<std::string, DataEntry, std::less<>> added;
  for_each_table(root, {2, "named_data"}, [&](const Table& table, size_t) {
    const std::string_view key = table.string({0, "key"});
    DataEntry entry = read_entry(table, segments);
    if (const auto known = entries.find(key); known != entries.end() && !same_data(known->second, entry)) {
      fail_load("key: ", quoted(key), " is in another data file as well, with other data");
    }
    if (!added.emplace(key, std::move(entry)).second) fail_load("key: ", quoted(key), " is there twice");
  });
  entries.merge(added);
  keep_alive.push_back(std::move(file));
}

}  // namespace enr::program
