// SPDX-License-Identifier: Apache-2.0
#include "calibration/validate/inference_left_out.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "calibration/validate/validations.hpp"

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

}  // namespace foretrain
