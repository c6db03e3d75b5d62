// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "calibration/records/internal/words.hpp"
#include "calibration/records/run_job.hpp"
#include "calibration/records/run_source.hpp"
#include "calibration/validate/validations.hpp"
#include "models/base/percentile.hpp"
#include "models/base/quantity.hpp"
#include "models/base/ranges.hpp"
#include "models/forecast/possible_plans.hpp"
#include "models/grid/process_grid.hpp"
#include "models/memory/memory.hpp"
#include "scenarios/catalog/model_names.hpp"
#include "scenarios/imports/megatron/megatron_arguments.hpp"

namespace foretrain {
namespace {

/// Reserved memory above this share of the device says that the card was full, not what was needed.
constexpr double full_card = 0.85;

/// What the counter that the source read is called.
std::string quantity_of(MemoryCounter counter) {
  switch (counter) {
    case MemoryCounter::allocated:
      return "mem_max";
    case MemoryCounter::reserved:
      return "mem_reserved";
    case MemoryCounter::device:
      return "mem_device";
  }
  return {};
}

RecordCheck start(const RunRecord& record, std::string quantity) {
  RecordCheck check;
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

/// Why a memory figure says nothing about need, although the run can be expressed.
std::string unusable(const RunRecord& record, const std::string& quantity, double usable) {
  if (has_part(record.notes, "bug:")) return "the run had a bug: " + record.notes;
  if (quantity == "mem_reserved" && recorded_memory(record)->size.value() > full_card * usable)
    return "the card was full: the allocator's cache hides what was needed";
  return "";
}

/// Both profiles over the stages; figures by rank are reduced to the largest of each stage.
void add_profile(const RunRecord& record, const Job& job, const MemoryForecast& forecast,
                 RecordCheck& check) {
  const auto stages = forecast.stages.size();
  std::vector<double> measured;
  if (record.memory_by_stage_gib.size() == stages) {
    for (const double gib : record.memory_by_stage_gib) measured.push_back(gib * GiB.value());
  } else if (record.memory_by_rank_gib.size() == static_cast<std::size_t>(job.parallel.gpus())) {
    measured.assign(stages, 0.0);
    const ProcessGrid grid{job.parallel};
    for (std::size_t rank = 0; rank < record.memory_by_rank_gib.size(); ++rank) {
      const int stage = grid.place(static_cast<int>(rank)).stage;
      double& most = measured[static_cast<std::size_t>(stage)];
      most = std::max(most, record.memory_by_rank_gib[rank] * GiB.value());
    }
  }
  if (measured.empty()) return;
  check.measured_by_stage = std::move(measured);
  for (const StageMemory& stage : forecast.stages)
    check.predicted_by_stage.push_back(check.quantity == "mem_device" ? stage.peak.value()
                                                                      : stage.counted.value());
}

/// What the counter that the source read is forecast to show.
double counted(const MemoryForecast& forecast, const std::string& quantity) {
  if (quantity == "mem_device") return forecast.peak.value();
  return heaviest(forecast,
                  quantity == "mem_reserved" ? &StageMemory::reserved : &StageMemory::counted);
}

RecordCheck check_figure(const RunRecord& record, const RunJob& mapped,
                         const std::optional<MemoryForecast>& forecast) {
  const RecordedMemory measured = *recorded_memory(record);
  RecordCheck check = start(record, quantity_of(measured.counter));
  check.measured = measured.size.value();
  check.remarks = mapped.assumptions;
  if (!forecast) {
    skip(check, mapped.why);
    return check;
  }
  const std::string why = unusable(record, check.quantity, forecast->usable.value());
  if (!why.empty()) skip(check, why);
  check.predicted = counted(*forecast, check.quantity);
  add_profile(record, *mapped.job, *forecast, check);
  double least = check.predicted;
  double most = check.predicted;
  for (const Job& other : mapped.alternatives) {
    const double possible =
        counted(forecast_memory(other, stage_layout(other.model, other.parallel)), check.quantity);
    least = std::min(least, possible);
    most = std::max(most, possible);
  }
  const double band = memory_band(*mapped.job);
  check.low = least * (1.0 - band);
  check.high = most * (1.0 + band);
  return check;
}

bool assumed(const RunJob& mapped, std::string_view what) {
  return contains(mapped.assumptions, what);
}

/// Why a run that ran, or did not, says nothing about the forecast: memory turns on what its record
/// does not say. Where all plans that it may have been fit, or none does, nothing turns on it.
std::string memory_unstated(const RunJob& mapped, const MemoryForecast& forecast) {
  const bool recompute = assumed(mapped, no_recomputation);
  const bool optimizer = assumed(mapped, unsharded_optimizer);
  if (!recompute && !optimizer) return "";
  const bool differs = std::ranges::any_of(mapped.alternatives, [&](const Job& other) {
    const StageLayout layout = stage_layout(other.model, other.parallel);
    return forecast_memory(other, layout).fits() != forecast.fits();
  });
  if (!differs && !mapped.alternatives.empty()) return "";
  return recompute ? "what is recomputed is not stated, and decides"
                   : "how the optimizer is sharded is not stated, and decides";
}

/// What memory would be for everything that may have been recomputed.
std::string recompute_range(const RunJob& mapped, const MemoryForecast& forecast) {
  std::vector<PossiblePlan> plans{
      {name_of(mapped.job->memory.recompute.kind), Seconds{}, forecast.peak, true}};
  for (const Job& other : mapped.alternatives) {
    if (other.memory.recompute.kind == mapped.job->memory.recompute.kind) continue;
    const MemoryForecast possible =
        forecast_memory(other, stage_layout(other.model, other.parallel));
    plans.push_back({name_of(other.memory.recompute.kind), Seconds{}, possible.peak, true});
  }
  return unknown_recompute_text(plans);
}

RecordCheck check_fit(const RunRecord& record, const RunJob& mapped,
                      const std::optional<MemoryForecast>& forecast) {
  RecordCheck check = start(record, fits_quantity);
  check.measured = record.out_of_memory ? 0.0 : 1.0;
  check.remarks = mapped.assumptions;
  if (!forecast) {
    skip(check, mapped.why);
    return check;
  }
  if (mapped.recompute_unknown) check.remarks.push_back(recompute_range(mapped, *forecast));
  if (const std::string why = memory_unstated(mapped, *forecast); !why.empty()) skip(check, why);
  check.predicted = forecast->fits() ? 1.0 : 0.0;
  check.load = forecast->peak / forecast->usable;
  check.low = forecast->high <= forecast->usable ? 1.0 : 0.0;
  check.high = forecast->fits() || forecast->may_fit() ? 1.0 : 0.0;
  return check;
}

/// A record as a job whose memory can be forecast.
RunJob memory_job(const RunRecord& record, const RunCatalog& catalog) {
  const RunSource source = run_source(record);
  RunJob mapped;
  if (!source.memory)
    mapped.why = "no memory rules for the framework of this source";
  else if (!source.no_memory.empty())
    mapped.why = source.no_memory;
  else if (const std::string why = beyond_jobs(record); !why.empty())
    mapped.why = why;
  else
    mapped = run_job(record, catalog);
  return mapped;
}

}  // namespace

std::vector<RecordCheck> check_run_memory(const std::vector<RunRecord>& records,
                                          const RunCatalog& catalog) {
  std::vector<RecordCheck> checks;
  for (const RunRecord& record : records) {
    const bool ran = record.memory || record.tells_speed();
    if (!ran && !record.out_of_memory) continue;
    const RunJob mapped = memory_job(record, catalog);
    std::optional<MemoryForecast> forecast;
    if (mapped.job)
      forecast =
          forecast_memory(*mapped.job, stage_layout(mapped.job->model, mapped.job->parallel));
    if (record.memory) checks.push_back(check_figure(record, mapped, forecast));
    checks.push_back(check_fit(record, mapped, forecast));
  }
  return checks;
}

StageProfiles stage_profiles(const std::vector<RecordCheck>& checks) {
  constexpr double tie = 0.995;
  StageProfiles profiles;
  std::vector<double> errors;
  for (const RecordCheck& check : checks) {
    const std::vector<double>& measured = check.measured_by_stage;
    const std::vector<double>& predicted = check.predicted_by_stage;
    if (check.skipped || measured.size() < 2 || measured.size() != predicted.size()) continue;
    ++profiles.count;
    const auto heaviest = std::ranges::max_element(measured) - measured.begin();
    if (predicted[static_cast<std::size_t>(heaviest)] >= tie * *std::ranges::max_element(predicted))
      ++profiles.heaviest_right;
    for (std::size_t stage = 0; stage < measured.size(); ++stage)
      if (measured[stage] > 0.0) errors.push_back(std::abs(predicted[stage] / measured[stage] - 1));
  }
  profiles.stages = static_cast<int>(errors.size());
  if (errors.empty()) return profiles;
  profiles.median = percentile_of(errors, 0.5);
  profiles.p90 = percentile_of(errors, 0.9);
  return profiles;
}

namespace {

using nlohmann::json;

std::string text_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_string()) return value.get<std::string>();
  return value.dump();
}

std::map<std::string, std::string> texts_of(const json& row, const char* key) {
  std::map<std::string, std::string> texts;
  const auto found = row.find(key);
  if (found != row.end() && found->is_object())
    for (const auto& [name, value] : found->items()) texts[name] = text_of(value);
  return texts;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "; ") + word;
  return text;
}

RecordCheck start(const json& row, const char* quantity) {
  RecordCheck check;
  check.id = row.at("case").get<std::string>() + "/" + row.at("platform").get<std::string>() + "/" +
             row.value("image", std::string());
  check.source = "megatron-ci";
  check.quantity = quantity;
  check.measured = row.at(quantity).get<double>();
  return check;
}

/// The job of a row, or the reason why there is none.
struct MappedRow {
  MegatronMapping mapping;
  std::string why;
};

MappedRow map_row(const json& row, const RunCatalog& catalog) {
  MappedRow mapped;
  const json& gpus = row.at("gpus");
  if (!gpus.is_number_integer()) {
    mapped.why = "the number of GPUs is not stated";
    return mapped;
  }
  MegatronEnvironment environment;
  environment.gpus = gpus.get<int>();
  environment.variables = texts_of(row, "env");
  mapped.mapping = map_megatron_arguments(texts_of(row, "args"), environment);
  if (!mapped.mapping.errors.empty())
    mapped.why = joined(mapped.mapping.errors);
  else if (!mapped.mapping.unmodelled.empty())
    mapped.why = "changes memory and is not modelled: " + joined(mapped.mapping.unmodelled);
  const auto platform = row.at("platform").get<std::string>();
  const std::string called = device_called(platform, DeviceNaming::platform);
  const auto device = catalog.devices.find(called.empty() ? platform : called);
  const auto stack = catalog.stacks.find(mapped.mapping.transformer_engine ? "megatron-core"
                                                                           : "megatron-core-local");
  if (device == catalog.devices.end())
    mapped.why = "no device " + platform;
  else
    mapped.mapping.job.cluster.host.device = device->second;
  if (stack == catalog.stacks.end())
    mapped.why = "no stack profile for this transformer implementation";
  else
    mapped.mapping.job.stack = stack->second;
  return mapped;
}

}  // namespace

std::vector<RecordCheck> check_megatron_memory(const json& document, const RunCatalog& catalog) {
  const auto rows = document.find("rows");
  if (rows == document.end() || !rows->is_array())
    throw std::runtime_error("a document with a list of rows was expected");
  std::vector<RecordCheck> checks;
  for (const json& row : *rows) {
    RecordCheck allocated = start(row, "mem_allocated");
    RecordCheck peak = start(row, "mem_max");
    const MappedRow mapped = map_row(row, catalog);
    if (!mapped.why.empty()) {
      allocated.skipped = peak.skipped = true;
      allocated.why = peak.why = mapped.why;
    } else {
      const Job& job = mapped.mapping.job;
      const StageLayout layout = stage_layout(job.model, job.parallel);
      // Only the last rank is logged, and the last rank is on the last stage.
      const StageAccount account =
          account_stage(job, layout, activation_model(job), layout.stages() - 1);
      allocated.predicted = account.resident;
      peak.predicted = account.counted;
      const double band = memory_band(job);
      for (RecordCheck* check : {&allocated, &peak}) {
        check->low = check->predicted * (1.0 - band);
        check->high = check->predicted * (1.0 + band);
        for (const std::string& name : mapped.mapping.unknown)
          check->remarks.push_back("unknown argument --" + name);
        for (const std::string& name : mapped.mapping.approximated)
          check->remarks.push_back("not modelled: --" + name);
      }
    }
    checks.push_back(std::move(allocated));
    checks.push_back(std::move(peak));
  }
  return checks;
}

}  // namespace foretrain
