// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/validate/memory_validation.hpp"
#include "planner/evidence/internal/validate_alone.hpp"
#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/evidence/validate.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

using Align = TextTable::Align;

bool is_fit(const RecordCheck& check) { return check.quantity == fits_quantity; }

std::string label(const CheckSummary& line) { return source_label(line.source, line.group); }

std::string section(const std::string& title, const TextTable& table, const TextStyle& style) {
  return "\n" + toned(title, Tone::strong, style) + "\n" + table.text(style);
}

std::vector<std::string> step_row(const CheckSummary& line) {
  // Four columns: from 100 % on without a decimal.
  const auto one = [](double share) {
    return percent_figure(share, std::abs(share) < 0.9995 ? 1 : 0);
  };
  return {label(line),
          std::to_string(line.count),
          std::to_string(line.skipped),
          signed_percent_text(line.bias, std::abs(line.bias) < 0.9995 ? 1 : 0),
          one(line.mape),
          one(line.median),
          one(line.p90),
          line.pairs > 0 ? fixed_text(line.tau, 2) : "-",
          one(line.half_peak_mape),
          one(line.own_mfu_mape)};
}

/// Step times: one line per source and group that something could be compared of.
std::string steps_table(const Validation& validation, const TextStyle& style) {
  TextTable table{{Align::left, Align::right, Align::right, Align::right, Align::right,
                   Align::right, Align::right, Align::right, Align::right, Align::right}};
  table.add({"source", "runs", "skip", "bias", "MAPE", "median", "P90", "tau", "50 %", "own"});
  int skipped = 0;
  double inside = 0.0;
  int compared = 0;
  bool any = false;
  int of_group = -1;
  for (const CheckSummary& line : validation.summary) {
    if (line.quantity != step_quantity) continue;
    any = true;
    if (line.source == "all" && line.group.empty()) {
      skipped = line.skipped;
      inside = line.covered;
      compared = line.count;
    }
    // With one group alone, its total is that of all.
    if (line.source == "all" && line.group.empty() && line.count == of_group) continue;
    if (line.source == "all") of_group = std::max(of_group, line.count);
    if (line.count > 0) table.add(step_row(line));
  }
  if (!any) return "";
  std::string text;
  if (compared > 0) {
    text = section("Step time: predicted / measured - 1, percent", table, style);
    text += hanging(
        "  ",
        fmt::format("tau: Kendall's rank correlation over pairs of runs with the same model, "
                    "GPUs and batch. MAPE of a constant MFU: 50 %, and own, the mean of those "
                    "runs. The band covered {} % of the measurements.",
                    percent_figure(inside, 0)),
        style);
  }
  if (skipped == 0) return text;
  return text + "\n" + toned("Step times not predicted", Tone::strong, style) + "\n" +
         reasons_text(validation, step_quantity, style);
}

/// Errors of sizes in percent: one line per source and quantity.
std::string sizes_table(const Validation& validation, const TextStyle& style) {
  TextTable table{{Align::left, Align::left, Align::right, Align::right, Align::right, Align::right,
                   Align::right, Align::right, Align::right}};
  table.add({"source", "quantity", "count", "skip", "bias", "MAPE", "median", "P90", "worst"});
  bool any = false;
  for (const CheckSummary& line : validation.summary) {
    if (line.quantity == fits_quantity || line.quantity == step_quantity || is_alone(line.quantity))
      continue;
    any = true;
    const auto known = [&](const std::string& text) { return line.count > 0 ? text : "-"; };
    table.add({line.source, line.quantity, std::to_string(line.count), std::to_string(line.skipped),
               known(signed_percent_text(line.bias, 2)), known(percent_figure(line.mape, 2)),
               known(percent_figure(line.median, 2)), known(percent_figure(line.p90, 2)),
               known(signed_percent_text(line.worst, 2))});
  }
  if (!any) return "";
  std::string text = section("Memory: predicted / measured - 1, percent", table, style);
  const StageProfiles profiles = stage_profiles(validation.records);
  if (profiles.count == 0) return text;
  return text +
         hanging("  ",
                 fmt::format("Profiles over pipeline stages: heaviest stage right in {} of "
                             "{}; median error of the {} stages {} %, P90 {} %.",
                             profiles.heaviest_right, profiles.count, profiles.stages,
                             percent_figure(profiles.median, 2), percent_figure(profiles.p90, 2)),
                 style);
}

struct FitCount {
  int right = 0;
  int promised = 0;  ///< predicted to fit, ran out
  int refused = 0;   ///< predicted not to fit, ran
};

FitCount fit_count(const Validation& validation, const std::string& source) {
  FitCount count;
  for (const RecordCheck& check : validation.records) {
    if (!is_fit(check) || check.skipped) continue;
    if (source != "all" && check.source != source) continue;
    const double error = check.error();
    ++(error > 0.0 ? count.promised : error < 0.0 ? count.refused : count.right);
  }
  return count;
}

std::string fits_table(const Validation& validation, const TextStyle& style) {
  TextTable table{
      {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right}};
  table.add({"source", "count", "skip", "correct, percent", "false fit", "false OOM"});
  bool any = false;
  for (const CheckSummary& line : validation.summary) {
    if (line.quantity != fits_quantity) continue;
    any = true;
    const FitCount count = fit_count(validation, line.source);
    const double all = std::max(1, line.count);
    table.add({line.source, std::to_string(line.count), std::to_string(line.skipped),
               line.count > 0 ? percent_figure(count.right / all, 2) : "-",
               std::to_string(count.promised), std::to_string(count.refused)});
  }
  if (!any) return "";
  const auto surprises = std::count_if(
      validation.records.begin(), validation.records.end(), [](const RecordCheck& check) {
        return is_fit(check) && !check.skipped && check.measured == 0.0 && check.load < 0.95;
      });
  return section("Fits or runs out of memory", table, style) +
         hanging("  ",
                 fmt::format("{} ran out of memory although the forecast left more than 5 % free.",
                             surprises == 0 ? "None" : std::to_string(surprises)),
                 style);
}

std::string worst_table(const Validation& validation, const TextStyle& style) {
  TextTable table{{Align::left, Align::left, Align::right, Align::left}};
  for (const CheckSummary& line : validation.summary) {
    if (line.count == 0 || line.worst == 0.0 || line.source == "all" || is_alone(line.quantity))
      continue;
    const std::string error = line.quantity != fits_quantity ? signed_percent_text(line.worst, 2)
                              : line.worst > 0.0             ? "wrongly"
                                                             : "false OOM";
    table.add({label(line), line.quantity, error, line.worst_id});
  }
  return table.empty() ? "" : section("Worst record of each", table, style);
}

std::string skipped_text(const Validation& validation, const TextStyle& style) {
  std::string result = "\n" + toned("Skipped", Tone::strong, style) + "\n";
  for (std::size_t i = 0; i < validation.records.size(); ++i) {
    const RecordCheck& check = validation.records[i];
    if (!check.skipped) continue;
    std::string quantities = check.quantity;
    // The quantities of one record follow each other.
    while (i + 1 < validation.records.size() && validation.records[i + 1].skipped &&
           validation.records[i + 1].id == check.id && validation.records[i + 1].why == check.why)
      quantities += ", " + validation.records[++i].quantity;
    result += hanging("  ", fmt::format("{} ({}): {}", check.id, quantities, check.why), style);
  }
  return result;
}

}  // namespace

std::string validation_text(const Validation& validation, bool skipped, const TextStyle& style) {
  std::string result;
  for (const std::string& file : validation.files) result += labelled("Measured", file, style, 10);
  result += steps_table(validation, style) + alone_tables(validation, style) +
            sizes_table(validation, style) + fits_table(validation, style) +
            worst_table(validation, style);
  const auto left_out = std::count_if(validation.records.begin(), validation.records.end(),
                                      [](const RecordCheck& check) { return check.skipped; });
  if (skipped && left_out > 0) return result + skipped_text(validation, style);
  if (left_out > 0)
    result += "\n" + hanging("",
                             fmt::format("{} of {} figures are skipped; --skipped says why.",
                                         left_out, validation.records.size()),
                             style);
  return result;
}

}  // namespace foretrain
