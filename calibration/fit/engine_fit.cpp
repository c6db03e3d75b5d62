// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/engine_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "calibration/fit/internal/numeric_fit.hpp"
#include "calibration/records/record_check.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

/// Where a constant goes, its prior and what limits it.
struct EngineSlot {
  const char* key;
  Seconds EngineTimes::*time = nullptr;  ///< in microseconds
  double EngineTimes::*share = nullptr;
  NumericConstant prior;

  void set(EngineTimes& times, double value) const {
    if (time != nullptr) times.*time = microseconds(value);
    if (share != nullptr) times.*share = value;
  }
  [[nodiscard]] std::string text(double value) const {
    return fmt::format("{:.6g}", value) + (time != nullptr ? " us" : "");
  }
};

EngineSlot time_slot(const char* key, Seconds EngineTimes::*member, double start, double width) {
  return {key, member, nullptr, {start, width, start / 50.0, start * 50.0}};
}

EngineSlot share_slot(const char* key, double EngineTimes::*member, double start, double width,
                      double high) {
  return {key, nullptr, member, {start, width, 0.1, high}};
}

/// Priors: what the devices' own profiles and published kernels suggest; models/serving/README.md.
std::vector<EngineSlot> engine_slots() {
  using T = EngineTimes;
  constexpr double whole = 0.95;  // no kernel reads faster
  return {time_slot("step", &T::step, 1000.0, 1.0),
          time_slot("per_sequence", &T::per_sequence, 5.0, 1.0),
          time_slot("per_request", &T::per_request, 30000.0, 1.0),
          time_slot("kernel", &T::kernel, 2.5, 0.5),
          time_slot("launch", &T::launch, 4.0, 0.7),
          share_slot("memory", &T::memory, 0.8, 0.1, whole),
          share_slot("cache", &T::cache, 0.75, 0.15, whole),
          share_slot("unpacked", &T::unpacked, 0.8, 0.3, 1.0),
          share_slot("compute", &T::compute, 0.8, 0.25, 1.2),
          share_slot("attention", &T::attention, 0.7, 0.4, 1.1),
          share_slot("experts", &T::experts, 0.7, 0.4, 1.2),
          share_slot("expert_memory", &T::expert_memory, 0.6, 0.3, whole),
          share_slot("routing", &T::routing, 0.5, 0.7, 20.0),
          time_slot("exchange", &T::exchange, 5.0, 0.5),
          time_slot("dispatch", &T::dispatch, 40.0, 0.5),
          share_slot("exchange_share", &T::exchange_share, 0.5, 0.3, whole)};
}

// numeric_fit() takes measurements of kernels, which repeat within 3 %; these do within 12.
constexpr double kernel_noise = 0.03;
constexpr double noise = 0.12;
constexpr double few_clients = 16.0;        // of a time to first token that queues hardly move
constexpr double first_token_weight = 0.3;  // queueing, which the closed form knows least of
constexpr double rows_of_group = 6.0;       // what a group says, however many rows it has

/// A measured quantity of a case.
struct FitRow {
  std::size_t asked = 0;
  const char* quantity = nullptr;
  double measured = 0.0;
  std::string group;
};

struct FitRows {
  std::vector<InferenceCase> cases;
  std::vector<FitRow> rows;
};

bool leaves_out(const InferenceRecord& record, const std::string& device,
                const std::string& left_out) {
  return !left_out.empty() && (record.group == left_out || device == left_out);
}

void add_rows(const InferenceRecord& record, const InferenceCase& asked, FitRows& fit) {
  const std::size_t index = fit.cases.size();
  const std::string group = record.group + "|" + asked.deployment.cluster.host.device.name;
  const auto add = [&](const char* quantity, const std::optional<double>& measured) {
    if (measured) fit.rows.push_back({index, quantity, *measured, group});
  };
  if (asked.closed) {
    if (asked.closed->concurrency <= few_clients) add(first_token_quantity, record.ttft_s);
    add(output_token_quantity, record.tpot_s);
  } else {
    add(output_tokens_quantity, record.output_tokens_per_s);
  }
  fit.cases.push_back(asked);
}

std::vector<double> row_weights(const FitRows& fit) {
  std::map<std::string, double> counts;
  for (const FitRow& row : fit.rows) ++counts[row.group + row.quantity];
  std::vector<double> weights;
  for (const FitRow& row : fit.rows) {
    const double counted =
        row.quantity == std::string(first_token_quantity) ? first_token_weight : 1.0;
    const double count = counts[row.group + row.quantity];
    weights.push_back(counted * std::min(1.0, rows_of_group / count) *
                      (kernel_noise * kernel_noise) / (noise * noise));
  }
  return weights;
}

double answer(const FitRow& row, const SteadyLoad& load) {
  if (row.quantity == std::string(first_token_quantity)) return load.ttft.value();
  if (row.quantity == std::string(output_token_quantity)) return load.tpot.value();
  return load.output_tokens_per_s;
}

std::vector<double> log_residuals(FitRows& fit, const std::vector<EngineSlot>& slots,
                                  const std::vector<double>& values) {
  std::vector<SteadyLoad> loads;
  loads.reserve(fit.cases.size());
  for (InferenceCase& asked : fit.cases) {
    for (std::size_t i = 0; i < slots.size(); ++i)
      slots[i].set(asked.deployment.engine.times, values[i]);
    loads.push_back(steady_load(asked));
  }
  std::vector<double> residuals;
  residuals.reserve(fit.rows.size());
  for (const FitRow& row : fit.rows)
    residuals.push_back(std::log(answer(row, loads[row.asked]) / row.measured));
  return residuals;
}

}  // namespace

EngineFit fit_engine(const std::string& engine, const std::vector<InferenceRecord>& records,
                     const RunCatalog& catalog, const std::string& left_out) {
  FitRows rows;
  for (const InferenceRecord& record : records) {
    // `generic` is fitted on all of them.
    if (engine != "generic" && engine_of_record(record.engine) != engine) continue;
    const InferenceQuestion question = inference_case(record, catalog);
    if (!question.asked) continue;
    const std::string& device = question.asked->deployment.cluster.host.device.name;
    if (!leaves_out(record, device, left_out)) add_rows(record, *question.asked, rows);
  }
  EngineFit fit;
  fit.engine = engine;
  fit.records = static_cast<int>(rows.rows.size());
  if (rows.rows.empty()) return fit;
  const std::vector<EngineSlot> slots = engine_slots();
  std::vector<NumericConstant> constants;
  for (const EngineSlot& slot : slots) constants.push_back(slot.prior);
  constexpr int digits = 3;
  const NumericFit found = numeric_fit(
      constants,
      [&](const std::vector<double>& values) { return log_residuals(rows, slots, values); },
      row_weights(rows), digits);
  fit.converged = found.converged;
  for (std::size_t i = 0; i < slots.size(); ++i)
    fit.constants.push_back(
        {slots[i].key, slots[i].text(found.values[i]), found.values[i], found.deviations[i]});
  return fit;
}

void set_constants(const EngineFit& fit, EngineProfile& profile) {
  const std::vector<EngineSlot> slots = engine_slots();
  for (std::size_t i = 0; i < fit.constants.size(); ++i)
    slots[i].set(profile.times, fit.constants[i].value);
}

}  // namespace foretrain
