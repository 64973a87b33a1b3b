#include "program/file_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "base/mapped_pages.h"
#include "base/text.h"

namespace enr::program {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

class Mapping {
 public:
  Mapping(void* address, size_t size) : address_(address), size_(size) { add_mapping(address, size); }
  ~Mapping() {
    remove_mapping(address_);
    ::munmap(address_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

 private:
  void* address_;
  size_t size_;
};

}  // namespace

std::shared_ptr<const FileData> FileData::open(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe would wait for a writer
  if (file.get() < 0) {
    if (errno == ENOENT) fail_load("no such file: ", quoted(path));
    fail_load("cannot open ", quoted(path), ": ", std::strerror(errno));
  }
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) fail_load("cannot examine ", quoted(path), ": ", std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail_load(quoted(path), " is a directory, expected a file");
  if (!S_ISREG(status.st_mode)) fail_load(quoted(path), " is not a regular file");
  if (status.st_size == 0) fail_load(quoted(path), " is empty");

  const auto size = static_cast<size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) fail_load("cannot map ", quoted(path), ": ", std::strerror(errno));
  auto owner = std::make_shared<const Mapping>(address, size);
  const Bytes bytes(static_cast<const std::byte*>(address), size);
  return std::make_shared<const FileData>(bytes, std::move(owner), true);
}

std::shared_ptr<const FileData> FileData::copy(Bytes bytes) {
  const auto buffer = std::make_shared<AlignedBuffer>(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer->data(), bytes.data(), bytes.size());
  return std::make_shared<const FileData>(Bytes(buffer->data(), bytes.size()), buffer, false);
}

std::shared_ptr<const FileData> FileData::hold(Bytes bytes, std::shared_ptr<const void> owner) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 16 != 0) return copy(bytes);
  return std::make_shared<const FileData>(bytes, std::move(owner), false);
}

}  // namespace enr::program
