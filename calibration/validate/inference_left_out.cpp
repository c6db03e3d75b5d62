// SPDX-License-Identifier: Apache-2.0
#include "calibration/validate/inference_left_out.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "calibration/validate/validations.hpp"

namespace foretrain {
namespace {

const std::string& part_of(const EngineCase& one, EngineAxis axis) {
  if (axis == EngineAxis::source) return one.group;
  if (axis == EngineAxis::load) return one.load;
  return axis == EngineAxis::device ? one.device : one.engine;
}

void put_constants(const std::vector<EngineFit>& fits, RunCatalog& catalog) {
  const auto put = [&](const std::string& from, EngineProfile& to) {
    for (const EngineFit& fit : fits)
      if (fit.engine == from) set_constants(fit, to.times);
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
  std::map<std::string, std::vector<InferenceRecord>> parts;
  for (const EngineCase& one : cases) parts[part_of(one, axis)].push_back(records[one.record]);
  InferenceLeftOut left_out{axis, {}};
  for (const auto& [part, hidden] : parts) {
    if (stop != nullptr && stop->load()) break;
    const auto leaves = [&name = part, axis](const EngineCase& one) {
      return part_of(one, axis) == name;
    };
    RunCatalog unseen = catalog;
    put_constants(fit_engines(cases, leaves, near), unseen);
    auto checks = check_inference(hidden, unseen);
    std::move(checks.begin(), checks.end(), std::back_inserter(left_out.checks));
  }
  return left_out;
}

}  // namespace foretrain
