// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/serving/serving_summary.hpp"

namespace foretrain::serving_test {

/// A step of that time, whatever it holds.
inline StepTimer constant_step(double seconds) {
  return [seconds](const ServingBatch&) { return Seconds{seconds}; };
}

/// A step that takes so long per token and per sequence, after a start.
inline StepTimer linear_step(double start, double per_prompt_token, double per_sequence) {
  return [=](const ServingBatch& batch) {
    double tokens = 0.0;
    for (const PrefillChunk& chunk : batch.prefill) tokens += chunk.tokens;
    return Seconds{start + per_prompt_token * tokens + per_sequence * batch.decode_sequences};
  };
}

inline RequestLoad closed(int clients, int requests, double prompt, double output) {
  RequestLoad load;
  load.arrivals = ArrivalKind::closed;
  load.concurrency = clients;
  load.requests = requests;
  load.prompt.mean = prompt;
  load.output.mean = output;
  return load;
}

inline RequestLoad poisson(double rate, double prompt, double output) {
  RequestLoad load;
  load.rate = rate;
  load.prompt.mean = prompt;
  load.output.mean = output;
  return load;
}

inline ServingModel deployment(RequestLoad load, StepTimer timer) {
  ServingModel model;
  model.load = std::move(load);
  model.serve.timer = std::move(timer);
  model.serve.blocks = 1'000'000;
  return model;
}

}  // namespace foretrain::serving_test
