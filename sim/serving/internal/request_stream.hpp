// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "models/base/random.hpp"
#include "sim/serving/serving_model.hpp"

namespace foretrain::internal {

/// A request before it is served.
struct DrawnRequest {
  double at = 0.0;
  int prompt = 1;
  int output = 1;
};

/// The requests of a load, one after the other.
class RequestStream {
 public:
  explicit RequestStream(const ServingModel& model);

  /// Of poisson, constant and trace: the next by time; of closed: the next whenever it is asked
  /// for. Nothing when the load is at its end.
  [[nodiscard]] std::optional<DrawnRequest> next(double now);
  [[nodiscard]] std::int64_t drawn() const { return drawn_; }

 private:
  [[nodiscard]] bool ended(double at) const;

  const ServingModel& model_;
  Random arrivals_;
  Random shapes_;
  double time_ = 0.0;
  std::int64_t drawn_ = 0;
};

}  // namespace foretrain::internal
