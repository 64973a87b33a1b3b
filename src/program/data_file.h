#pragma once

// .ptd files: constants outside of the program, by name.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/dtype.h"
#include "program/file_data.h"

namespace enr::program {

struct DataLayout {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> dim_order;

  bool operator==(const DataLayout&) const = default;
};

struct DataEntry {
  Bytes bytes;
  std::optional<DataLayout> layout;  // absent for data that only a delegate understands
};

// The entries of one or more data files.
struct DataMap {
  std::map<std::string, DataEntry, std::less<>> entries;
  std::vector<std::shared_ptr<const void>> keep_alive;

  // Adds all entries of a .ptd; an entry that is already there with the same data is kept. Throws kProgramLoad, leaving
  // the map as it was, where the file is invalid, is of the older layout that ExecuTorch 0.6 wrote, or has other data
  // for a key that is already there.
  void add(std::shared_ptr<const FileData> file);
};

}  // namespace enr::program
