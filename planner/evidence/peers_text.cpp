// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/peers_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "planner/evidence/internal/record_files.hpp"
#include "planner/text/markdown.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

using Cells = std::vector<std::string>;
using Json = nlohmann::ordered_json;

Cells head() {
  Cells cells{"runs of", "runs", "ours"};
  cells.insert(cells.end(), peer_names().begin(), peer_names().end());
  return cells;
}

std::string error_cell(double percent) { return fixed_text(percent, percent < 99.95 ? 1 : 0); }

Cells row(const PeerComparison& line) {
  Cells cells{line.family.name, std::to_string(line.runs), error_cell(line.mape)};
  for (const auto& error : line.family.errors) cells.push_back(error ? error_cell(*error) : "-");
  return cells;
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

std::string peers_text(const std::vector<PeerComparison>& lines, bool left_out,
                       const TextStyle& style) {
  using Align = TextTable::Align;
  std::vector<Align> columns(head().size(), Align::right);
  columns.front() = Align::left;
  TextTable table{columns};
  table.add(head());
  for (const PeerComparison& line : lines) table.add(row(line));
  std::string text =
      toned("Step time beside other tools: mean absolute error, percent", Tone::strong, style) +
      "\n" + table.text(style) + hanging("  ", note(left_out), style) + "\n" +
      toned("Errors of the others", Tone::strong, style) + "\n";
  for (const PeerComparison& line : lines) text += hanging("  ", origin(line), style);
  return text;
}

std::string peers_markdown(const std::vector<PeerComparison>& lines, bool left_out) {
  const auto written = [](const Cells& cells) {
    std::string text = "|";
    for (const std::string& cell : cells) text += " " + markdown_cell(cell) + " |";
    return text + "\n";
  };
  std::string text = written(head()) + "|:--|";
  for (std::size_t i = 1; i < head().size(); ++i) text += "--:|";
  text += "\n";
  for (const PeerComparison& line : lines) text += written(row(line));
  text += "\n" + note(left_out) + "\n\n";
  for (const PeerComparison& line : lines) text += "- " + origin(line) + "\n";
  return text;
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
