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

/// Where the prior comes from and who says otherwise.
std::string why_text(const ConstantEntry& entry) {
  if (!entry.fitted) return by_hand;
  return fmt::format("prior {}; {} record{}: {}{}", entry.fitted->from, entry.fitted->records,
                     entry.fitted->records == 1 ? "" : "s", sources_of(entry), shared_text(entry));
}

std::string entry_lines(const ConstantEntry& entry, const TextStyle& style) {
  const auto& fitted = entry.fitted;
  const auto percent = [](double width) { return short_percent(width) + " %"; };
  std::string text = fmt::format(
      "  {:<33}{:>13}{:>8}{:>13}{:>8}{:>5}\n", entry.key, entry.value,
      entry.deviation > 0.0 ? percent(entry.deviation) : "", fitted ? fitted->prior : "hand",
      fitted ? percent(fitted->width) : "", fitted ? told_text(entry) : "");
  if (fitted) return text + hanging("      ", why_text(entry), style);
  text.erase(text.find_last_not_of(" \n") + 1);
  return text + "\n";
}

std::string legend_text(const ConstantLayer& layer, const TextStyle& style) {
  std::string text;
  for (const ConstantMeaning& meaning : layer.meanings)
    text += hanging(fmt::format("  {:<33} ", meaning.key),
                    meaning.text + (meaning.unit.empty() ? "" : " (" + meaning.unit + ")"), style);
  return text;
}

std::string layer_text(const ConstantLayer& layer, const TextStyle& style) {
  std::string text = "\n" + toned("Constants of a " + layer.name, Tone::strong, style) + "\n" +
                     legend_text(layer, style);
  std::string last;
  for (const ConstantEntry& entry : layer.entries) {
    if (entry.profile != last)
      text += fmt::format("\n{}\n  {:<33}{:>13}{:>8}{:>13}{:>8}{:>5}\n",
                          toned(entry.profile, Tone::strong, style), "", "value", "+-", "prior",
                          "+-", "told");
    last = entry.profile;
    text += entry_lines(entry, style);
  }
  return text;
}

/// Of a table cell: no bars, which end cells.
std::string table_cell(std::string text) {
  std::replace(text.begin(), text.end(), '|', '/');
  return text;
}

std::string layer_markdown(const ConstantLayer& layer) {
  std::string text = fmt::format("\n## {}{}\n\n{}\n\n| key | means | unit |\n|---|---|---|\n",
                                 static_cast<char>(std::toupper(layer.name.front())),
                                 layer.name.substr(1), counts_text(counts_of(layer.entries)));
  for (const ConstantMeaning& meaning : layer.meanings)
    text +=
        fmt::format("| `{}` | {} | {} |\n", meaning.key, table_cell(meaning.text), meaning.unit);
  std::string last;
  for (const ConstantEntry& entry : layer.entries) {
    if (entry.profile != last)
      text += fmt::format(
          "\n### {}\n\n| key | value | ± | prior | ± | told, % | records | told by | prior from |\n"
          "|---|--:|--:|--:|--:|--:|--:|---|---|\n",
          entry.profile);
    last = entry.profile;
    if (!entry.fitted) {
      text += fmt::format("| `{}` | {} | | | | | | {} | |\n", entry.key, entry.value, by_hand);
      continue;
    }
    text += fmt::format("| `{}` | {} | {} % | {} | {} % | {} | {} | {} | {}{} |\n", entry.key,
                        entry.value, short_percent(entry.deviation), entry.fitted->prior,
                        short_percent(entry.fitted->width), told_text(entry), entry.fitted->records,
                        sources_of(entry), table_cell(entry.fitted->from), shared_text(entry));
  }
  return text;
}

constexpr const char* about_columns =
    "`±`: standard deviation of the logarithm, after the fit and of the prior alone (priors of "
    "priors "
    "included). `told`: the part of the prior's variance that records take away; below a half the "
    "prior says more than they do. `records`: the fewest that hold nine tenths of what records "
    "say; "
    "`told by`: their sources (families of runs, tables of kernels, sweeps) by what they say.";

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

std::string constants_text(const ConstantTable& table, const TextStyle& style) {
  std::string plain = about_columns;
  std::erase(plain, '`');
  std::string text = hanging("", counts_text(counts_of(table)), style);
  for (const ConstantLayer& layer : table.layers) text += layer_text(layer, style);
  const std::size_t sign = plain.find("±");
  if (sign != std::string::npos && !style.unicode) plain.replace(sign, 2, "+-");
  return text + "\n" + hanging("  ", plain, style);
}

std::string constants_markdown(const ConstantTable& table) {
  std::string text = fmt::format(
      "# Constants: what they mean, and what determined them\n\n{}\n{}\n\nValues stand in "
      "`profiles/` (fabrics: `topologies/catalog/fabrics`), priors in `fits/steps.yaml` and beside "
      "the equations of the fits of kernels and collectives, what determined them in "
      "`fits/constants.csv`, which `foretrain calibrate fit --write` writes. None sits at a bound "
      "(a test).\n",
      counts_text(counts_of(table)), about_columns);
  for (const ConstantLayer& layer : table.layers) text += layer_markdown(layer);
  return text;
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
