// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "models/base/require.hpp"
#include "planner/answer/quantity.hpp"
#include "planner/answer/value_csv.hpp"
#include "planner/sweep/sweep_row.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/quoting.hpp"
#include "scenarios/yaml/diagnostics.hpp"

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
  return std::ranges::count_if(all, ends_like) > 1 ? path : name;
}

/// The points that are best by the first metric.
struct BestPoints {
  std::vector<std::string> metrics;
  std::vector<std::string> columns;
  std::vector<std::vector<SweepCell>> rows;  ///< best first
  bool most = false;                         ///< more is better

  [[nodiscard]] std::string title() const { return (most ? "Most " : "Least ") + metrics.front(); }
  [[nodiscard]] std::size_t metric_column(std::size_t metric) const {
    return columns.size() - metrics.size() + metric;
  }
};

BestPoints best_points(const SweepStore& store) {
  BestPoints best;
  best.metrics = Json::parse(store.header_value("metrics")).get<std::vector<std::string>>();
  best.columns = store.columns();
  best.most = more_is_better(best.metrics.front());
  best.rows = store.first_by(best.metrics.front(), best.most, shown_rows);
  return best;
}

AnswerTable best_table(const BestPoints& best) {
  AnswerTable table;
  table.layout.apart = 1;
  std::vector<std::size_t> shown{0};
  for (std::size_t c = fixed_columns; c < best.columns.size(); ++c) shown.push_back(c);
  for (const std::size_t c : shown)
    table.columns.push_back(number_column(short_name(best.columns[c], best.columns)));
  for (const auto& row : best.rows) {
    std::vector<AnswerCell> cells;
    for (const std::size_t c : shown) cells.emplace_back(readable(row[c]));
    table.add(std::move(cells));
  }
  return table;
}

std::vector<std::string> settings_of(const BestPoints& best) {
  std::vector<std::string> settings;
  for (std::size_t c = fixed_columns; !best.rows.empty() && c < best.metric_column(0); ++c)
    settings.push_back(best.columns[c] + "=" + plain(best.rows.front()[c]));
  return settings;
}

/// Metrics of the best point; the ends of a band stand beside what they are of.
std::vector<HeadFigure> figures_of(const BestPoints& best) {
  std::vector<HeadFigure> figures;
  for (std::size_t m = 0; m < best.metrics.size() && figures.size() < 4; ++m) {
    const std::string& path = best.metrics[m];
    const SweepCell& cell = best.rows.front()[best.metric_column(m)];
    std::optional<double> number;
    if (const auto* real = std::get_if<double>(&cell)) number = *real;
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) number = static_cast<double>(*whole);
    if (!number || path == "step.low_s" || path == "step.high_s") continue;
    figures.push_back({short_name(path, best.columns), quantity_text(path, *number)});
  }
  return figures;
}

AnswerHead head_of(const SweepStore& store, const BestPoints& best) {
  const SweepCounts counts = store.counts();
  AnswerHead head;
  head.subject = fmt::format("Sweep of {} points", with_thousands(counts.points));
  head.made_by = store.header_value("engine");
  head.words =
      fmt::format("{} OF {} RUN", with_thousands(counts.ok), with_thousands(counts.points));
  if (counts.ok == 0) {
    head.verdict = Verdict::no;
    head.words = "NO POINT RUNS";
    head.sentence = "No point has an answer: " + counts_text(counts) + ".";
    if (counts.missing() == counts.points)
      head = interrupted_head(std::move(head), "a point was done");
  } else if (best.rows.empty()) {
    head.sentence = best.metrics.front() + " is unknown at every point, so none is best.";
  } else {
    head.figures = figures_of(best);
    head.sentence = fmt::format("{}: {} at {}.", best.title(), head.figures.front().value,
                                escaped(fmt::format("{}", fmt::join(settings_of(best), ", "))));
  }
  if (head.figures.empty()) head.figures = {{"run", with_thousands(counts.ok)}};
  return head;
}

AnswerTable refusals_table(const SweepStore& store) {
  AnswerTable table{{number_column("count"), words_column("why")}};
  for (const auto& [why, count] : store.refusals())
    table.add({with_thousands(count), escaped(why)});
  return table;
}

constexpr double least_minutes = 10.0;

std::string time_limit(const SlurmArray& array) {
  const double seconds =
      static_cast<double>(array.points) / array.tasks / array.workers / array.points_per_s;
  const auto minutes = static_cast<std::int64_t>(std::ceil(least_minutes + seconds / 60.0));
  return fmt::format("{:02}:{:02}:00", minutes / 60, minutes % 60);
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

Answer sweep_answer(const SweepStore& store) {
  store.check_rows();
  const BestPoints best = best_points(store);
  Answer answer{head_of(store, best)};
  answer.add("", AnswerLine{counts_text(store.counts())});
  answer.add("Without an answer", refusals_table(store));
  answer.add(best.title(), best_table(best));
  return answer;
}

std::vector<std::string> best_settings(const SweepStore& store) {
  return settings_of(best_points(store));
}

std::string sbatch_script(const SlurmArray& array) {
  FORETRAIN_REQUIRE(array.tasks >= 1 && array.workers >= 1 && array.points_per_s > 0.0);
  std::string words;
  for (const std::string& argument : array.arguments) words += " " + shell_word(argument);
  return fmt::format(
      R"(#!/bin/bash
#SBATCH --job-name=foretrain-{name}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={workers}
#SBATCH --time={time}
#SBATCH --requeue
# {points} points of a sweep in {tasks} shards. Run by hand (bash FILE) it submits the shards, and
# a job that merges them into {name}.sqlite. A shard that was ended goes on where it stopped.
set -euo pipefail
foretrain=${{FORETRAIN:-foretrain}}
if [[ ${{1:-}} == merge ]]; then
  exec "$foretrain" sweep merge {name}.sqlite {name}-shard-*.sqlite
fi
if [[ -z ${{SLURM_ARRAY_TASK_ID:-}} ]]; then
  array=$(sbatch --parsable --array=1-{tasks} "$0")
  sbatch --dependency=afterany:"${{array%%;*}}" "$0" merge
  exit
fi
exec "$foretrain"{words} --resume \
  --db {name}-shard-"$SLURM_ARRAY_TASK_ID".sqlite --shard "$SLURM_ARRAY_TASK_ID"/{tasks} \
  -j "${{SLURM_CPUS_PER_TASK:-{workers}}}"
)",
      fmt::arg("name", array.name), fmt::arg("workers", array.workers),
      fmt::arg("time", time_limit(array)), fmt::arg("points", array.points),
      fmt::arg("tasks", array.tasks), fmt::arg("words", words));
}

}  // namespace foretrain
