// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "planner/constants/calibrate.hpp"
#include "planner/evidence/internal/summary_json.hpp"
#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

using Align = TextTable::Align;

bool asked(const Calibration& calibration, const FitConstant& constant) {
  return std::any_of(constant.profiles.begin(), constant.profiles.end(),
                     [&](const ProfileRef& profile) { return calibration.asked(profile.text()); });
}

std::string before_text(const FittedConstant& fitted) {
  return fitted.before > 0.0 ? fitted_text(fitted.constant, fitted.before) : "0";
}

std::string constants_table(const Calibration& calibration, const TextStyle& style) {
  TextTable table{{Align::left, Align::right, Align::right, Align::right, Align::right}};
  table.add({"constant", "prior", "before", "after", "+-"});
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
               short_percent(fitted.deviation) + (fitted.at_bound ? " %, at its bound" : " %")});
  }
  return table.text(style);
}

std::string bands_table(const Calibration& calibration, const TextStyle& style) {
  TextTable table{{Align::left, Align::right, Align::right, Align::right, Align::right}};
  table.add({"stack", "runs", "median error", "P10", "P90"});
  for (const FittedBand& band : calibration.fit.bands)
    table.add({band.stack, std::to_string(band.records), short_percent(band.error),
               fixed_text(band.low, 3), fixed_text(band.high, 3)});
  return table.text(style);
}

std::string errors_table(const Calibration& calibration, const TextStyle& style) {
  const auto before = summarize(calibration.fit.before);
  const auto after = summarize(calibration.fit.after);
  TextTable table{{Align::left, Align::right, Align::right, Align::right, Align::right,
                   Align::right, Align::right, Align::right}};
  table.add({"source", "runs", "MAPE", "median", "bias", "MAPE", "median", "P90"});
  for (std::size_t i = 0; i < after.size(); ++i)
    table.add({source_label(after[i].source, after[i].group), std::to_string(after[i].count),
               short_percent(before[i].mape), short_percent(before[i].median),
               signed_percent_text(after[i].bias, std::abs(after[i].bias) < 0.9995 ? 1 : 0),
               short_percent(after[i].mape), short_percent(after[i].median),
               short_percent(after[i].p90)});
  return table.text(style);
}

/// Of kernels and collectives alone, over the benchmarks that their constants were fitted on.
std::vector<FitResiduals> alone(const Calibration& calibration) {
  std::vector<FitResiduals> all = calibration.kernels.residuals;
  const auto& more = calibration.collectives.residuals;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::string alone_table(const Calibration& calibration, const TextStyle& style) {
  TextTable table{
      {Align::right, Align::right, Align::right, Align::right, Align::right, Align::left}};
  table.add({"count", "bias", "MAPE", "median", "P90", "what"});
  for (const FitResiduals& line : alone(calibration))
    table.add({std::to_string(line.errors.count), signed_percent_text(line.errors.bias, 1),
               short_percent(line.errors.mape), short_percent(line.errors.median),
               short_percent(line.errors.p90), line.what});
  return table.text(style);
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
std::string alone_constants(const Calibration& calibration, const TextStyle& style) {
  TextTable table{{Align::left, Align::right, Align::right}};
  table.add({"constant", "value", "+-"});
  std::string last;
  std::set<std::string> chips;
  for (const auto* values : {&calibration.kernels.values, &calibration.collectives.values})
    for (const FittedValue& value : *values) {
      if (!calibration.asked(value.profile) || !(value.deviation > 0.0)) continue;
      if (!chips.insert(value.key + value.text + short_percent(value.deviation)).second) continue;
      if (value.profile != last) table.add({value.profile, "", ""});
      last = value.profile;
      table.add({"  " + value.key, value.text,
                 short_percent(value.deviation) + (value.at_bound ? " %, at its bound" : " %")});
    }
  return table.text(style);
}

Json summary_list(const std::vector<RecordCheck>& checks) {
  Json list = Json::array();
  for (const CheckSummary& line : summarize(checks)) list.push_back(summary_json(line));
  return list;
}

/// What of a file the fit gives otherwise.
std::string changes_text(const ProfileFile& file) {
  if (!file.changed()) return {};
  std::string text = "  changed  " + file.shown + "\n";
  for (const ProfileMismatch& line : file.differences)
    text += fmt::format(
        "    {}: {} -> {}{}\n", line.key, line.before.empty() ? "-" : line.before, line.after,
        line.deviations > 0.0 ? fmt::format(", {:.1f} deviations", line.deviations) : "");
  return text;
}

}  // namespace

std::string calibration_text(const Calibration& calibration, const TextStyle& style) {
  const auto title = [&](const std::string& text) {
    return "\n" + toned(text, Tone::strong, style) + "\n";
  };
  const ProfileFit& fit = calibration.fit;
  std::string text = labelled("  Plan", calibration.plan, style);
  text += labelled("  Records", std::to_string(fit.after.size()), style);
  text +=
      labelled("  Kernels",
               fmt::format("{} constants of {} devices from kernels alone",
                           calibration.kernels.values.size(), calibration.kernels.profiles.size()),
               style);
  text +=
      labelled("  Collectives",
               fmt::format("{} constants of links within hosts and of fabrics from sweeps alone",
                           calibration.collectives.values.size()),
               style);
  text += labelled("  Fit",
                   fmt::format("{} constants, {} after {} sets of derivatives, objective {:.2f}",
                               fit.constants.size(), fit.converged ? "converged" : "not converged",
                               fit.derivatives, fit.objective),
                   style);
  text += labelled("  Starts", starts_text(calibration), style);
  text += title("Constants, with the standard deviation of the fit");
  text += constants_table(calibration, style);
  text += title("Constants of kernels and collectives alone") + alone_constants(calibration, style);
  text += title("Measured over predicted time by stack") + bands_table(calibration, style);
  text += title("Errors in percent: MAPE and median before; bias, MAPE, median and P90 after");
  text += errors_table(calibration, style);
  text += title("Kernels and collectives alone, errors in percent");
  text += alone_table(calibration, style);
  text += title("Profiles");
  int changed = 0;
  for (const ProfileFile& file : calibration.files) {
    text += changes_text(file);
    changed += file.changed() ? 1 : 0;
  }
  text += changes_text(calibration.plan_file);
  text += changes_text(calibration.constants_file);
  text += fmt::format("  {} of {} profiles are as the fit gives them\n",
                      calibration.files.size() - static_cast<std::size_t>(changed),
                      calibration.files.size());
  return text;
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
