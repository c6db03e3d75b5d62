// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/records/inference_record.hpp"
#include "calibration/records/run_catalog.hpp"
#include "models/serving/steady_load.hpp"

namespace foretrain {

/// A record as a deployment under a load.
struct InferenceCase {
  Deployment deployment;
  RequestLengths lengths;
  std::optional<ClosedLoad> closed;      ///< absent: offline
  double requests = 0.0;                 ///< offline
  bool layout_stated = true;             ///< else the fastest by today's constants: no fit reads it
  std::vector<std::string> assumptions;  ///< what the record does not say
};

/// The case, or why the record makes none: what its source leaves out, or what is not modelled.
struct InferenceQuestion {
  std::optional<InferenceCase> asked;
  std::string why;
};

[[nodiscard]] InferenceQuestion inference_case(const InferenceRecord& record,
                                               const RunCatalog& catalog);

/// A case made ready to be asked again with other constants of its engine.
class ReadyCase {
 public:
  explicit ReadyCase(const InferenceCase& asked)
      : serving_{asked.deployment, asked.lengths},
        closed_{asked.closed},
        requests_{asked.requests} {}

  [[nodiscard]] SteadyLoad load() const;
  [[nodiscard]] SteadyLoad load(const EngineTimes& times) const;

 private:
  SteadyServing serving_;
  std::optional<ClosedLoad> closed_;
  double requests_ = 0.0;
};

/// What the deployment delivers under that load.
[[nodiscard]] SteadyLoad steady_load(const InferenceCase& asked);

/// Catalog name of the engine's profile.
[[nodiscard]] std::string engine_of_record(const std::string& engine);

}  // namespace foretrain
