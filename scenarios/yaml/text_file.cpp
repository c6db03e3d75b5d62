// SPDX-License-Identifier: Apache-2.0
#include "scenarios/yaml/text_file.hpp"

#include <sys/stat.h>

#include <array>
#include <fstream>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

using FileId = std::pair<dev_t, ino_t>;

/// The files that were read, as the system numbers them.
class FilesRead {
 public:
  void add(const FileId& file) {
    const std::lock_guard lock(mutex_);
    files_.insert(file);
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    files_.clear();
  }
  [[nodiscard]] bool has(const FileId& file) {
    const std::lock_guard lock(mutex_);
    return files_.count(file) > 0;
  }

 private:
  std::mutex mutex_;
  std::set<FileId> files_;
};

FilesRead& files_read() {
  static FilesRead files;
  return files;
}

std::optional<FileId> id_of(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return std::nullopt;
  return FileId{status.st_dev, status.st_ino};
}

}  // namespace

bool check_encoding(std::string_view text, Mark mark, Diagnostics& diagnostics) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t length = utf8_length(text, at);
    const bool control =
        (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F;
    if (length == 0 || control) {
      diagnostics.add(mark, {},
                      length == 0 ? "not UTF-8 text; save the file in the encoding UTF-8"
                                  : fmt::format("control character 0x{:02x}", byte));
      return false;
    }
    if (byte == '\n') {
      ++mark.line;
      mark.column = 1;
    } else {
      ++mark.column;
    }
    at += length;
  }
  return true;
}

std::optional<std::string> read_text_file(const std::filesystem::path& file,
                                          const std::string& name, std::size_t max_bytes,
                                          Diagnostics& diagnostics, const FileRequest& asked_by) {
  const auto fail = [&](const std::string& why) {
    if (asked_by.mark.file)
      diagnostics.add(asked_by.mark, asked_by.path,
                      fmt::format("cannot read '{}': {}", escaped(name), why));
    else
      diagnostics.add({name, 0, 0, {}, why});
    return std::nullopt;
  };
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) return fail("no such file");
  if (std::filesystem::is_directory(status)) return fail("it is a folder, not a file");
  if (!std::filesystem::is_regular_file(status)) return fail("it is not a regular file");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return fail("permission denied, or it cannot be opened");
  if (const auto id = id_of(file)) files_read().add(*id);
  // Reads on past the limit rather than trusting the size that the system reports.
  std::string text;
  std::array<char, 16384> piece{};
  do {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
  } while (stream && text.size() <= max_bytes);
  if (stream.bad()) return fail("reading failed");
  if (text.size() > max_bytes)
    return fail(fmt::format("it is larger than {} bytes, which is the limit", max_bytes));
  return text;
}

void forget_read_files() { files_read().clear(); }

bool was_read(const std::filesystem::path& file) {
  const auto id = id_of(file);
  return id && files_read().has(*id);
}

}  // namespace foretrain
