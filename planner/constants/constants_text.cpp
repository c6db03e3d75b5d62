// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "planner/answer/value_csv.hpp"
#include "planner/constants/constants.hpp"
#include "planner/evidence/internal/validate_report.hpp"
#include "planner/text/format.hpp"
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

/// "8 to 1,024", "8".
std::string span_text(const std::string& from, const std::string& to) {
  return from == to ? from : from + " to " + to;
}

std::string names_text(const std::vector<std::string>& names, const char* what) {
  constexpr std::size_t most = 4;
  if (names.size() > most) return fmt::format("{} {}", names.size(), what);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string parts_text(std::vector<std::string> parts) {
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// "h100-sxm5-80gb; 8 to 1,024 GPUs; 2024 to 2026; nemo", a list by its length where it is long.
std::string reach_text(const ConstantReach& reach) {
  if (!reach.least_gpus) return "";
  const std::string gpus =
      span_text(with_thousands(*reach.least_gpus), with_thousands(*reach.most_gpus));
  const std::string years = reach.first_year ? span_text(std::to_string(*reach.first_year),
                                                         std::to_string(*reach.last_year))
                                             : "year not stated";
  return parts_text({names_text(reach.devices, "devices"), gpus + (gpus == "1" ? " GPU" : " GPUs"),
                     years, names_text(reach.stacks, "stacks")});
}

/// "b200, gb200; 5 further stacks; 1,024 GPUs; back to 2021; up to 2026".
std::string beyond_text(const ReachBeyond& beyond) {
  return parts_text({fmt::format("{}", fmt::join(beyond.devices, ", ")),
                     names_text(beyond.stacks, "further stacks"),
                     beyond.gpus ? with_thousands(*beyond.gpus) + " GPUs" : "",
                     beyond.first_year ? fmt::format("back to {}", *beyond.first_year) : "",
                     beyond.last_year ? fmt::format("up to {}", *beyond.last_year) : ""});
}

std::string refuting(const ConstantLine& line) {
  return line.kept_out.empty() ? line.record : line.kept_out + " (kept out)";
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
  if (!fitted) return {entry.key, entry.value, after, "hand", "", "", "", by_hand, "", "", ""};
  return {entry.key,
          entry.value,
          after,
          fitted->prior,
          short_percent(fitted->width) + " %",
          told_text(entry),
          std::to_string(fitted->records),
          sources_of(entry),
          reach_text(fitted->reach),
          refuting(*fitted),
          fitted->from + shared_text(entry)};
}

AnswerTable entries_table(const ConstantLayer& layer, const std::string& profile) {
  AnswerTable table{{words_column("key"), number_column("value"), number_column("+-"),
                     number_column("prior"), number_column("+-"), number_column("told, %"),
                     number_column("records"), words_column("told by"), words_column("measured on"),
                     words_column("would refute it"), words_column("prior from")}};
  table.layout.apart = 1;
  for (const ConstantEntry& entry : layer.entries)
    if (entry.profile == profile) table.add(entry_cells(entry));
  return table;
}

AnswerFacts about_columns() {
  AnswerFacts facts;
  facts.label_columns = 16;
  facts.add("+-",
            "standard deviation of the logarithm, after the fit and of the prior alone (priors of "
            "priors included)");
  facts.add("told",
            "the part of the prior's variance that records take away; below a half the prior says "
            "more than they do");
  facts.add("records", "the fewest that hold nine tenths of what records say");
  facts.add("told by",
            "their sources (families of runs, tables of kernels, sweeps) by what they say");
  facts.add("measured on",
            "where those records are from: devices, GPUs, years of the software, stacks with their "
            "training loops; of lists above four the length (--json has all)");
  facts.add("would refute it",
            "the record that the constant moves most: one that no fit reads (kept out), if a "
            "deviation moves any by 0.4 %, else the fitted one that says most of it; besides, any "
            "measurement where it is used beyond what was measured (the last section)");
  facts.add("where",
            "values in calibration/profiles (fabrics: topologies/catalog/fabrics), priors in "
            "calibration/fits/steps.yaml and beside the equations of the fits of kernels and "
            "collectives, the rest in calibration/fits/constants.csv");
  return facts;
}

/// Fitted constants by what they are used for beyond what they were measured on.
struct Farther {
  int fitted = 0;
  int silent = 0;  ///< that no record tells
  int any = 0;
  int devices = 0;
  int stacks = 0;
  int gpus = 0;
  int years = 0;
  int undated = 0;  ///< of records whose year no source states
};

Farther count_farther(const ConstantTable& table) {
  Farther counts;
  for (const ConstantLayer& layer : table.layers)
    for (const ConstantEntry& entry : layer.entries) {
      if (!entry.fitted) continue;
      const ReachBeyond beyond = entry.farther();
      counts.fitted += 1;
      counts.silent += entry.fitted->records == 0 ? 1 : 0;
      counts.any += beyond.any() ? 1 : 0;
      counts.devices += beyond.devices.empty() ? 0 : 1;
      counts.stacks += beyond.stacks.empty() ? 0 : 1;
      counts.gpus += beyond.gpus ? 1 : 0;
      counts.years += beyond.first_year || beyond.last_year ? 1 : 0;
      counts.undated += entry.fitted->reach.least_gpus && !entry.fitted->reach.first_year ? 1 : 0;
    }
  return counts;
}

std::string farther_text(const Farther& counts) {
  return fmt::format(
      "Runs that ship with the program use {} of {} fitted constants beyond what they were "
      "measured "
      "on: {} on further devices, {} with further stacks, {} on more than twice the GPUs, {} with "
      "software of earlier or later years; of {} no source states the year. No record says "
      "anything "
      "of {}: they are their priors. Such constants are right there only if they mean what their "
      "names say; a measurement there refutes them.",
      counts.any, counts.fitted, counts.devices, counts.stacks, counts.gpus, counts.years,
      counts.undated, counts.silent);
}

/// Constants of a profile that are measured on the same and used beyond it on the same.
struct FartherKeys {
  std::string profile;
  std::vector<std::string> keys;
  std::string measured_on;
  std::string beyond;
  double least = 1.0;  ///< share that records say
  double most = 0.0;
};

std::vector<FartherKeys> farther_keys(const ConstantLayer& layer) {
  std::vector<FartherKeys> all;
  for (const ConstantEntry& entry : layer.entries) {
    const ReachBeyond beyond = entry.farther();
    if (!beyond.any()) continue;
    const FartherKeys one{entry.profile, {}, reach_text(entry.fitted->reach), beyond_text(beyond)};
    const auto alike = [&](const FartherKeys& other) {
      return std::tie(one.profile, one.measured_on, one.beyond) ==
             std::tie(other.profile, other.measured_on, other.beyond);
    };
    auto found = std::ranges::find_if(all, alike);
    if (found == all.end()) found = all.insert(all.end(), one);
    found->keys.push_back(entry.key);
    found->least = std::min(found->least, entry.told());
    found->most = std::max(found->most, entry.told());
  }
  return all;
}

AnswerTable farther_table(const ConstantLayer& layer) {
  AnswerTable table{{words_column("profile"), words_column("measured on"),
                     words_column("also used on"), number_column("told, %"),
                     words_column("constants")}};
  table.layout.apart = 1;
  const auto percent = [](double share) { return fmt::format("{:.0f}", 100.0 * share); };
  for (const FartherKeys& alike : farther_keys(layer))
    table.add({alike.profile, alike.measured_on, alike.beyond,
               span_text(percent(alike.least), percent(alike.most)),
               fmt::format("{}", fmt::join(alike.keys, ", "))});
  return table;
}

void add_farther(const ConstantTable& table, Answer& answer) {
  AnswerSection section{"Used beyond what was measured",
                        {AnswerLine{farther_text(count_farther(table))}}};
  for (const ConstantLayer& layer : table.layers)
    if (AnswerTable rows = farther_table(layer); !rows.rows.empty())
      section.blocks.emplace_back(std::move(rows));
  answer.add(std::move(section));
}

Json optional_json(const std::optional<int>& value) { return value ? Json(*value) : Json(nullptr); }

Json reach_json(const ConstantReach& reach) {
  return {{"devices", reach.devices},
          {"least_gpus", optional_json(reach.least_gpus)},
          {"most_gpus", optional_json(reach.most_gpus)},
          {"first_year", optional_json(reach.first_year)},
          {"last_year", optional_json(reach.last_year)},
          {"stacks", reach.stacks}};
}

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
  json["measured_on"] = reach_json(entry.fitted->reach);
  json["used_on"] = reach_json(entry.used);
  json["record"] = entry.fitted->record;
  json["kept_out"] = entry.fitted->kept_out;
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
  answer.add("", about_columns());
  for (const ConstantLayer& layer : table.layers) {
    answer.add("Constants of a " + layer.name, meanings_table(layer));
    std::vector<std::string> profiles;
    for (const ConstantEntry& entry : layer.entries)
      if (profiles.empty() || profiles.back() != entry.profile) profiles.push_back(entry.profile);
    for (const std::string& profile : profiles) answer.add(profile, entries_table(layer, profile));
  }
  add_farther(table, answer);
  return answer;
}

std::string constants_table_csv(const ConstantTable& table) {
  std::string csv =
      "profile,key,value,deviation,prior,prior_deviation,told,records,told_by,prior_from,shared,"
      "fitted_to,measured_on,used_beyond,record,kept_out\n";
  for (const ConstantLayer& layer : table.layers)
    for (const ConstantEntry& entry : layer.entries) {
      const ConstantLine line = entry.fitted.value_or(ConstantLine{});
      csv += fmt::format("{},{},{},", entry.profile, entry.key, csv_field(entry.value));
      if (entry.fitted)
        csv += fmt::format("{:.3g},{},{:.3g},{:.2f},{},", entry.deviation, csv_field(line.prior),
                           line.width, entry.told(), line.records);
      else
        csv += ",,,,,";
      csv += fmt::format("{},{},{},{},", csv_field(line.told_by), csv_field(line.from),
                         csv_field(fmt::format("{}", fmt::join(entry.shared, "; "))),
                         entry.fitted ? line.fitted_to : "hand");
      csv += fmt::format("{},{},{},{}\n", csv_field(reach_text(line.reach)),
                         csv_field(beyond_text(entry.farther())), csv_field(line.record),
                         csv_field(line.kept_out));
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
