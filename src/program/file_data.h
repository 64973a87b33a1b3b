#pragma once

// The bytes of a file, mapped or in memory, kept alive by everything that refers into them.

#include <memory>
#include <string>

#include "base/bytes.h"

namespace enr::program {

class FileData {
 public:
  // Maps a file read-only. Throws kProgramLoad where it is missing, a directory, unreadable or empty.
  static std::shared_ptr<const FileData> open(const std::string& path);

  // Copies the bytes into memory of its own, aligned for every element type.
  static std::shared_ptr<const FileData> copy(Bytes bytes);

  // Refers to bytes that `owner` keeps alive and unchanged; copies them only where they are not aligned to 16.
  static std::shared_ptr<const FileData> hold(Bytes bytes, std::shared_ptr<const void> owner);

  Bytes bytes() const noexcept { return bytes_; }
  bool is_mapped() const noexcept { return is_mapped_; }

  FileData(Bytes bytes, std::shared_ptr<const void> owner, bool is_mapped) noexcept
      : bytes_(bytes), owner_(std::move(owner)), is_mapped_(is_mapped) {}

 private:
  Bytes bytes_;
  std::shared_ptr<const void> owner_;
  bool is_mapped_;
};

}  // namespace enr::program
