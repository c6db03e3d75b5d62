// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/constants/measured_profile.hpp"
#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"

namespace foretrain {
namespace {

std::string change_of(const MeasuredConstant& constant) {
  return constant.change ? fmt::format("{:+.1f} %", 100.0 * *constant.change) : "";
}

}  // namespace

Answer made_profiles_answer(const MadeProfiles& made) {
  Answer answer;
  AnswerHead& head = answer.head;
  head.subject = "Profiles from measurements alone";
  head.words = fmt::format("{} CONSTANTS MEASURED", made.constants.size());
  head.sentence = fmt::format(
      "{} constants were measured; {} groups were not and come from the shipped profile.",
      made.constants.size(), made.inherited.size());
  AnswerTable errors{{words_column("measured"), number_column("records")}};
  add_error_columns(errors.columns);
  for (const FitResiduals& one : made.fit.residuals)
    errors.add({one.what, std::to_string(one.errors.count), percent_figure(one.errors.bias, 1),
                percent_figure(one.errors.mape, 1), percent_figure(one.errors.median, 1),
                percent_figure(one.errors.p90, 1)});
  AnswerTable constants{{words_column("constant"), number_column("measured"),
                         number_column("shipped"), number_column("change")}};
  for (const MeasuredConstant& one : made.constants)
    constants.add(
        {one.profile + " " + one.key, one.text, one.base.empty() ? "-" : one.base, change_of(one)});
  answer.add("What it says", AnswerList{made.fit.verdict});
  answer.add({"Errors of the fit, percent",
              {std::move(errors),
               AnswerLine{made.fit.held_out == 0
                              ? ""
                              : fmt::format("{} records are held out for calibrate check.",
                                            made.fit.held_out)}}});
  answer.add("Constants, measured and of the shipped profile", std::move(constants));
  return answer;
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
