// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/base/random.hpp"
#include "sim/serving/serving_run.hpp"

namespace foretrain::internal {

/// A request before it is served.
struct DrawnRequest {
  double at = 0.0;
  int prompt = 1;
  int output = 1;
  std::int64_t session = -1;  ///< -1: it stands alone
  int turns_left = 0;         ///< behind it
  std::int64_t traced = -1;   ///< its line in a trace
};

/// The requests of a load, one after the other.
class RequestStream {
 public:
  explicit RequestStream(const ServingModel& model);

  /// Of poisson, constant and trace: the next by time; of closed: the next whenever it is asked
  /// for. Nothing when the load is at its end.
  [[nodiscard]] std::optional<DrawnRequest> next(double now);
  /// The turn behind one whose answer is there. @pre done.turns_left > 0
  [[nodiscard]] std::optional<DrawnRequest> after(const DrawnRequest& done, double now);
  [[nodiscard]] std::int64_t drawn() const { return drawn_; }

 private:
  [[nodiscard]] bool ended(double at) const;
  void find_turns();
  void next_arrival();

  const ServingModel& model_;
  Random arrivals_;
  Random shapes_;
  double time_ = 0.0;
  std::int64_t drawn_ = 0;
  std::size_t line_ = 0;                 ///< of a trace, the next that is no later turn
  std::vector<std::int64_t> next_turn_;  ///< by line; -1: none
  std::vector<bool> later_;              ///< by line: it is a later turn
};

}  // namespace foretrain::internal
