// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "planner/evidence/internal/record_files.hpp"
#include "planner/evidence/studies.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

using PowerJson = nlohmann::ordered_json;

/// What a forecast of power is judged by: means to 5 %, peaks over means to 10 %.
double allowed(const PowerCheck& check) {
  if (check.quantity.ends_with(", W")) return 0.05;
  return check.quantity == "peak over mean" ? 0.10 : 0.0;
}

std::string value_text(double value) {
  return value < 100.0 ? fixed_text(value, 3) : fixed_text(value, 0);
}

AnswerHead power_head(const std::vector<PowerCheck>& checks) {
  int judged = 0;
  int right = 0;
  for (const PowerCheck& check : checks) {
    if (check.fitted || allowed(check) == 0.0) continue;
    ++judged;
    right += std::abs(check.error()) <= allowed(check) ? 1 : 0;
  }
  AnswerHead head;
  head.subject = "Power of runs that were measured";
  head.words = fmt::format("{} OF {} WITHIN LIMITS", right, judged);
  head.sentence = fmt::format(
      "Of {} numbers that nothing was fitted on, {} are forecast within 5 % (watts) or 10 % (peak "
      "over mean).",
      judged, right);
  head.figures = {{"within limits", fmt::format("{} of {}", right, judged)}};
  return head;
}

}  // namespace

PowerStudy validate_power(const std::vector<std::filesystem::path>& catalogs) {
  PowerStudy study;
  const RunCatalog catalog = load_run_catalog(catalogs);
  std::map<std::string, std::vector<RunRecord>> files;
  study.series = power_series();
  for (const PowerSeries& series : study.series) {
    if (!files.contains(series.runs))
      files[series.runs] = read_runs(record_file({}, series.runs, catalogs, "measured"));
    const auto& records = files[series.runs];
    const auto record =
        std::ranges::find_if(records, [&](const auto& one) { return one.id == series.record; });
    if (record == records.end()) throw UsageError(series.runs + " has no record " + series.record);
    std::string why;
    for (PowerCheck& check : check_power(series, *record, catalog, why))
      study.checks.push_back(std::move(check));
    if (!why.empty()) study.skipped.push_back(series.id + ": " + why);
  }
  return study;
}

Answer power_answer(const PowerStudy& study) {
  Answer answer{power_head(study.checks)};
  AnswerTable table{{words_column("series"), words_column("quantity"), number_column("measured"),
                     number_column("forecast"), number_column("error"), words_column("")}};
  for (const PowerCheck& check : study.checks) {
    const bool off = allowed(check) > 0.0 && std::abs(check.error()) > allowed(check);
    table.add({check.series, check.quantity, value_text(check.measured),
               value_text(check.predicted), fmt::format("{:+.1f} %", 100.0 * check.error()),
               check.fitted ? "fitted"
               : off        ? "off"
                            : ""});
  }
  answer.add("Measured and forecast", std::move(table));
  AnswerSection sources{"Sources"};
  for (const PowerSeries& series : study.series)
    sources.blocks.emplace_back(AnswerLine{
        series.source + (series.note.empty() ? "" : "; " + series.note), series.id + ": "});
  for (const std::string& why : study.skipped)
    sources.blocks.emplace_back(AnswerLine{why, "not compared: ", Tone::warn});
  answer.add(std::move(sources));
  return answer;
}

std::string power_json(const PowerStudy& study) {
  PowerJson checks = PowerJson::array();
  for (const PowerCheck& check : study.checks)
    checks.push_back({{"series", check.series},
                      {"quantity", check.quantity},
                      {"measured", check.measured},
                      {"predicted", check.predicted},
                      {"fitted", check.fitted}});
  return PowerJson{{"checks", std::move(checks)}}.dump(2) + "\n";
}

}  // namespace foretrain
