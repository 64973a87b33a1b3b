#pragma once

// A bounds-checked view of a flatbuffer from an untrusted file. Every access that could leave the buffer throws
// kProgramLoad with the name of the field; in_item() puts the path to it in front. Alignment is not relied on.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/bytes.h"
#include "base/error.h"

namespace enr::flatbuffer {

struct Field {
  uint32_t id;
  const char* name;
};

class Table;

// One flatbuffer. Vectors, strings and tables that are read are counted: a buffer whose offsets make it look much
// larger than it is (many of them pointing at the same vector) is refused, so that decoding stays linear in time and
// memory.
class Buffer {
 public:
  // Where the offsets end in nothing, `what` names the buffer in messages.
  Buffer(Bytes bytes, const char* what) noexcept : bytes_(bytes), what_(what), budget_(2 * bytes.size() + 4096) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  bool has_identifier(std::string_view identifier) const noexcept {
    return bytes_.size() >= 8 && as_text(bytes_.subspan(4, 4)) == identifier;
  }
  Table root() const;

  Bytes bytes() const noexcept { return bytes_; }
  const char* what() const noexcept { return what_; }

  // Position `offset` bytes behind `from`; throws where `size` bytes do not fit there.
  uint64_t follow(uint64_t from, uint64_t offset, uint64_t size, const char* field) const;
  void charge(uint64_t size_bytes, const char* field) const;

 private:
  Bytes bytes_;
  const char* what_;
  mutable uint64_t budget_;
};

// A vector of numbers; operator[] asserts nothing, the range was checked.
template <class T>
class Vector {
 public:
  Vector() = default;
  explicit Vector(Bytes items) noexcept : items_(items) {}
  size_t size() const noexcept { return items_.size() / sizeof(T); }
  bool empty() const noexcept { return items_.empty(); }
  T operator[](size_t i) const noexcept { return load_unaligned<T>(items_, i * sizeof(T)); }
  Bytes bytes() const noexcept { return items_; }

 private:
  Bytes items_;
};

class TableVector {
 public:
  TableVector() = default;
  TableVector(const Buffer* buffer, uint64_t position, uint32_t size) noexcept
      : buffer_(buffer), position_(position), size_(size) {}
  uint32_t size() const noexcept { return size_; }
  Table operator[](uint32_t i) const;

 private:
  const Buffer* buffer_ = nullptr;
  uint64_t position_ = 0;
  uint32_t size_ = 0;
};

// The buffer has to outlive its tables.
class Table {
 public:
  Table(const Buffer& buffer, uint64_t position, const char* name);

  bool has(Field field) const noexcept { return slot(field) != 0; }

  template <class T>
  T scalar(Field field, T fallback = T{}) const {
    static_assert(std::is_arithmetic_v<T>);
    const uint16_t offset = slot(field);
    if (offset == 0) return fallback;
    check_inline(offset, sizeof(T), field);
    if constexpr (std::is_same_v<T, bool>) {
      return load_unaligned<uint8_t>(buffer_->bytes(), position_ + offset) != 0;
    } else {
      return load_unaligned<T>(buffer_->bytes(), position_ + offset);
    }
  }

  std::optional<Table> table(Field field) const;
  Table required_table(Field field) const;

  // Absent vectors and strings are empty. Strings are valid UTF-8.
  template <class T>
  Vector<T> vector(Field field) const {
    const Bytes items = vector_bytes(field, sizeof(T));
    buffer_->charge(items.size(), field.name);
    return Vector<T>(items);
  }
  TableVector tables(Field field) const;
  std::string_view string(Field field) const;

  // A [ubyte] that is referred to, not copied.
  Bytes bytes(Field field) const { return vector_bytes(field, 1); }

 private:
  uint16_t slot(Field field) const noexcept;
  void check_inline(uint16_t offset, size_t size, Field field) const;
  uint64_t target(Field field, uint64_t size) const;
  Bytes vector_bytes(Field field, size_t item_size) const;

  const Buffer* buffer_;
  uint64_t position_;
  uint64_t vtable_;
  uint16_t vtable_size_;
  uint16_t table_size_;
};

// Runs f(); an error in it gets "name[index]." in front.
template <class F>
decltype(auto) in_item(std::string_view name, size_t index, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw Error(error.kind(), concat(name, "[", index, "].", error.what()));
  }
}

// Runs f(); an error in it gets "name." in front.
template <class F>
decltype(auto) in_field(std::string_view name, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw Error(error.kind(), concat(name, ".", error.what()));
  }
}

// visit(table, index) for each table of a vector, errors naming the item.
template <class F>
void for_each_table(const Table& table, Field field, F&& visit) {
  const TableVector items = table.tables(field);
  for (uint32_t i = 0; i < items.size(); ++i) {
    in_item(field.name, i, [&] { visit(items[i], i); });
  }
}

}  // namespace enr::flatbuffer
