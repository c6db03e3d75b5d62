// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "calibration/imports/imported_log.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Larger logs are refused; a Kineto trace of some steps has tens of MB.
inline constexpr std::size_t most_log_bytes = std::size_t{512} << 20;

/// The format that a text is in, by what only that format says; nothing: none of them.
[[nodiscard]] std::optional<LogFormat> detect_format(std::string_view text);

/// Reads a log. @param format nothing: as detect_format() finds. A text of no format, and a log
/// that yields nothing, become diagnostics under `file`.
[[nodiscard]] ImportedLog import_log(const std::string& text, const std::string& file,
                                     std::optional<LogFormat> format, const ImportOptions& options,
                                     Diagnostics& diagnostics);

}  // namespace foretrain
