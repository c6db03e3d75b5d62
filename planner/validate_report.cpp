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

bool yes_or_no(const RecordCheck& check) { return check.quantity == "fits"; }
bool is_time(const std::string& quantity) { return quantity == "step_time_s"; }

Json value_of(const RecordCheck& check, double value) {
  return yes_or_no(check) ? Json(value != 0.0) : number_or_null(value);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json record_tree(const RecordCheck& check) {
  const auto computed = [&](double value) {
    return check.skipped ? Json(nullptr) : value_of(check, value);
  };
  // A skipped record may lack what its measurement is counted back from.
  const bool measured = check.measured > 0.0 || yes_or_no(check);
  return {{"id", check.id},
          {"source", check.source},
          {"quantity", check.quantity},
          {"group", text_or_null(check.group)},
          {"measured", measured ? value_of(check, check.measured) : Json(nullptr)},
          {"predicted", computed(check.predicted)},
          {"low", computed(check.low)},
          {"high", computed(check.high)},
          {"error", check.skipped ? Json(nullptr) : number_or_null(check.error())},
          {"skipped", check.skipped},
          {"why", text_or_null(check.why)},
          {"assumptions", check.remarks}};
}

Json summary_tree(const CheckSummary& line) {
  const auto known = [](bool is, double value) {
    return is ? number_or_null(value) : Json(nullptr);
  };
  const bool any = line.count > 0;
  const bool times = any && is_time(line.quantity);
  return {{"source", line.source},
          {"quantity", line.quantity},
          {"group", text_or_null(line.group)},
          {"count", line.count},
          {"skipped", line.skipped},
          {"bias", known(any, line.bias)},
          {"mape", known(any, line.mape)},
          {"median", known(any, line.median)},
          {"p90", known(any, line.p90)},
          {"worst", known(any, line.worst)},
          {"worst_id", text_or_null(line.worst_id)},
          {"in_band", known(times, line.covered)},
          {"kendall_tau", known(times && line.pairs > 0, line.tau)},
          {"pairs", times ? Json(line.pairs) : Json(nullptr)},
          {"mape_of_half_peak", known(times, line.half_peak_mape)}};
}

Json validation_tree(const Validation& validation) {
  Json records = Json::array();
  for (const RecordCheck& check : validation.records) records.push_back(record_tree(check));
  Json summary = Json::array();
  for (const CheckSummary& line : validation.summary) summary.push_back(summary_tree(line));
  return {{"records", std::move(records)}, {"summary", std::move(summary)}};
}

std::string csv_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& item : value) text += (text.empty() ? "" : "; ") + item.get<std::string>();
  return text;
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
  for (const CheckSummary& line : validation.summary) {
    if (line.quantity == "fits" || is_time(line.quantity)) continue;
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
  for (const RecordCheck& check : validation.records) {
    if (!yes_or_no(check) || check.skipped) continue;
    if (source != "all" && check.source != source) continue;
    const double error = check.error();
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
  for (const CheckSummary& line : validation.summary) {
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
      validation.records.begin(), validation.records.end(), [](const RecordCheck& check) {
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
  for (const CheckSummary& line : validation.summary) {
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
  result += sizes_table(validation, style) + fits_table(validation, style) +
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

std::string validation_json(const Validation& validation) {
  return dump(validation_tree(validation));
}

std::string validation_csv(const Validation& validation) {
  std::string csv =
      "id,source,quantity,group,measured,predicted,low,high,error,skipped,why,assumptions\r\n";
  for (const RecordCheck& check : validation.records) {
    const Json record = record_tree(check);
    std::string row;
    for (const auto& [key, value] : record.items()) {
      if (key != "id") row += ',';
      if (value.is_null()) continue;
      row += csv_field(csv_text(value));
    }
    csv += row + "\r\n";
  }
  return csv;
}

}  // namespace foretrain
