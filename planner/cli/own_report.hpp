// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace foretrain {

// How a report of Foretrain is known as such: JSON by its "schema" ("prediction/1"), version or
// tool; pages and pictures by their generator; gzip by what is in it; CSV by its header, which must
// be that of the new file; manual pages by their title; everything else by a last line
// "foretrain VERSION".

/// The text as it goes into a file: a report in words gets its last line.
[[nodiscard]] std::string signed_report(std::string_view text);

/// Whether a file may hold a report: CSV of anybody still may. Empty files count.
[[nodiscard]] bool may_be_report(const std::filesystem::path& file);

/// Whether a file is an earlier report that `text` may replace.
[[nodiscard]] bool is_earlier_report(const std::filesystem::path& file, std::string_view text);

}  // namespace foretrain
