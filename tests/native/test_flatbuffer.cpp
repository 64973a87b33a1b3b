#include <doctest/doctest.h>

#include "base/flatbuffer.h"
#include "base/text.h"
#include "flatbuffer_writer.h"

namespace {

using namespace enr;
using namespace enr::test;

TEST_CASE("text: valid and invalid UTF-8") {
  CHECK(is_valid_utf8(""));
  CHECK(is_valid_utf8("aten::add.out"));
  CHECK(is_valid_utf8("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"));
  CHECK_FALSE(is_valid_utf8("\x80"));              // a continuation alone
  CHECK_FALSE(is_valid_utf8("\xc3"));              // cut short
  CHECK_FALSE(is_valid_utf8("\xc0\xaf"));          // overlong
  CHECK_FALSE(is_valid_utf8("\xe0\x80\xaf"));      // overlong
  CHECK_FALSE(is_valid_utf8("\xed\xa0\x80"));      // surrogate
  CHECK_FALSE(is_valid_utf8("\xf4\x90\x80\x80"));  // beyond the last code point
}

TEST_CASE("text: quoted for messages") {
  CHECK(quoted("add") == "'add'");
  CHECK(quoted("a\nb\xff") == "'a\\x0ab\\xff'");
  CHECK(quoted("\xe2\x82\xac") == "'\xe2\x82\xac'");
  CHECK(quoted(std::string(1000, 'x')).size() < 130);
  CHECK(is_valid_utf8(quoted(std::string(119, 'x') + "\xe2\x82\xac\xe2\x82\xac")));
}

TEST_CASE("flatbuffer: fields, defaults and vectors") {
  const ByteVector bytes = FlatbufferWriter::write(
      table({{0, number(int32_t{-5})}, {2, numbers<int16_t>({1, -2, 3})}, {3, text("name")}, {5, tables({table({})})}}),
      "TEST");
  const flatbuffer::Buffer buffer(bytes, "buffer");
  CHECK(buffer.has_identifier("TEST"));
  const flatbuffer::Table root = buffer.root();
  CHECK(root.scalar<int32_t>({0, "a"}) == -5);
  CHECK(root.scalar<int32_t>({1, "b"}, 7) == 7);
  CHECK(root.scalar<int32_t>({99, "c"}, 8) == 8);
  CHECK(root.vector<int16_t>({2, "d"})[1] == -2);
  CHECK(root.string({3, "e"}) == "name");
  CHECK(root.string({4, "f"}).empty());
  CHECK(root.tables({5, "g"}).size() == 1);
  CHECK_FALSE(root.table({1, "b"}).has_value());
  CHECK_THROWS_WITH(root.required_table({1, "b"}), "b: missing");
}

TEST_CASE("flatbuffer: ranges that overflow are out of range") {
  CHECK(is_range_within(0, 0, 0));
  CHECK(is_range_within(4, 4, 8));
  CHECK_FALSE(is_range_within(5, 4, 8));
  CHECK_FALSE(is_range_within(~uint64_t{0}, 2, 8));
  CHECK_FALSE(is_range_within(2, ~uint64_t{0}, 8));
}

}  // namespace
