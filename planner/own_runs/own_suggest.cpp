// SPDX-License-Identifier: Apache-2.0

#include "planner/own_runs/own_suggest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cmath>
#include <set>

#include "calibration/fit/own_fit.hpp"
#include "calibration/fit/profile_text.hpp"
#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "planner/constants/constants.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/plan_words.hpp"
#include "planner/text/quoting.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

std::string source_text(const OwnRunsRequest& request, const ProfileRef& profile, int runs) {
  std::string files;
  for (const std::filesystem::path& file : request.files)
    files += (files.empty() ? "" : ", ") + file.filename().string();
  return fmt::format("{} {} of one's own ({}), around the shipped {}; what is not stated is its",
                     runs, runs == 1 ? "run" : "runs", files, profile.text());
}

/// Runs of the fit that were made with the profile.
int runs_with(const ProfileRef& profile, const OwnRunsFit& fit) {
  return static_cast<int>(std::ranges::count_if(
      fit.runs, [&](const OwnRunLine& line) { return contains(line.profiles, profile.text()); }));
}

std::string profile_text(const OwnRunsRequest& request, const ProfileRef& profile,
                         const OwnFileFacts& facts, double error, const OwnRunsFit& fit) {
  YamlText text;
  text.put("schema", "1");
  text.put("name", profile.name);
  if (profile.layer != ProfileLayer::device) {
    const FieldValues base =
        profile_values(profile_kind(profile.layer), profile.name, request.catalogs);
    text.put("title", YamlText::quoted(base.text("title")));
  }
  text.put("like", profile.name);
  text.put("provenance.trust", "measured");
  text.put("provenance.source",
           YamlText::quoted(source_text(request, profile, runs_with(profile, fit))));
  text.put("provenance.date", request.today);
  text.put("provenance.error", fmt::format("{:.4f}", std::min(1.0, error)));
  if (profile.layer == ProfileLayer::stack) {
    text.put("band_low", fmt::format("{:.3f}", facts.band_low));
    text.put("band_high", fmt::format("{:.3f}", facts.band_high));
  }
  std::map<std::string, double> deviations;
  for (const OwnConstantLine& line : fit.constants) {
    if (!line.moved || line.profile != profile.text()) continue;
    for (const std::string& key : line.keys) {
      text.put(key, line.after);
      deviations[key] = line.deviation;
    }
  }
  const auto whole = with_deviations(text.text(), deviations);
  FORETRAIN_REQUIRE(whole.has_value());
  return *whole;
}

}  // namespace

CatalogKind profile_kind(ProfileLayer layer) {
  if (layer == ProfileLayer::device) return CatalogKind::device_profiles;
  return layer == ProfileLayer::stack ? CatalogKind::stacks : CatalogKind::sites;
}

std::vector<OwnProfileFile> own_profile_files(const OwnRunsRequest& request,
                                              const std::map<ProfileRef, OwnFileFacts>& facts,
                                              double error, const OwnRunsFit& fit) {
  std::vector<OwnProfileFile> files;
  for (const auto& [profile, fact] : facts)
    files.push_back({profile.text() + ".yaml", profile_text(request, profile, fact, error, fit)});
  return files;
}

namespace {

constexpr std::size_t best_runs = 5;
constexpr double measuring_seconds = 120.0;  // of steps, after those of warm-up
constexpr int warm_up_steps = 10;
constexpr int least_steps = 20;
constexpr double quantile = 1.2816;  // of a normal distribution, 90th percentile

/// What is believed of the constants of plans and runs.
struct Belief {
  std::vector<OwnConstant> constants;
  OwnPosterior of;
};

Belief belief_of(const OwnSuggestRequest& request, const std::vector<OwnRun>& runs) {
  std::vector<const Job*> jobs;
  for (const Scenario& scenario : request.scenarios) jobs.push_back(&scenario.job);
  for (const OwnRun& run : runs) jobs.push_back(&run.job);
  Belief belief{own_constants(jobs, stated_deviations_of(jobs, request.catalogs)), {}};
  belief.of = runs.empty() ? belief_before(belief.constants) : fit_own(belief.constants, runs);
  return belief;
}

bool can_run(const Job& job) {
  return refusals(job).empty() && peak_memory(job, stage_layout(job.model, job.parallel)) <=
                                      job.cluster.host.device.usable_memory;
}

/// A batch of a few micro-batches per replica and stage: steps of seconds.
int small_batch(const Parallel& plan, int micro_batch) {
  const int waves = plan.pipeline > 1 ? 4 * plan.pipeline : 8;
  return plan.data * micro_batch * waves;
}

/// Degrees that a candidate may change.
struct Layout {
  int tensor;
  int pipeline;
  int micro_batch;
};

/// The job with another layout on as many hosts; what depends on it follows.
Job with_layout(Job job, const Layout& layout) {
  Parallel& plan = job.parallel;
  plan.tensor = layout.tensor;
  plan.sequence = plan.sequence && layout.tensor > 1;
  plan.pipeline = layout.pipeline;
  plan.stage_layers.clear();
  plan.prediction_stage.reset();
  if (layout.pipeline == 1) plan.virtual_stages = 1;
  plan.data = job.cluster.gpus() / (plan.tensor * plan.pipeline * plan.context);
  job.training.micro_batch = layout.micro_batch;
  job.training.global_batch =
      std::min(job.training.global_batch, small_batch(plan, layout.micro_batch));
  return job;
}

/// Powers of two up to a host's GPUs, or to the stages that make sense.
std::vector<int> powers(int most) {
  std::vector<int> values;
  for (int value = 1; value <= most; value *= 2) values.push_back(value);
  return values;
}

std::vector<int> host_counts(const OwnSuggestRequest& request, const Job& job) {
  const int most =
      request.most_hosts > 0 ? std::min(request.most_hosts, job.cluster.hosts) : job.cluster.hosts;
  std::set<int> counts{1, std::min(2, most), std::min(4, most), most};
  return {counts.begin(), counts.end()};
}

void add_layouts(const Job& job, std::vector<Job>& candidates) {
  const int gpus = job.cluster.gpus();
  for (const int tensor : powers(job.cluster.host.gpus))
    for (const int pipeline : powers(16))
      for (const int micro : {1, 2, 4}) {
        const int ranks = tensor * pipeline * job.parallel.context;
        if (ranks > gpus || gpus % ranks != 0) continue;
        Job candidate = with_layout(job, {tensor, pipeline, micro});
        if (can_run(candidate)) candidates.push_back(std::move(candidate));
      }
}

std::vector<Job> candidates_of(const OwnSuggestRequest& request) {
  std::vector<Job> candidates;
  for (const Scenario& scenario : request.scenarios)
    for (const int hosts : host_counts(request, scenario.job)) {
      Job job = scenario.job;
      if (hosts != job.cluster.hosts) {
        if (scenario.source.text.empty()) continue;
        job.cluster = cluster_with_hosts(scenario, hosts);
      }
      add_layouts(job, candidates);
    }
  return candidates;
}

/// The constants that a run tells most of: those whose knowledge goes with its time.
std::vector<std::string> told_by(const std::vector<double>& slopes, const Belief& belief) {
  std::vector<std::pair<double, std::size_t>> parts;
  for (std::size_t i = 0; i < belief.constants.size(); ++i) {
    std::vector<double> own(slopes.size());
    own[i] = 1.0;
    const double deviation = std::max(1e-6, deviation_of(belief.of, i));
    parts.emplace_back(-std::abs(shared_variance(belief.of, own, slopes)) / deviation, i);
  }
  std::ranges::sort(parts);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, parts.size()); ++i)
    names.push_back(belief.constants[parts[i].second].text());
  return names;
}

SuggestedRun judged(const Job& job, const std::vector<std::vector<double>>& plans,
                    const std::vector<double>& before, const Belief& belief) {
  SuggestedRun run{job, 0.0, 0, {}, 0.0, {}};
  const std::vector<double> slopes = slopes_at(belief.constants, belief.of.values, job);
  const double noise = belief.of.noise * own_noise_factor(job);
  const double variance = shared_variance(belief.of, slopes, slopes) + noise * noise;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const double shared = shared_variance(belief.of, plans[i], slopes);
    const double left = std::max(0.0, before[i] * before[i] - shared * shared / variance);
    run.after.push_back(std::sqrt(left));
    if (before[i] > 0.0)
      run.gain += (1.0 - run.after.back() / before[i]) / static_cast<double>(plans.size());
  }
  run.step = seconds_with(belief.constants, belief.of.values, job);
  run.steps = warm_up_steps +
              std::max(least_steps, static_cast<int>(measuring_seconds / std::max(run.step, 1e-3)));
  run.tells = told_by(slopes, belief);
  return run;
}

/// Words of a plan and its machine.
std::string plan_text(const Job& job) {
  return fmt::format("{}, micro-batch {}, batch {}, {} {}", axis_words(job.parallel),
                     job.training.micro_batch, job.training.global_batch, job.cluster.hosts,
                     job.cluster.hosts == 1 ? "host" : "hosts");
}

double band_percent(double deviation, double noise) {
  return std::exp(quantile * std::hypot(deviation, noise)) - 1.0;
}

}  // namespace

OwnSuggestion suggest_runs(const OwnSuggestRequest& request) {
  const std::vector<OwnRun> runs =
      request.files.empty() ? std::vector<OwnRun>{} : own_runs_in(request.files, request.catalogs);
  const Belief belief = belief_of(request, runs);
  OwnSuggestion suggestion;
  suggestion.noise = belief.of.noise;
  suggestion.runs = static_cast<int>(runs.size());
  std::vector<std::vector<double>> plans;
  for (const Scenario& scenario : request.scenarios) {
    if (!refusals(scenario.job).empty())
      throw UsageError(scenario.path +
                       ": its plan cannot run, or is not modelled: foretrain "
                       "simulate says why");
    suggestion.plans.push_back(scenario.path);
    plans.push_back(slopes_at(belief.constants, belief.of.values, scenario.job));
    suggestion.noises.push_back(belief.of.noise * own_noise_factor(scenario.job));
    suggestion.before.push_back(
        std::sqrt(std::max(0.0, shared_variance(belief.of, plans.back(), plans.back()))));
  }
  const std::vector<Job> candidates = candidates_of(request);
  if (candidates.empty())
    throw UsageError("no other layout of these plans is legal and fits into memory");
  suggestion.candidates = static_cast<int>(candidates.size());
  std::vector<SuggestedRun> all;
  for (const Job& job : candidates) all.push_back(judged(job, plans, suggestion.before, belief));
  // As much told: the one that takes fewer GPUs.
  std::ranges::stable_sort(all, [](const SuggestedRun& a, const SuggestedRun& b) {
    const double x = std::round(a.gain * 50.0), y = std::round(b.gain * 50.0);
    return x != y ? x > y : a.job.parallel.gpus() < b.job.parallel.gpus();
  });
  std::set<std::string> layouts;
  for (SuggestedRun& run : all) {
    if (suggestion.best.size() == best_runs) break;
    if (layouts.insert(axis_words(run.job.parallel)).second)
      suggestion.best.push_back(std::move(run));
  }
  return suggestion;
}

namespace {

std::string bands_text(const OwnSuggestion& suggestion, const std::vector<double>& deviations) {
  std::string bands;
  for (std::size_t i = 0; i < deviations.size(); ++i)
    bands += (bands.empty() ? "+-" : ", +-") +
             percent_text(band_percent(deviations[i], suggestion.noises[i]));
  return bands;
}

AnswerHead suggestion_head(const OwnSuggestion& suggestion) {
  AnswerHead head;
  head.subject = "The run that tells most";
  head.words = fmt::format("{} CANDIDATES", suggestion.candidates);
  if (suggestion.best.empty()) return head;
  const SuggestedRun& best = suggestion.best.front();
  head.words = percent_text(best.gain) + " LESS UNKNOWN";
  head.sentence =
      fmt::format("Measure {}: {} of it make the band of your plans {}, now {}.",
                  plan_text(best.job), duration_text(Seconds{best.step * best.steps}),
                  bands_text(suggestion, best.after), bands_text(suggestion, suggestion.before));
  for (std::size_t i = 0; i < std::min<std::size_t>(suggestion.plans.size(), 4); ++i)
    head.figures.push_back(
        {suggestion.plans[i],
         "+-" + percent_text(band_percent(best.after[i], suggestion.noises[i])), "",
         "now +-" + percent_text(band_percent(suggestion.before[i], suggestion.noises[i]))});
  return head;
}

}  // namespace

Answer own_suggestion_answer(const OwnSuggestion& suggestion) {
  Answer answer{suggestion_head(suggestion)};
  AnswerFacts known;
  for (std::size_t i = 0; i < suggestion.plans.size(); ++i)
    known.add("plan",
              fmt::format("{}: +-{} with what is known now", suggestion.plans[i],
                          percent_text(band_percent(suggestion.before[i], suggestion.noises[i]))));
  known.add("runs",
            fmt::format("{} of your own, {} candidates", suggestion.runs, suggestion.candidates));
  answer.add("", std::move(known));
  int number = 1;
  for (const SuggestedRun& run : suggestion.best) {
    AnswerFacts facts;
    facts.add("  then", fmt::format("{}, {} less of what is not known",
                                    bands_text(suggestion, run.after), percent_text(run.gain)));
    facts.add("  takes",
              fmt::format("{} steps of {}: {}", run.steps, seconds_text(Seconds{run.step}),
                          duration_text(Seconds{run.step * run.steps})));
    facts.add("  tells", fmt::format("{}", fmt::join(run.tells, "; ")));
    answer.add(fmt::format("{}. {}", number++, plan_text(run.job)), std::move(facts));
  }
  return answer;
}

std::string own_suggestion_json(const OwnSuggestion& suggestion) {
  Json tree{{"schema", "own-suggest/1"},
            {"own_runs", suggestion.runs},
            {"noise", suggestion.noise},
            {"candidates", suggestion.candidates}};
  tree["plans"] = Json::array();
  for (std::size_t i = 0; i < suggestion.plans.size(); ++i)
    tree["plans"].push_back({{"scenario", suggestion.plans[i]},
                             {"deviation", suggestion.before[i]},
                             {"noise", suggestion.noises[i]}});
  tree["runs"] = Json::array();
  for (const SuggestedRun& run : suggestion.best) {
    const Parallel& plan = run.job.parallel;
    tree["runs"].push_back({{"hosts", run.job.cluster.hosts},
                            {"gpus", plan.gpus()},
                            {"tensor", plan.tensor},
                            {"pipeline", plan.pipeline},
                            {"context", plan.context},
                            {"data", plan.data},
                            {"micro_batch", run.job.training.micro_batch},
                            {"global_batch", run.job.training.global_batch},
                            {"step_s", run.step},
                            {"steps", run.steps},
                            {"deviations", run.after},
                            {"gain", run.gain},
                            {"tells", run.tells}});
  }
  return dump(tree);
}

}  // namespace foretrain
