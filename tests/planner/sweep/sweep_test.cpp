// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "models/forecast/closed_form.hpp"
#include "models/forecast/path_forecast.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/sweep/sweep_report.hpp"
#include "planner/text/quoting.hpp"
#include "planner/text/usage_error.hpp"
#include "tests/planner/sweep/usage_message.hpp"

using namespace foretrain;
using foretrain::test::usage_message;

namespace {

namespace fs = std::filesystem;

const std::string sweep_scenario = R"(schema: 1
name: swept
model: llama2-7b
cluster:
  host: dgx-h100
  hosts: 2
  fabric: {kind: rail-optimized, preset: ib-ndr}
training: {sequence: 4096, micro_batch: 1, global_batch: 64, tokens: 1 T}
parallel: {tensor: 2, sequence: true, zero: 1}
memory: {recompute: selective}
stack: megatron-core
operations: {price: 2 USD/GPU-hour}
)";

SweepQuestion question(const std::vector<std::string>& axes) {
  SweepQuestion result;
  result.base = {sweep_scenario, "swept.yaml", fs::path(FORETRAIN_SOURCE_DIR) / "scenarios", {}};
  result.grid = make_grid(axes);
  result.program = "test";
  return result;
}

std::vector<std::string> listed(const std::string& axis) {
  std::vector<std::string> result;
  for (const auto& step : parse_axis(axis).values) {
    result.emplace_back();
    for (const std::string& value : step)
      result.back() += (result.back().empty() ? "" : "|") + value;
  }
  return result;
}

using List = std::vector<std::string>;

}  // namespace

TEST_CASE("sweep grid: lists, ranges, brackets and keys that change together", "[sweep]") {
  CHECK(listed("parallel.tensor=1, 2,8") == List{"1", "2", "8"});
  CHECK(listed("training.micro_batch=1..4,8") == List{"1", "2", "3", "4", "8"});
  CHECK(listed("training.global_batch=64..256+64") == List{"64", "128", "192", "256"});
  CHECK(listed("cluster.hosts=1..12*3") == List{"1", "3", "9"});
  CHECK(listed("parallel.stage_layers=[1, 2],[2,1]") == List{"[1, 2]", "[2,1]"});
  CHECK(listed("memory.recompute={granularity: full, layers: 2},none") ==
        List{"{granularity: full, layers: 2}", "none"});
  CHECK(listed("name=\"a,b\",c") == List{"\"a,b\"", "c"});
  CHECK(listed("parallel.tensor,parallel.pipeline=8:4,4:8") == List{"8|4", "4|8"});
}

TEST_CASE("sweep grid: the last axis changes first", "[sweep]") {
  const SweepGrid grid =
      make_grid({"parallel.tensor,parallel.pipeline=1:8,2:4", "parallel.zero=0,1,2"});
  REQUIRE(grid.size() == 6);
  CHECK(grid.keys() == List{"parallel.tensor", "parallel.pipeline", "parallel.zero"});
  std::vector<std::size_t> chosen;
  grid.choose(4, chosen);
  CHECK(chosen == std::vector<std::size_t>{1, 1, 1});
  grid.choose(2, chosen);
  CHECK(chosen == std::vector<std::size_t>{0, 0, 2});
}

TEST_CASE("sweep: what means nothing at 1 follows an axis through 1", "[planner][sweep]") {
  const auto following = following_keys(true, "4", "interleaved");
  SweepGrid grid = make_grid({"parallel.tensor=1,2", "parallel.pipeline=1,4"});
  CHECK(follow_axes(grid, following, {}).size() == 3);
  CHECK(grid.keys() == List{"parallel.tensor", "parallel.sequence", "parallel.pipeline",
                            "parallel.virtual_stages", "parallel.schedule"});
  CHECK(grid.axes[0].values == std::vector<List>{{"1", "false"}, {"2", "true"}});
  CHECK(grid.axes[1].values == std::vector<List>{{"1", "1", "1f1b"}, {"4", "4", "interleaved"}});
  // Not where the axis stays above 1, nor against who varies or sets the key.
  for (const List& axes : {List{"parallel.tensor=2,4"}, List{"training.micro_batch=1,2"},
                           List{"parallel.tensor=1,2", "parallel.sequence=true,false"}}) {
    SweepGrid other = make_grid(axes);
    CHECK(follow_axes(other, following, {}).empty());
  }
  SweepGrid set = make_grid({"parallel.tensor=1,2"});
  CHECK(follow_axes(set, following, {"parallel.sequence"}).empty());
  CHECK(following_keys(false, "1", "1f1b").empty());
}

TEST_CASE("sweep grid: what is wrong with an axis is said in words", "[sweep][error]") {
  const auto parse = [](const char* axis) {
    return usage_message([&] { (void)parse_axis(axis); });
  };
  CHECK(parse("parallel.tensor").find("is not KEY=VALUE") != std::string::npos);
  CHECK(parse("parallel.tensor=") == "--vary parallel.tensor has no value to try");
  CHECK(parse("parallel.tensor=1,,2") == "--vary parallel.tensor: a value is empty");
  CHECK(parse("parallel.tensor=1,2,1") == "--vary parallel.tensor: '1' is listed twice");
  CHECK(parse("a,b=1:2,3") == "--vary a,b: '3' must give 2 values with ':' between them");
  CHECK(parse("a=8..2") == "--vary a: '8..2' is empty: it ends before it starts");
  CHECK(parse("a=0..8*2").find("first number of 1 or more") != std::string::npos);
  CHECK(parse("a=1..8*1").find("factor of 2 or more") != std::string::npos);
  CHECK(parse("a=1..8+0").find("step of 1 or more") != std::string::npos);
  CHECK(parse("a=1..999999999").find("more than 100000 numbers") != std::string::npos);
  const auto grid = [](const List& axes) { return usage_message([&] { (void)make_grid(axes); }); };
  CHECK(grid({"paralel.tensor=1"}) ==
        "--vary: 'paralel.tensor' is not a key of a scenario; did you mean 'parallel.tensor'?");
  CHECK(grid({"parallel.zero=1", "parallel.zero=2"}) == "--vary: parallel.zero is varied twice");
  CHECK(grid({"memory.recompute=none", "memory.recompute.layers=2"}) ==
        "--vary: memory.recompute holds memory.recompute.layers; vary one of them");
  CHECK(grid({"training.global_batch=1..90000", "training.sequence=1..90000"})
            .find("at most 10,000,000 can be swept") != std::string::npos);
}

TEST_CASE("sweep metrics: each is the number at its path in the JSON of the forecast", "[sweep]") {
  const Scenario scenario = load_scenario_text(sweep_scenario, "swept.yaml",
                                               fs::path(FORETRAIN_SOURCE_DIR) / "scenarios");
  const Report report = evaluate(scenario);
  REQUIRE(report.prediction.step);
  const Json tree = prediction_tree(report);
  List paths;
  for (const std::string& path : leaf_paths(tree))
    if (!path.starts_with("scenario.") && !path.starts_with("provenance.") &&
        find_path(tree, path)->is_number())
      paths.push_back(path);
  REQUIRE(paths.size() > 40);
  const SweepMetrics metrics(paths);
  const auto values = metrics.of(report.prediction);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    CAPTURE(paths[i]);
    REQUIRE(values[i].has_value());
    CHECK(*values[i] == find_path(tree, paths[i])->get<double>());
  }
  CHECK_FALSE(SweepMetrics({"memory.stages.7.peak_bytes"}).of(report.prediction)[0].has_value());
}

TEST_CASE("sweep metrics: names that are no numbers are refused", "[sweep][error]") {
  const auto refused = [](List names) { return usage_message([&] { (void)SweepMetrics(names); }); };
  CHECK(refused({"step.time"}).find("did you mean 'step.time_s'?") != std::string::npos);
  CHECK(refused({"flops.convention"}).find("is not a number") != std::string::npos);
  CHECK(refused({"mfu", "mfu"}) == "--metrics: mfu is listed twice");
  CHECK(refused({}) == "--metrics: no name is given");
  CHECK(usage_message([] { (void)split_metrics("mfu,,hfu"); }).find("a name is empty") !=
        std::string::npos);
}

TEST_CASE("sweep: a point is the forecast of the scenario with its settings", "[sweep]") {
  SweepQuestion asked =
      question({"parallel.tensor=2,8,3", "training.micro_batch=1,2", "memory.attention=flash"});
  asked.engine = GENERATE(EngineKind::closed_form, EngineKind::path);
  Sweep sweep(asked);
  std::map<PointStatus, int> seen;
  std::set<std::string> hashes;
  for (std::int64_t point = sweep.size() - 1; point >= 0; --point) {
    const SweepRow row = sweep.forecast(point);
    ++seen[row.status];
    hashes.insert(row.hash);
    CHECK(row.point == point);
    const auto values = sweep.values_of(point);
    LoadOptions options;
    for (std::size_t key = 0; key < values.size(); ++key)
      options.overrides.push_back(asked.grid.keys()[key] + "=" + values[key]);
    CAPTURE(options.overrides);
    try {
      const Job job =
          load_scenario_text(sweep_scenario, "swept.yaml", asked.base.folder, options).job;
      const Prediction expected =
          asked.engine == EngineKind::path ? path_forecast(job) : closed_form(job);
      CHECK((row.status == PointStatus::ok) == expected.feasible());
      if (expected.step) CHECK(row.metrics.front() == expected.step->time.value());
      if (!expected.feasible()) CHECK(row.rule == expected.reasons.front().rule);
    } catch (const ScenarioError& error) {
      CHECK(row.status == PointStatus::invalid);
      CHECK(std::string(error.what()).find(row.reason) != std::string::npos);
    }
  }
  CHECK(hashes.size() == 6);
  CHECK(seen[PointStatus::ok] >= 2);
  CHECK(seen[PointStatus::invalid] == 2);  // three tensor ranks do not divide 16 GPUs
}

TEST_CASE("sweep: hashes know the program, the engine and the resolved scenario", "[sweep]") {
  const auto hash = [](const SweepQuestion& asked) { return Sweep(asked).forecast(0).hash; };
  const SweepQuestion one = question({"parallel.tensor=2,4"});
  SweepQuestion other_program = one;
  other_program.program = "another";
  SweepQuestion other_engine = one;
  other_engine.engine = EngineKind::path;
  SweepQuestion other_scenario = one;
  other_scenario.base.options.overrides = {"training.global_batch=128"};
  const std::set<std::string> all{hash(one), hash(other_program), hash(other_engine),
                                  hash(other_scenario)};
  CHECK(all.size() == 4);
  CHECK(hash(question({"training.micro_batch=1"})) == hash(one));
  const auto identity = [](const SweepQuestion& asked) {
    return Sweep(asked).header().back().second;
  };
  SweepQuestion other_metrics = one;
  other_metrics.metrics = {"mfu"};
  const std::set<std::string> identities{
      identity(one),           identity(other_program),
      identity(other_engine),  identity(other_scenario),
      identity(other_metrics), identity(question({"parallel.tensor=2,8"}))};
  CHECK(identities.size() == 6);
}

TEST_CASE("sweep row: comes out of pieces of its bytes as it went in", "[sweep]") {
  SweepRow row{7, "abc", PointStatus::infeasible, "rule", "why, \"so\"", {1.5, std::nullopt, -0.0}};
  SweepRow empty{8, "", PointStatus::failed, "", "", {}};
  std::string bytes;
  encode_row(row, bytes);
  encode_row(empty, bytes);
  std::string inbox;
  std::vector<SweepRow> rows;
  for (const char byte : bytes) {
    inbox += byte;
    for (SweepRow& one : decode_rows(inbox)) rows.push_back(std::move(one));
  }
  REQUIRE(rows.size() == 2);
  CHECK(inbox.empty());
  CHECK(rows[0].point == 7);
  CHECK(rows[0].hash == "abc");
  CHECK(rows[0].status == PointStatus::infeasible);
  CHECK(rows[0].rule == "rule");
  CHECK(rows[0].reason == row.reason);
  CHECK(rows[0].metrics == row.metrics);
  CHECK(rows[1].status == PointStatus::failed);
}

TEST_CASE("sweep script: words come back from bash as they were", "[sweep]") {
  CHECK(shell_word("--vary") == "--vary");
  CHECK(shell_word("a b") == "'a b'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("1..8*2") == "'1..8*2'");
  const std::string script = sbatch_script({"run", {"sweep", "/a b.yaml"}, 4, 2, 1'000'000, 100.0});
  CHECK(script.find("sbatch --parsable --array=1-4 \"$0\"") != std::string::npos);
  // 10 minutes, and a million points over eight workers of 100 a second.
  CHECK(script.find("#SBATCH --time=00:31:00") != std::string::npos);
  CHECK(script.find("sweep '/a b.yaml' --resume") != std::string::npos);
}
