#include "base/flatbuffer.h"

#include "base/text.h"

namespace enr::flatbuffer {

namespace {

// What an item of a vector of tables takes at least where no two offsets lead to the same.
constexpr uint64_t kMinTableBytes = 12;

}  // namespace

uint64_t Buffer::follow(uint64_t from, uint64_t offset, uint64_t size, const char* field) const {
  const uint64_t position = from + offset;  // both below 2^33
  if (!is_range_within(position, size, bytes_.size())) {
    fail_load(field, ": points to bytes ", position, " to ", position + size, ", beyond the ", what_, " of ",
              bytes_.size(), " bytes (truncated or damaged file)");
  }
  return position;
}

void Buffer::charge(uint64_t size_bytes, const char* field) const {
  if (size_bytes > budget_) {
    fail_load(field, ": the vectors of the ", what_, " overlap and add up to more than twice its ", bytes_.size(),
              " bytes");
  }
  budget_ -= size_bytes;
}

Table Buffer::root() const {
  const uint64_t position = follow(0, 0, 8, "root table");
  const uint32_t offset = load_unaligned<uint32_t>(bytes_, position);
  return Table(*this, follow(position, offset, 4, "root table"), "root table");
}

Table TableVector::operator[](uint32_t i) const {
  buffer_->charge(kMinTableBytes, "table");
  const uint64_t slot = position_ + uint64_t{4} * i;
  const uint32_t offset = load_unaligned<uint32_t>(buffer_->bytes(), slot);
  return Table(*buffer_, buffer_->follow(slot, offset, 4, "table"), "table");
}

Table::Table(const Buffer& buffer, uint64_t position, const char* name) : buffer_(&buffer), position_(position) {
  const Bytes bytes = buffer.bytes();
  const int64_t vtable = static_cast<int64_t>(position) - load_unaligned<int32_t>(bytes, position);
  if (vtable < 0 || !is_range_within(vtable, 4, bytes.size())) {
    fail_load(name, ": vtable at byte ", vtable, ", outside of the ", buffer.what(), " of ", bytes.size(), " bytes");
  }
  vtable_ = static_cast<uint64_t>(vtable);
  vtable_size_ = load_unaligned<uint16_t>(bytes, vtable_);
  table_size_ = load_unaligned<uint16_t>(bytes, vtable_ + 2);
  if (vtable_size_ < 4 || vtable_size_ % 2 != 0 || !is_range_within(vtable_, vtable_size_, bytes.size())) {
    fail_load(name, ": vtable of ", vtable_size_, " bytes at byte ", vtable_, " is malformed");
  }
  if (table_size_ < 4 || !is_range_within(position_, table_size_, bytes.size())) {
    fail_load(name, ": table of ", table_size_, " bytes at byte ", position_, " does not fit in the ", buffer.what(),
              " of ", bytes.size(), " bytes");
  }
}

uint16_t Table::slot(Field field) const noexcept {
  const uint32_t offset = 4 + 2 * field.id;
  return offset + 2 <= vtable_size_ ? load_unaligned<uint16_t>(buffer_->bytes(), vtable_ + offset) : uint16_t{0};
}

void Table::check_inline(uint16_t offset, size_t size, Field field) const {
  if (offset < 4 || offset + size > table_size_) {
    fail_load(field.name, ": stored at bytes ", offset, " to ", offset + size, " of a table of ", table_size_,
              " bytes");
  }
}

uint64_t Table::target(Field field, uint64_t size) const {
  const uint16_t offset = slot(field);
  check_inline(offset, 4, field);
  const uint64_t position = position_ + offset;
  return buffer_->follow(position, load_unaligned<uint32_t>(buffer_->bytes(), position), size, field.name);
}

std::optional<Table> Table::table(Field field) const {
  if (!has(field)) return std::nullopt;
  return Table(*buffer_, target(field, 4), field.name);
}

Table Table::required_table(Field field) const {
  if (!has(field)) fail_load(field.name, ": missing");
  return Table(*buffer_, target(field, 4), field.name);
}

Bytes Table::vector_bytes(Field field, size_t item_size) const {
  if (!has(field)) return {};
  const uint64_t position = target(field, 4);
  const uint64_t count = load_unaligned<uint32_t>(buffer_->bytes(), position);
  const uint64_t size = count * item_size;
  if (!is_range_within(position + 4, size, buffer_->bytes().size())) {
    fail_load(field.name, ": ", count, " items of ", item_size, " bytes at byte ", position + 4, " do not fit in the ",
              buffer_->what(), " of ", buffer_->bytes().size(), " bytes");
  }
  return buffer_->bytes().subspan(position + 4, size);
}

TableVector Table::tables(Field field) const {
  const Bytes items = vector_bytes(field, 4);
  if (items.empty()) return {};
  buffer_->charge(items.size(), field.name);
  return {buffer_, static_cast<uint64_t>(items.data() - buffer_->bytes().data()),
          static_cast<uint32_t>(items.size() / 4)};
}

std::string_view Table::string(Field field) const {
  const Bytes bytes = vector_bytes(field, 1);
  buffer_->charge(bytes.size(), field.name);
  const std::string_view text = as_text(bytes);
  if (!is_valid_utf8(text)) fail_load(field.name, ": ", quoted(text), " is not valid UTF-8");
  return text;
}

}  // namespace enr::flatbuffer
