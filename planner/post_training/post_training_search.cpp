// SPDX-License-Identifier: Apache-2.0
#include "planner/post_training/post_training_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "planner/serving/serving_study.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

/// How the trainer is cut.
struct TrainerLayout {
  int tensor = 1;
  int pipeline = 1;
  friend bool operator==(const TrainerLayout&, const TrainerLayout&) = default;
};

/// What is varied; 0 GPUs: colocated.
struct SplitChoice {
  int generation_gpus = 0;
  int tensor = 1;
  bool ahead = false;
  bool partial = false;
  TrainerLayout trainer{};
};

/// The machine that both sides share.
Cluster whole_cluster(const Scenario& scenario) {
  Cluster cluster = scenario.job.cluster;
  if (scenario.post_training->placement == RolloutPlacement::colocated) return cluster;
  return cluster_with_hosts(scenario, whole_hosts(scenario));
}

/// At most sixteen sizes of the part that generates.
std::vector<int> generation_sizes(const Cluster& whole) {
  constexpr int most = 16;
  const int unit = whole.hosts > 1 ? whole.host.gpus : 1;
  const int parts = whole.gpus() / unit;
  std::set<int> sizes;
  for (int i = 1; i <= most; ++i)
    if (const int part = parts * i / (most + 1); part >= 1 && part < parts)
      sizes.insert(part * unit);
  if (parts <= most + 1)
    for (int part = 1; part < parts; ++part) sizes.insert(part * unit);
  return {sizes.begin(), sizes.end()};
}

/// Tensor ranks of a replica that generates.
std::vector<int> generation_tensors(const Scenario& scenario, const Cluster& whole) {
  std::vector<int> tensors;
  for (int tensor = 1; tensor <= whole.packing().domain && tensor <= whole.gpus(); tensor *= 2)
    tensors.push_back(tensor);
  if (scenario.serving->layout.expert > 1 || scenario.serving->layout.attention_data > 1)
    tensors = {scenario.serving->layout.tensor};
  return tensors;
}

TrainerLayout trainer_of(const Scenario& scenario) {
  return {scenario.job.parallel.tensor, scenario.job.parallel.pipeline};
}

/// As the scenario has it first, then powers of two of tensor ranks within a scale-up domain and of
/// stages; which of them are legal is asked when they are tried.
std::vector<TrainerLayout> trainer_layouts(const Scenario& scenario, const Cluster& whole) {
  constexpr int most_stages = 16;
  std::vector<TrainerLayout> layouts{trainer_of(scenario)};
  for (int tensor = 1; tensor <= std::min(whole.packing().domain, whole.gpus()); tensor *= 2)
    for (int stages = 1; stages <= std::min(most_stages, whole.gpus() / tensor); stages *= 2)
      if (const TrainerLayout layout{tensor, stages}; layout != layouts.front())
        layouts.push_back(layout);
  return layouts;
}

/// Ways of generating on so many GPUs beside that trainer.
std::vector<SplitChoice> choices_of(const Scenario& scenario, const Cluster& whole, int gpus,
                                    bool ahead, TrainerLayout trainer) {
  std::vector<SplitChoice> choices;
  const bool partial = scenario.post_training->partial_rollouts;
  for (const int tensor : generation_tensors(scenario, whole))
    for (const bool early : {false, true}) {
      if (early && !(ahead && gpus > 0)) continue;
      choices.push_back({gpus, tensor, early, partial, trainer});
      if (!partial) choices.push_back({gpus, tensor, early, true, trainer});
    }
  return choices;
}

void set_trainer(Parallel& parallel, const TrainerLayout& layout) {
  if (layout.pipeline != parallel.pipeline) {
    parallel.pipeline = layout.pipeline;
    parallel.virtual_stages = 1;
    parallel.schedule = default_schedule;
    parallel.microbatch_group = 0;
    parallel.stage_layers.clear();
  }
  if (layout.tensor != parallel.tensor) parallel.sequence = parallel.sequence && layout.tensor > 1;
  parallel.tensor = layout.tensor;
}

/// The scenario with another division; nothing where the trainer's layout does not divide its part.
std::optional<Scenario> divided(const Scenario& scenario, const Cluster& whole,
                                const SplitChoice& choice) {
  Scenario other = scenario;
  PostTrainingPlan& plan = *other.post_training;
  plan.generation_gpus = choice.generation_gpus;
  plan.placement =
      choice.generation_gpus > 0 ? RolloutPlacement::separate : RolloutPlacement::colocated;
  plan.staleness = choice.ahead ? std::max(1.0, plan.staleness) : 0.0;
  plan.partial_rollouts = choice.partial;
  other.serving->layout.tensor = choice.tensor;
  other.serving->layout.replicas = 0;
  other.job.cluster = other.generation = whole;
  if (choice.generation_gpus > 0) {
    if (whole.hosts > 1) {
      other.generation.hosts = choice.generation_gpus / whole.host.gpus;
      other.job.cluster.hosts = whole.hosts - other.generation.hosts;
    } else {
      other.generation.host = part_of(whole.host, choice.generation_gpus);
      other.job.cluster.host = part_of(whole.host, whole.host.gpus - choice.generation_gpus);
    }
  }
  Parallel& parallel = other.job.parallel;
  set_trainer(parallel, choice.trainer);
  const int model = parallel.tensor * parallel.context * parallel.pipeline;
  const int gpus = other.job.cluster.gpus();
  if (gpus < model || gpus % model != 0) return std::nullopt;
  parallel.data = gpus / model;
  // Loops deal answers evenly to the trainer's replicas.
  if (other.job.training.global_batch % parallel.data != 0) return std::nullopt;
  return other;
}

/// Keys of the trainer that are not the scenario's.
void add_trainer_settings(const Parallel& now, const Parallel& before,
                          std::vector<std::string>& settings) {
  const auto add = [&](const char* key, const auto& value, const auto& was) {
    if (value != was) settings.push_back(fmt::format("parallel.{}={}", key, value));
  };
  add("tensor", now.tensor, before.tensor);
  add("sequence", now.sequence, before.sequence);
  add("pipeline", now.pipeline, before.pipeline);
  add("virtual_stages", now.virtual_stages, before.virtual_stages);
  add("schedule", name_of(now.schedule), name_of(before.schedule));
}

std::vector<std::string> settings_of(const SplitChoice& choice, const Scenario& scenario,
                                     const Scenario& divided) {
  std::vector<std::string> settings{
      fmt::format("post_training.placement={}", name_of(divided.post_training->placement))};
  if (choice.generation_gpus > 0)
    settings.push_back(fmt::format("post_training.generation_gpus={}", choice.generation_gpus));
  settings.push_back(fmt::format("post_training.staleness={:g}", divided.post_training->staleness));
  settings.push_back(fmt::format("serving.parallel.tensor={}", choice.tensor));
  if (choice.partial != scenario.post_training->partial_rollouts)
    settings.push_back(fmt::format("post_training.partial_rollouts={}", choice.partial));
  add_trainer_settings(divided.job.parallel, scenario.job.parallel, settings);
  return settings;
}

std::string next_command(const PostTrainingSearch& search, const std::string& file) {
  if (search.splits.empty()) return {};
  std::string command = "foretrain simulate " + file;
  for (const std::string& setting : search.splits.front().settings) command += " --set " + setting;
  return command;
}

/// "TP 4, PP 2, partial rollouts".
std::string trainer_text(const PostTrainingReport& report) {
  const Parallel& parallel = report.setup.policy.parallel;
  std::string text = fmt::format("TP {}", parallel.tensor);
  if (parallel.pipeline > 1) text += fmt::format(", PP {}", parallel.pipeline);
  return text + (report.setup.plan.partial_rollouts ? ", partial" : "");
}

AnswerTable splits_table(const PostTrainingSearch& search, int top) {
  AnswerTable table{{words_column("GPUs: generate + train"), words_column("replica"),
                     words_column("trainer"), number_column("step"), number_column("P10"),
                     number_column("P90"), number_column("samples/s"), number_column("idle")}};
  for (const PostTrainingSplit& split : search.splits) {
    if (static_cast<int>(table.rows.size()) == top) break;
    const PostTrainingForecast& forecast = split.report.forecast;
    const double generating = split.report.setup.plan.generation_gpus / forecast.gpus;
    const double idle = generating * (forecast.generation_idle / forecast.step.time) +
                        (1.0 - generating) * (forecast.training_idle / forecast.step.time);
    const bool turns = generating <= 0.0;
    table.add({division_text(split.report), layout_text(split.report.setup.rollout.layout),
               trainer_text(split.report), seconds_text(forecast.step.time),
               seconds_text(forecast.step.low), seconds_text(forecast.step.high),
               significant_text(forecast.samples_per_s),
               turns ? std::string("-") : percent_text(idle)});
  }
  return table;
}

AnswerHead head_of(const PostTrainingSearch& search, const std::string& file) {
  AnswerHead head;
  head.subject = search.name;
  head.made_by = fmt::format("{} ways tried", search.tried);
  if (search.splits.empty()) {
    head.verdict = Verdict::no;
    head.words = "CANNOT RUN";
    head.sentence = search.refused + ".";
    return search.stopped ? interrupted_head(std::move(head), "a way was found") : head;
  }
  const PostTrainingForecast& best = search.splits.front().report.forecast;
  head.verdict = Verdict::safe;
  head.words = "PLANS";
  const PostTrainingPlan& plan = search.splits.front().report.setup.plan;
  const int train = search.splits.front().report.setup.policy.cluster.gpus();
  head.sentence =
      plan.placement == RolloutPlacement::colocated
          ? fmt::format("The shortest step takes {}: {} GPUs generate and train in turn.",
                        seconds_text(best.step.time), train)
          : fmt::format("The shortest step takes {}: {} GPUs generate{}, {} train.",
                        seconds_text(best.step.time), plan.generation_gpus,
                        plan.overlaps() ? " one step ahead" : "", train);
  HeadFigure step{"Step", seconds_text(best.step.time),
                  seconds_text(best.step.low) + " to " + seconds_text(best.step.high)};
  if (search.asked_s > 0.0)
    step.difference = fmt::format("as given {}", seconds_text(Seconds{search.asked_s}));
  head.figures = {step, {"Samples", significant_text(best.samples_per_s) + " /s", "", ""}};
  head.next = next_command(search, file);
  return head;
}

}  // namespace

namespace {

/// Tries ways and keeps those that can run.
class SplitTrial {
 public:
  SplitTrial(const Scenario& scenario, const Cluster& whole, PostTrainingSearch& search,
             const std::atomic<bool>* stop)
      : scenario_{scenario}, whole_{whole}, search_{search}, stop_{stop} {}

  [[nodiscard]] bool stopped() {
    search_.stopped = stop_ != nullptr && stop_->load();
    return search_.stopped;
  }
  [[nodiscard]] std::optional<PostTrainingSplit> split(const SplitChoice& choice) {
    ++search_.tried;
    const std::optional<Scenario> other = divided(scenario_, whole_, choice);
    if (!other) return std::nullopt;
    PostTrainingReport report = study_post_training(*other);
    if (report.forecast.reasons.empty())
      return PostTrainingSplit{settings_of(choice, scenario_, *other), std::move(report)};
    if (search_.refused.empty()) search_.refused = report.forecast.reasons.front().message;
    return std::nullopt;
  }
  /// The step of the first replica that can generate beside that trainer; nothing: none can.
  [[nodiscard]] std::optional<Seconds> step_with(int gpus, const TrainerLayout& trainer) {
    const bool partial = scenario_.post_training->partial_rollouts;
    for (const int tensor : generation_tensors(scenario_, whole_))
      if (const auto found = split({gpus, tensor, false, partial, trainer}))
        return found->report.forecast.step.time;
    return std::nullopt;
  }
  /// The fastest trainer beside that part, and the scenario's own.
  [[nodiscard]] std::vector<TrainerLayout> trainers(int gpus) {
    const TrainerLayout own = trainer_of(scenario_);
    std::optional<std::pair<Seconds, TrainerLayout>> best;
    for (const TrainerLayout& layout : trainer_layouts(scenario_, whole_)) {
      if (stopped()) break;
      const auto step = step_with(gpus, layout);
      if (step && (!best || *step < best->first)) best = {*step, layout};
    }
    if (!best || best->second == own) return {own};
    return {own, best->second};
  }

 private:
  const Scenario& scenario_;
  const Cluster& whole_;
  PostTrainingSearch& search_;
  const std::atomic<bool>* stop_;
};

PostTrainingSearch search_on(const Scenario& scenario, const Cluster& whole, bool ahead,
                             const std::atomic<bool>* stop) {
  PostTrainingSearch search;
  search.name = scenario.job.name;
  SplitTrial trial(scenario, whole, search, stop);
  std::vector<int> sizes = generation_sizes(whole);
  sizes.insert(sizes.begin(), 0);
  for (const int gpus : sizes)
    for (const TrainerLayout& trainer : trial.trainers(gpus))
      for (const SplitChoice& choice : choices_of(scenario, whole, gpus, ahead, trainer)) {
        if (trial.stopped()) break;
        if (auto split = trial.split(choice)) search.splits.push_back(std::move(*split));
      }
  if (search.refused.empty() && !search.stopped)
    search.refused = "the trainer's layout divides no part of the GPUs";
  const auto idle = [](const PostTrainingSplit& split) {
    return split.report.forecast.generation_idle + split.report.forecast.training_idle;
  };
  // Steps that differ by less than anyone measures are alike: the least idle goes first.
  const auto rank = [](const PostTrainingSplit& split) {
    return std::llround(500.0 * std::log(split.report.forecast.step.time.value()));
  };
  std::ranges::stable_sort(search.splits, [&](const auto& a, const auto& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : idle(a) < idle(b);
  });
  return search;
}

}  // namespace

std::string division_text(const PostTrainingReport& report) {
  const PostTrainingPlan& plan = report.setup.plan;
  const int gpus = report.setup.policy.cluster.gpus();
  if (plan.placement == RolloutPlacement::colocated) return fmt::format("{} in turn", gpus);
  return fmt::format("{} + {}{}", plan.generation_gpus, gpus,
                     plan.overlaps() ? ", one step ahead" : "");
}

int whole_hosts(const Scenario& scenario) {
  const bool apart = scenario.post_training->placement == RolloutPlacement::separate;
  const bool within = scenario.job.cluster.host.whole_gpus > 0;
  return scenario.job.cluster.hosts + (apart && !within ? scenario.generation.hosts : 0);
}

PostTrainingSearch search_splits(const Scenario& scenario, bool ahead,
                                 const std::atomic<bool>* stop) {
  PostTrainingSearch search = search_on(scenario, whole_cluster(scenario), ahead, stop);
  const PostTrainingReport asked = study_post_training(scenario);
  if (asked.forecast.reasons.empty()) search.asked_s = asked.forecast.step.time.value();
  return search;
}

PostTrainingSearch search_splits_on(const Scenario& scenario, int hosts,
                                    const std::atomic<bool>* stop) {
  return search_on(scenario, cluster_with_hosts(scenario, hosts), true, stop);
}

Answer post_training_plan_answer(const PostTrainingSearch& search, const std::string& file,
                                 int top) {
  Answer answer{head_of(search, file)};
  if (search.splits.empty()) return answer;
  answer.add("", splits_table(search, top));
  AnswerFacts facts;
  const auto on_policy = std::ranges::find_if(search.splits, [](const PostTrainingSplit& split) {
    const PostTrainingPlan& plan = split.report.setup.plan;
    return !plan.overlaps() && !plan.partial_rollouts;
  });
  if (on_policy != search.splits.end() && on_policy != search.splits.begin())
    facts.add("On policy",
              fmt::format("{} ({}); one step ahead, answers come from weights that are one update "
                          "old, and partial rollouts go on under new ones",
                          seconds_text(on_policy->report.forecast.step.time),
                          division_text(on_policy->report)));
  facts.add("Searched",
            "GPUs that generate, tensor ranks on both sides, the trainer's pipeline stages, "
            "generation one step ahead, partial rollouts; not the trainer's context and expert "
            "ranks, micro-batch, recomputation and ZeRO stage (--set)");
  answer.add("", std::move(facts));
  return answer;
}

std::string post_training_plan_json(const PostTrainingSearch& search, int top) {
  Json plans = Json::array();
  for (const PostTrainingSplit& split : search.splits) {
    if (static_cast<int>(plans.size()) == top) break;
    const PostTrainingForecast& forecast = split.report.forecast;
    Json plan{{"settings", split.settings},
              {"step_s", forecast.step.time.value()},
              {"low_s", forecast.step.low.value()},
              {"high_s", forecast.step.high.value()},
              {"generation_s", forecast.generation.time.value()},
              {"training_s", forecast.training.time.value()},
              {"samples_per_s", forecast.samples_per_s},
              {"generation_idle_s", forecast.generation_idle.value()},
              {"training_idle_s", forecast.training_idle.value()}};
    if (split.report.cost)
      plan["usd_per_thousand_samples"] = split.report.cost->per_thousand_samples;
    plans.push_back(std::move(plan));
  }
  return dump({{"schema", "post-training-plan/1"},
               {"foretrain_version", version},
               {"name", search.name},
               {"tried", search.tried},
               {"stopped", search.stopped},
               {"as_given_s", search.asked_s > 0.0 ? Json(search.asked_s) : Json(nullptr)},
               {"plans", std::move(plans)}});
}

}  // namespace foretrain
