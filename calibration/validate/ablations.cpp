// SPDX-License-Identifier: Apache-2.0
#include "calibration/validate/ablations.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "calibration/records/measured_data.hpp"

namespace foretrain {
namespace {

const FieldTable& ablation_fields() {
  static const FieldTable table(
      "Ablation pairs",
      {schema_field(),
       {.path = "pairs", .kind = FieldKind::list, .help = "Runs that differ in one choice."},
       {.path = "pairs[].what",
        .kind = FieldKind::choice,
        .help = "The choice.",
        .example = "routing",
        .required = true,
        .choices = {"routing", "dispatcher", "expert overlap", "tensor overlap", "recompute"}},
       {.path = "pairs[].before",
        .help = "Id of the record without it.",
        .example = "mcorezoo-qwen3-235b-deepep-1",
        .required = true},
       {.path = "pairs[].after",
        .help = "Id of the record with it.",
        .example = "mcorezoo-qwen3-235b-deepep-1f1b",
        .required = true},
       {.path = "pairs[].besides",
        .help = "What else differs; left out, nothing that the source tells of.",
        .example = "CUDA graphs"}});
  return table;
}

constexpr double noise = 0.02;  // of repeated runs; calibration/README.md

}  // namespace

bool AblationCheck::has_sign() const { return why.empty() && std::abs(measured) >= noise; }

bool AblationCheck::right_size() const {
  return std::abs(predicted - measured) <= std::abs(measured) / 3.0;
}

std::vector<AblationPair> ablation_pairs() {
  Diagnostics diagnostics;
  const FieldValues values = read_measured_data("ablations.yaml", ablation_fields(), diagnostics);
  diagnostics.throw_if_any();
  std::vector<AblationPair> pairs;
  for (int i = 0; i < values.list_size("pairs"); ++i) {
    const std::string at = fmt::format("pairs[{}].", i);
    pairs.push_back({values.at(at + "what").text, values.text(at + "before"),
                     values.text(at + "after"),
                     values.has(at + "besides") ? values.text(at + "besides") : ""});
  }
  return pairs;
}

std::vector<AblationCheck> check_ablations(const std::vector<AblationPair>& pairs,
                                           const std::vector<RecordCheck>& checks) {
  std::map<std::string, const RecordCheck*> steps;
  for (const RecordCheck& check : checks)
    if (check.quantity == step_quantity) steps.emplace(check.id, &check);
  std::vector<AblationCheck> judged;
  for (const AblationPair& pair : pairs) {
    AblationCheck result{pair};
    std::array<const RecordCheck*, 2> runs{};
    for (const std::size_t side : {0U, 1U}) {
      const std::string& id = side == 0 ? pair.before : pair.after;
      const auto found = steps.find(id);
      if (found == steps.end())
        result.why = "no step time of " + id;
      else if (found->second->skipped)
        result.why = id + ": " + found->second->why;
      else
        runs[side] = found->second;
    }
    if (runs[0] != nullptr && runs[1] != nullptr) {
      result.measured = runs[1]->measured / runs[0]->measured - 1.0;
      result.predicted = runs[1]->predicted / runs[0]->predicted - 1.0;
    }
    judged.push_back(std::move(result));
  }
  return judged;
}

std::vector<AblationSummary> summarize(const std::vector<AblationCheck>& checks) {
  std::vector<AblationSummary> kinds;
  for (const AblationCheck& check : checks) {
    if (!check.why.empty()) continue;
    auto kind = std::ranges::find_if(
        kinds, [&](const AblationSummary& one) { return one.what == check.pair.what; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {check.pair.what});
    if (!check.has_sign()) {
      ++kind->small;
      continue;
    }
    ++kind->pairs;
    if (check.right_sign()) ++kind->signs;
    if (check.right_size()) ++kind->sizes;
  }
  return kinds;
}

}  // namespace foretrain
