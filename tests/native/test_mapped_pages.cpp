// Pages of mapped files can be given back; nothing else is touched.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/mapped_pages.h"
#include "program/file_data.h"

TEST_CASE("mapped pages: released pages read as the file again") {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "enr_mapped_pages_test.bin";
  std::vector<char> content(1 << 20);
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 + i / 4096);
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
  {
    const auto file = enr::program::FileData::open(path.string());
    const auto* data = reinterpret_cast<const char*>(file->bytes().data());
    CHECK(std::equal(content.begin(), content.end(), data));
    enr::release_pages(data + 100, content.size() - 200);
    CHECK(std::equal(content.begin(), content.end(), data));
    // Beyond the file's end, and backwards over its start: left alone.
    enr::release_pages(data + content.size() - 10, 1 << 30);
    enr::release_pages(data - 4096, 4096);
    CHECK(std::equal(content.begin(), content.end(), data));
  }
  std::filesystem::remove(path);
}

TEST_CASE("mapped pages: memory that is no mapping keeps its content") {
  std::vector<char> heap(1 << 20, 'x');
  enr::release_pages(heap.data(), heap.size());
  CHECK(std::all_of(heap.begin(), heap.end(), [](char c) { return c == 'x'; }));
  enr::add_mapping(heap.data() + 8192, 4096);
  enr::remove_mapping(heap.data() + 8192);
  enr::release_pages(heap.data() + 8192, 4096);
  CHECK(std::all_of(heap.begin(), heap.end(), [](char c) { return c == 'x'; }));
}
