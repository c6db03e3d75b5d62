// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/inputs/band_table.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Where the table lies below a catalog root.
inline constexpr const char* band_table_path = "calibration/fits/bands.yaml";

/// Reads a table; `name` is what messages call the file. Every kind has to be there, once.
[[nodiscard]] std::optional<BandTable> read_band_table(const std::string& text,
                                                       const std::string& name,
                                                       Diagnostics& diagnostics);
/// The table as its file, `about` (lines without #) at its head.
[[nodiscard]] std::string band_table_text(const BandTable& table, const std::string& about);

/// The table of the first root that has one, read once. Nothing, with a message, where none has.
[[nodiscard]] std::shared_ptr<const BandTable> load_band_table(
    const std::vector<std::filesystem::path>& roots, Diagnostics& diagnostics);

}  // namespace foretrain
