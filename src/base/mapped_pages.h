#pragma once

// Advice to the system about memory: files' pages that have been read for the last time, and large pages.

#include <cstddef>

namespace enr {

// From now on [address, address + size_bytes) is a read-only mapping of a file.
void add_mapping(const void* address, size_t size_bytes);
// To be called before the mapping ends.
void remove_mapping(const void* address) noexcept;

// Says that the bytes will hardly be read again. If they lie in a mapping, its whole pages leave the process's memory;
// reading them once more fetches them from the file. Other memory is left alone. Thread-safe.
void release_pages(const void* data, size_t size_bytes) noexcept;

// Asks for large pages where memory of our own is large and read often: a small page's address is looked up in tables
// for every 4 KiB, which halves the speed of reading what no cache holds. Memory is not used earlier or more for it.
void prefer_large_pages(void* data, size_t size_bytes) noexcept;

}  // namespace enr
