// SPDX-License-Identifier: Apache-2.0

#include "planner/evidence/studies.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "planner/evidence/internal/record_files.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

using PairJson = nlohmann::ordered_json;

std::string signed_percent(double share) { return fmt::format("{:+.1f}", 100.0 * share); }

std::string verdict_on(const AblationCheck& check) {
  if (!check.has_sign()) return "small";
  if (!check.right_sign()) return "sign";
  return check.right_size() ? "" : "size";
}

/// Kinds of choices, the sum of them last.
std::vector<AblationSummary> with_sum(const std::vector<AblationCheck>& checks) {
  std::vector<AblationSummary> lines = summarize(checks);
  AblationSummary all{"all"};
  for (const AblationSummary& one : lines) {
    all.pairs += one.pairs;
    all.signs += one.signs;
    all.sizes += one.sizes;
    all.small += one.small;
  }
  lines.push_back(std::move(all));
  return lines;
}

AnswerHead ablations_head(const AblationSummary& all) {
  AnswerHead head;
  head.subject = "Runs that differ in one choice";
  head.words = fmt::format("{} OF {} RIGHT IN SIGN", all.signs, all.pairs);
  head.sentence = fmt::format(
      "What one choice changes of the step time: of {} measured changes above the noise, {} are "
      "forecast with the right sign and {} within a third of their size.",
      all.pairs, all.signs, all.sizes);
  head.figures = {{"right sign", fmt::format("{} of {}", all.signs, all.pairs)},
                  {"within a third", fmt::format("{} of {}", all.sizes, all.pairs)}};
  return head;
}

AnswerTable changes_table(const std::vector<AblationCheck>& checks) {
  AnswerTable table{{words_column("pair"), number_column("measured"), number_column("forecast"),
                     words_column("wrong")}};
  for (const AblationCheck& check : checks)
    if (check.why.empty())
      table.add({check.pair.after, signed_percent(check.measured), signed_percent(check.predicted),
                 verdict_on(check)});
  return table;
}

}  // namespace

Answer ablations_answer(const std::vector<AblationCheck>& checks) {
  const std::vector<AblationSummary> lines = with_sum(checks);
  Answer answer{ablations_head(lines.back())};
  AnswerTable kinds{{words_column("what differs"), number_column("pairs"),
                     number_column("right sign"), number_column("within a third"),
                     number_column("small")}};
  for (const AblationSummary& one : lines)
    kinds.add({one.what, std::to_string(one.pairs), std::to_string(one.signs),
               std::to_string(one.sizes), std::to_string(one.small)});
  answer.add({"By kind of choice",
              {std::move(kinds),
               AnswerLine{"small: measured to change by less than 2 %, as repeated runs do."}}});
  AnswerSection changes{"Change of the step time, percent", {changes_table(checks)}};
  for (const AblationCheck& check : checks)
    changes.blocks.emplace_back(AnswerLine{check.why, check.why.empty() ? "" : "not judged: "});
  answer.add(std::move(changes));
  return answer;
}

std::string ablations_json(const std::vector<AblationCheck>& checks) {
  PairJson summary = PairJson::array();
  for (const AblationSummary& one : summarize(checks))
    summary.push_back({{"what", one.what},
                       {"pairs", one.pairs},
                       {"right_sign", one.signs},
                       {"within_a_third", one.sizes},
                       {"small", one.small}});
  PairJson pairs = PairJson::array();
  for (const AblationCheck& check : checks) {
    const bool judged = check.why.empty();
    const auto number = [&](double value) { return judged ? PairJson(value) : PairJson(nullptr); };
    pairs.push_back({{"what", check.pair.what},
                     {"before", check.pair.before},
                     {"after", check.pair.after},
                     {"besides", check.pair.besides},
                     {"measured", number(check.measured)},
                     {"predicted", number(check.predicted)},
                     {"why", judged ? PairJson(nullptr) : PairJson(check.why)}});
  }
  return PairJson{{"summary", std::move(summary)}, {"pairs", std::move(pairs)}}.dump(2) + "\n";
}

namespace {

using Json = nlohmann::ordered_json;

std::string error_cell(double percent) { return fixed_text(percent, percent < 99.95 ? 1 : 0); }

AnswerTable errors_table(const std::vector<PeerComparison>& lines) {
  AnswerTable table{{words_column("runs of"), number_column("runs"), number_column("ours")}};
  for (const std::string& name : peer_names()) table.columns.push_back(number_column(name));
  for (const PeerComparison& line : lines) {
    std::vector<AnswerCell> cells{line.family.name, std::to_string(line.runs),
                                  error_cell(line.mape)};
    for (const auto& error : line.family.errors)
      cells.emplace_back(error ? error_cell(*error) : "-");
    table.add(std::move(cells));
  }
  return table;
}

/// Of the families that a tool was run on: how many, and in how many ours is the least error.
std::string peers_sentence(const std::vector<PeerComparison>& lines) {
  int beside = 0;
  int ahead = 0;
  for (const PeerComparison& line : lines) {
    const auto& errors = line.family.errors;
    // The first is the constant MFU, which is no tool.
    const auto is_known = [](const auto& error) { return error.has_value(); };
    if (errors.empty() || std::none_of(errors.begin() + 1, errors.end(), is_known)) continue;
    ++beside;
    if (std::ranges::none_of(errors,
                             [&](const auto& error) { return error && *error < line.mape; }))
      ++ahead;
  }
  return fmt::format(
      "Our mean error of the step time is the smallest in {} of the {} groups of published runs "
      "that another tool was run on.",
      ahead, beside);
}

std::string note(bool left_out) {
  return std::string("Ours ") +
         (left_out ? "without the source of the runs in the fit"
                   : "with profiles that were fitted on these runs, too") +
         "; 50 % of the peak, recomputed work counted; - where a tool was not run or cannot "
         "represent "
         "the plan.";
}

std::string origin(const PeerComparison& line) {
  const PeerFamily& family = line.family;
  const std::string counted =
      family.runs && *family.runs != line.runs ? fmt::format(" ({} runs)", *family.runs) : "";
  return family.name + ": " + family.source + counted + ".";
}

}  // namespace

std::vector<PeerComparison> compare_with_peers(const std::vector<RecordCheck>& checks,
                                               const std::vector<std::filesystem::path>& catalogs) {
  const RecordFile file = record_file("", "errors.yaml", catalogs, "peers");
  Diagnostics diagnostics;
  const auto families = read_peer_errors(contents(file), file.name, diagnostics);
  diagnostics.throw_if_any();
  if (!families) throw UsageError(file.name + ": no families");
  std::vector<PeerComparison> lines = beside_peers(*families, checks);
  if (lines.empty()) throw UsageError("--peers: none of these records was given to another tool");
  return lines;
}

Answer peers_answer(const std::vector<PeerComparison>& lines, bool left_out) {
  Answer answer;
  answer.head.subject = "Step time beside other tools";
  answer.head.words = left_out ? "SOURCES LEFT OUT" : "RUNS THAT WERE FITTED";
  answer.head.sentence = peers_sentence(lines);
  answer.add({"Step time beside other tools: mean absolute error, percent",
              {errors_table(lines), AnswerLine{note(left_out)}}});
  AnswerSection origins{"Errors of the others"};
  for (const PeerComparison& line : lines) origins.blocks.emplace_back(AnswerLine{origin(line)});
  answer.add(std::move(origins));
  return answer;
}

std::string peers_json(const std::vector<PeerComparison>& lines, bool left_out) {
  Json families = Json::array();
  for (const PeerComparison& line : lines) {
    Json others = Json::object();
    for (std::size_t i = 0; i < line.family.errors.size(); ++i)
      others[i == 0 ? "constant_mfu" : peer_names()[i]] =
          line.family.errors[i] ? Json(*line.family.errors[i]) : Json(nullptr);
    families.push_back({{"name", line.family.name},
                        {"runs", line.runs},
                        {"foretrain_percent", line.mape},
                        {"others_runs", line.family.runs ? Json(*line.family.runs) : Json(nullptr)},
                        {"others_percent", std::move(others)},
                        {"source", line.family.source}});
  }
  return Json{{"left_out", left_out}, {"families", std::move(families)}}.dump(2) + "\n";
}

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
