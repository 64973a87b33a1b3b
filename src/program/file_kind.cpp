#include "program/file_kind.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace enr::program {

namespace {

struct Mark {
  size_t offset;
  std::string_view bytes;
  const char* description;
};

constexpr Mark kMarks[] = {
    {4, "ET12", "an ExecuTorch program (.pte)"},
    {4, "FT01", "a tensor data file (.ptd): it holds weights for a program, pass it as the program's data"},
    {4, "BP08", "a bundled program (.bpte): a program with its test inputs"},
    {4, "ED00", "an ETDump profile (.etdp)"},
    {4, "TFL3", "a TensorFlow Lite model"},
    {4, "XN01", "the payload of an XNNPACK delegate"},
    {4, "XH00", "the payload of an XNNPACK delegate"},
    {0, "PK\x03\x04",
     "a zip archive, as torch.save() and torch.export.save() write (.pt, .pth, .pt2): export it to ExecuTorch first"},
    {0, "version https://git-lfs", "a git-lfs pointer: fetch the file itself with 'git lfs pull'"},
    {0, "\x80\x02", "a Python pickle, as old torch.save() wrote"},
    {0, "\x80\x04", "a Python pickle"},
    {0, "\x1f\x8b", "a gzip archive: unpack it first"},
    {0,
     "\xfd"
     "7zXZ",
     "an xz archive: unpack it first"},
    {0, "\x28\xb5\x2f\xfd", "a zstd archive: unpack it first"},
    {0, "GGUF", "a GGUF model"},
    {0, "\x93NUMPY", "a numpy array (.npy)"},
    {0,
     "\x7f"
     "ELF",
     "an ELF binary"},
    {0, "\x89HDF", "an HDF5 file"},
    {0, "<?xml", "an XML document"},
    {0, "\xff\xfe", "UTF-16 text, perhaps bytes that a shell redirected as text"},
    {0, "\xfe\xff", "UTF-16 text, perhaps bytes that a shell redirected as text"},
};

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_html(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (start == std::string_view::npos) return false;
  std::string head(text.substr(start, 14));
  std::transform(head.begin(), head.end(), head.begin(), lower);
  return head.starts_with("<!doctype html") || head.starts_with("<html") || head.starts_with("<head");
}

// UTF-8 without control characters but those of layout. The last character may be cut where the text is the start of a
// longer one.
bool is_plain_text(std::string_view text) {
  for (const char c : text) {
    if ((c >= 0 && c < ' ' && c != '\n' && c != '\r' && c != '\t') || c == '\x7f') return false;
  }
  for (size_t cut = 0; cut < 4 && cut < text.size(); ++cut) {
    if (is_valid_utf8(text.substr(0, text.size() - cut))) return true;
  }
  return false;
}

// The first line, for the message: error pages say there what went wrong.
std::string_view first_line(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (start == std::string_view::npos) return "";
  return text.substr(start, text.find_first_of("\r\n", start) - start);
}

}  // namespace

std::string describe_file(Bytes bytes) {
  const std::string_view text = as_text(bytes.first(std::min<size_t>(bytes.size(), 4096)));
  for (const Mark& mark : kMarks) {
    if (text.size() >= mark.offset && text.substr(mark.offset).starts_with(mark.bytes)) return mark.description;
  }
  if (is_html(text)) return "an HTML page, perhaps the answer of a download that failed";
  if (text.size() > 9 && text[8] == '{' && text[9] == '"') return "a safetensors file";
  if (text.find_first_not_of('\0') == std::string_view::npos) return "all zeros, perhaps of a download that failed";
  if (text.size() >= 8 && text.substr(4, 2) == "ET" && text[6] >= '0' && text[6] <= '9' && text[7] >= '0' &&
      text[7] <= '9') {
    return concat("an ExecuTorch program of another format, ", quoted(text.substr(4, 4)));
  }
  if (text.size() >= 8 && is_plain_text(text)) {
    return concat("text, perhaps the answer of a download that failed; it begins with ", quoted(first_line(text)));
  }
  return "";
}

void fail_wrong_file(Bytes bytes, const char* expected, const char* identifier) {
  if (bytes.empty()) fail_load("not ", expected, ": the file is empty");
  const std::string description = describe_file(bytes);
  if (!description.empty()) fail_load("not ", expected, ": this looks like ", description);
  if (bytes.size() < 8) fail_load("not ", expected, ": file truncated: needs 8 bytes at least, has ", bytes.size());
  fail_load("not ", expected, ": bytes 4 to 7 are ", quoted(as_text(bytes.subspan(4, 4))), ", expected '", identifier,
            "'");
}

}  // namespace enr::program
