// SPDX-License-Identifier: Apache-2.0
#include "calibration/validate/validations.hpp"
#include "planner/answer/value_csv.hpp"
#include "planner/evidence/figure_order.hpp"
#include "planner/evidence/internal/validate_alone.hpp"
#include "planner/evidence/validate.hpp"
#include "planner/text/json.hpp"

namespace foretrain {
namespace {

bool yes_or_no(const RecordCheck& check) { return check.quantity == fits_quantity; }
bool is_time(const std::string& quantity) { return quantity == step_quantity; }

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
          {"measured", measured ? value_of(check, check.measured) : Json(nullptr)},
          {"predicted", computed(check.predicted)},
          {"low", computed(check.low)},
          {"high", computed(check.high)},
          {"error", check.skipped ? Json(nullptr) : number_or_null(check.error())},
          {"skipped", check.skipped},
          {"why", text_or_null(check.why)},
          {"group", text_or_null(check.group)},
          {"item", text_or_null(check.item)},
          {"assumptions", check.remarks}};
}

Json summary_tree(const CheckSummary& line) {
  const auto known = [](bool is, double value) {
    return is ? number_or_null(value) : Json(nullptr);
  };
  const bool any = line.count > 0;
  const bool times = any && is_time(line.quantity);
  const bool ordered = times || (any && is_inference(line.quantity));
  return {{"source", line.source},
          {"quantity", line.quantity},
          {"group", text_or_null(line.group)},
          {"item", text_or_null(line.item)},
          {"count", line.count},
          {"skipped", line.skipped},
          {"bias", known(any, line.bias)},
          {"mape", known(any, line.mape)},
          {"median", known(any, line.median)},
          {"p90", known(any, line.p90)},
          {"worst", known(any, line.worst)},
          {"worst_id", text_or_null(line.worst_id)},
          {"in_band", known(ordered || (any && is_alone(line.quantity)), line.covered)},
          {"kendall_tau", known(ordered && line.pairs > 0, line.tau)},
          {"pairs", ordered ? Json(line.pairs) : Json(nullptr)},
          {"mape_of_half_peak", known(times, line.half_peak_mape)},
          {"mape_of_own_mfu", known(times, line.own_mfu_mape)}};
}

Json figures_tree(const Validation& validation) {
  Json figures = Json::array();
  const auto tau = [](const RankAgreement& agreement) {
    return agreement.pairs > 0 ? number_or_null(agreement.tau()) : Json(nullptr);
  };
  for (const FigureOrder& order : figure_orders(validation.records))
    figures.push_back({{"figure", order.figure},
                       {"runs", order.runs},
                       {"skipped", order.skipped},
                       {"kendall_tau", tau(order.resolved)},
                       {"pairs", order.resolved.pairs},
                       {"kendall_tau_of_all", tau(order.all)},
                       {"pairs_of_all", order.all.pairs}});
  return figures;
}

Json validation_tree(const Validation& validation) {
  Json records = Json::array();
  for (const RecordCheck& check : validation.records) records.push_back(record_tree(check));
  Json summary = Json::array();
  for (const CheckSummary& line : validation.summary) summary.push_back(summary_tree(line));
  const StageProfiles profiles = stage_profiles(validation.records);
  const auto known = [&](double value) {
    return profiles.count > 0 ? number_or_null(value) : Json(nullptr);
  };
  return {{"records", std::move(records)},
          {"summary", std::move(summary)},
          {"figures", figures_tree(validation)},
          {"stage_profiles",
           {{"count", profiles.count},
            {"heaviest_right", profiles.heaviest_right},
            {"stages", profiles.stages},
            {"median", known(profiles.median)},
            {"p90", known(profiles.p90)}}}};
}

std::string csv_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& item : value) text += (text.empty() ? "" : "; ") + item.get<std::string>();
  return text;
}

}  // namespace

std::string validation_json(const Validation& validation) {
  return dump(validation_tree(validation));
}

std::string validation_csv(const Validation& validation) {
  std::string csv =
      "id,source,quantity,measured,predicted,low,high,error,skipped,why,group,item,assumptions\r\n";
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
