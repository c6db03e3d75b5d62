// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "planner/explain/catalog_text.hpp"
#include "planner/forecast/plan_moves.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/page/compare.hpp"
#include "planner/page/internal/page_parts.hpp"
#include "planner/text/format.hpp"
#include "planner/text/quoting.hpp"

namespace foretrain {
namespace {

constexpr std::ptrdiff_t few_catalog_values = 6;
constexpr std::size_t most_named_values = 3;
constexpr std::size_t most_rows = 8;
constexpr double least_share = 0.0005;  // of the first side's step: below it a part has no line

AnswerSection sides_section(const Comparison& c) {
  AnswerSection section{"Sides"};
  AnswerTable table{{words_column(), words_column(), words_column(), words_column()}};
  std::vector<AnswerBlock> settings;
  std::vector<AnswerBlock> reasons;
  for (std::size_t side = 0; side < c.reports.size(); ++side) {
    const Report& report = c.reports[side];
    table.add({side_name(side),
               {verdict_words(report), tone_of(run_verdict(report))},
               report.scenario.job.name,
               report.scenario.path});
    if (std::string changed = overrides_text(report.scenario); !changed.empty())
      settings.emplace_back(AnswerCode{std::move(changed), side_name(side)});
    for (const Infeasible& reason : report.prediction.reasons)
      reasons.emplace_back(AnswerLine{
          reason.message + (reason.remedy.empty() ? "" : "; what helps: " + reason.remedy),
          side_name(side) + ": ", Tone::bad});
  }
  section.blocks.emplace_back(std::move(table));
  for (const std::vector<AnswerBlock>* blocks : {&settings, &reasons})
    section.blocks.insert(section.blocks.end(), blocks->begin(), blocks->end());
  return section;
}

AnswerTable figures_table(const Comparison& c) {
  const bool pair = c.reports.size() == 2;
  AnswerTable table{{words_column(), number_column("A")}};
  table.layout.stubs = 2;
  table.layout.group = pair ? 3 : 2;
  for (std::size_t side = 1; side < c.reports.size(); ++side) {
    table.columns.push_back(number_column(side_name(side)));
    if (pair) table.columns.push_back(number_column(side_name(side) + " - A"));
    table.columns.push_back(number_column(side_name(side) + " / A"));
  }
  for (const ComparedFigure& figure : c.figures) {
    std::vector<AnswerCell> row{figure.label, figure.text(0)};
    for (std::size_t side = 1; side < c.reports.size(); ++side) {
      row.emplace_back(figure.text(side));
      if (pair) row.emplace_back(figure.difference(side));
      row.emplace_back(figure.ratio(side));
    }
    table.add(std::move(row));
  }
  return table;
}

std::string signed_text(Seconds time) {
  if (time == Seconds{}) return "0";
  return (time < Seconds{} ? "-" : "+") + seconds_text(time < Seconds{} ? -time : time);
}

struct StepChange {
  std::string label;
  Seconds time;
};

/// The parts that changed; what is too small for a line of its own is summed into one.
std::vector<StepChange> step_changes(const Comparison& c, std::size_t side, Seconds from) {
  std::vector<StepChange> changes;
  Seconds small;
  for (const ComparedPart& part : c.parts) {
    const Seconds change = *part.times[side] - *part.times[0];
    if (std::abs(change / from) < least_share)
      small += change;
    else
      changes.push_back({part.label, change});
  }
  if (std::abs(small / from) >= least_share) changes.push_back({"other parts", small});
  return changes;
}

/// Left edge of the bars, so that small changes of a long step still show.
double bar_floor(const std::vector<StepChange>& changes, Seconds from) {
  Seconds least = from;
  Seconds most = from;
  Seconds at = from;
  for (const StepChange& change : changes) {
    at += change.time;
    least = min(least, at);
    most = max(most, at);
  }
  const double floor = least.value() - 0.5 * (most - least).value();
  return floor < 0.3 * least.value() ? 0.0 : floor;
}

/// From the step of the first side to that of another.
AnswerSection step_section(const Comparison& c, std::size_t side) {
  AnswerSection section{"What changed in the step, from A to " + side_name(side)};
  const auto& first = c.reports.front().prediction.step;
  const auto& other = c.reports[side].prediction.step;
  if (!first || !other || c.parts.empty()) return section;
  const auto changes = step_changes(c, side, first->time);
  double most = std::max(first->time.value(), other->time.value());
  Seconds at = first->time;
  for (const StepChange& change : changes) most = std::max(most, (at += change.time).value());
  const double floor = bar_floor(changes, first->time);
  const auto place = [&](Seconds time) { return (time.value() - floor) / (most - floor); };
  AnswerTable table{{words_column(), number_column(), number_column(), words_column()}};
  const auto line = [&](const std::string& label, const std::string& time, Seconds change,
                        AnswerBar bar) {
    const Tone tone = change == Seconds{}  ? Tone::plain
                      : change < Seconds{} ? Tone::good
                                           : Tone::bad;
    const std::string share =
        change == Seconds{}
            ? ""
            : (change < Seconds{} ? "-" : "+") + percent_text(std::abs(change / first->time));
    table.add({label, time, share, {bar, tone}});
  };
  const auto whole = [&](Seconds time) {
    AnswerBar bar{0.0, place(time)};
    bar.broken = floor > 0.0;
    return bar;
  };
  line("A", seconds_text(first->time), Seconds{}, whole(first->time));
  at = first->time;
  for (const StepChange& change : changes) {
    line(change.label, signed_text(change.time), change.time, {place(at), place(at + change.time)});
    at += change.time;
  }
  line("= " + side_name(side), seconds_text(other->time), other->time - first->time,
       whole(other->time));
  section.blocks.emplace_back(std::move(table));
  if (floor > 0.0)
    section.blocks.emplace_back(
        AnswerLine{"Bars start at " + seconds_text(Seconds{floor}) + ", behind the break."});
  return section;
}

/// What decides whether the lead of one side over another is real.
AnswerSection conditions_section(const Comparison& c) {
  AnswerSection section{"What the difference depends on"};
  if (c.reports.size() != 2) return section;
  const bool swapped = c.reports[1].prediction.step && c.reports[0].prediction.step &&
                       c.reports[1].prediction.step->time < c.reports[0].prediction.step->time;
  const Report& fast = c.reports[swapped ? 1 : 0];
  const Report& slow = c.reports[swapped ? 0 : 1];
  if (fast.prediction.step && slow.prediction.step && fast.prediction.flops &&
      slow.prediction.flops)
    section.blocks.emplace_back(AnswerList{conditions_of_gain(fast, slow)});
  return section;
}

/// Where the constants come from; what two sides share is told once.
AnswerTable evidence_table(const Comparison& c) {
  AnswerTable table{{words_column(), words_column(), words_column("source and error")}};
  std::vector<std::array<std::string, 3>> rows;
  for (std::size_t side = 0; side < c.reports.size(); ++side)
    if (!c.reports[side].study)
      for (const auto& line : provenance_lines(c.reports[side].prediction)) {
        const auto same = std::find_if(rows.begin(), rows.end(), [&](const auto& row) {
          return row[1] == line.first && row[2] == line.second;
        });
        if (same != rows.end())
          (*same)[0] += ", " + side_name(side);
        else
          rows.push_back({side_name(side), line.first, line.second});
      }
  for (const auto& row : rows) table.add({row[0], row[1], row[2]});
  return table;
}

void add_setting(const Comparison& c, const ComparedSetting& setting, AnswerTable& table) {
  bool head = true;
  for (std::size_t side = 0; side < setting.values.size(); ++side) {
    const auto& value = setting.values[side];
    table.add({head ? setting.path : "", side_name(side), value ? value->value : "-",
               value ? short_origin(c.reports[side].scenario, value->origin) : ""});
    head = false;
  }
}

/// The value at a path of a side; nothing where it has none.
std::string value_at(const Scenario& scenario, const std::string& path) {
  for (const ResolvedValue& value : scenario.values)
    if (value.path == path) return value.value;
  return "";
}

/// What the values of all sides are: "80 GiB -> 180 GiB"; once what is the same.
std::string side_by_side(const std::vector<std::string>& values) {
  if (std::count(values.begin(), values.end(), values.front()) ==
      static_cast<std::ptrdiff_t>(values.size()))
    return values.front();
  return fmt::format("{}", fmt::join(values, " -> "));
}

/// Path of the entry that a catalog value came with: the longest part of it that names one, else
/// its first word ("device_profile").
std::string entry_of(const Comparison& c, const std::string& path) {
  for (std::size_t end = path.rfind('.'); end != std::string::npos;
       end = path.rfind('.', end - 1)) {
    const std::string part = path.substr(0, end);
    for (const Report& report : c.reports)
      if (!value_at(report.scenario, part).empty()) return part;
  }
  return path.substr(0, path.find('.'));
}

/// What people know an entry by comes first, where its numbers come from last.
std::size_t place_of(const std::string& key) {
  constexpr std::array<std::string_view, 10> known{
      "device",        "memory.capacity", "memory.bandwidth",     "peak.bf16",      "bandwidth",
      "scale_up.link", "layers",          "gemm.bf16.efficiency", "attention.rate", "hidden"};
  if (key.starts_with("provenance.")) return known.size() + 1;
  return static_cast<std::size_t>(std::find(known.begin(), known.end(), key) - known.begin());
}

/// "h100-sxm5-80gb -> b200, 13 values differ: memory.capacity 80 GiB -> 180 GiB, ..., 10 more".
std::string entry_text(const Comparison& c, const std::string& entry,
                       std::vector<const ComparedSetting*> settings) {
  const auto key = [&](const ComparedSetting* setting) {
    return setting->path.substr(entry.size() + 1);
  };
  std::stable_sort(settings.begin(), settings.end(), [&](const auto* a, const auto* b) {
    return place_of(key(a)) < place_of(key(b));
  });
  std::vector<std::string> names;
  for (const Report& report : c.reports) names.push_back(value_at(report.scenario, entry));
  const std::string name = side_by_side(names);
  std::string text = fmt::format("{}{}{} {}: ", name, name.empty() ? "" : ", ", settings.size(),
                                 settings.size() == 1 ? "value differs" : "values differ");
  const std::size_t told = std::min(settings.size(), most_named_values);
  for (std::size_t i = 0; i < told; ++i) {
    std::vector<std::string> values;
    for (const auto& value : settings[i]->values) values.push_back(value ? value->value : "-");
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", key(settings[i]), side_by_side(values));
  }
  if (told < settings.size()) text += fmt::format(", {} more", settings.size() - told);
  return text;
}

AnswerFacts entries_facts(const Comparison& c) {
  std::vector<std::pair<std::string, std::vector<const ComparedSetting*>>> entries;
  for (const ComparedSetting& setting : c.settings) {
    if (!setting.catalog) continue;
    const std::string entry = entry_of(c, setting.path);
    auto found = std::find_if(entries.begin(), entries.end(),
                              [&](const auto& known) { return known.first == entry; });
    if (found == entries.end()) found = entries.insert(found, {entry, {}});
    found->second.push_back(&setting);
  }
  AnswerFacts facts;
  for (auto& [entry, settings] : entries) {
    facts.label_columns = std::max(facts.label_columns, static_cast<int>(entry.size()) + 2);
    facts.add(entry, entry_text(c, entry, std::move(settings)));
  }
  return facts;
}

AnswerSection settings_section(const Comparison& c, CatalogValues catalog) {
  const auto from_catalogs =
      std::count_if(c.settings.begin(), c.settings.end(), [](const auto& s) { return s.catalog; });
  const bool all = catalog == CatalogValues::listed || from_catalogs <= few_catalog_values;
  AnswerSection section{"Settings that differ"};
  if (c.settings.empty()) section.blocks.emplace_back(AnswerLine{"none"});
  AnswerTable table{{words_column(), words_column(), words_column(), words_column()}};
  for (const ComparedSetting& setting : c.settings)
    if (all || !setting.catalog) add_setting(c, setting, table);
  section.blocks.emplace_back(std::move(table));
  if (all) return section;
  section.blocks.emplace_back(
      AnswerLine{"With the catalog entries come (foretrain compare --all lists every value):"});
  section.blocks.emplace_back(entries_facts(c));
  return section;
}

AnswerSection rows_section(const Comparison& c) {
  AnswerTable table{{words_column()}};
  table.layout.group = 1;
  for (std::size_t side = 0; side < c.reports.size(); ++side) {
    const auto& memory = c.reports[side].prediction.memory;
    table.columns.push_back(
        number_column(memory ? fmt::format("{} (stage {})", side_name(side), memory->peak_stage)
                             : side_name(side)));
  }
  for (std::size_t i = 0; i < std::min(c.rows.size(), most_rows); ++i) {
    std::vector<AnswerCell> row{c.rows[i].category + ": " + c.rows[i].name};
    for (const auto& size : c.rows[i].sizes) row.emplace_back(size ? bytes_text(*size) : "-");
    table.add(std::move(row));
  }
  return {"Memory of the heaviest stage, rows that differ most", {std::move(table)}};
}

}  // namespace

std::string overrides_text(const Scenario& scenario) {
  std::string result;
  for (const ResolvedValue& value : scenario.values)
    if (value.origin == "--set")
      result += fmt::format("{}--set {}", result.empty() ? "" : " ",
                            shell_word(value.path + "=" + value.value));
  return result;
}

Answer comparison_answer(const Comparison& c, CatalogValues catalog) {
  Answer answer{comparison_head(c)};
  answer.add(sides_section(c));
  answer.add({"Headline", {figures_table(c)}});
  answer.add(conditions_section(c));
  for (std::size_t side = 1; side < c.reports.size(); ++side) answer.add(step_section(c, side));
  answer.add(settings_section(c, catalog));
  answer.add(rows_section(c));
  answer.add("Evidence", evidence_table(c), AnswerPlace::pages);
  return answer;
}

}  // namespace foretrain
