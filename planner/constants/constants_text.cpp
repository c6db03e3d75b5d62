// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "planner/constants/constants.hpp"
#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/forecast/report_csv.hpp"
#include "planner/text/json.hpp"

namespace foretrain {
namespace {

constexpr const char* by_hand = "set by hand";

/// Numbers that are free, by what they are fitted to; and those set by hand.
struct Counts {
  std::map<std::string, int> free;
  int hand = 0;

  [[nodiscard]] int of(const std::string& what) const {
    const auto found = free.find(what);
    return found == free.end() ? 0 : found->second;
  }
};

Counts counts_of(const std::vector<ConstantEntry>& entries) {
  Counts counts;
  for (const ConstantEntry& entry : entries)
    if (entry.fitted)
      ++counts.free[entry.fitted->fitted_to];
    else
      ++counts.hand;
  return counts;
}

Counts counts_of(const ConstantTable& table) {
  std::vector<ConstantEntry> all;
  for (const ConstantLayer& layer : table.layers)
    all.insert(all.end(), layer.entries.begin(), layer.entries.end());
  return counts_of(all);
}

/// "151 free numbers are fitted to steps, 120 to kernels, 90 to collectives; 40 are set by hand."
std::string counts_text(const Counts& counts) {
  return fmt::format(
      "Free numbers: {} fitted to steps of training, {} to kernels alone and {} to collectives "
      "alone; {} constants are set by hand.",
      counts.of("steps"), counts.of("kernels"), counts.of("collectives"), counts.hand);
}

std::string told_text(const ConstantEntry& entry) {
  return fmt::format("{:.0f}", 100.0 * entry.told());
}

/// "mbridge 61 %, simumax 25 %".
std::string sources_of(const ConstantEntry& entry) {
  std::string text;
  for (const char c : entry.fitted->told_by)
    text += c == ';' ? std::string(" %,") : std::string(1, c);
  return text.empty() ? "no record" : text + " %";
}

std::string shared_text(const ConstantEntry& entry) {
  return entry.shared.empty() ? "" : fmt::format("; also {}", fmt::join(entry.shared, ", "));
}

AnswerTable meanings_table(const ConstantLayer& layer) {
  AnswerTable table{{words_column("key"), words_column("unit"), words_column("means")}};
  for (const ConstantMeaning& meaning : layer.meanings)
    table.add({meaning.key, meaning.unit, meaning.text});
  return table;
}

std::vector<AnswerCell> entry_cells(const ConstantEntry& entry) {
  const auto& fitted = entry.fitted;
  const std::string after = entry.deviation > 0.0 ? short_percent(entry.deviation) + " %" : "";
  if (!fitted) return {entry.key, entry.value, after, "hand", "", "", "", by_hand, ""};
  return {entry.key,
          entry.value,
          after,
          fitted->prior,
          short_percent(fitted->width) + " %",
          told_text(entry),
          std::to_string(fitted->records),
          sources_of(entry),
          fitted->from + shared_text(entry)};
}

AnswerTable entries_table(const ConstantLayer& layer, const std::string& profile) {
  AnswerTable table{{words_column("key"), number_column("value"), number_column("+-"),
                     number_column("prior"), number_column("+-"), number_column("told, %"),
                     number_column("records"), words_column("told by"),
                     words_column("prior from")}};
  table.tight = true;
  for (const ConstantEntry& entry : layer.entries)
    if (entry.profile == profile) table.add(entry_cells(entry));
  return table;
}

constexpr const char* about_columns =
    "+-: standard deviation of the logarithm, after the fit and of the prior alone (priors of "
    "priors included). told: the part of the prior's variance that records take away; below a half "
    "the prior says more than they do. records: the fewest that hold nine tenths of what records "
    "say; told by: their sources (families of runs, tables of kernels, sweeps) by what they say. "
    "Values stand in calibration/profiles (fabrics: topologies/catalog/fabrics), priors in "
    "calibration/fits/steps.yaml and beside the equations of the fits of kernels and collectives, "
    "what determined them in calibration/fits/constants.csv.";

Json entry_json(const ConstantEntry& entry) {
  Json json{{"profile", entry.profile},
            {"key", entry.key},
            {"value", entry.value},
            {"shared", entry.shared},
            {"by_hand", !entry.fitted}};
  if (!entry.fitted) return json;
  json["deviation"] = entry.deviation;
  json["prior"] = entry.fitted->prior;
  json["prior_from"] = entry.fitted->from;
  json["prior_deviation"] = entry.fitted->width;
  json["told"] = entry.told();
  json["records"] = entry.fitted->records;
  json["told_by"] = entry.fitted->told_by;
  json["fitted_to"] = entry.fitted->fitted_to;
  return json;
}

}  // namespace

Answer constants_answer(const ConstantTable& table) {
  Answer answer;
  const Counts counts = counts_of(table);
  int free = 0;
  for (const auto& [what, count] : counts.free) free += count;
  answer.head.subject = "Constants";
  answer.head.words = fmt::format("{} FITTED, {} BY HAND", free, counts.hand);
  answer.head.sentence = counts_text(counts);
  answer.head.next = "foretrain calibrate constants --kind site --markdown";
  answer.add("", AnswerLine{about_columns});
  for (const ConstantLayer& layer : table.layers) {
    answer.add("Constants of a " + layer.name, meanings_table(layer));
    std::vector<std::string> profiles;
    for (const ConstantEntry& entry : layer.entries)
      if (profiles.empty() || profiles.back() != entry.profile) profiles.push_back(entry.profile);
    for (const std::string& profile : profiles) answer.add(profile, entries_table(layer, profile));
  }
  return answer;
}

std::string constants_table_csv(const ConstantTable& table) {
  std::string csv =
      "profile,key,value,deviation,prior,prior_deviation,told,records,told_by,prior_from,shared,"
      "fitted_to\n";
  for (const ConstantLayer& layer : table.layers)
    for (const ConstantEntry& entry : layer.entries) {
      const ConstantLine line = entry.fitted.value_or(ConstantLine{});
      csv += fmt::format("{},{},{},", entry.profile, entry.key, csv_field(entry.value));
      if (entry.fitted)
        csv += fmt::format("{:.3g},{},{:.3g},{:.2f},{},", entry.deviation, csv_field(line.prior),
                           line.width, entry.told(), line.records);
      else
        csv += ",,,,,";
      csv += fmt::format("{},{},{},{}\n", csv_field(line.told_by), csv_field(line.from),
                         csv_field(fmt::format("{}", fmt::join(entry.shared, "; "))),
                         entry.fitted ? line.fitted_to : "hand");
    }
  return csv;
}

std::string constants_json(const ConstantTable& table) {
  const Counts counts = counts_of(table);
  Json layers = Json::array();
  for (const ConstantLayer& layer : table.layers) {
    Json meanings = Json::array();
    for (const ConstantMeaning& meaning : layer.meanings)
      meanings.push_back({{"key", meaning.key}, {"unit", meaning.unit}, {"means", meaning.text}});
    Json constants = Json::array();
    for (const ConstantEntry& entry : layer.entries) constants.push_back(entry_json(entry));
    layers.push_back({{"layer", layer.name},
                      {"meanings", std::move(meanings)},
                      {"constants", std::move(constants)}});
  }
  return dump({{"free",
                {{"steps", counts.of("steps")},
                 {"kernels", counts.of("kernels")},
                 {"collectives", counts.of("collectives")}}},
               {"by_hand", counts.hand},
               {"layers", std::move(layers)}});
}

}  // namespace foretrain
