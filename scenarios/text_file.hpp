// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/diagnostics.hpp"

namespace foretrain {

/// Whether `text`, which starts at `mark`, is UTF-8 without control characters other than tabs and
/// line ends; the first offence is reported.
[[nodiscard]] bool check_encoding(std::string_view text, Mark mark, Diagnostics& diagnostics);

/// The bytes of a regular file of at most `max_bytes`; errors are reported at `blame`, or at `name`
/// itself when `blame` has no file.
[[nodiscard]] std::optional<std::string> read_text_file(
    const std::filesystem::path& file, const std::string& name, std::size_t max_bytes,
    Diagnostics& diagnostics, const Mark& blame = {}, std::string_view path = {});

}  // namespace foretrain
