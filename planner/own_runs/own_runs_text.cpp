// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/evidence/internal/validate_report.hpp"
#include "planner/own_runs/own_runs.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"

namespace foretrain {
namespace {

std::string error_text(double predicted, double measured) {
  return signed_percent_text(predicted / measured - 1.0, 1);
}

/// "-4.2 to +6.1": where the measurement is expected around a forecast.
std::string band_text(const RecordCheck& check) {
  return fmt::format("{} to {}", signed_percent_text(check.low / check.predicted - 1.0, 0),
                     signed_percent_text(check.high / check.predicted - 1.0, 0));
}

AnswerTable runs_table(const OwnRunsFit& fit) {
  AnswerTable table{{words_column("run"), number_column("measured"), number_column("before"),
                     number_column("after"), number_column("unseen"), number_column("band"),
                     number_column("band after")}};
  table.layout.apart = 1;
  for (const OwnRunLine& line : fit.runs)
    table.add({line.after.id, seconds_text(Seconds{line.after.measured}),
               error_text(line.before.predicted, line.before.measured),
               error_text(line.after.predicted, line.after.measured),
               line.left_out ? error_text(*line.left_out, line.after.measured) : "-",
               band_text(line.before), band_text(line.after)});
  return table;
}

/// Mean absolute errors: before, after, and of runs that the fit had not seen.
struct OwnErrors {
  double before = 0.0;
  double after = 0.0;
  std::optional<double> left_out;
};

OwnErrors errors_of(const OwnRunsFit& fit) {
  OwnErrors errors;
  double left_out = 0.0;
  const double share = 1.0 / static_cast<double>(fit.runs.size());
  for (const OwnRunLine& line : fit.runs) {
    errors.before += share * std::abs(line.before.error());
    errors.after += share * std::abs(line.after.error());
    if (line.left_out) left_out += share * std::abs(*line.left_out / line.after.measured - 1.0);
  }
  if (fit.runs.front().left_out) errors.left_out = left_out;
  return errors;
}

AnswerTable constants_table(const OwnRunsFit& fit) {
  AnswerTable table{{words_column("constant"), number_column("shipped"), number_column("yours"),
                     number_column("change"), number_column("+-")}};
  std::string last;
  for (const OwnConstantLine& line : fit.constants) {
    if (!line.moved) continue;
    if (line.profile != last) table.add({line.profile, "", "", "", ""});
    last = line.profile;
    table.add({"  " + line.keys.front(), line.before, line.after,
               signed_percent_text(line.change, 1), short_percent(line.deviation) + " %"});
  }
  return table;
}

/// Constants that would matter for these runs and that they leave as unknown as before.
std::string undetermined_text(const OwnRunsFit& fit) {
  constexpr double matters = 0.01;  // of a step
  std::string text;
  for (const OwnConstantLine& line : fit.constants)
    if (line.undetermined() && line.effect >= matters)
      text += (text.empty() ? "" : ", ") + line.profile + " " + line.keys.front();
  return text.empty() ? "nothing that moves these runs by more than 1 %" : text;
}

Json run_tree(const OwnRunLine& line) {
  const auto band = [](const RecordCheck& check) {
    return Json{{"predicted_s", check.predicted},
                {"low_s", check.low},
                {"high_s", check.high},
                {"error", check.error()}};
  };
  return {{"id", line.after.id},
          {"measured_s", line.after.measured},
          {"before", band(line.before)},
          {"after", band(line.after)},
          {"left_out_s", number_or_null(line.left_out)},
          {"profiles", line.profiles}};
}

Json constant_tree(const OwnConstantLine& line) {
  return {{"profile", line.profile},
          {"keys", line.keys},
          {"before", line.before},
          {"after", line.after},
          {"change", line.change},
          {"prior_deviation", line.width},
          {"deviation", line.deviation},
          {"written", line.moved},
          {"undetermined", line.undetermined()}};
}

}  // namespace

Answer own_runs_answer(const OwnRunsFit& fit) {
  const OwnErrors errors = errors_of(fit);
  const std::string after = percent_text(errors.after);
  Answer answer;
  AnswerHead& head = answer.head;
  head.subject = "Fit to runs of your own";
  head.words = after + " AFTER THE FIT";
  head.sentence = fmt::format(
      "The mean error of {} run{} goes from {} to {}; {}.", fit.runs.size(),
      fit.runs.size() == 1 ? "" : "s", percent_text(errors.before), after,
      errors.left_out
          ? "runs left out of the fit in turn are " + percent_text(*errors.left_out) + " off"
          : "three runs or more would say how it does on others");
  head.figures = {{"before", percent_text(errors.before)}, {"after", after}};
  if (errors.left_out) head.figures.push_back({"left out", percent_text(*errors.left_out)});
  AnswerFacts facts;
  facts.add("around", fmt::format("{}", fmt::join(fit.profiles, ", ")));
  facts.add("noise", percent_text(fit.noise) + ": what no constant explains");
  facts.add("undetermined", undetermined_text(fit));
  for (const RecordCheck& check : fit.skipped) facts.add("left aside", check.id + ": " + check.why);
  answer.add("Runs: forecast / measured - 1, and where forecasts expect them", runs_table(fit));
  answer.add("Constants that moved", constants_table(fit));
  answer.add("", std::move(facts));
  return answer;
}

std::string own_runs_json(const OwnRunsFit& fit) {
  const OwnErrors errors = errors_of(fit);
  Json tree{{"schema", "own-fit/1"}, {"files", fit.files}, {"profiles", fit.profiles}};
  tree["runs"] = Json::array();
  for (const OwnRunLine& line : fit.runs) tree["runs"].push_back(run_tree(line));
  tree["skipped"] = Json::array();
  for (const RecordCheck& check : fit.skipped)
    tree["skipped"].push_back({{"id", check.id}, {"why", check.why}});
  tree["errors"] = {{"before", errors.before},
                    {"after", errors.after},
                    {"left_out", number_or_null(errors.left_out)}};
  tree["noise"] = fit.noise;
  tree["constants"] = Json::array();
  for (const OwnConstantLine& line : fit.constants)
    tree["constants"].push_back(constant_tree(line));
  tree["made"] = Json::array();
  for (const OwnProfileFile& file : fit.made) tree["made"].push_back(file.path);
  return dump(tree);
}

}  // namespace foretrain
