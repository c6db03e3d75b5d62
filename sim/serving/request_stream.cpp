// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/internal/request_stream.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain {

bool is_bounded(const ServingModel& model) {
  return model.duration > Seconds{} || model.load.requests > 0 ||
         model.load.arrivals == ArrivalKind::trace;
}

namespace internal {
namespace {

int drawn_tokens(const TokenLaw& law, Random& random) {
  double tokens = law.mean;
  if (law.jitter > 0.0) tokens *= 1.0 + law.jitter * (2.0 * random.uniform() - 1.0);
  if (law.variation > 0.0) {
    // Log-normal with mean 1.
    const double variance = std::log1p(law.variation * law.variation);
    tokens *= std::exp(std::sqrt(variance) * random.normal() - 0.5 * variance);
  }
  if (law.most > 0) tokens = std::min(tokens, static_cast<double>(law.most));
  constexpr double most_tokens = 1e9;
  return static_cast<int>(std::lround(std::clamp(tokens, 1.0, most_tokens)));
}

}  // namespace

RequestStream::RequestStream(const ServingModel& model)
    : model_{model}, arrivals_{model.seed}, shapes_{model.seed ^ 0x5851F42D4C957F2DULL} {}

bool RequestStream::ended(double at) const {
  const RequestLoad& load = model_.load;
  if (load.requests > 0 && drawn_ >= load.requests) return true;
  if (load.arrivals == ArrivalKind::trace && drawn_ >= static_cast<std::int64_t>(load.trace.size()))
    return true;
  return model_.duration > Seconds{} && at >= model_.duration.value();
}

std::optional<DrawnRequest> RequestStream::next(double now) {
  const RequestLoad& load = model_.load;
  if (ended(now)) return std::nullopt;
  DrawnRequest request{now};
  if (load.arrivals == ArrivalKind::trace) {
    const TracedRequest& traced = load.trace[static_cast<std::size_t>(drawn_)];
    request = {traced.at.value(), traced.prompt, traced.output};
  } else {
    if (load.arrivals == ArrivalKind::poisson)
      time_ += arrivals_.exponential(Seconds{1.0 / load.rate});
    if (load.arrivals == ArrivalKind::constant) time_ = static_cast<double>(drawn_) / load.rate;
    if (load.arrivals != ArrivalKind::closed) request.at = time_;
    request.prompt = load.shared_prefix + drawn_tokens(load.prompt, shapes_);
    request.output = drawn_tokens(load.output, shapes_);
  }
  if (ended(request.at)) return std::nullopt;
  ++drawn_;
  return request;
}

}  // namespace internal
}  // namespace foretrain
