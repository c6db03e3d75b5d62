// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/constants/measured_profile.hpp"
#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"

namespace foretrain {
namespace {

using Align = TextTable::Align;

std::string change_of(const MeasuredConstant& constant) {
  return constant.change ? fmt::format("{:+.1f} %", 100.0 * *constant.change) : "";
}

}  // namespace

std::string made_profiles_text(const MadeProfiles& made, const TextStyle& style) {
  const auto title = [&](const std::string& text) {
    return "\n" + toned(text, Tone::strong, style) + "\n";
  };
  std::string text = title("Verdict").substr(1);
  for (const std::string& sentence : made.fit.verdict) text += hanging("  - ", sentence, style);
  text += title("Errors of the fit, percent");
  TextTable errors{
      {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right}};
  errors.add({"measured", "records", "mean", "median", "P90", "bias"});
  for (const FitResiduals& one : made.fit.residuals)
    errors.add({one.what, std::to_string(one.errors.count), percent_figure(one.errors.mape, 1),
                percent_figure(one.errors.median, 1), percent_figure(one.errors.p90, 1),
                percent_figure(one.errors.bias, 1)});
  text += errors.text(style);
  if (made.fit.held_out > 0)
    text += fmt::format("  {} records are held out for `calibrate check`\n", made.fit.held_out);
  text += title("Constants, measured and of the shipped profile");
  TextTable constants{{Align::left, Align::right, Align::right, Align::right}};
  for (const MeasuredConstant& one : made.constants)
    constants.add(
        {one.profile + " " + one.key, one.text, one.base.empty() ? "-" : one.base, change_of(one)});
  text += constants.text(style);
  text += fmt::format("\n  {} constants were not measured and come from the shipped profile\n",
                      made.inherited.size());
  return text;
}

std::string made_profiles_json(const MadeProfiles& made) {
  Json constants = Json::array();
  for (const MeasuredConstant& one : made.constants)
    constants.push_back({{"profile", one.profile},
                         {"key", one.key},
                         {"measured", one.text},
                         {"base", one.base.empty() ? Json(nullptr) : Json(one.base)},
                         {"change", number_or_null(one.change)}});
  Json residuals = Json::array();
  for (const FitResiduals& one : made.fit.residuals)
    residuals.push_back({{"what", one.what},
                         {"count", one.errors.count},
                         {"mape", one.errors.mape},
                         {"median", one.errors.median},
                         {"p90", one.errors.p90},
                         {"bias", one.errors.bias}});
  Json outliers = Json::array();
  for (const FitOutlier& one : made.fit.outliers)
    outliers.push_back({{"what", one.what}, {"error", one.error}});
  return dump({{"verdict", made.fit.verdict},
               {"residuals", std::move(residuals)},
               {"constants", std::move(constants)},
               {"outliers", std::move(outliers)},
               {"held_out", made.fit.held_out},
               {"inherited", made.inherited}});
}

}  // namespace foretrain
