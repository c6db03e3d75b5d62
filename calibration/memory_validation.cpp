// SPDX-License-Identifier: Apache-2.0
#include "calibration/memory_validation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "calibration/run_memory.hpp"
#include "models/memory.hpp"
#include "models/quantity.hpp"

namespace foretrain {
namespace {

/// Reserved memory above this share of the device says that the card was full, not what was needed.
constexpr double full_card = 0.85;

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

double unit_of(const RunRecord& record) {
  const bool binary =
      contains(record.memory_unit, "GiB") || contains(record.notes, "its legend says GiB");
  return binary ? GiB.value() : GB.value();
}

/// Which counter the source read.
std::string quantity_of(const RunRecord& record) {
  const std::string& kind = record.memory_kind;
  if (contains(record.notes, "may be active rather than reserved")) return "mem_max";
  if (contains(kind, "nvidia-smi")) return "mem_device";
  if (contains(kind, "per GPU, counter not stated")) return "mem_device";
  if (contains(kind, "reserved") && !contains(kind, "max_memory_allocated")) return "mem_reserved";
  return "mem_max";
}

MemoryCheck start(const RunRecord& record, std::string quantity) {
  MemoryCheck check;
  check.id = record.id;
  check.source = record.family();
  check.quantity = std::move(quantity);
  return check;
}

double heaviest(const MemoryForecast& forecast, Bytes StageMemory::*field) {
  Bytes most;
  for (const StageMemory& stage : forecast.stages) most = max(most, stage.*field);
  return most.value();
}

void skip(MemoryCheck& check, std::string why) {
  check.skipped = true;
  check.why = std::move(why);
}

/// Why a memory figure says nothing about need, although the run can be expressed.
std::string unusable(const RunRecord& record, const std::string& quantity, double usable) {
  if (contains(record.notes, "bug:")) return "the run had a bug: " + record.notes;
  if (quantity == "mem_reserved" && *record.memory * unit_of(record) > full_card * usable)
    return "the card was full: the allocator's cache hides what was needed";
  return "";
}

/// Both profiles over the stages; figures by rank are reduced to the largest of each stage.
void add_profile(const RunRecord& record, const Job& job, const MemoryForecast& forecast,
                 MemoryCheck& check) {
  const auto stages = forecast.stages.size();
  std::vector<double> measured;
  if (record.memory_by_stage_gib.size() == stages) {
    for (const double gib : record.memory_by_stage_gib) measured.push_back(gib * GiB.value());
  } else if (record.memory_by_rank_gib.size() == static_cast<std::size_t>(job.parallel.gpus())) {
    measured.assign(stages, 0.0);
    for (std::size_t rank = 0; rank < record.memory_by_rank_gib.size(); ++rank) {
      const int stage = stage_of_rank(job.parallel, static_cast<int>(rank));
      double& most = measured[static_cast<std::size_t>(stage)];
      most = std::max(most, record.memory_by_rank_gib[rank] * GiB.value());
    }
  }
  if (measured.empty()) return;
  check.measured_by_stage = std::move(measured);
  for (const StageMemory& stage : forecast.stages)
    check.predicted_by_stage.push_back(check.quantity == "mem_device" ? stage.peak.value()
                                                                      : stage.allocated.value());
}

MemoryCheck check_figure(const RunRecord& record, const RunJob& mapped,
                         const std::optional<MemoryForecast>& forecast) {
  MemoryCheck check = start(record, quantity_of(record));
  check.measured = *record.memory * unit_of(record);
  check.remarks = mapped.assumptions;
  if (!forecast) {
    skip(check, mapped.why);
    return check;
  }
  const std::string why = unusable(record, check.quantity, forecast->usable.value());
  if (!why.empty()) skip(check, why);
  check.predicted = check.quantity == "mem_device" ? forecast->peak.value()
                    : check.quantity == "mem_reserved"
                        ? heaviest(*forecast, &StageMemory::reserved)
                        : heaviest(*forecast, &StageMemory::allocated);
  add_profile(record, *mapped.job, *forecast, check);
  const double band = mapped.job->stack.memory.band;
  check.low = check.predicted * (1.0 - band);
  check.high = check.predicted * (1.0 + band);
  return check;
}

MemoryCheck check_fit(const RunRecord& record, const RunJob& mapped,
                      const std::optional<MemoryForecast>& forecast) {
  MemoryCheck check = start(record, "fits");
  check.measured = record.out_of_memory ? 0.0 : 1.0;
  check.remarks = mapped.assumptions;
  if (!forecast) {
    skip(check, mapped.why);
    return check;
  }
  check.predicted = forecast->fits() ? 1.0 : 0.0;
  check.load = forecast->peak / forecast->usable;
  const double band = mapped.job->stack.memory.band;
  check.low = check.load * (1.0 + band) <= 1.0 ? 1.0 : 0.0;
  check.high = check.load * (1.0 - band) <= 1.0 ? 1.0 : 0.0;
  return check;
}

/// Families that publish both what ran and what ran out of memory, so that a run counts as "fits".
bool tells_both(const std::string& family) {
  return family == "aa" || family == "bs" || family == "tt";
}

double share(const MemoryCheck& check) {
  return check.quantity == "fits" ? check.predicted - check.measured : check.error();
}

double at_share(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

MemoryCheckSummary summary_of(const std::vector<const MemoryCheck*>& checks, std::string source) {
  MemoryCheckSummary summary;
  summary.source = std::move(source);
  summary.quantity = checks.front()->quantity;
  std::vector<double> sizes;
  for (const MemoryCheck* check : checks) {
    if (check->skipped) {
      ++summary.skipped;
      continue;
    }
    const double error = share(*check);
    summary.bias += error;
    if (summary.worst_id.empty() || std::abs(error) > std::abs(summary.worst)) {
      summary.worst = error;
      summary.worst_id = check->id;
    }
    sizes.push_back(std::abs(error));
  }
  summary.count = static_cast<int>(sizes.size());
  if (sizes.empty()) return summary;
  std::sort(sizes.begin(), sizes.end());
  for (const double size : sizes) summary.mape += size;
  summary.bias /= summary.count;
  summary.mape /= summary.count;
  summary.median = at_share(sizes, 0.5);
  summary.p90 = at_share(sizes, 0.9);
  return summary;
}

}  // namespace

std::vector<MemoryCheck> check_run_memory(const std::vector<RunRecord>& records,
                                          const RunCatalog& catalog) {
  std::vector<MemoryCheck> checks;
  for (const RunRecord& record : records) {
    const bool tells_fit = record.out_of_memory || record.memory || tells_both(record.family());
    if (!tells_fit) continue;
    const RunJob mapped = run_memory_job(record, catalog);
    std::optional<MemoryForecast> forecast;
    if (mapped.job)
      forecast =
          forecast_memory(*mapped.job, stage_layout(mapped.job->model, mapped.job->parallel));
    if (record.memory) checks.push_back(check_figure(record, mapped, forecast));
    checks.push_back(check_fit(record, mapped, forecast));
  }
  return checks;
}

std::vector<MemoryCheckSummary> summarize(const std::vector<MemoryCheck>& checks) {
  std::vector<std::pair<std::string, std::string>> order;
  std::map<std::pair<std::string, std::string>, std::vector<const MemoryCheck*>> groups;
  std::vector<std::string> quantities;
  std::map<std::string, std::vector<const MemoryCheck*>> by_quantity;
  for (const MemoryCheck& check : checks) {
    const std::pair<std::string, std::string> key{check.source, check.quantity};
    if (groups.find(key) == groups.end()) order.push_back(key);
    groups[key].push_back(&check);
    if (by_quantity.find(check.quantity) == by_quantity.end()) quantities.push_back(check.quantity);
    by_quantity[check.quantity].push_back(&check);
  }
  std::vector<MemoryCheckSummary> summaries;
  for (const auto& key : order) summaries.push_back(summary_of(groups[key], key.first));
  for (const std::string& quantity : quantities)
    summaries.push_back(summary_of(by_quantity[quantity], "all"));
  return summaries;
}

}  // namespace foretrain
