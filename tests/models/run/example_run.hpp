// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/run/goodput.hpp"

namespace foretrain::test {

/// A job that is interrupted every 3 h and loses 6 min on top of the work since the checkpoint.
inline RunModel interrupted_run() {
  RunModel model;
  model.ideal = 30.0 * days;
  model.between = 3.0 * hours;
  model.detection = 1.0 * minutes;
  model.reschedule = 2.0 * minutes;
  model.reload = 3.0 * minutes;
  model.every = 30.0 * minutes;
  model.stall = Seconds{18.0};
  return model;
}

}  // namespace foretrain::test
