// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "planner/forecast/report_csv.hpp"
#include "planner/sweep/sweep_metrics.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "scenarios/yaml/safe_text.hpp"

namespace foretrain {
namespace {

constexpr std::size_t piece = std::size_t{1} << 16U;
constexpr int shown_rows = 10;
constexpr std::size_t fixed_columns = 5;

std::string number_text(double value) { return fmt::format("{}", value); }

std::string plain(const SweepCell& cell) {
  // The file may be of anybody.
  if (const auto* text = std::get_if<std::string>(&cell)) return escaped(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&cell)) return number_text(*number);
  return {};
}

std::string json(const SweepCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell))
    return Json(*text).dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string text = plain(cell);
  return text.empty() ? "null" : text;
}

std::string readable(const SweepCell& cell) {
  const auto* number = std::get_if<double>(&cell);
  if (number == nullptr) return plain(cell);
  return *number != 0.0 && std::abs(*number) < 0.01 ? fmt::format("{:.3g}", *number)
                                                    : significant_text(*number);
}

/// Collects text and passes it on in pieces.
class Buffer {
 public:
  explicit Buffer(const TextSink& sink) : sink_(sink) {}
  void add(std::string_view text) { text_ += text; }
  /// @return whether more is wanted
  bool pass_on(bool all = false) {
    if (wanted_ && (all || text_.size() >= piece)) {
      wanted_ = sink_(text_);
      text_.clear();
    }
    return wanted_;
  }

 private:
  const TextSink& sink_;
  std::string text_;
  bool wanted_ = true;
};

/// The part of a key or metric that people would say.
std::string short_name(const std::string& path, const std::vector<std::string>& all) {
  std::string name = path.substr(path.rfind('.') + 1);
  const auto ends_like = [&](const std::string& other) {
    return other.substr(other.rfind('.') + 1) == name;
  };
  return std::count_if(all.begin(), all.end(), ends_like) > 1 ? path : name;
}

/// As many columns as fit, from the left.
std::string table_text(const std::vector<std::vector<std::string>>& columns,
                       const TextStyle& style) {
  int width = 0;
  std::vector<TextTable::Align> aligns;
  for (const auto& column : columns) {
    int widest = 0;
    for (const std::string& cell : column) widest = std::max(widest, display_width(cell));
    width += widest + 2;
    if (width > style.width) break;
    aligns.push_back(TextTable::Align::right);
  }
  if (aligns.empty()) return {};
  TextTable table(aligns);
  for (std::size_t row = 0; row < columns.front().size(); ++row) {
    std::vector<std::string> cells;
    for (std::size_t c = 0; c < aligns.size(); ++c) cells.push_back(columns[c][row]);
    table.add(std::move(cells));
  }
  return table.text(style);
}

std::string best_text(const SweepStore& store, const TextStyle& style) {
  const std::vector<std::string> names = store.columns();
  const auto metrics = Json::parse(store.header_value("metrics")).get<std::vector<std::string>>();
  const bool most = more_is_better(metrics.front());
  const auto rows = store.first_by(metrics.front(), most, shown_rows);
  if (rows.empty() && store.counts().ok > 0)
    return "\n" + metrics.front() + " is unknown at every point, so none is best\n";
  if (rows.empty()) return {};
  std::vector<std::vector<std::string>> columns;
  for (std::size_t c = 0; c < names.size(); ++c) {
    if (c > 0 && c < fixed_columns) continue;
    columns.push_back({short_name(names[c], names)});
    for (const auto& row : rows) columns.back().push_back(readable(row[c]));
  }
  return "\n" + toned((most ? "Most " : "Least ") + metrics.front(), Tone::strong, style) + "\n" +
         table_text(columns, style);
}

std::string refusals_text(const SweepStore& store, const TextStyle& style) {
  const auto refusals = store.refusals();
  if (refusals.empty()) return {};
  TextTable table{{TextTable::Align::right, TextTable::Align::left}};
  table.add({"count", "why"});
  for (const auto& [why, count] : refusals) table.add({with_thousands(count), escaped(why)});
  return "\n" + toned("Without an answer", Tone::strong, style) + "\n" + table.text(style);
}

}  // namespace

std::string counts_text(const SweepCounts& counts) {
  return fmt::format("{} ok, {} infeasible, {} invalid, {} failed, {} missing of {} points",
                     with_thousands(counts.ok), with_thousands(counts.infeasible),
                     with_thousands(counts.invalid), with_thousands(counts.failed),
                     with_thousands(counts.missing()), with_thousands(counts.points));
}

void sweep_csv(const SweepStore& store, const TextSink& sink) {
  Buffer buffer(sink);
  std::string line;
  for (const std::string& name : store.columns())
    line += (line.empty() ? "" : ",") + csv_field(name);
  buffer.add(line + "\r\n");
  store.for_each([&](const std::vector<SweepCell>& cells) {
    line.clear();
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (c > 0) line += ',';
      line += csv_field(plain(cells[c]));
    }
    buffer.add(line + "\r\n");
    return buffer.pass_on();
  });
  buffer.pass_on(true);
}

void sweep_json(const SweepStore& store, const TextSink& sink) {
  const SweepCounts counts = store.counts();
  Json head = Json::object();
  for (const auto& [name, value] : store.header())
    head[name] =
        name == "axes" || name == "metrics" || name == "points" ? Json::parse(value) : Json(value);
  head["counts"] = {{"ok", counts.ok},
                    {"infeasible", counts.infeasible},
                    {"invalid", counts.invalid},
                    {"failed", counts.failed},
                    {"missing", counts.missing()}};
  Buffer buffer(sink);
  buffer.add("{\n");
  for (const auto& [name, value] : head.items())
    buffer.add("  " + Json(name).dump() + ": " +
               value.dump(-1, ' ', false, Json::error_handler_t::replace) + ",\n");
  buffer.add("  \"rows\": [");
  std::vector<std::string> names;
  for (const std::string& name : store.columns()) names.push_back(Json(name).dump() + ": ");
  bool first = true;
  store.for_each([&](const std::vector<SweepCell>& cells) {
    buffer.add(first ? "\n    {" : ",\n    {");
    first = false;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (c > 0) buffer.add(", ");
      buffer.add(names[c]);
      buffer.add(json(cells[c]));
    }
    buffer.add("}");
    return buffer.pass_on();
  });
  buffer.add(first ? "]\n}\n" : "\n  ]\n}\n");
  buffer.pass_on(true);
}

std::string sweep_text(const SweepStore& store, const TextStyle& style) {
  store.check_rows();
  const SweepCounts counts = store.counts();
  return hanging("Sweep: ", counts_text(counts) + ", " + store.header_value("engine"), style) +
         refusals_text(store, style) + best_text(store, style);
}

}  // namespace foretrain
