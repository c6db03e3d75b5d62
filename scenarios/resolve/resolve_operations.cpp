// SPDX-License-Identifier: Apache-2.0

#include "scenarios/resolve/resolve_operations.hpp"

#include <fmt/format.h>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "models/run/run_model.hpp"
#include "scenarios/resolve/internal/resolve_steps.hpp"
#include "scenarios/sections/sections.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

/// Calls `read` with the path of every element of a list, "list[0]." and so on.
template <class Read>
void for_each(const FieldValues& values, const std::string& list, Read read) {
  for (int i = 0; i < values.list_size(list); ++i) read(fmt::format("{}[{}].", list, i));
}

bool is_given(const FieldValues& values, const std::string& path) {
  return is_said(values, path) || values.list_size(path) > 0;
}

/// Reports every given path but the first: they answer the same question.
template <std::size_t N>
void at_most_one(const FieldValues& values, const std::array<const char*, N>& paths,
                 Diagnostics& diagnostics) {
  const char* first = nullptr;
  for (const char* path : paths) {
    if (!is_given(values, path)) continue;
    if (first)
      report(values, path, fmt::format("{} says the same; leave one of them out", first),
             diagnostics);
    else
      first = path;
  }
}

/// Reports elements of a list whose `key` is not above the one before.
void check_order(const FieldValues& values, const std::string& list, const std::string& key,
                 Diagnostics& diagnostics) {
  double last = 0.0;
  for_each(values, list, [&](const std::string& path) {
    if (!values.has(path + key)) return;
    const double value = values.number(path + key);
    if (value <= last)
      report(values, path + key, "must be larger than in the element before", diagnostics);
    last = value;
  });
}

bool is_digits(std::string_view text) {
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_date(const std::string& text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const std::string year = text.substr(0, 4);
  const std::string month = text.substr(5, 2);
  const std::string day = text.substr(8, 2);
  if (!is_digits(year) || !is_digits(month) || !is_digits(day)) return false;
  const int y = std::stoi(year);
  const int m = std::stoi(month);
  const bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
  constexpr std::array<int, 12> month_days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (m < 1 || m > 12) return false;
  const int last = m == 2 && leap ? 29 : month_days[static_cast<std::size_t>(m - 1)];
  return std::stoi(day) >= 1 && std::stoi(day) <= last;
}

}  // namespace

Operations operations_of(const FieldValues& values) { return operations_keys().read(values); }

void check_operations(const FieldValues& values, Diagnostics& diagnostics) {
  at_most_one<7>(
      values,
      {"operations.mean_time_between_interruptions", "operations.interruptions.per_gpu_hour",
       "operations.interruptions.per_1000_node_days", "operations.interruptions.components",
       "operations.interruptions.curve", "operations.interruptions.trace",
       "operations.interruptions.trace_file"},
      diagnostics);
  at_most_one<3>(values,
                 {"operations.checkpoint.every", "operations.checkpoint.every_steps",
                  "operations.checkpoint.optimal"},
                 diagnostics);
  at_most_one<2>(values, {"operations.fail_slow.every", "operations.fail_slow.per_1000_node_days"},
                 diagnostics);
  for (const char* part : {"detection", "reschedule", "reload"})
    at_most_one<2>(values,
                   {"operations.restart", ("operations.recovery." + std::string(part)).c_str()},
                   diagnostics);
  at_most_one<2>(values, {"operations.price", "operations.owned.gpu"}, diagnostics);
  check_order(values, "operations.interruptions.curve", "gpus", diagnostics);
  check_order(values, "operations.interruptions.trace", "at", diagnostics);
  if (values.has("operations.prices_as_of") && !is_date(values.text("operations.prices_as_of")))
    report(
        values, "operations.prices_as_of",
        in_quotes(values.text("operations.prices_as_of")) + " is not a day; write it as YYYY-MM-DD",
        diagnostics);
}

void check_batch_ramp(const FieldValues& values, const Job& job, Diagnostics& diagnostics) {
  if (job.operations.batch_ramp.empty() || job.training.micro_batch < 1 || job.parallel.data < 1)
    return;
  for (const std::string& problem : broken_ramp(job))
    report(values, "operations.batch_ramp", problem, diagnostics);
}

namespace {

/// "AT,DOWN" or "AT": what is wrong with it, or the interruption.
struct TraceLine {
  Outage outage;
  std::string problem;
};

TraceLine trace_line(std::string_view line, Seconds before) {
  const std::size_t comma = line.find(',');
  const Parsed<double> at = parse_quantity(line.substr(0, comma), Dimension::time);
  if (!at.value) return {{}, at.error};
  if (*at.value <= before.value()) return {{}, "times must increase"};
  const Outage outage{Seconds{*at.value}, std::nullopt};
  if (comma == std::string_view::npos || comma + 1 == line.size()) return {outage, {}};
  const Parsed<double> down = parse_quantity(line.substr(comma + 1), Dimension::time);
  if (!down.value) return {{}, down.error};
  if (*down.value < 0.0) return {{}, "a time must not be negative"};
  return {{outage.at, Seconds{*down.value}}, {}};
}

}  // namespace

std::vector<Outage> read_trace(const std::string& text, const std::string& name,
                               Diagnostics& diagnostics) {
  std::vector<Outage> trace;
  const auto take = [&](std::string_view line) {
    TraceLine read = trace_line(line, trace.empty() ? Seconds{} : trace.back().at);
    if (read.problem.empty()) trace.push_back(read.outage);
    return std::move(read.problem);
  };
  read_timed_lines({name, "at,down", "interruptions"}, text, take, diagnostics);
  return trace;
}

namespace {

constexpr const char* gpus_key = "post_training.generation_gpus";

bool is_separate(const FieldValues& values) {
  return values.has_group("post_training") && values.has("post_training.placement") &&
         values.choice<RolloutPlacement>("post_training.placement") == RolloutPlacement::separate;
}

/// Keys of one placement may stand beside the other, so that --set of `placement` alone changes
/// from one to the other.
void check_placement(const FieldValues& values, const PostTrainingPlan& plan,
                     Diagnostics& diagnostics) {
  if (plan.placement == RolloutPlacement::colocated) {
    if (plan.staleness > 0.0 && !plan.partial_rollouts)
      report(values, "post_training.staleness",
             "generation and training take turns on the same GPUs: write placement: separate, or "
             "partial_rollouts: true",
             diagnostics);
    return;
  }
  if (!values.has(gpus_key) && !values.was_refused(gpus_key))
    report(values, gpus_key, "required key is missing: write for example generation_gpus: 16",
           diagnostics);
}

void check_answers(const FieldValues& values, Diagnostics& diagnostics) {
  no_effect(values,
            {"training.samples.mean", "training.samples.deviation", "training.samples.lengths"},
            "with post_training, whose prompts and answers are the samples", diagnostics);
  for (const std::string at : {"post_training.prompt", "post_training.answer"}) {
    if (!values.has(at + ".most") || !values.has(at + ".tokens")) continue;
    if (values.number(at + ".tokens") > values.integer(at + ".most"))
      report(values, at + ".tokens", "the mean cannot be above the longest, " + at + ".most",
             diagnostics);
  }
}

}  // namespace

PostTrainingPlan post_training_of(const FieldValues& values, Diagnostics& diagnostics) {
  const PostTrainingPlan plan = post_training_keys().read(values);
  check_placement(values, plan, diagnostics);
  check_answers(values, diagnostics);
  constexpr double most_answers = 1e7;
  if (plan.samples() > most_answers)
    report(values, "post_training.prompts",
           fmt::format("{} prompts with {} answers are more than {:.0f} answers a step",
                       plan.prompts, plan.answers, most_answers),
           diagnostics);
  if (!values.has_group("serving"))
    report(values, "post_training",
           "needs the engine that generates: add for example serving: {engine: vllm, parallel: "
           "{tensor: 1}}",
           diagnostics);
  return plan;
}

Cluster split_generation(const FieldValues& values, Cluster& cluster, Diagnostics& diagnostics) {
  Cluster generation = cluster;
  if (!is_separate(values) || !values.has(gpus_key) || cluster.hosts < 1) return generation;
  const int gpus = values.integer(gpus_key);
  const int each = cluster.host.gpus;
  const bool within = cluster.hosts == 1 && gpus < each;
  if (!within && (gpus % each != 0 || gpus / each >= cluster.hosts)) {
    const std::string most = cluster.hosts > 1
                                 ? fmt::format("a multiple of {} below {}", each, cluster.gpus())
                                 : fmt::format("fewer than {}", each);
    report(values, gpus_key,
           fmt::format("of {} GPUs some have to train, on hosts of their own; write {}",
                       cluster.gpus(), most),
           diagnostics);
    return generation;
  }
  cluster.network.connected = cluster.fabric_hosts();
  generation.network.connected = cluster.network.connected;
  if (within) {
    generation.host = part_of(cluster.host, gpus);
    cluster.host = part_of(cluster.host, each - gpus);
  } else {
    generation.hosts = gpus / each;
    cluster.hosts -= generation.hosts;
  }
  return generation;
}

}  // namespace foretrain
