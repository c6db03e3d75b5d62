// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "planner/constants/calibrate.hpp"
#include "planner/evidence/internal/validate_report.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

bool asked(const Calibration& calibration, const FitConstant& constant) {
  return std::ranges::any_of(constant.profiles, [&](const ProfileRef& profile) {
    return calibration.asked(profile.text());
  });
}

std::string before_text(const FittedConstant& fitted) {
  return fitted.before > 0.0 ? fitted_text(fitted.constant, fitted.before) : "0";
}

std::string deviation_text(double deviation, bool at_bound) {
  return short_percent(deviation) + (at_bound ? " %, at its bound" : " %");
}

AnswerTable constants_table(const Calibration& calibration) {
  AnswerTable table{{words_column("constant"), number_column("prior"), number_column("before"),
                     number_column("after"), number_column("+-")}};
  std::string last;
  for (const FittedConstant& fitted : calibration.fit.constants) {
    const FitConstant& constant = fitted.constant;
    if (!asked(calibration, constant)) continue;
    std::string name = constant.profiles.front().text();
    if (constant.profiles.size() > 1)
      name += fmt::format(" and {} more", constant.profiles.size() - 1);
    if (name != last) table.add({name, "", "", "", ""});
    last = name;
    table.add({"  " + constant.keys.front(), fitted_text(constant, fitted.prior),
               before_text(fitted), fitted.text,
               deviation_text(fitted.deviation, fitted.at_bound)});
  }
  return table;
}

AnswerTable bands_table(const Calibration& calibration) {
  AnswerTable table{{words_column("stack"), number_column("runs"), number_column("median error"),
                     number_column("P10"), number_column("P90")}};
  for (const FittedBand& band : calibration.fit.bands)
    table.add({band.stack, std::to_string(band.records), short_percent(band.error),
               fixed_text(band.low, 3), fixed_text(band.high, 3)});
  return table;
}

AnswerTable errors_table(const Calibration& calibration) {
  const auto before = summarize(calibration.fit.before);
  const auto after = summarize(calibration.fit.after);
  AnswerTable table{{words_column("source"), number_column("runs"), number_column("MAPE"),
                     number_column("median")}};
  add_error_columns(table.columns);
  for (std::size_t i = 0; i < after.size(); ++i) {
    std::vector<AnswerCell> cells{source_label(after[i].source, after[i].group),
                                  std::to_string(after[i].count), short_percent(before[i].mape),
                                  short_percent(before[i].median)};
    add_errors(after[i], cells);
    table.add(std::move(cells));
  }
  return table;
}

/// Of kernels and collectives alone, over the benchmarks that their constants were fitted on.
std::vector<FitResiduals> alone(const Calibration& calibration) {
  std::vector<FitResiduals> all = calibration.kernels.residuals;
  const auto& more = calibration.collectives.residuals;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

AnswerTable alone_table(const Calibration& calibration) {
  AnswerTable table{{number_column("count")}};
  add_error_columns(table.columns);
  table.columns.push_back(words_column("what"));
  for (const FitResiduals& line : alone(calibration))
    table.add({std::to_string(line.errors.count), signed_percent_text(line.errors.bias, 1),
               short_percent(line.errors.mape), short_percent(line.errors.median),
               short_percent(line.errors.p90), line.what});
  return table;
}

Json alone_list(const Calibration& calibration) {
  Json list = Json::array();
  for (const FitResiduals& line : alone(calibration))
    list.push_back({{"what", line.what},
                    {"count", line.errors.count},
                    {"bias", line.errors.bias},
                    {"mape", line.errors.mape},
                    {"median", line.errors.median},
                    {"p90", line.errors.p90}});
  return list;
}

/// "725.39, 725.39 and 731.02".
std::string starts_text(const Calibration& calibration) {
  std::string text;
  for (const double objective : calibration.starts)
    text += (text.empty() ? "objectives " : ", ") + fmt::format("{:.2f}", objective);
  return text;
}

/// Values that parts of one chip share stand once.
AnswerTable alone_constants(const Calibration& calibration) {
  AnswerTable table{{words_column("constant"), number_column("value"), number_column("+-")}};
  std::string last;
  std::set<std::string> chips;
  for (const auto* values : {&calibration.kernels.values, &calibration.collectives.values})
    for (const FittedValue& value : *values) {
      if (!calibration.asked(value.profile) || !(value.deviation > 0.0)) continue;
      if (!chips.insert(value.key + value.text + short_percent(value.deviation)).second) continue;
      if (value.profile != last) table.add({value.profile, "", ""});
      last = value.profile;
      table.add({"  " + value.key, value.text, deviation_text(value.deviation, value.at_bound)});
    }
  return table;
}

Json summary_list(const std::vector<RecordCheck>& checks) {
  Json list = Json::array();
  for (const CheckSummary& line : summarize(checks)) list.push_back(summary_json(line));
  return list;
}

/// What of the files the fit gives otherwise.
AnswerList changes_of(const Calibration& calibration) {
  AnswerList changes;
  const auto add = [&](const ProfileFile& file) {
    for (const ProfileMismatch& line : file.differences)
      changes.items.push_back(fmt::format(
          "{}: {}: {} -> {}{}", file.shown, line.key, line.before.empty() ? "-" : line.before,
          line.after,
          line.deviations > 0.0 ? fmt::format(", {:.1f} deviations", line.deviations) : ""));
  };
  for (const ProfileFile& file : calibration.files) add(file);
  add(calibration.plan_file);
  add(calibration.constants_file);
  return changes;
}

AnswerHead calibration_head(const Calibration& calibration) {
  const auto& files = calibration.files;
  const auto same =
      std::ranges::count_if(files, [](const ProfileFile& file) { return !file.changed(); });
  AnswerHead head;
  head.subject = "Fit of the shipped profiles";
  head.words = !calibration.fit.converged                       ? "NOT CONVERGED"
               : static_cast<std::size_t>(same) == files.size() ? "AS FITTED"
                                                                : "PROFILES DIFFER";
  head.sentence = fmt::format("{} of {} profiles are as the fit gives them.", same, files.size());
  const auto after = summarize(calibration.fit.after);
  if (const auto all = std::find_if(
          after.rbegin(), after.rend(),
          [](const CheckSummary& line) { return line.source == "all" && line.group.empty(); });
      all != after.rend())
    head.figures = {{"mean error", short_percent(all->mape) + " %"},
                    {"median", short_percent(all->median) + " %"}};
  head.figures.push_back({"objective", fmt::format("{:.2f}", calibration.fit.objective)});
  return head;
}

AnswerFacts facts_of(const Calibration& calibration) {
  const ProfileFit& fit = calibration.fit;
  AnswerFacts facts;
  facts.add("plan", calibration.plan);
  facts.add("records", std::to_string(fit.after.size()));
  facts.add("kernels",
            fmt::format("{} constants of {} devices from kernels alone",
                        calibration.kernels.values.size(), calibration.kernels.profiles.size()));
  facts.add("collectives",
            fmt::format("{} constants of links within hosts and of fabrics from sweeps alone",
                        calibration.collectives.values.size()));
  facts.add("fit",
            fmt::format("{} constants, {} after {} sets of derivatives", fit.constants.size(),
                        fit.converged ? "converged" : "not converged", fit.derivatives));
  facts.add("starts", starts_text(calibration));
  return facts;
}

}  // namespace

Answer calibration_answer(const Calibration& calibration) {
  Answer answer{calibration_head(calibration)};
  answer.add("", facts_of(calibration));
  answer.add("Changed", changes_of(calibration));
  answer.add("Constants, with the standard deviation of the fit", constants_table(calibration));
  answer.add("Constants of kernels and collectives alone", alone_constants(calibration));
  answer.add("Measured over predicted time by stack", bands_table(calibration));
  answer.add("Errors in percent: MAPE and median before; bias, MAPE, median and P90 after",
             errors_table(calibration));
  answer.add("Kernels and collectives alone, errors in percent", alone_table(calibration));
  return answer;
}

std::string calibration_json(const Calibration& calibration) {
  const ProfileFit& fit = calibration.fit;
  Json constants = Json::array();
  for (const FittedConstant& fitted : fit.constants) {
    if (!asked(calibration, fitted.constant)) continue;
    Json profiles = Json::array();
    for (const ProfileRef& profile : fitted.constant.profiles) profiles.push_back(profile.text());
    constants.push_back({{"profiles", std::move(profiles)},
                         {"keys", fitted.constant.keys},
                         {"prior", fitted.prior},
                         {"width", fitted.constant.width},
                         {"before", fitted.before},
                         {"after", fitted.after},
                         {"deviation", fitted.deviation},
                         {"at_bound", fitted.at_bound},
                         {"text", fitted.text}});
  }
  Json bands = Json::array();
  for (const FittedBand& band : fit.bands)
    bands.push_back({{"stack", band.stack},
                     {"records", band.records},
                     {"low", band.low},
                     {"high", band.high},
                     {"error", band.error}});
  Json changed = Json::array();
  for (const ProfileFile& file : calibration.files)
    if (file.changed()) changed.push_back(file.shown);
  return dump({{"plan", calibration.plan},
               {"converged", fit.converged},
               {"objective", fit.objective},
               {"constants", std::move(constants)},
               {"bands", std::move(bands)},
               {"alone", alone_list(calibration)},
               {"before", summary_list(fit.before)},
               {"after", summary_list(fit.after)},
               {"changed", std::move(changed)}});
}

}  // namespace foretrain
