// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/format.hpp"
#include "planner/internal/prediction_tree.hpp"
#include "planner/report_csv.hpp"
#include "planner/validate.hpp"

namespace foretrain {
namespace {

bool yes_or_no(const MemoryCheck& check) { return check.quantity == "fits"; }

/// For `fits`: 1 promised too much, -1 too little, 0 right.
double error_of(const MemoryCheck& check) {
  return yes_or_no(check) ? check.predicted - check.measured : check.error();
}

Json value_of(const MemoryCheck& check, double value) {
  return yes_or_no(check) ? Json(value != 0.0) : number_or_null(value);
}

Json record_tree(const MemoryCheck& check) {
  const auto computed = [&](double value) {
    return check.skipped ? Json(nullptr) : value_of(check, value);
  };
  return {{"id", check.id},
          {"source", check.source},
          {"quantity", check.quantity},
          {"measured", value_of(check, check.measured)},
          {"predicted", computed(check.predicted)},
          {"low", computed(check.low)},
          {"high", computed(check.high)},
          {"error", check.skipped ? Json(nullptr) : number_or_null(error_of(check))},
          {"skipped", check.skipped},
          {"why", check.skipped ? Json(check.why) : Json(nullptr)}};
}

Json summary_tree(const MemoryCheckSummary& line) {
  const auto known = [&](double value) {
    return line.count > 0 ? number_or_null(value) : Json(nullptr);
  };
  return {{"source", line.source},
          {"quantity", line.quantity},
          {"count", line.count},
          {"skipped", line.skipped},
          {"bias", known(line.bias)},
          {"mape", known(line.mape)},
          {"median", known(line.median)},
          {"p90", known(line.p90)},
          {"worst", known(line.worst)},
          {"worst_id", line.worst_id.empty() ? Json(nullptr) : Json(line.worst_id)}};
}

Json validation_tree(const Validation& validation) {
  Json records = Json::array();
  for (const MemoryCheck& check : validation.records) records.push_back(record_tree(check));
  Json summary = Json::array();
  for (const MemoryCheckSummary& line : validation.summary) summary.push_back(summary_tree(line));
  return {{"records", std::move(records)}, {"summary", std::move(summary)}};
}

std::string percent(double share) { return fixed_text(share * 100.0, 2); }

std::string signed_percent(double share) {
  const std::string text = percent(share);
  return (text.starts_with('-') ? "" : "+") + text;
}

/// Errors of sizes in percent: one line per source and quantity.
std::string sizes_table(const Validation& validation, const TextStyle& style) {
  using Align = TextTable::Align;
  TextTable table{{Align::left, Align::left, Align::right, Align::right, Align::right, Align::right,
                   Align::right, Align::right, Align::right}};
  table.add({"source", "quantity", "count", "skip", "bias", "MAPE", "median", "P90", "worst"});
  bool any = false;
  for (const MemoryCheckSummary& line : validation.summary) {
    if (line.quantity == "fits") continue;
    any = true;
    const auto known = [&](const std::string& text) { return line.count > 0 ? text : "-"; };
    table.add({line.source, line.quantity, std::to_string(line.count), std::to_string(line.skipped),
               known(signed_percent(line.bias)), known(percent(line.mape)),
               known(percent(line.median)), known(percent(line.p90)),
               known(signed_percent(line.worst))});
  }
  if (!any) return "";
  return "\n" + toned("Memory: predicted / measured - 1, percent", Tone::strong, style) + "\n" +
         table.text(style);
}

struct FitCount {
  int right = 0;
  int promised = 0;  ///< predicted to fit, ran out
  int refused = 0;   ///< predicted not to fit, ran
};

FitCount fit_count(const Validation& validation, const std::string& source) {
  FitCount count;
  for (const MemoryCheck& check : validation.records) {
    if (!yes_or_no(check) || check.skipped) continue;
    if (source != "all" && check.source != source) continue;
    const double error = error_of(check);
    ++(error > 0.0 ? count.promised : error < 0.0 ? count.refused : count.right);
  }
  return count;
}

std::string fits_table(const Validation& validation, const TextStyle& style) {
  using Align = TextTable::Align;
  TextTable table{
      {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right}};
  table.add({"source", "count", "skip", "right, percent", "wrongly fits", "wrongly not"});
  bool any = false;
  for (const MemoryCheckSummary& line : validation.summary) {
    if (line.quantity != "fits") continue;
    any = true;
    const FitCount count = fit_count(validation, line.source);
    const double all = std::max(1, line.count);
    table.add({line.source, std::to_string(line.count), std::to_string(line.skipped),
               line.count > 0 ? percent(count.right / all) : "-", std::to_string(count.promised),
               std::to_string(count.refused)});
  }
  if (!any) return "";
  const auto surprises = std::count_if(
      validation.records.begin(), validation.records.end(), [](const MemoryCheck& check) {
        return yes_or_no(check) && !check.skipped && check.measured == 0.0 && check.load < 0.95;
      });
  return "\n" + toned("Fits or runs out of memory", Tone::strong, style) + "\n" +
         table.text(style) +
         hanging(
             "  ",
             fmt::format("{} ran out of memory although the forecast left more than 5 % to spare.",
                         surprises == 0 ? "None" : std::to_string(surprises)),
             style);
}

std::string worst_table(const Validation& validation, const TextStyle& style) {
  using Align = TextTable::Align;
  TextTable table{{Align::left, Align::left, Align::right, Align::left}};
  for (const MemoryCheckSummary& line : validation.summary) {
    if (line.count == 0 || line.worst == 0.0 || line.source == "all") continue;
    const std::string error = line.quantity != "fits" ? signed_percent(line.worst)
                              : line.worst > 0.0      ? "wrongly"
                                                      : "wrongly not";
    table.add({line.source, line.quantity, error, line.worst_id});
  }
  if (table.empty()) return "";
  return "\n" + toned("Worst record of each", Tone::strong, style) + "\n" + table.text(style);
}

std::string skipped_text(const Validation& validation, const TextStyle& style) {
  std::string result = "\n" + toned("Skipped", Tone::strong, style) + "\n";
  for (std::size_t i = 0; i < validation.records.size(); ++i) {
    const MemoryCheck& check = validation.records[i];
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
  result += sizes_table(validation, style) + fits_table(validation, style) +
            worst_table(validation, style);
  const auto left_out = std::count_if(validation.records.begin(), validation.records.end(),
                                      [](const MemoryCheck& check) { return check.skipped; });
  if (skipped && left_out > 0) return result + skipped_text(validation, style);
  if (left_out > 0)
    result += "\n" + hanging("",
                             fmt::format("{} of {} figures are skipped; --skipped says why.",
                                         left_out, validation.records.size()),
                             style);
  return result;
}

std::string validation_json(const Validation& validation) {
  return dump(validation_tree(validation));
}

std::string validation_csv(const Validation& validation) {
  std::string csv = "id,source,quantity,measured,predicted,low,high,error,skipped,why\r\n";
  for (const MemoryCheck& check : validation.records) {
    const Json record = record_tree(check);
    std::string row;
    for (const auto& [key, value] : record.items()) {
      if (key != "id") row += ',';
      if (value.is_null()) continue;
      row += csv_field(value.is_string() ? value.get<std::string>() : value.dump());
    }
    csv += row + "\r\n";
  }
  return csv;
}

}  // namespace foretrain
