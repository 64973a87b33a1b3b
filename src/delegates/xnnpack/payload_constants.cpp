#include "delegates/xnnpack/payload_constants.h"

#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"

namespace enr::delegates::xnnpack {

namespace {

using flatbuffer::for_each_table;
using flatbuffer::Table;

constexpr uint16_t kHeaderLength = 30;
constexpr uint64_t kExtraBudget = 1 << 20;

[[noreturn]] void fail_missing(const std::set<std::string, std::less<>>& names) {
  std::string list;
  for (const std::string& name : names) {
    if (!list.empty()) list += ", ";
    list += quoted(name);
    if (list.size() > 2000) {
      list += ", ...";
      break;
    }
  }
  fail_load("constant_data: ", names.size(), " constants are neither in the program nor in a data file: ", list);
}

}  // namespace

PayloadParts split_payload(Bytes payload) {
  PayloadParts parts;
  if (payload.size() < 8) fail_load("payload: has ", payload.size(), " bytes, expected a graph");
  if (as_text(payload.subspan(4, 4)) == "XH00") {
    if (payload.size() < kHeaderLength) {
      fail_load("payload: has ", payload.size(), " bytes, its header alone takes ", kHeaderLength);
    }
    const auto length = load_unaligned<uint16_t>(payload, 8);
    if (length < kHeaderLength) fail_load("header: length is ", length, ", expected ", kHeaderLength);
    const uint64_t offset = load_unaligned<uint32_t>(payload, 10);
    const uint64_t size = load_unaligned<uint32_t>(payload, 14);
    const uint64_t constants_offset = load_unaligned<uint32_t>(payload, 18);
    const auto constants_size = load_unaligned<uint64_t>(payload, 22);
    if (offset < kHeaderLength || !is_range_within(offset, size, payload.size())) {
      fail_load("header: graph at bytes ", offset, " + ", size, " of a payload of ", payload.size());
    }
    if (constants_offset < offset + size || !is_range_within(constants_offset, constants_size, payload.size())) {
      fail_load("header: constants at bytes ", constants_offset, " + ", constants_size, " of a payload of ",
                payload.size(), " whose graph ends at ", offset + size);
    }
    parts.has_header = true;
    parts.flatbuffer = payload.subspan(offset, size);
    parts.constants = payload.subspan(constants_offset, constants_size);
  } else {
    parts.flatbuffer = payload;
  }
  const std::string_view identifier =
      parts.flatbuffer.size() < 8 ? std::string_view() : as_text(parts.flatbuffer.subspan(4, 4));
  if (identifier != "XN00" && identifier != "XN01") {
    fail_load("payload: the graph is marked ", quoted(identifier), ", expected 'XN00' or 'XN01'");
  }
  return parts;
}

Constants::Constants(const Table& graph, const PayloadParts& parts, FindNamedData find_named) {
  if (parts.has_header) {
    read_offsets(graph, parts, find_named);
  } else {
    read_inline(graph);
  }
  std::map<const std::byte*, uint64_t> distinct;
  for (const Bytes item : items_) {
    uint64_t& size = distinct[item.data()];
    size = std::max<uint64_t>(size, item.size());
  }
  uint64_t total = parts.flatbuffer.size() + kExtraBudget;
  for (const auto& [data, size] : distinct) total += size;
  budget_ = 2 * total;
  aligned_ = AlignedViews(16, total);
}

void Constants::read_inline(const Table& graph) {
  for_each_table(graph, {6, "constant_buffer"},
                 [&](const Table& buffer, size_t) { items_.push_back(buffer.bytes({0, "storage"})); });
}

void Constants::read_offsets(const Table& graph, const PayloadParts& parts, FindNamedData find_named) {
  std::set<std::string, std::less<>> missing;
  for_each_table(graph, {8, "constant_data"}, [&](const Table& table, size_t i) {
    const auto offset = table.scalar<uint64_t>({0, "offset"});
    const auto size = table.scalar<uint64_t>({1, "size"});
    if (i == 0) {  // stands for "no constant"
      items_.emplace_back();
    } else if (table.has({2, "named_key"})) {
      const std::string_view key = table.string({2, "named_key"});
      const std::optional<Bytes> found = find_named(key);
      if (!found) missing.emplace(key);
      items_.push_back(found.value_or(Bytes()));
    } else if (!is_range_within(offset, size, parts.constants.size())) {
      fail_load("offset: bytes ", offset, " + ", size, " do not fit in the ", parts.constants.size(),
                " bytes of constants");
    } else {
      items_.push_back(parts.constants.subspan(offset, size));
    }
  });
  if (!missing.empty()) fail_missing(missing);
}

Bytes Constants::get(uint32_t index, uint64_t size_bytes, const char* field) {
  if (index >= items_.size()) fail_load(field, ": is ", index, ", the graph has ", items_.size(), " constants");
  const Bytes item = items_[index];
  if (item.size() < size_bytes) {
    fail_load(field, ": constant ", index, " has ", item.size(), " bytes, the value needs ", size_bytes);
  }
  return aligned_.align(item.first(size_bytes));
}

void Constants::charge(uint64_t size_bytes, const char* field) {
  if (size_bytes > budget_) fail_load(field, ": the scales of all values add up to more than twice the graph's data");
  budget_ -= size_bytes;
}

}  // namespace enr::delegates::xnnpack
