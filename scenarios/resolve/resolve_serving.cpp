// SPDX-License-Identifier: Apache-2.0
#include "scenarios/resolve/resolve_serving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "scenarios/resolve/internal/resolve_steps.hpp"
#include "scenarios/sections/sections.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

constexpr Seconds usual_duration{3600.0};
constexpr std::size_t most_traced = 20'000'000;

void need(const FieldValues& values, const char* path, const std::string& why,
          Diagnostics& diagnostics) {
  if (!values.has(path) && !values.was_refused(path))
    report(values, path, "required key is missing: " + why, diagnostics);
}

/// What each kind of arrivals needs. It may stand beside what others need, so that --set of
/// `arrivals` alone changes from one to the other.
void check_arrivals(const FieldValues& values, ArrivalKind arrivals, Diagnostics& diagnostics) {
  const char* const rate = "serving.requests.rate";
  const char* const clients = "serving.requests.concurrency";
  const char* const trace = "serving.requests.trace_file";
  switch (arrivals) {
    case ArrivalKind::poisson:
    case ArrivalKind::constant:
      need(values, rate, "write for example rate: 2000 per min", diagnostics);
      break;
    case ArrivalKind::closed:
      need(values, clients, "write for example concurrency: 64", diagnostics);
      break;
    case ArrivalKind::trace:
      need(values, trace, "write for example trace_file: requests.csv", diagnostics);
      return;
  }
  need(values, "serving.requests.prompt.tokens", "write for example prompt: 1024", diagnostics);
  need(values, "serving.requests.output.tokens", "write for example output: 256", diagnostics);
}

void check_lengths(const FieldValues& values, Diagnostics& diagnostics) {
  for (const std::string at : {"serving.requests.prompt", "serving.requests.output"})
    if (is_said(values, at + ".jitter") && is_said(values, at + ".variation"))
      report(values, at + ".variation", "stands beside jitter; write one of them", diagnostics);
}

void check_speculation(const FieldValues& values, const ServingPlan& plan,
                       Diagnostics& diagnostics) {
  if (plan.speculation.drafted > 0)
    need(values, "serving.speculation.acceptance", "write for example acceptance: 0.7",
         diagnostics);
}

void check_times(const FieldValues& values, const ServingPlan& plan, Diagnostics& diagnostics) {
  if (plan.duration > Seconds{} && plan.warm_up >= plan.duration)
    report(values, "serving.warm_up", "must be shorter than serving.duration", diagnostics);
}

/// Rules of the newer keys, each where it is written.
void check_sessions(const FieldValues& values, const ServingPlan& plan, Diagnostics& diagnostics) {
  if (plan.load.sessions.turns <= 1 && !values.was_refused("serving.requests.sessions.turns"))
    no_effect(values, {"serving.requests.sessions.wait"},
              "unless serving.requests.sessions.turns is 2 or more", diagnostics);
  if (plan.load.sessions.turns > 1 && plan.load.prefix_reuse > 0.0)
    report(values, "serving.requests.prefix_reuse",
           "stands beside sessions, whose earlier turns are found by what replicas keep; leave it "
           "out",
           diagnostics);
}

void check_autoscaling(const FieldValues& values, const ServingPlan& plan,
                       Diagnostics& diagnostics) {
  if (!plan.autoscaling.on()) return;
  need(values, "serving.autoscaling.target", "write for example target: 32", diagnostics);
  need(values, "serving.autoscaling.start", "write for example start: 3 min", diagnostics);
  if (plan.prefill.replicas > 0)
    report(values, "serving.autoscaling",
           "replicas that only prefill or only decode do not come and go; leave prefill or "
           "autoscaling out",
           diagnostics);
  if (plan.layout.replicas > 0 && plan.autoscaling.least > plan.layout.replicas)
    report(values, "serving.autoscaling.least", "is more than serving.replicas", diagnostics);
}

/// A number of a line, which it is taken off.
Parsed<double> next_number(std::string_view& line) {
  const std::size_t comma = line.find(',');
  const Parsed<double> number = parse_number(line.substr(0, comma));
  line.remove_prefix(comma == std::string_view::npos ? line.size() : comma + 1);
  return number;
}

/// "at,prompt,output" or "at,prompt,output,session,wait": what is wrong with it, or the request.
std::pair<TracedRequest, std::string> traced_request(std::string_view line, bool sessions,
                                                     Seconds before) {
  std::array<double, 5> numbers{0.0, 0.0, 0.0, -1.0, 0.0};
  const std::size_t columns = sessions ? 5 : 3;
  if (static_cast<std::size_t>(std::ranges::count(line, ',')) + 1 != columns)
    return {{},
            sessions ? "must be five numbers: at,prompt,output,session,wait"
                     : "must be three numbers: at,prompt,output"};
  for (std::size_t i = 0; i < columns; ++i) {
    const Parsed<double> number = next_number(line);
    constexpr std::array<const char*, 5> names{"at", "prompt", "output", "session", "wait"};
    if (!number.value) return {{}, std::string(names[i]) + ": " + number.error};
    numbers[i] = *number.value;
  }
  constexpr double most_tokens = 1e8;
  for (const double tokens : {numbers[1], numbers[2]})
    if (tokens < 1.0 || tokens > most_tokens || tokens != static_cast<int>(tokens))
      return {{}, "tokens must be whole numbers from 1 to 100,000,000"};
  if (numbers[0] < before.value()) return {{}, "times must not fall"};
  if (numbers[3] < -1.0 || numbers[3] > 2e9 || numbers[3] != static_cast<int>(numbers[3]))
    return {{},
            "a session is a whole number from 0 to 2,000,000,000; -1: the request stands alone"};
  if (numbers[4] < 0.0) return {{}, "wait must not be negative"};
  return {{Seconds{numbers[0]}, static_cast<int>(numbers[1]), static_cast<int>(numbers[2]),
           static_cast<int>(numbers[3]), Seconds{numbers[4]}},
          {}};
}

}  // namespace

ServingPlan serving_of(const FieldValues& values, Diagnostics& diagnostics) {
  ServingPlan plan = serving_keys().read(values);
  if (!values.has_group("post_training")) check_arrivals(values, plan.load.arrivals, diagnostics);
  check_lengths(values, diagnostics);
  check_speculation(values, plan, diagnostics);
  check_times(values, plan, diagnostics);
  check_sessions(values, plan, diagnostics);
  check_autoscaling(values, plan, diagnostics);
  const bool bounded = plan.load.requests > 0 || plan.load.arrivals == ArrivalKind::trace;
  if (!bounded && plan.duration == Seconds{}) plan.duration = usual_duration;
  return plan;
}

int replicas_on(const Cluster& cluster, const ServingPlan& plan) {
  const int prefill = plan.prefill.gpus() * plan.prefill.replicas;
  return std::max(0, cluster.gpus() - prefill) / plan.layout.gpus();
}

Work work_of(const FieldValues& values) {
  if (values.has_group("post_training")) return Work::post_training;
  return values.has_group("serving") && !values.has_group("training") ? Work::serving
                                                                      : Work::training;
}

void check_purpose(const FieldValues& values, Purpose purpose, Diagnostics& diagnostics) {
  if (purpose == Purpose::serving && values.has_group("post_training"))
    report(values, "post_training",
           "the scenario is of post-training, whose answers are no requests of users: type "
           "foretrain simulate FILE, or take post_training out",
           diagnostics);
  const bool trains = purpose == Purpose::training || purpose == Purpose::steps;
  if (purpose == Purpose::training && values.has_group("post_training"))
    report(
        values, "post_training",
        "the scenario is of post-training, which this command does not know (simulate, fit, plan, "
        "solve, sweep, compare, report, explain, check and diagnose do); for its trainer alone "
        "take post_training out",
        diagnostics);
  if (trains && !values.has_group("training") && values.has_group("serving"))
    report(
        values, "serving",
        "the scenario serves and does not train, and this command is of training; type foretrain "
        "serve FILE, or add training",
        diagnostics);
  if (purpose == Purpose::serving && !values.has_group("serving"))
    report(values, "serving",
           "the scenario trains and does not serve; type foretrain simulate FILE, or add serving",
           diagnostics);
}

std::vector<TracedRequest> read_request_trace(const std::string& text, const std::string& name,
                                              Diagnostics& diagnostics) {
  std::vector<TracedRequest> trace;
  const char* const columns = text.starts_with("at,prompt,output,session")
                                  ? "at,prompt,output,session,wait"
                                  : "at,prompt,output";
  const bool sessions = std::string_view(columns).ends_with("wait");
  const auto take = [&](std::string_view line) {
    auto [request, problem] =
        traced_request(line, sessions, trace.empty() ? Seconds{} : trace.back().at);
    if (problem.empty() && trace.size() == most_traced) problem = "more than 20,000,000 requests";
    if (problem.empty()) trace.push_back(request);
    return std::move(problem);
  };
  // One complaint is enough of a file of millions of lines.
  read_timed_lines({name, columns, "requests", 1}, text, take, diagnostics);
  return trace;
}

}  // namespace foretrain
