// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Whether `text`, which starts at `mark`, is UTF-8 without control characters other than tabs and
/// line ends; the first offence is reported.
[[nodiscard]] bool check_encoding(std::string_view text, Mark mark, Diagnostics& diagnostics);

/// The value that names a file, where errors about that file are reported.
struct FileRequest {
  Mark mark;
  std::string_view path;  ///< key path of the value
};

/// The bytes of a regular file of at most `max_bytes`. Errors are reported at `asked_by`, or at
/// `name` itself where nobody's value names it.
[[nodiscard]] std::optional<std::string> read_text_file(const std::filesystem::path& file,
                                                        const std::string& name,
                                                        std::size_t max_bytes,
                                                        Diagnostics& diagnostics,
                                                        const FileRequest& asked_by = {});

/// Whether read_text_file() has read this file in this process, under whatever name: what is read
/// must not be written over.
[[nodiscard]] bool was_read(const std::filesystem::path& file);
/// Starts was_read() anew, for a process that runs one command after another.
void forget_read_files();

}  // namespace foretrain
