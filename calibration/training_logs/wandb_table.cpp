// SPDX-License-Identifier: Apache-2.0
// Weights & Biases, https://docs.wandb.ai/guides/app/features/panels/line-plot (export of a chart),
// wandb.apis.public.Run.history() written by pandas, and the export of a table of runs.
#include "calibration/training_logs/log_file_reader.hpp"
#include "models/base/ranges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "calibration/imports/record_text.hpp"
#include "calibration/training_logs/line_values.hpp"
#include "calibration/training_logs/log_grammar.hpp"

namespace foretrain {
namespace {

/// What the values of a column are.
enum class Column { nothing, step, elapsed, seconds, milliseconds, tokens_per_s_per_gpu, tflops };

struct ColumnName {
  std::string_view part;  ///< of the folded name
  Column means;
};

/// The first that a name holds counts.
constexpr std::array column_names{
    ColumnName{"relative_time", Column::elapsed},
    ColumnName{"iteration_time", Column::seconds},
    ColumnName{"iter_time", Column::seconds},
    ColumnName{"time_per_iteration_ms", Column::milliseconds},
    ColumnName{"step_time_ms", Column::milliseconds},
    ColumnName{"step_time", Column::seconds},
    ColumnName{"step_timing", Column::seconds},
    ColumnName{"time_per_step", Column::seconds},
    ColumnName{"end_to_end(s)", Column::seconds},
    ColumnName{"tokens_per_second_per_gpu", Column::tokens_per_s_per_gpu},
    ColumnName{"tokens_per_sec_per_gpu", Column::tokens_per_s_per_gpu},
    ColumnName{"throughput(tps)", Column::tokens_per_s_per_gpu},
    ColumnName{"tflops", Column::tflops},
};

/// The cells of a row; quotes are taken off, a doubled quote inside them is one.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '"' && quoted && at + 1 < line.size() && line[at + 1] == '"') {
      cells.back() += c;
      ++at;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

std::string folded_name(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, 200)) result += folded(c);
  return result;
}

Column meaning_of(const std::string& cell) {
  const std::string name = folded_name(cell);
  if (name == "step" || name == "__step" || name == "_step") return Column::step;
  if (name == "_runtime" || name == "_timestamp") return Column::elapsed;
  if (name.ends_with("__min") || name.ends_with("__max")) return Column::nothing;
  for (const ColumnName& known : column_names)
    if (name.find(known.part) != std::string::npos) return known.means;
  return Column::nothing;
}

std::vector<std::string> header_of(std::string_view front) {
  return cells_of(front.substr(0, front.find('\n')));
}

bool is_table_of_runs(const std::vector<std::string>& header) {
  return header.size() > 3 && header[0] == "Name" && header[1] == "State";
}

class TableReader {
 public:
  explicit TableReader(LogFile& file, std::vector<std::string> header)
      : file_{file}, header_{std::move(header)}, lines_{file} {
    const auto& all = log_grammars();
    const auto found =
        std::ranges::find_if(all, [](const LogGrammar& one) { return one.name == "wandb"; });
    grammar_ = static_cast<int>(found - all.begin());
    std::set<std::string> runs;
    std::set<Column> taken;
    for (const std::string& cell : header_) {
      if (const std::size_t dash = cell.find(" - "); dash != std::string::npos)
        runs.insert(cell.substr(0, dash));
      // A run's time since its start is finer than the time of day.
      const Column means = meaning_of(cell);
      columns_.push_back(taken.insert(means).second ? means : Column::nothing);
    }
    if (runs.size() > 1)
      file_.remarks.push_back(
          fmt::format("the table holds {} runs: the first was read", runs.size()));
    of_runs_ = is_table_of_runs(header_);
  }

  void take(std::string_view line) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    ++file_.stream.lines;
    if (of_runs_) {
      if (++rows_ == 1) first_row_ = cells_of(line);
      return;
    }
    StepRecord record;
    const auto cells = cells_of(line);
    for (std::size_t place = 0; place < std::min(cells.size(), columns_.size()); ++place)
      put(record, columns_[place], number_in(trimmed(cells[place])));
    const bool said = record.seconds || record.elapsed || record.tokens_per_s_per_gpu;
    if (record.step && said)
      static_cast<void>(
          file_.series.try_emplace(grammar_, StepClock::elapsed).first->second.add(record));
  }

  void finish() {
    if (!of_runs_) return;
    if (rows_ != 1) {
      file_.remarks.push_back(fmt::format(
          "a table of {} runs, a row each, has no steps: export the history of one run", rows_));
      return;
    }
    for (std::size_t place = 0; place < std::min(header_.size(), first_row_.size()); ++place) {
      const std::string setting = header_[place] + ": " + first_row_[place];
      lines_.take({static_cast<long>(place) + 1, setting});
    }
  }

 private:
  static void put(StepRecord& record, Column column, const std::optional<double>& value) {
    if (!value) return;
    switch (column) {
      case Column::step:
        record.step = value;
        return;
      case Column::elapsed:
        record.elapsed = value;
        return;
      case Column::seconds:
        record.seconds = value;
        return;
      case Column::milliseconds:
        record.seconds = *value * 1e-3;
        return;
      case Column::tokens_per_s_per_gpu:
        record.tokens_per_s_per_gpu = value;
        return;
      case Column::tflops:
        record.tflops_per_gpu = value;
        return;
      case Column::nothing:
        return;
    }
  }

  LogFile& file_;
  std::vector<std::string> header_;
  std::vector<Column> columns_;
  LogFileReader lines_;
  std::vector<std::string> first_row_;
  bool of_runs_ = false;
  long rows_ = 0;
  int grammar_ = 0;
};

}  // namespace

bool may_be_table(std::string_view front) {
  const std::string_view line = front.substr(0, front.find('\n'));
  return line.find(',') != std::string_view::npos && line.find('\0') == std::string_view::npos &&
         line.find('{') == std::string_view::npos;
}

bool is_wandb_table(std::string_view front) {
  if (!may_be_table(front)) return false;
  const auto header = header_of(front);
  if (is_table_of_runs(header)) return true;
  const auto has = [&](std::string_view name) { return contains(header, name); };
  const bool chart =
      header.size() > 1 && header[0] == "Step" && header[1].find(" - ") != std::string::npos;
  return chart || (has("_step") && (has("_runtime") || has("_timestamp")));
}

LogFile read_wandb_table(std::string_view front, std::istream& input) {
  LogFile file;
  file.signed_name = "wandb";
  TableReader reader(file, header_of(front));
  const std::size_t end = front.find('\n');
  std::string line;
  bool cut = false;
  const auto take = [&](char c) {
    if (c != '\n') {
      if (line.size() < most_line_bytes) line += c;
      cut = cut || line.size() >= most_line_bytes;
      return;
    }
    reader.take(line);
    line.clear();
    file.stream.cut += cut ? 1 : 0;
    cut = false;
  };
  if (end != std::string_view::npos)
    for (const char c : front.substr(end + 1)) take(c);
  for (char c = 0; input.get(c);) {
    if (c == '\0') {
      file.stream.binary = true;
      return file;
    }
    take(c);
  }
  reader.take(line);
  reader.finish();
  return file;
}

}  // namespace foretrain
