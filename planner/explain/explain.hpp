// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/forecast/report.hpp"

namespace foretrain {

/// Something that a number was computed from.
struct ExplainInput {
  std::string path;    ///< scenario key or forecast path
  std::string value;   ///< as people read it
  std::string origin;  ///< file:line, "default", ...; "forecast" for other numbers of the forecast
};

/// Where one quantity comes from.
struct ExplainAnswer {
  std::string path;
  std::string value;  ///< with its unit; "unknown" where the forecast has none
  std::string exact;  ///< as in the JSON
  std::string meaning;
  std::string formula;
  std::vector<ExplainInput> inputs;
  std::vector<std::pair<std::string, Provenance>> constants;
  std::vector<std::pair<std::string, std::string>> parts;  ///< of a group: path, value
};

/// `quantity` is a short name ("step"), a dotted path of the JSON ("memory.stages.0.peak_bytes"), a
/// group of them ("step.breakdown"), or a scenario key ("parallel.tensor").
/// @throws UsageError with the nearest name when there is no such quantity.
[[nodiscard]] ExplainAnswer explain(const Report& report, const std::string& quantity);

/// @param source words that read the scenario again; empty: nothing comes next
[[nodiscard]] Answer explain_answer(const ExplainAnswer& explained, const std::string& source = {});
[[nodiscard]] std::string explain_json(const ExplainAnswer& answer);

/// Every quantity that explain() knows for this report, with its value and meaning.
[[nodiscard]] Answer quantities_answer(const Report& report, const std::string& source = {});
/// The same as a JSON list of {quantity, value, meaning}.
[[nodiscard]] std::string quantities_json(const Report& report);

}  // namespace foretrain
