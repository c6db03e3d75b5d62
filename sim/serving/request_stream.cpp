// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/internal/request_stream.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

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
    : model_{model}, arrivals_{model.seed}, shapes_{model.seed ^ 0x5851F42D4C957F2DULL} {
  find_turns();
}

/// Lines of a trace with one session are its turns.
void RequestStream::find_turns() {
  const std::vector<TracedRequest>& trace = model_.load.trace;
  next_turn_.assign(trace.size(), -1);
  later_.assign(trace.size(), false);
  std::unordered_map<int, std::size_t> last;
  for (std::size_t line = 0; line < trace.size(); ++line) {
    if (trace[line].session < 0) continue;
    const auto [before, first] = last.try_emplace(trace[line].session, line);
    if (first) continue;
    next_turn_[before->second] = static_cast<std::int64_t>(line);
    later_[line] = true;
    before->second = line;
  }
}

bool RequestStream::ended(double at) const {
  const RequestLoad& load = model_.load;
  if (load.requests > 0 && drawn_ >= load.requests) return true;
  return model_.duration > Seconds{} && at >= model_.duration.value();
}

/// Of a rate that swings over a day, by leaving out arrivals of its peak.
void RequestStream::next_arrival() {
  const RequestLoad& load = model_.load;
  constexpr double day = 86400.0;
  constexpr double two_pi = 6.283185307179586;
  const double peak = 1.0 + load.swing;
  while (true) {
    time_ += arrivals_.exponential(Seconds{1.0 / (load.rate * peak)});
    if (load.swing <= 0.0) return;
    const double now = 1.0 - load.swing * std::cos(two_pi * time_ / day);
    if (arrivals_.uniform() * peak <= now) return;
  }
}

std::optional<DrawnRequest> RequestStream::next(double now) {
  const RequestLoad& load = model_.load;
  if (ended(now)) return std::nullopt;
  DrawnRequest request{now};
  if (load.arrivals == ArrivalKind::trace) {
    while (line_ < load.trace.size() && later_[line_]) ++line_;
    if (line_ == load.trace.size()) return std::nullopt;
    const TracedRequest& traced = load.trace[line_];
    const bool goes_on = next_turn_[line_] >= 0;
    request = {traced.at.value(), traced.prompt,   traced.output,
               traced.session,    goes_on ? 1 : 0, static_cast<std::int64_t>(line_)};
    ++line_;
  } else {
    if (load.arrivals == ArrivalKind::poisson) next_arrival();
    if (load.arrivals == ArrivalKind::constant) time_ = static_cast<double>(drawn_) / load.rate;
    if (load.arrivals != ArrivalKind::closed) request.at = time_;
    request.prompt = load.shared_prefix + drawn_tokens(load.prompt, shapes_);
    request.output = drawn_tokens(load.output, shapes_);
    request.turns_left = load.sessions.turns - 1;
    if (request.turns_left > 0) request.session = drawn_;
  }
  if (ended(request.at)) return std::nullopt;
  ++drawn_;
  return request;
}

std::optional<DrawnRequest> RequestStream::after(const DrawnRequest& done, double now) {
  const RequestLoad& load = model_.load;
  DrawnRequest turn = done;
  if (done.traced >= 0) {
    const std::int64_t line = next_turn_[static_cast<std::size_t>(done.traced)];
    const TracedRequest& traced = load.trace[static_cast<std::size_t>(line)];
    turn = {now + traced.wait.value(),
            traced.prompt,
            traced.output,
            traced.session,
            next_turn_[static_cast<std::size_t>(line)] >= 0 ? 1 : 0,
            line};
  } else {
    const Seconds wait = load.sessions.wait;
    turn.at = now + (wait > Seconds{} ? shapes_.exponential(wait) : 0.0);
    turn.prompt = done.prompt + done.output + drawn_tokens(load.prompt, shapes_);
    turn.output = drawn_tokens(load.output, shapes_);
    --turn.turns_left;
  }
  if (model_.duration > Seconds{} && turn.at >= model_.duration.value()) return std::nullopt;
  return turn;
}

}  // namespace internal
}  // namespace foretrain
