// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/studies.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "planner/evidence/internal/record_files.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
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

}  // namespace foretrain
