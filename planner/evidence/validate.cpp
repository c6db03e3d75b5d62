// SPDX-License-Identifier: Apache-2.0

#include "planner/evidence/validate.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "calibration/validate/validations.hpp"
#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "planner/evidence/internal/record_files.hpp"
#include "planner/evidence/internal/validate_report.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

void append(std::vector<RecordCheck> checks, Validation& validation) {
  std::move(checks.begin(), checks.end(), std::back_inserter(validation.records));
}

void add_memory(const RecordFile& file, const RunCatalog& catalog, Validation& validation) {
  validation.files.push_back(file.name);
  const std::string text = contents(file);
  try {
    append(check_megatron_memory(nlohmann::json::parse(text), catalog), validation);
  } catch (const nlohmann::json::exception& error) {
    throw UsageError(file.name + ": " + error.what());
  } catch (const std::runtime_error& error) {
    throw UsageError(file.name + ": " + error.what());
  }
}

void add_runs(const RecordFile& file, const RunCatalog& catalog, const ValidateRequest& request,
              Validation& validation) {
  validation.files.push_back(file.name);
  const auto records = with_grades(read_runs(file), request.confidence);
  append(check_run_memory(records, catalog), validation);
  append(check_run_steps(records, catalog), validation);
}

void add_vtrain(const RecordFile& file, const RunCatalog& catalog, const ValidateRequest& request,
                Validation& validation) {
  validation.files.push_back(file.name);
  append(check_run_steps(with_grades(read_vtrain(file), request.confidence), catalog), validation);
}

void add_kernels(const RecordFile& file, const RunCatalog& catalog, Validation& validation) {
  validation.files.push_back(file.name);
  Diagnostics diagnostics;
  const auto records = read_kernel_records(contents(file), file.name, diagnostics);
  diagnostics.throw_if_any();
  append(check_kernels(records, catalog), validation);
}

void add_collectives(const RecordFile& file, const RunCatalog& catalog, Validation& validation) {
  validation.files.push_back(file.name);
  Diagnostics diagnostics;
  const auto records = read_sweep_records(contents(file), file.name, diagnostics);
  diagnostics.throw_if_any();
  append(check_collectives(records, catalog), validation);
}

void keep_asked(const ValidateRequest& request, Validation& validation) {
  const auto unasked = [&](const RecordCheck& check) {
    const bool time = check.quantity == step_quantity;
    const auto& sources = request.sources;
    return (request.only == ValidateOnly::time && !time) ||
           (request.only == ValidateOnly::memory && time) ||
           (!sources.empty() && !contains(sources, check.source));
  };
  auto& records = validation.records;
  records.erase(std::remove_if(records.begin(), records.end(), unasked), records.end());
  if (!records.empty()) return;
  if (!request.sources.empty() && !request.confidence.empty())
    throw UsageError("there is no record of the sources and the confidence asked for");
  if (!request.sources.empty()) throw UsageError("there is no record of the sources asked for");
  if (!request.confidence.empty())
    throw UsageError("there is no record of the confidence asked for");
}

}  // namespace

Validation validate(const ValidateRequest& request) {
  FORETRAIN_REQUIRE(request.confidence.empty() ||
                    !(request.memory || request.kernels || request.collectives));
  Validation validation;
  const RunCatalog catalog = load_run_catalog(request.catalogs);
  if (request.memory && request.only != ValidateOnly::time)
    add_memory(record_file(*request.memory, "megatron_ci_memory.json", request.catalogs), catalog,
               validation);
  if (request.runs && !request.runs->empty())
    add_runs(record_file(*request.runs, "", request.catalogs), catalog, request, validation);
  if (request.runs && request.runs->empty())
    for (const char* shipped : shipped_runs)
      add_runs(record_file("", shipped, request.catalogs), catalog, request, validation);
  if (request.vtrain && request.only != ValidateOnly::memory) {
    for (const fs::path& file : *request.vtrain)
      add_vtrain(record_file(file, "", request.catalogs), catalog, request, validation);
    if (request.vtrain->empty())
      for (const char* shipped : {"vtrain_single.csv", "vtrain_multi.csv"})
        add_vtrain(record_file("", shipped, request.catalogs), catalog, request, validation);
  }
  const bool all = request.only == ValidateOnly::all;
  if (request.kernels && all && !request.kernels->empty())
    add_kernels(record_file(*request.kernels, "", request.catalogs), catalog, validation);
  if (request.kernels && all && request.kernels->empty())
    for (const char* const shipped : kernel_tables)
      add_kernels(record_file("", shipped, request.catalogs), catalog, validation);
  if (request.collectives && all)
    add_collectives(record_file(*request.collectives, "nccl_sweeps.csv", request.catalogs), catalog,
                    validation);
  keep_asked(request, validation);
  validation.summary = summarize(validation.records);
  return validation;
}

namespace {

/// One group of a quantity; the line of all its sources last.
AnswerTable group_table(const Validation& validation, const std::string& quantity,
                        const std::string& group) {
  AnswerTable table{{number_column("count"), number_column("skip")}};
  add_error_columns(table.columns);
  for (const char* const head : {"worst", "band"}) table.columns.push_back(number_column(head));
  table.columns.push_back(words_column("what"));
  for (const CheckSummary& line : validation.summary) {
    if (line.quantity != quantity || line.group != group || line.count == 0) continue;
    std::vector<AnswerCell> cells{std::to_string(line.count), std::to_string(line.skipped)};
    add_errors(line, cells);
    cells.emplace_back(short_percent(std::abs(line.worst)));
    cells.emplace_back(fixed_text(line.covered * 100.0, 0));
    cells.emplace_back(alone_label(line));
    table.add(std::move(cells));
  }
  return table;
}

/// Every group in order of appearance, then why rows were skipped.
void add_groups(const Validation& validation, const std::string& quantity, const std::string& title,
                Answer& answer) {
  std::vector<std::string> groups;
  for (const CheckSummary& line : validation.summary)
    if (line.quantity == quantity && !line.group.empty() && !contains(groups, line.group))
      groups.push_back(line.group);
  for (const std::string& group : groups)
    answer.add(title + ", " + group + ": predicted / measured - 1, percent",
               group_table(validation, quantity, group));
  answer.add(title + ": not predicted", reasons_table(validation, quantity));
}

}  // namespace

bool is_alone(const std::string& quantity) {
  return quantity == kernel_quantity || quantity == collective_quantity;
}

std::string alone_label(const CheckSummary& line) {
  if (line.source == "all") return "all";
  std::string item = line.item;
  // The memory of a part does not change how it computes.
  for (const char* const memory : {"-80gb", "-40gb"})
    if (const auto at = item.find(memory); at != std::string::npos) item.erase(at, 5);
  return fmt::format("{}: {}", item, line.source);
}

AnswerTable reasons_table(const Validation& validation, const std::string& quantity) {
  constexpr std::size_t shown = 8;
  std::map<std::string, int> counts;
  for (const RecordCheck& check : validation.records)
    if (check.skipped && check.quantity == quantity) ++counts[check.why];
  std::vector<std::pair<int, std::string>> reasons;
  reasons.reserve(counts.size());
  for (const auto& [why, count] : counts) reasons.emplace_back(-count, why);
  std::ranges::sort(reasons);
  AnswerTable table{{number_column(), words_column()}};
  int others = 0;
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (i < shown)
      table.add({std::to_string(-reasons[i].first), reasons[i].second});
    else
      others -= reasons[i].first;
  }
  if (others > 0) table.add({std::to_string(others), "for other reasons"});
  return table;
}

void add_alone(const Validation& validation, Answer& answer) {
  add_groups(validation, kernel_quantity, "Kernels alone", answer);
  add_groups(validation, collective_quantity, "Collectives alone", answer);
}

namespace {

/// Runs that one's own profiles were fitted to differ from them by what the fit left, each by its
/// own: what all have in common is known better than any of them, by the root of their number.
class CommonShift {
 public:
  void add(const RecordCheck& check) {
    sum_ += std::log(check.measured / check.predicted);
    below_ = std::hypot(below_, std::log(check.stack_low));
    above_ = std::hypot(above_, std::log(check.stack_high));
    ++count_;
  }
  /// Of the mean of ln(measured / forecast).
  [[nodiscard]] bool outside() const { return count_ > 1 && (sum_ > above_ || sum_ < -below_); }
  [[nodiscard]] std::string text() const {
    const double shift = std::exp(sum_ / count_) - 1.0;
    return fmt::format(
        "all {} runs together: {:.0f} % {} than their own profiles expect ({:+.0f} to {:+.0f} %)",
        count_, 100.0 * std::abs(shift), shift > 0.0 ? "slower" : "faster",
        100.0 * (std::exp(-below_ / count_) - 1.0), 100.0 * (std::exp(above_ / count_) - 1.0));
  }

 private:
  double sum_ = 0.0;
  double below_ = 0.0;
  double above_ = 0.0;
  int count_ = 0;
};

bool is_memory(const RecordCheck& check) {
  return check.quantity.starts_with("mem_") && check.high > 0.0;
}

void judge_memory(const RecordCheck& check, RecordsCheck& result) {
  ++result.memory;
  if (check.measured >= check.low && check.measured <= check.high) return;
  result.outside.push_back(
      fmt::format("{}: measured {} of memory ({}), {} than the forecast expects: {} ({} to {})",
                  check.id, bytes_text(Bytes{check.measured}), check.quantity.substr(4),
                  check.measured > check.high ? "more" : "less", bytes_text(Bytes{check.predicted}),
                  bytes_text(Bytes{check.low}), bytes_text(Bytes{check.high})));
}

}  // namespace

RecordsCheck check_records(const Validation& validation, bool own) {
  RecordsCheck result;
  CommonShift shift;
  for (const RecordCheck& check : validation.records) {
    if (check.skipped) continue;
    if (is_memory(check)) judge_memory(check, result);
    if (check.quantity != step_quantity) continue;
    ++result.steps;
    shift.add(check);
    if (check.measured >= check.low && check.measured <= check.high) continue;
    result.outside.push_back(fmt::format(
        "{}: measured {:.4g} s, {} than the forecast expects: {:.4g} s ({:.4g} to {:.4g} s)",
        check.id, check.measured, check.measured > check.high ? "slower" : "faster",
        check.predicted, check.low, check.high));
  }
  if (own && shift.outside()) result.outside.push_back(shift.text());
  return result;
}

}  // namespace foretrain
