// SPDX-License-Identifier: Apache-2.0

#include "calibration/validate/inference_validation.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "calibration/cases/inference_case.hpp"
#include "calibration/cases/post_training_case.hpp"
#include "calibration/validate/validations.hpp"
#include "models/serving/deployment.hpp"

namespace foretrain {
namespace {

constexpr std::size_t source_folds = 10;

/// Sources in the order of their names, every tenth of which is left out at once.
std::map<std::string, std::string> folds_of(const std::vector<EngineCase>& cases) {
  std::map<std::string, std::string> folds;
  for (const EngineCase& one : cases) folds[one.group];
  std::size_t place = 0;
  for (auto& [group, fold] : folds) fold = std::to_string(place++ % source_folds);
  return folds;
}

const std::string& part_of(const EngineCase& one, EngineAxis axis,
                           const std::map<std::string, std::string>& folds) {
  if (axis == EngineAxis::source) return folds.at(one.group);
  if (axis == EngineAxis::load) return one.load;
  return axis == EngineAxis::device ? one.device : one.engine;
}

void put_constants(const std::vector<EngineFit>& fits, RunCatalog& catalog) {
  const auto put = [&](const std::string& from, EngineProfile& to) {
    for (const EngineFit& fit : fits)
      if (fit.engine == from) set_constants(fit, to);
  };
  for (auto& [name, profile] : catalog.engines) {
    put(any_engine, profile);
    put(name, profile);
  }
}

}  // namespace

InferenceLeftOut leave_out_inference(EngineAxis axis, const std::vector<InferenceRecord>& records,
                                     const RunCatalog& catalog, const std::vector<EngineFit>& near,
                                     const std::atomic<bool>* stop) {
  const std::vector<EngineCase> cases = engine_cases(records, catalog);
  const auto folds = folds_of(cases);
  std::map<std::string, std::vector<InferenceRecord>> parts;
  for (const EngineCase& one : cases)
    parts[part_of(one, axis, folds)].push_back(records[one.record]);
  InferenceLeftOut left_out{axis, {}};
  for (const auto& [part, hidden] : parts) {
    if (stop != nullptr && stop->load()) break;
    const auto leaves = [&name = part, axis, &folds](const EngineCase& one) {
      return part_of(one, axis, folds) == name;
    };
    RunCatalog unseen = catalog;
    put_constants(fit_engines(cases, leaves, near), unseen);
    auto checks = check_inference(hidden, unseen);
    std::move(checks.begin(), checks.end(), std::back_inserter(left_out.checks));
  }
  return left_out;
}

namespace {

constexpr const char* drained_queue =
    "all requests at once: the time to a first token is that of a queue that drains";

struct MeasuredQuantity {
  const char* name;
  std::optional<double> InferenceRecord::*measured;
};
constexpr std::array<MeasuredQuantity, 3> quantities{{
    {output_tokens_quantity, &InferenceRecord::output_tokens_per_s},
    {first_token_quantity, &InferenceRecord::ttft_s},
    {output_token_quantity, &InferenceRecord::tpot_s},
}};
constexpr std::array<MeasuredQuantity, 3> rl_quantities{{
    {rl_step_quantity, &InferenceRecord::rl_step_s},
    {rl_generation_quantity, &InferenceRecord::rl_generation_s},
    {rl_train_quantity, &InferenceRecord::rl_train_s},
}};

struct Answer {
  double predicted = 0.0;
  ResidualBand band;
};

Answer answer_of(const std::string& quantity, const SteadyLoad& load, const InferenceCase& made) {
  const double context = made.lengths.input + made.lengths.output / 2.0;
  const ServingBands bands =
      serving_bands(made.deployment, std::max(1.0, std::round(load.running)), context);
  if (quantity == first_token_quantity || quantity == low_load_first_token_quantity)
    return {load.ttft.value(), bands.ttft};
  if (quantity == output_token_quantity) return {load.tpot.value(), bands.tpot};
  return {load.output_tokens_per_s, bands.throughput};
}

std::string case_of(const InferenceRecord& record) {
  const InferenceRecord::Workload& load = record.workload;
  return fmt::format("{}|{}|{}|{}|{}|{}|{}", record.group, record.gpu, record.engine,
                     record.weights, load.input.value_or(0.0), load.output.value_or(0.0),
                     load.concurrency.value_or(0.0));
}

/// So few clients that requests hardly wait for each other.
bool low_load(const InferenceRecord& record) {
  constexpr double few = 4.0;
  return record.workload.concurrency.value_or(few + 1.0) <= few;
}

/// A record with everything that its checks share.
struct AskedRecord {
  const InferenceRecord& record;
  InferenceQuestion question;
  std::optional<SteadyLoad> load;
};

constexpr const char* copied_figures =
    "the same figures stand beside another device, of which they may be";

/// What was measured, to the last digit, and on which model; empty of a single figure, which two
/// may share.
std::string figures_of(const InferenceRecord& record) {
  if (!record.ttft_s || !record.tpot_s || !record.output_tokens_per_s) return "";
  return fmt::format("{}|{}|{}|{}|{}", record.group, record.engine, *record.ttft_s, *record.tpot_s,
                     *record.output_tokens_per_s);
}

/// Devices that the same figures stand beside.
using FigureDevices = std::map<std::string, std::set<std::string>>;

FigureDevices devices_by_figures(const std::vector<InferenceRecord>& records) {
  FigureDevices devices;
  for (const InferenceRecord& record : records)
    if (const std::string figures = figures_of(record); !figures.empty())
      devices[figures].insert(record.gpu);
  return devices;
}

void fill(const AskedRecord& asked, RecordCheck& check) {
  if (!asked.question.asked) return skip(check, asked.question.why);
  const InferenceCase& made = *asked.question.asked;
  check.remarks = made.assumptions;
  const Deployment& deployment = made.deployment;
  check.item = deployment.cluster.host.device.name + " " + model_kind(deployment.model);
  if (!made.closed && check.quantity != output_tokens_quantity) return skip(check, drained_queue);
  const Answer answer = answer_of(check.quantity, *asked.load, made);
  check.predicted = answer.predicted;
  check.low = answer.predicted * answer.band.low;
  check.high = answer.predicted * answer.band.high;
}

/// A check of one figure that the record has, before its forecast.
RecordCheck check_of(const InferenceRecord& record, const char* quantity, double measured,
                     std::string grid) {
  RecordCheck check;
  check.id = record.id;
  check.source = record.table();
  check.quantity = quantity;
  check.group = engine_of_record(record.engine);
  check.item = record.gpu;
  check.measured = measured;
  check.grid = std::move(grid);
  return check;
}

BandedTime time_of(const std::string& quantity, const PostTrainingCase& made) {
  if (quantity == rl_generation_quantity) return made.generation();
  return quantity == rl_train_quantity ? made.forecast.training : made.forecast.step;
}

void check_post_training(const InferenceRecord& record, const RunCatalog& catalog,
                         std::vector<RecordCheck>& checks) {
  const PostTrainingQuestion question = post_training_case(record, catalog);
  for (const MeasuredQuantity& quantity : rl_quantities) {
    const std::optional<double>& measured = record.*quantity.measured;
    if (!measured) continue;
    RecordCheck check = check_of(record, quantity.name, *measured, record.group + "|" + record.gpu);
    if (question.asked) {
      const PostTrainingCase& made = *question.asked;
      const BandedTime time = time_of(quantity.name, made);
      check.remarks = made.assumptions;
      check.item =
          made.setup.policy.cluster.host.device.name + " " + model_kind(made.setup.policy.model);
      check.predicted = time.time.value();
      check.low = time.low.value();
      check.high = time.high.value();
    } else {
      skip(check, question.why);
    }
    checks.push_back(std::move(check));
  }
}

}  // namespace

std::string model_kind(const LlmShape& model) {
  std::string kind = model.is_hybrid() ? "hybrid" : model.moe ? "experts" : "dense";
  return model.mla ? "latent " + kind : kind;
}

std::vector<RecordCheck> check_inference(const std::vector<InferenceRecord>& records,
                                         const RunCatalog& catalog) {
  std::vector<RecordCheck> checks;
  const FigureDevices devices = devices_by_figures(records);
  for (const InferenceRecord& record : records) {
    if (record.rl) {
      check_post_training(record, catalog, checks);
      continue;
    }
    AskedRecord asked{record, inference_case(record, catalog), std::nullopt};
    const auto figures = devices.find(figures_of(record));
    if (figures != devices.end() && figures->second.size() > 1)
      asked.question = {std::nullopt, copied_figures};
    if (asked.question.asked) asked.load = steady_load(*asked.question.asked);
    for (const MeasuredQuantity& quantity : quantities) {
      const std::optional<double>& measured = record.*quantity.measured;
      if (!measured) continue;
      RecordCheck check = check_of(record, quantity.name, *measured, case_of(record));
      fill(asked, check);
      checks.push_back(check);
      if (check.quantity != first_token_quantity || !low_load(record)) continue;
      check.quantity = low_load_first_token_quantity;
      checks.push_back(std::move(check));
    }
  }
  return checks;
}

}  // namespace foretrain
