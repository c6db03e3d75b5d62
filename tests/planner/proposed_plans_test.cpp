// SPDX-License-Identifier: Apache-2.0
// Whatever a command proposes runs by the forecast's own rules: random scenarios, every question.
#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "models/forecast/closed_form.hpp"
#include "models/forecast/path_forecast.hpp"
#include "models/rules/plan_rules.hpp"
#include "planner/edit/scenario_draft.hpp"
#include "planner/forecast/fit_room.hpp"
#include "planner/forecast/smallest_change.hpp"
#include "planner/search/plan_report.hpp"
#include "planner/solve/internal/solve_parts.hpp"
#include "planner/solve/procure.hpp"
#include "planner/solve/solve.hpp"
#include "planner/text/usage_error.hpp"
#include "tests/planner/random_scenarios.hpp"

using namespace foretrain;
using foretrain::fixtures::Dice;
using foretrain::fixtures::random_scenario;
using foretrain::fixtures::random_space;
using nlohmann::json;

namespace {

constexpr int shards = 8;

/// Scenarios of one shard; FORETRAIN_SCENARIOS asks for another number of all shards together.
int scenarios_per_shard(int usual) {
  const char* asked = std::getenv("FORETRAIN_SCENARIOS");
  return asked == nullptr ? usual : std::max(1, std::atoi(asked) / shards);
}

/// The scenario as somebody gets it who passes settings to foretrain simulate.
Scenario with_settings(const Scenario& scenario, const std::vector<std::string>& settings) {
  LoadOptions options = scenario.source.options;
  options.overrides.insert(options.overrides.end(), settings.begin(), settings.end());
  return load_scenario_text(scenario.source.text, scenario.path, scenario.source.folder, options);
}

Prediction simulated(const Job& job, EngineKind engine) {
  return engine == EngineKind::path ? path_forecast(job) : closed_form(job);
}

/// It runs, with that step and memory to the last digit, and keeps the limits.
Prediction check_runs(const Job& job, EngineKind engine, std::optional<Seconds> step, Bytes peak,
                      const SearchLimits& limits) {
  Prediction forecast = simulated(job, engine);
  for (const Infeasible& reason : forecast.reasons) UNSCOPED_INFO(reason.message);
  REQUIRE(forecast.feasible());
  REQUIRE(forecast.step);
  REQUIRE(forecast.memory);
  if (step) CHECK(forecast.step->time.value() == step->value());
  CHECK(forecast.memory->peak.value() == peak.value());
  CHECK(forecast.step->time > Seconds{});
  CHECK_FALSE(memory_excess(limits, job.cluster.host.device, forecast.memory->need()));
  CHECK_FALSE(run_excess(limits, job, forecast));
  if (limits.default_room()) {
    CHECK_FALSE(forecast.memory->fits_barely());
    CHECK(forecast.memory->peak <= default_memory_share * forecast.memory->usable);
    CHECK(forecast.memory->high <= forecast.memory->usable);
  }
  return forecast;
}

/// Nothing that was asked for is null.
void check_no_nulls(const json& plan, const Job& job) {
  for (const char* key : {"step_s", "step_closed_form_s", "mfu", "peak_bytes", "usable_bytes"}) {
    CAPTURE(key);
    CHECK(plan.at(key).is_number());
  }
  for (const auto& [part, time] : plan.at("breakdown").items()) CHECK(time.is_number());
  const bool endless = !run_duration(closed_form(job));
  CHECK(plan.at("run_s").is_number() != endless);
  CHECK(plan.at("gpu_hours").is_number() != endless);
  if (job.operations.price_per_gpu) CHECK(plan.at("price_usd").is_number() != endless);
}

SearchLimits random_limits(Dice& dice, const Scenario& scenario) {
  SearchLimits limits;
  switch (dice.below(8)) {
    case 0:
    case 1:
      limits.max_memory_share = 1.0;
      break;
    case 2:
      limits.max_memory_share = 0.8;
      break;
    case 3:
      limits.headroom = 2.0 * GiB;
      break;
    default:
      break;
  }
  if (dice.one_in(4)) limits.max_step = Seconds{dice.of<double>({0.5, 2.0, 10.0})};
  if (dice.one_in(6)) limits.max_run = Seconds{dice.of<double>({10.0, 100.0, 1000.0}) * 86400.0};
  if (dice.one_in(6) && scenario.job.operations.price_per_gpu)
    limits.max_price = Dollars{dice.of<double>({1e5, 1e7})};
  if (dice.one_in(8)) limits.max_power = Watts{dice.of<double>({1e5, 1e7})};
  return limits;
}

/// Plans of `foretrain plan`: how many there are.
std::size_t check_plans(Dice& dice, const Scenario& scenario) {
  SearchOptions options;
  options.top = 1 + dice.below(2);
  options.threads = 1;
  options.by =
      dice.of<RankBy>({RankBy::time, RankBy::time, RankBy::cost, RankBy::energy, RankBy::gpus});
  options.limits = random_limits(dice, scenario);
  const PlanReport report = plan(scenario, random_space(dice, scenario.job), options);
  CHECK(answer_text(plan_answer(report)).find(": 0 s") == std::string::npos);
  const json tree = json::parse(plan_json(report));
  REQUIRE(tree.at("plans").size() == report.plans.size());
  for (std::size_t i = 0; i < report.plans.size(); ++i) {
    const Finalist& found = report.plans[i];
    CAPTURE(found.settings);
    const Job job = with_settings(scenario, found.settings).job;
    check_runs(job, EngineKind::path, found.step.time, found.scored.peak, options.limits);
    const Prediction fast = closed_form(job);
    REQUIRE(fast.step);
    CHECK(fast.step->time.value() == found.scored.step.value());
    check_no_nulls(tree.at("plans")[i], job);
  }
  CHECK(report.plans.empty() == (report.nearest.has_value() || report.result.feasible == 0));
  return report.plans.size();
}

double number(const SolveAnswer& answer, const std::string& key) {
  for (const SolveValue& value : answer.values)
    if (value.key == key) return value.number.value();
  FAIL("no value " << key);
  return 0.0;
}

/// A deadline that a machine of about this size can keep.
void check_fewest_gpus(Dice& dice, const Scenario& scenario) {
  SolveOptions options;
  options.threads = 1;
  options.most_gpus = 2 * scenario.job.cluster.gpus();
  const auto light = lightest_plan(scenario.job, 1);
  if (!light) return;
  const Prediction pace = closed_form(light->job);
  const auto duration = run_duration(pace);
  options.limits = {};
  options.limits.max_run =
      duration ? *duration * dice.of<double>({0.3, 0.6, 1.0}) : Seconds{100.0 * 86400.0};
  const SolveAnswer answer = fewest_gpus(scenario, options);
  if (!answer.found) return;
  CAPTURE(answer.settings);
  const Scenario solved = with_settings(scenario, answer.settings);
  check_runs(solved.job, EngineKind::closed_form, Seconds{number(answer, "step_s")},
             closed_form(solved.job).memory->peak, options.limits);
  CHECK(number(answer, "gpus") == solved.job.cluster.gpus());
  const MemoryForecast memory = closed_form(solved.job).memory.value();
  CHECK(number(answer, "headroom_bytes") == (memory.usable - memory.peak).value());
  CHECK(number(answer, "headroom_bytes") >= 0.0);
  CHECK(number(answer, "run_s") == run_duration(closed_form(solved.job))->value());
}

void check_longest_sequence(const Scenario& scenario) {
  const SolveAnswer answer = longest_sequence(scenario, {{}, 0, 0.01, 1});
  if (!answer.found) return;
  CAPTURE(answer.settings);
  const Job job = with_settings(scenario, answer.settings).job;
  const Prediction forecast = closed_form(job);
  if (number(answer, "sequence") == number(answer, "sequence_now")) return;  // as it is
  check_runs(job, EngineKind::closed_form, std::nullopt, forecast.memory->peak, {});
}

void check_largest_model(const Scenario& scenario) {
  const SolveAnswer answer = largest_model(scenario, {{}, 0, 0.01, 1});
  for (const auto& row : answer.rows) {
    Job job = scenario.job;
    job.model.layers = static_cast<int>(row.at(2).number.value());
    CAPTURE(row.at(0).text, job.model.layers);
    if (row.at(0).text != "deeper, any plan") continue;
    const auto light = lightest_plan(job, 1);
    REQUIRE(light);
    CHECK(light->need.peak.value() == row.at(4).number.value());
    check_runs(light->job, EngineKind::closed_form, std::nullopt, light->need.peak, {});
  }
}

/// What micro-batch, sequence and layers can grow to.
void check_rooms(const Scenario& scenario) {
  if (!broken_rules(scenario.job).empty()) return;
  for (const Room& room : {room_of_micro_batch(scenario.job), room_of_sequence(scenario.job),
                           room_of_layers(scenario.job)}) {
    CAPTURE(room.key);
    if (!room.largest || *room.largest == room.now) continue;
    Job job = scenario.job;
    (room.key == "training.micro_batch" ? job.training.micro_batch
     : room.key == "training.sequence"  ? job.training.sequence
                                        : job.model.layers) = *room.largest;
    CHECK(refusals(scenario.job).empty() <= refusals(job).empty());
    const MemoryNeed need = memory_need(job, stage_layout(job.model, job.parallel));
    CHECK(need.peak.value() == room.peak.value().value());
    CHECK_FALSE(memory_excess({}, job.cluster.host.device, need));
  }
}

/// "Changes that fit" and `solve change`.
std::size_t check_changes(const Scenario& scenario) {
  if (!broken_rules(scenario.job).empty()) return 0;
  if (closed_form(scenario.job).memory->fits()) return 0;
  std::size_t timed = 0;
  std::size_t seen = 0;
  for (const Change& change : changes_that_fit(scenario)) {
    if (++seen > 6) break;  // as many as a report shows
    CAPTURE(change.settings);
    const Job job = with_settings(scenario, change.settings).job;
    if (change.step) ++timed;
    if (change.step)
      check_runs(job, EngineKind::closed_form, change.step, change.peak, {});
    else
      CHECK(closed_form(job).memory->peak.value() == change.peak.value());
  }
  return timed;
}

void check_batch_growth(const Scenario& scenario) {
  if (!closed_form(scenario.job).feasible()) return;
  const SolveAnswer answer = batch_growth(scenario, {{}, 0, 0.01, 1});
  Job job = scenario.job;
  job.training.global_batch = static_cast<int>(number(answer, "global_batch_tried"));
  CHECK(closed_form(job).feasible());
  for (const auto& row : answer.rows) {
    if (row.at(5).text != "yes") continue;
    job.training.global_batch = static_cast<int>(row.at(0).number.value());
    const Prediction forecast = closed_form(job);
    REQUIRE(forecast.step);
    CHECK(forecast.step->time.value() == row.at(1).number.value());
    CHECK(forecast.memory->peak.value() == row.at(4).number.value());
  }
}

/// The step that `solve bandwidth` answers for is the forecast's with links of that rate, and links
/// a little slower wait for longer than was allowed.
void check_needed_bandwidth(const Scenario& scenario) {
  const Cluster& cluster = scenario.job.cluster;
  const bool one_domain = cluster.hosts < 2 || cluster.gpus() <= cluster.packing().domain;
  if (one_domain || !closed_form(scenario.job).feasible()) return;
  const SolveOptions options{{}, 0, 0.01, 1};
  const SolveAnswer answer = needed_bandwidth(scenario, options);
  REQUIRE(answer.found);
  const auto step_at = [&](double bytes_per_s) {
    Job job = scenario.job;
    job.cluster.network.nic_link.bandwidth = BytesPerSecond{bytes_per_s};
    const Prediction forecast = closed_form(job);
    REQUIRE(forecast.feasible());
    return forecast.step->time.value();
  };
  const double rate = number(answer, "nic_bandwidth_bytes_per_s");
  const double allowed = (1.0 + options.exposed) * number(answer, "step_unlimited_s");
  CHECK(number(answer, "step_now_s") == closed_form(scenario.job).step->time.value());
  CHECK(step_at(rate) <= allowed * (1.0 + 1e-9));
  if (number(answer, "factor") > 2e-4) CHECK(step_at(0.99 * rate) > allowed);
  for (const auto& row : answer.rows)
    CHECK(step_at(row.at(0).number.value()) == Approx(row.at(1).number.value()).epsilon(1e-12));
}

/// At the price that `solve price` answers, typed as anybody types it, a token costs the same.
void check_break_even_price(const Scenario& scenario, const Scenario& other) {
  const auto ends = [](const Scenario& side) {
    const Prediction forecast = closed_form(side.job);
    return forecast.feasible() && run_duration(forecast) && forecast.cost.gpu_hours;
  };
  if (!ends(scenario) || !ends(other)) return;
  const Scenario ours = with_settings(scenario, {"operations.price=2.5 USD/GPU-hour"});
  const SolveAnswer answer = break_even_price(ours, other);
  const double price = number(answer, "price_usd_per_gpu_hour");
  CHECK(answer.found == (price > 0.0));
  if (!answer.found) return;
  const Scenario theirs =
      with_settings(other, {fmt::format("operations.price={:.12f} USD/GPU-hour", price)});
  const Prediction here = closed_form(ours.job), there = closed_form(theirs.job);
  CHECK(number(answer, "run_usd") == here.cost.price->value());
  CHECK(*there.cost.price / there.run.tokens.value() /
            (*here.cost.price / here.run.tokens.value()) ==
        Approx(1.0).epsilon(1e-6));
}

void check_procurement(const Scenario& scenario, const Scenario& other) {
  ProcureOptions options;
  options.search = true;
  options.threads = 1;
  const Procurement result = procure({scenario, other}, {scenario}, options);
  for (std::size_t i = 0; i < 2; ++i) {
    const ProcureCell& cell = result.clusters[i].cells.front();
    CAPTURE(cell.settings, cell.why);
    if (!cell.why.empty()) continue;
    Job mine = workload_on(scenario, i == 0 ? scenario : other).job;
    mine.training.global_batch = cell.batch;  // that the machine divides
    // The plan's settings on that machine: the same words that the row shows, the same step.
    const SearchSpace space = default_space(mine);
    SearchOptions one;
    one.top = 1;
    one.threads = 1;
    const Job job = job_at(mine, space, search(mine, space, one).best.at(0).index);
    CHECK(plan_words(job) == cell.plan);
    check_runs(job, EngineKind::closed_form, cell.step, closed_form(job).memory->peak, {});
    CHECK(cell.run.has_value());
    CHECK(cell.gpu_hours.has_value() == cell.run.has_value());
  }
  const bool first = result.clusters[0].cells.front().why.empty();
  const bool second = result.clusters[1].cells.front().why.empty();
  if (first != second) CHECK(result.ranking.front() == (first ? 0U : 1U));
}

void check_draft(const Scenario& scenario) {
  DraftAnswers answers;
  answers.model = scenario.job.model.name;
  answers.host = scenario.job.cluster.host.name;
  answers.hosts = std::min(scenario.job.cluster.hosts, 64);
  answers.tokens = "1 T";
  const auto folder = std::filesystem::current_path();
  const DraftResult result = draft_scenario(answers, folder);
  if (!result.draft) return;
  INFO(result.draft->text);
  const Job job = load_scenario_text(result.draft->text, "draft.yaml", folder).job;
  const Prediction& told = result.draft->report.prediction;
  REQUIRE(told.step);
  check_runs(job, EngineKind::path, told.step->time, told.memory->peak, {});
}

/// One of the expensive questions, in turn.
void check_question(int turn, Dice& dice, const Scenario& scenario) {
  switch (turn) {
    case 0:
      if (scenario.job.cluster.hosts <= 8) check_fewest_gpus(dice, scenario);
      break;
    case 1:
      check_longest_sequence(scenario);
      break;
    case 2:
      check_largest_model(scenario);
      break;
    case 3:
      check_draft(scenario);
      break;
    case 4:
      if (const auto other = random_scenario(dice)) check_procurement(scenario, *other);
      break;
    case 5:
    case 6:
      check_needed_bandwidth(scenario);
      break;
    case 7:
    case 8:
      if (const auto other = random_scenario(dice)) check_break_even_price(scenario, *other);
      break;
    default:
      break;
  }
}

}  // namespace

TEMPLATE_TEST_CASE_SIG("whatever is proposed for a random scenario runs and keeps its limits",
                       "[planner][property]", ((int shard), shard), 0, 1, 2, 3, 4, 5, 6, 7) {
  const int count = scenarios_per_shard(250);
  std::size_t plans = 0;
  std::size_t drawn = 0;
  for (int i = 0; i < count; ++i) {
    const auto seed = static_cast<std::uint64_t>(i) * shards + static_cast<std::uint64_t>(shard);
    CAPTURE(seed);
    Dice dice{seed};
    const auto scenario = random_scenario(dice);
    if (!scenario) continue;
    ++drawn;
    INFO(scenario->source.text);
    plans += check_plans(dice, *scenario);
    check_rooms(*scenario);
    if (i % 2 == 0) check_changes(*scenario);
    if (i % 3 == 0) check_batch_growth(*scenario);
    if (i % 75 < 9) check_question(i % 75, dice, *scenario);
  }
  // Else this test says nothing.
  CHECK(drawn * 20 >= static_cast<std::size_t>(count) * 17);
  CHECK(plans >= drawn / 3);
}
