#pragma once

// Writes flatbuffers from trees of plain nodes, for tests of the readers. Independent of base/flatbuffer.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace enr::test {

using ByteVector = std::vector<std::byte>;

template <class T>
void append_number(ByteVector& bytes, T value) {
  for (const std::byte byte : std::bit_cast<std::array<std::byte, sizeof(T)>>(value)) bytes.push_back(byte);
}

// A field's value or an item of a vector. Trees are built with the functions below and may be changed anywhere before
// they are written.
struct Tree {
  enum class Kind { kNumber, kNumbers, kTable, kTables };

  Kind kind = Kind::kTable;
  ByteVector bytes;                 // numbers
  uint32_t count = 0;               // of numbers in a vector
  std::map<uint32_t, Tree> fields;  // of a table
  std::vector<Tree> items;          // of a vector of tables

  // A field of a table.
  Tree& operator[](uint32_t field) { return fields[field]; }
  // An item of a vector of tables.
  Tree& at(size_t index) { return items.at(index); }
};

template <class T>
Tree number(T value) {
  Tree node;
  node.kind = Tree::Kind::kNumber;
  append_number(node.bytes, value);
  return node;
}

template <class T>
Tree numbers(const std::vector<T>& values) {
  Tree node;
  node.kind = Tree::Kind::kNumbers;
  node.count = static_cast<uint32_t>(values.size());
  for (const T value : values) append_number(node.bytes, value);
  return node;
}

// The bytes of the numbers, as a vector of bytes.
template <class T>
Tree blob(const std::vector<T>& values) {
  Tree node = numbers(values);
  node.count = static_cast<uint32_t>(node.bytes.size());
  return node;
}

inline Tree text(std::string_view value) { return numbers(std::vector<char>(value.begin(), value.end())); }

inline Tree table(std::map<uint32_t, Tree> fields) {
  Tree node;
  node.fields = std::move(fields);
  return node;
}

inline Tree tables(std::vector<Tree> items) {
  Tree node;
  node.kind = Tree::Kind::kTables;
  node.items = std::move(items);
  return node;
}

class FlatbufferWriter {
 public:
  // `reserved` bytes after the identifier stay free for a header.
  static ByteVector write(const Tree& root, std::string_view identifier, size_t reserved = 0) {
    FlatbufferWriter writer;
    append_number(writer.out_, uint32_t{0});
    for (const char c : identifier) writer.out_.push_back(static_cast<std::byte>(c));
    writer.out_.resize(writer.out_.size() + reserved);
    writer.point(0, writer.write_node(root));
    return std::move(writer.out_);
  }

 private:
  size_t write_node(const Tree& node) {
    switch (node.kind) {
      case Tree::Kind::kNumbers:
        return write_numbers(node);
      case Tree::Kind::kTables:
        return write_tables(node);
      default:
        return write_table(node);
    }
  }

  size_t write_numbers(const Tree& node) {
    while (out_.size() % 16 != 12) out_.push_back({});  // the items start at a multiple of 16
    const size_t position = out_.size();
    append_number(out_, node.count);
    out_.insert(out_.end(), node.bytes.begin(), node.bytes.end());
    out_.push_back({});  // strings end in a zero
    return position;
  }

  size_t write_tables(const Tree& node) {
    const size_t position = out_.size();
    append_number(out_, static_cast<uint32_t>(node.items.size()));
    out_.resize(out_.size() + 4 * node.items.size());
    for (size_t i = 0; i < node.items.size(); ++i) point(position + 4 + 4 * i, write_node(node.items[i]));
    return position;
  }

  size_t write_table(const Tree& node) {
    const uint32_t slots = node.fields.empty() ? 0 : node.fields.rbegin()->first + 1;
    std::vector<uint16_t> vtable(slots + 2);
    uint16_t size = 4;
    for (const auto& [slot, field] : node.fields) {
      vtable[slot + 2] = size;
      size += static_cast<uint16_t>(field.kind == Tree::Kind::kNumber ? field.bytes.size() : 4);
    }
    vtable[0] = static_cast<uint16_t>(2 * vtable.size());
    vtable[1] = size;
    for (const uint16_t entry : vtable) append_number(out_, entry);
    const size_t position = out_.size();
    append_number(out_, static_cast<int32_t>(2 * vtable.size()));
    out_.resize(position + size);
    for (const auto& [slot, field] : node.fields) {
      const size_t place = position + vtable[slot + 2];
      if (field.kind == Tree::Kind::kNumber) {
        std::memcpy(out_.data() + place, field.bytes.data(), field.bytes.size());
      } else {
        point(place, write_node(field));
      }
    }
    return position;
  }

  void point(size_t from, size_t to) {
    const auto offset = static_cast<uint32_t>(to - from);
    std::memcpy(out_.data() + from, &offset, sizeof offset);
  }

  ByteVector out_;
};

}  // namespace enr::test
