// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/measured_data.hpp"

#include <filesystem>
#include <optional>

#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {

FieldValues read_measured_data(const std::string& name, const FieldTable& table,
                               Diagnostics& diagnostics) {
  const std::filesystem::path below = std::filesystem::path("calibration/measured") / name;
  const auto roots = catalog_roots({}, diagnostics);
  diagnostics.throw_if_any();
  const YamlLimits limits;
  const auto text =
      read_text_file(roots.front() / below, below.generic_string(), limits.file_bytes, diagnostics);
  const auto root = text ? parse_yaml(*text, below.generic_string(), limits, diagnostics)
                         : std::optional<YamlNode>{};
  diagnostics.throw_if_any();
  FieldValues values = read_fields(*root, table, diagnostics);
  diagnostics.throw_if_any();
  return values;
}

}  // namespace foretrain
