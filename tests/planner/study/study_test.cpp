// SPDX-License-Identifier: Apache-2.0
// Scenarios that serve or post-train, as commands for all scenarios read them.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>

#include "planner/check/check.hpp"
#include "planner/edit/idle_settings.hpp"
#include "planner/explain/explain.hpp"
#include "planner/forecast/run_end.hpp"
#include "planner/page/compare.hpp"
#include "planner/page/report_page.hpp"
#include "planner/serving/serving_study.hpp"
#include "planner/solve/solve.hpp"
#include "planner/study/study_of.hpp"
#include "planner/sweep/sweep.hpp"
#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using Settings = std::vector<std::string>;
const std::filesystem::path folder = std::filesystem::path(FORETRAIN_SOURCE_DIR) / "scenarios";

LoadOptions with(Settings overrides) {
  LoadOptions options;
  options.purpose = Purpose::any;
  options.overrides = std::move(overrides);
  return options;
}

/// Two minutes of the chat service.
Scenario chat(Settings more = {}) {
  more.insert(more.begin(), {"serving.duration=120 s", "serving.warm_up=10 s"});
  return load_scenario(folder / "serving/llama3.1-70b-8xh100.yaml", with(std::move(more)));
}

Scenario grpo(Settings more = {}) {
  return load_scenario(folder / "post-training/llama3.1-8b-grpo-16xh100.yaml",
                       with(std::move(more)));
}

std::optional<double> value_of(const Report& report, const std::string& path) {
  const StudyFigure* figure = find_figure(report.study.value().figures, path);
  REQUIRE(figure != nullptr);
  return figure->value;
}

constexpr const char* trained = "llama3-8b-8xh100.yaml";
constexpr const char* served = "serving/gpt-oss-120b-1xh100.yaml";
constexpr const char* learnt = "post-training/llama3.1-8b-grpo-16xh100.yaml";

/// What changes nothing of a scenario's forecast.
Settings idle_in(const char* file, Settings overrides = {}) {
  return idle_settings(evaluate(load_scenario(folder / file, with(std::move(overrides)))),
                       AttentionFlops::full, EngineKind::closed_form);
}

bool names(const Settings& idle, const std::string& setting) {
  return std::find(idle.begin(), idle.end(), setting) != idle.end();
}

}  // namespace

TEST_CASE("every figure of a study stands in its JSON", "[planner][study]") {
  for (const Scenario& scenario : {chat(), grpo()}) {
    const Study study = study_of(scenario);
    const Json tree = Json::parse(study.json);
    CHECK(ranking(study.figures).band);
    for (const StudyFigure& figure : study.figures) {
      CAPTURE(figure.path);
      CHECK(!figure.label.empty());
      CHECK(!figure.meaning.empty());
      const Json* value = find_path(tree, figure.path);
      const bool of_nothing = figure.path.starts_with("cost.") && !figure.value;
      REQUIRE((value != nullptr || of_nothing));
      if (value != nullptr) CHECK(*value == number_or_null(figure.value));
    }
  }
}

TEST_CASE("a deployment that cannot run has reasons and no numbers", "[planner][study]") {
  const Report report = evaluate(chat({"serving.replicas=100"}));
  CHECK(!report.prediction.feasible());
  CHECK(!value_of(report, "results.ttft_s.p90"));
  CHECK(test::has(explain(report, "results.ttft_s.p90").meaning, "cannot run"));
}

TEST_CASE("comparisons rank studies of one kind by its number, and no others", "[planner][study]") {
  const Report two_steps = evaluate(grpo({"parallel.tensor=2"}));
  const Comparison steps = compare({evaluate(grpo()), two_steps});
  REQUIRE(!lead_sentences(steps).empty());
  CHECK(test::has(lead_sentences(steps).front(), "time per sample"));
  const auto step = std::find_if(steps.figures.begin(), steps.figures.end(),
                                 [](const auto& figure) { return figure.path == "step.time_s"; });
  REQUIRE(step != steps.figures.end());
  CHECK(step->values[1] == value_of(two_steps, "step.time_s"));
  CHECK(lead_sentences(compare({evaluate(chat()), two_steps})).empty());
}

TEST_CASE("more output per GPU wins between deployments", "[planner][study]") {
  const Comparison sides =
      compare({evaluate(chat()), evaluate(chat({"cluster.hosts=2", "serving.replicas=4"}))});
  CHECK(test::has(comparison_head(sides).sentence, "% less GPU time per output token than A"));
}

TEST_CASE("a deployment that breaks its goals does not win by its tokens", "[planner][study]") {
  const Comparison sides = compare({evaluate(chat()), evaluate(chat({"serving.replicas=2"}))});
  CHECK(value_of(sides.reports[1], "results.output_tokens_per_s_per_gpu") >
        value_of(sides.reports[0], "results.output_tokens_per_s_per_gpu"));
  CHECK(test::has(comparison_head(sides).words, "A SERVES MORE"));
}

TEST_CASE("budgets and baselines hold for studies", "[planner][study]") {
  Scenario scenario = chat({"budget=[{metric: results.ttft_s.p90, max: 10 ms}]"});
  Report report = evaluate(scenario);
  report.budget = judge_budget(report);
  REQUIRE(report.budget.size() == 1);
  CHECK(!report.budget.front().pass);
  CHECK(report.budget.front().line.max == 0.01);
  const Baseline agreed = parse_baseline(baseline_json(baseline_of(report)), "a.baseline.json");
  CHECK(drift(agreed, baseline_of(report), 0.0).empty());
  const auto moved =
      drift(agreed, baseline_of(evaluate(chat({"serving.parallel.tensor=8"}))), 0.01);
  CHECK(std::any_of(moved.begin(), moved.end(),
                    [](const Drift& one) { return one.path == "results.tpot_s.p90"; }));
  scenario.job.budget.front().metric = "results.ttft_s.p91";
  CHECK_THROWS_AS(judge_budget(evaluate(scenario)), ScenarioError);
}

TEST_CASE("a sweep gives what each of its points gives alone", "[planner][study]") {
  SweepQuestion question;
  const Scenario scenario = grpo();
  question.base = {scenario.source.text, scenario.path, scenario.source.folder,
                   scenario.source.options};
  question.grid = make_grid({"parallel.tensor=1,2", "post_training.answers=16,32"});
  question.base.options.left_out = {"parallel.data"};
  Sweep sweep{question};
  REQUIRE(sweep.size() == 4);
  CHECK(sweep.question().metrics.front() == "samples_per_s");
  const SweepRow row = sweep.forecast(2);
  REQUIRE(row.status == PointStatus::ok);
  const Report alone = evaluate(grpo({"parallel.tensor=2", "post_training.answers=16"}));
  CHECK(row.metrics.front() == value_of(alone, "samples_per_s"));
  question.metrics = {"results.ttft_s.p90"};
  CHECK_THROWS_AS(Sweep{question}, UsageError);
}

TEST_CASE("pages show what the answers of studies say", "[planner][study]") {
  ReportPage page;
  page.sides.push_back(page_side(evaluate(chat())));
  CHECK(test::has(page_html(page), "time to first token"));
  CHECK(test::has(page_markdown(page), "KEEPS ITS GOALS"));
  page.sides.push_back(page_side(evaluate(grpo())));
  CHECK(test::has(page_html(page), "engine-trainer switch"));
}

TEST_CASE("the most requests that keep goals do in serve, and a fifth more do not",
          "[planner][study]") {
  const SolveAnswer answer = most_requests(chat(), nullptr);
  REQUIRE(answer.found);
  CHECK(study_serving(chat(answer.settings)).keeps_goals());
  Scenario more = chat(answer.settings);
  more.serving->load.rate *= 1.2;
  CHECK(!study_serving(more).keeps_goals());
}

TEST_CASE("an overloaded side is no tie with one that keeps its goals", "[planner][study]") {
  const Comparison both =
      compare({evaluate(chat({"cluster.hosts=1", "serving.requests.rate=4000 per min"})),
               evaluate(chat({"serving.requests.rate=1000 per min"}))});
  const AnswerHead head = comparison_head(both);
  CHECK(head.words == "ONLY B SERVES WHAT IS ASKED");
  CHECK(test::has(head.sentence, "A is not ranked: overloaded."));
}

TEST_CASE("a load of which nothing is counted keeps no goals", "[planner][study]") {
  const Report report = evaluate(chat({"serving.requests.number=3", "serving.warm_up=100 s"}));
  CHECK(report.study->answer.head.words == "NOTHING WAS COUNTED");
  CHECK(report.study->answer.head.verdict == Verdict::no);
  CHECK(!value_of(report, "results.tpot_s.p90"));
}

TEST_CASE("a search with autoscaling finds replicas that keep the goals", "[planner][study]") {
  const Scenario scenario = chat({"serving.autoscaling.least=2", "serving.autoscaling.target=40",
                                  "serving.autoscaling.start=1 min"});
  const SolveAnswer answer = fewest_serving_gpus(scenario, nullptr);
  REQUIRE(answer.found);
  Settings settings = answer.settings;
  settings.insert(settings.end(), {"serving.autoscaling.least=2", "serving.autoscaling.target=40",
                                   "serving.autoscaling.start=1 min"});
  CHECK(study_serving(chat(settings)).keeps_goals());
}

TEST_CASE("replicas that always run are no more than there are", "[planner][study]") {
  const Report report =
      evaluate(chat({"serving.autoscaling.least=9", "serving.autoscaling.target=8",
                     "serving.autoscaling.start=1 min"}));
  REQUIRE(!report.prediction.reasons.empty());
  CHECK(report.prediction.reasons.front().rule == "autoscaling-least");
}

TEST_CASE("the fewest GPUs for a step have that step", "[planner][study]") {
  const SolveAnswer answer = fewest_post_training_gpus(grpo(), Seconds{75.0}, 0, nullptr);
  REQUIRE(answer.found);
  CHECK(answer.values.front().number == 16.0);
  const Report again = evaluate(grpo(answer.settings));
  CHECK(value_of(again, "step.time_s") == answer.values[1].number);
  CHECK(!fewest_post_training_gpus(grpo(), Seconds{1.0}, 32, nullptr).found);
}

TEST_CASE("keys of a map that was set as a whole are named where they do nothing",
          "[planner][study]") {
  // One replica has nobody to exchange gradients or weights with.
  const Settings idle = idle_in(
      "llama3-8b-8xh100.yaml",
      {"parallel={tensor: 8, zero: 0}", "training.precision=bf16",
       "communication={overlap: {gradients: false, parameters: false}, gradient_dtype: bf16}"});
  CHECK(names(idle, "communication.overlap.gradients=false"));
  CHECK(names(idle, "communication.overlap.parameters=false"));
  CHECK_FALSE(names(idle, "communication.gradient_dtype=bf16"));
}

TEST_CASE("keys that a deployment does not look at are named, others are not", "[planner][study]") {
  const Settings idle =
      idle_in(served, {"serving.duration=2 h", "serving.routing=round-robin",
                       "serving.requests.rate=20 per s", "serving.batching.sequences=96",
                       "serving.batching.mixed_steps=false"});
  CHECK(idle == Settings{"serving.duration=2 h", "serving.routing=round-robin",
                         "serving.requests.rate=20 per s", "serving.batching.sequences=96"});
}

TEST_CASE("keys that a step of post-training does not look at are named", "[planner][study]") {
  const Settings idle = idle_in(
      learnt, {"post_training.sync=buckets", "post_training.generation_gpus=8",
               "post_training.turns=2", "serving.goals.ttft=1 s", "serving.requests.rate=20 per s",
               "parallel.schedule=gpipe", "post_training.epochs=2"});
  for (const char* setting :
       {"post_training.sync=buckets", "post_training.generation_gpus=8", "serving.goals.ttft=1 s",
        "serving.requests.rate=20 per s", "parallel.schedule=gpipe", "post_training.loop=nemo-rl"})
    CHECK(names(idle, setting));
  CHECK_FALSE(names(idle, "post_training.epochs=2"));
}

TEST_CASE("a default that is written out is named where no other value counts",
          "[planner][study]") {
  CHECK(idle_in(trained, {"parallel.schedule=1f1b"}) == Settings{"parallel.schedule=1f1b"});
  CHECK(idle_in(trained, {"parallel.pipeline=1", "training.micro_batch=1"}).empty());
  CHECK(idle_in(served, {"serving.seed=1"}).empty());
  CHECK(names(idle_in(learnt, {"serving.seed=1"}), "serving.seed=1"));
}

TEST_CASE("limits that an engine has by itself are its defaults", "[planner][study]") {
  CHECK(idle_in(served, {"serving.batching.token_budget=8192"}).empty());
}

TEST_CASE("a study names settings without effect in text and JSON", "[planner][study]") {
  Report report = evaluate(load_scenario(folder / served, with({"serving.duration=2 h"})));
  warn_of_idle_settings(AttentionFlops::full, EngineKind::closed_form, report);
  const Json tree = Json::parse(report.study->json);
  REQUIRE(tree["warnings"].size() == 1);
  CHECK(tree["warnings"][0]["message"] == "no effect on this forecast: serving.duration=2 h");
  CHECK(test::has(answer_text(report.study->answer), "No effect     serving.duration=2 h"));
}

TEST_CASE("a plan that cannot run is asked for no idle keys", "[planner][study]") {
  CHECK(idle_in(served, {"serving.replicas=100"}).empty());
}

}  // namespace foretrain
