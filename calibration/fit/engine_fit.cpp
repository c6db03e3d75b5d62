// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/engine_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "calibration/fit/internal/fit_slot.hpp"
#include "calibration/records/record_check.hpp"
#include "scenarios/catalog/catalog_profiles.hpp"

namespace foretrain {
namespace {

/// A constant, and how far one engine's may be from all others'.
struct EngineSlot {
  std::string key;  ///< below `times` of an engine's file
  FitSlot at;
  double spread = 0.0;  ///< standard deviation of ln(engine's / all engines')
};

EngineSlot time_slot(const std::string& key, double start, double width, double spread) {
  return {key,
          fit_slot(engine_table(), "times." + key, {start, width, start / 50.0, start * 50.0},
                   " us", us.value()),
          spread};
}

EngineSlot share_slot(const std::string& key, const NumericConstant& prior, double spread) {
  return {key, fit_slot(engine_table(), "times." + key, prior), spread};
}

/// Priors: what the devices' own profiles and published kernels suggest; models/serving/README.md.
/// Kernels are much the same in all engines (libraries are shared), what the host does is not.
std::vector<EngineSlot> engine_slots() {
  constexpr double whole = 0.95;  // no kernel reads faster
  constexpr double low = 0.1;
  return {time_slot("step", 1000.0, 1.0, 0.28),
          time_slot("per_sequence", 5.0, 1.0, 0.28),
          time_slot("per_request", 20000.0, 1.0, 0.4),
          time_slot("first_kernel", 20.0, 1.0, 0.6),
          time_slot("kernel", 2.5, 0.5, 0.08),
          time_slot("launch", 15.0, 0.7, 0.4),
          share_slot("memory", {0.8, 0.1, low, whole}, 0.02),
          share_slot("cache", {0.75, 0.15, low, whole}, 0.04),
          share_slot("unpacked", {0.8, 0.3, low, 1.0}, 0.04),
          share_slot("compute", {0.8, 0.25, low, 1.2}, 0.08),
          share_slot("attention", {0.7, 0.4, low, 1.1}, 0.06),
          share_slot("experts", {0.7, 0.4, low, 1.2}, 0.2),
          share_slot("fused_experts", {0.7, 0.4, low, 1.2}, 0.2),
          share_slot("hopper_experts", {0.5, 0.4, low, 1.2}, 0.2),
          share_slot("expert_memory", {0.8, 0.08, low, whole}, 0.04),
          time_slot("expert_start", 20.0, 0.7, 0.3),
          time_slot("fused_expert_start", 10.0, 0.7, 0.3),
          time_slot("quantise", 3.0, 0.5, 0.12),
          share_slot("routing", {4.0, 0.3, low, 50.0}, 0.08),
          time_slot("exchange", 5.0, 0.5, 0.08),
          time_slot("dispatch", 25.0, 0.3, 0.2),
          time_slot("dispatch_prompts", 50.0, 0.4, 0.2),
          share_slot("exchange_share", {0.5, 0.3, low, whole}, 0.12),
          share_slot("burst", {0.3, 1.0, 0.01, 1.0}, 0.8)};
}

/// Records that no fit reads, and stay in the figures: their source contradicts itself, or others
/// on the same deployment (calibration/docs/inference.md, "What no fit reads").
struct ComparedAlone {
  std::string_view group;    ///< that the record's begins with
  std::string_view version;  ///< of the engine; empty: any
};
constexpr ComparedAlone compared_alone[]{{"gpustack/", ""},
                                         {"aiconfigurator/DeepSeek", "0.5.10.post1"}};

bool only_compared(const InferenceRecord& record) {
  return std::any_of(std::begin(compared_alone), std::end(compared_alone),
                     [&](const ComparedAlone& one) {
                       return record.group.starts_with(one.group) &&
                              (one.version.empty() || record.engine_version == one.version);
                     });
}

constexpr double noise = 0.12;
constexpr int digits = 3;
constexpr int starts = 1;
constexpr double simplex_side = 1.0;  // of a deviation: waves of tiles make steps of a step's time
constexpr double settled = 0.03;      // of a deviation: a search ends where it would move by less
constexpr double first_token_weight = 0.3;  // queueing, which the closed form knows least of

bool is_first_token(const char* quantity) {
  return quantity == std::string_view(first_token_quantity);
}

double answer(const char* quantity, const SteadyLoad& load) {
  if (is_first_token(quantity)) return load.ttft.value();
  if (quantity == std::string_view(output_token_quantity)) return load.tpot.value();
  return load.output_tokens_per_s;
}

/// Measurements of the cases that a fit reads, one after another, and which constants move them.
class EngineProblem {
 public:
  EngineProblem(std::vector<const EngineCase*> cases, std::vector<EngineSlot> slots)
      : cases_{std::move(cases)}, slots_{std::move(slots)} {
    for (const EngineCase* const one : cases_) {
      first_.push_back(count_);
      count_ += one->measured.size();
    }
    find_touched();
  }

  [[nodiscard]] std::size_t measurements() const { return count_; }
  [[nodiscard]] std::vector<double> residuals(const std::vector<double>& values) const;
  /// Those that a constant moves, put into `at`.
  void move(const std::vector<double>& values, std::size_t constant,
            std::vector<double>& at) const {
    const EngineTimes times = times_of(values);
    for (const std::size_t i : touched_[constant]) price(i, times, at);
  }
  [[nodiscard]] std::vector<double> weights() const;

 private:
  [[nodiscard]] EngineTimes times_of(const std::vector<double>& values) const {
    EngineProfile engine;
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].at.set(engine, values[i]);
    return engine.times;
  }
  void price(std::size_t i, const EngineTimes& times, std::vector<double>& at) const;
  void find_touched();

  std::vector<const EngineCase*> cases_;
  std::vector<EngineSlot> slots_;
  std::vector<std::size_t> first_;  ///< measurement of each case
  std::size_t count_ = 0;
  std::vector<std::vector<std::size_t>> touched_;  ///< cases that a constant moves
};

void EngineProblem::price(std::size_t i, const EngineTimes& times, std::vector<double>& at) const {
  const SteadyLoad load = cases_[i]->ready.load(times);
  std::size_t row = first_[i];
  for (const EngineMeasurement& one : cases_[i]->measured)
    at[row++] = std::log(answer(one.quantity, load) / one.measured);
}

std::vector<double> EngineProblem::residuals(const std::vector<double>& values) const {
  const EngineTimes times = times_of(values);
  std::vector<double> at(count_);
  for (std::size_t i = 0; i < cases_.size(); ++i) price(i, times, at);
  return at;
}

/// A constant that moves nothing from the lowest to the highest that it may be moves nothing
/// between.
void EngineProblem::find_touched() {
  std::vector<double> middle;
  for (const EngineSlot& slot : slots_) middle.push_back(slot.at.constant.start);
  const std::vector<double> here = residuals(middle);
  touched_.resize(slots_.size());
  for (std::size_t k = 0; k < slots_.size(); ++k) {
    std::vector<std::vector<double>> ends;
    for (const double end : {slots_[k].at.constant.low, slots_[k].at.constant.high}) {
      std::vector<double> values = middle;
      values[k] = end;
      ends.push_back(residuals(values));
    }
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      bool moved = false;
      for (std::size_t row = first_[i]; row < first_[i] + cases_[i]->measured.size(); ++row)
        moved = moved || ends[0][row] != here[row] || ends[1][row] != here[row];
      if (moved) touched_[k].push_back(i);
    }
  }
}

std::vector<double> EngineProblem::weights() const {
  const auto group_of = [](const EngineCase& one, const EngineMeasurement& measured) {
    return one.group + "|" + one.device + "|" + measured.quantity;
  };
  std::map<std::string, double> counts;
  for (const EngineCase* const one : cases_)
    for (const EngineMeasurement& measured : one->measured) ++counts[group_of(*one, measured)];
  std::vector<double> weights;
  for (const EngineCase* const one : cases_)
    for (const EngineMeasurement& measured : one->measured) {
      const double counted = is_first_token(measured.quantity) ? first_token_weight : 1.0;
      weights.push_back(counted * std::min(1.0, rows_of_group / counts[group_of(*one, measured)]));
    }
  return weights;
}

EngineFit fit_one(const std::string& engine, const EngineProblem& problem,
                  const std::vector<EngineSlot>& slots, const EngineFit* near) {
  std::vector<NumericConstant> constants;
  for (const EngineSlot& slot : slots) constants.push_back(slot.at.constant);
  NumericOptions options{.digits = digits,
                         .noise = noise,
                         .starts = starts,
                         .side = simplex_side,
                         .settled = settled,
                         .derivatives = 90};
  options.moved = [&](const std::vector<double>& values, std::size_t constant,
                      std::vector<double>& at) { problem.move(values, constant, at); };
  if (near != nullptr)
    for (const EngineConstant& constant : near->constants) {
      options.near.push_back(constant.value);
      options.near_deviations.push_back(constant.deviation);
    }
  const NumericFit found = numeric_fit(
      constants, [&](const std::vector<double>& values) { return problem.residuals(values); },
      problem.weights(), options);
  EngineFit fit{engine, {}, static_cast<int>(problem.measurements()), found.converged};
  for (std::size_t i = 0; i < slots.size(); ++i)
    fit.constants.push_back(
        {slots[i].key, fmt::format("{:.6g}{}", found.values[i], slots[i].at.unit), found.values[i],
         found.deviations[i], constants[i].start, constants[i].width});
  return fit;
}

const EngineFit* fit_of(const std::vector<EngineFit>& fits, const std::string& engine) {
  const auto found =
      std::ranges::find_if(fits, [&](const EngineFit& fit) { return fit.engine == engine; });
  return found == fits.end() ? nullptr : &*found;
}

/// Around what all engines' records give.
std::vector<EngineSlot> slots_around(const EngineFit& all) {
  std::vector<EngineSlot> slots = engine_slots();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i].at.constant.start = all.constants[i].value;
    slots[i].at.constant.width = slots[i].spread;
  }
  return slots;
}

std::string load_name(const std::optional<ClosedLoad>& closed) {
  if (!closed) return "offline";
  for (const double most : {4.0, 16.0, 64.0})
    if (closed->concurrency <= most) return fmt::format("up to {:.0f}", most);
  return "more";
}

EngineCase case_of(std::size_t place, const InferenceRecord& record, const InferenceCase& asked) {
  EngineCase made{place,
                  engine_of_record(record.engine),
                  asked.deployment.cluster.host.device.name,
                  record.table() + "/" + asked.deployment.model.name,
                  load_name(asked.closed),
                  ReadyCase{asked},
                  {}};
  const auto add = [&](const char* quantity, const std::optional<double>& measured) {
    if (measured) made.measured.push_back({quantity, *measured});
  };
  if (asked.closed) {
    add(first_token_quantity, record.ttft_s);
    add(output_token_quantity, record.tpot_s);
  }
  // With clients that wait for their answers, both say nearly the same.
  if (!asked.closed || !record.tpot_s) add(output_tokens_quantity, record.output_tokens_per_s);
  return made;
}

}  // namespace

std::vector<EngineCase> engine_cases(const std::vector<InferenceRecord>& records,
                                     const RunCatalog& catalog) {
  std::vector<EngineCase> cases;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const InferenceQuestion question = inference_case(records[i], catalog);
    if (!question.asked) continue;
    if (only_compared(records[i]) || !question.asked->layout_stated) continue;
    EngineCase made = case_of(i, records[i], *question.asked);
    if (!made.measured.empty()) cases.push_back(std::move(made));
  }
  return cases;
}

std::vector<EngineFit> fit_engines(const std::vector<EngineCase>& cases, const HidesCase& left_out,
                                   const std::vector<EngineFit>& near) {
  std::map<std::string, std::vector<const EngineCase*>> engines;
  std::vector<const EngineCase*> all;
  for (const EngineCase& one : cases) {
    if (left_out && left_out(one)) continue;
    all.push_back(&one);
    engines[one.engine].push_back(&one);
  }
  std::vector<EngineFit> fits;
  if (all.empty()) return fits;
  const std::vector<EngineSlot> slots = engine_slots();
  const EngineFit common =
      fit_one(any_engine, EngineProblem{all, slots}, slots, fit_of(near, any_engine));
  fits.push_back(common);
  engines.erase(any_engine);
  for (auto& [engine, own] : engines) {
    const std::vector<EngineSlot> around = slots_around(common);
    fits.push_back(
        fit_one(engine, EngineProblem{std::move(own), around}, around, fit_of(near, engine)));
  }
  return fits;
}

void set_constants(const EngineFit& fit, EngineProfile& engine) {
  const std::vector<EngineSlot> slots = engine_slots();
  for (std::size_t i = 0; i < fit.constants.size(); ++i)
    slots[i].at.set(engine, fit.constants[i].value);
}

}  // namespace foretrain
