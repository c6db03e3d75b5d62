// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "calibration/cases/step_case.hpp"
#include "calibration/diagnosis/hypothesis.hpp"
#include "models/rules/plan_rules.hpp"

namespace foretrain {
namespace {

std::vector<Variation> unchanged(const DiagnosisCase& of) { return {{"", of.expected}}; }

constexpr double unexplained_prior = 0.05;

}  // namespace

const std::vector<Hypothesis>& hypothesis_registry() {
  static const std::vector<Hypothesis> all = [] {
    std::vector<Hypothesis> made{
        {as_forecast_id, "Consistent with forecast error", 0.0, unchanged, {}, ""}};
    for (const auto family : {network_hypotheses(), compute_hypotheses(), host_hypotheses()})
      made.insert(made.end(), family.begin(), family.end());
    made.push_back({unexplained_id,
                    "No known cause explains it",
                    unexplained_prior,
                    unchanged,
                    {},
                    "a trace of one step (PyTorch profiler, Nsight Systems) beside `foretrain "
                    "simulate`"});
    const double causes =
        std::accumulate(made.begin(), made.end(), 0.0, [](double sum, const Hypothesis& one) {
          return one.interrupts != nullptr ? sum : sum + one.prior;
        });
    made.front().prior = 1.0 - causes;
    return made;
  }();
  return all;
}

std::vector<Variation> variation_of(const Job& job, std::string setting) {
  if (!refusals(job).empty()) return {};
  return {{std::move(setting), expected_run(job)}};
}

}  // namespace foretrain
