// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <sstream>

#include "planner/answer/prediction_parts.hpp"
#include "planner/answer/quantity.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/sweep/sweep_row.hpp"
#include "tests/planner/fixtures.hpp"

namespace foretrain {
namespace {

/// A forecast in which every row has a value.
Report complete() {
  Report report = fixtures::fitting();
  report.prediction.memory->replica = report.prediction.memory->stages.front();
  report.prediction.reasons.push_back({"rule", "key", "message", "remedy"});
  report.prediction.links.push_back({"link", Bytes{1.0}, 0.5});
  report.prediction.warnings.push_back({"id", "message"});
  report.prediction.kernels.own_file = "own.yaml";
  return report;
}

constexpr StepPart fan{&TimeBreakdown::input,
                       "fan_s",
                       "fans",
                       palette::blue,
                       "Waiting for fans.",
                       "none",
                       "cluster",
                       {},
                       "fans turn"};

}  // namespace

TEST_CASE("quantities: every value of the JSON has a row, and every row a value",
          "[planner][answer]") {
  const Json tree = prediction_tree(complete());
  std::set<std::string> used;
  for (const std::string& path : leaf_paths(tree)) {
    if (path.starts_with("scenario.")) continue;
    CAPTURE(path);
    const auto found = quantities().find(path);
    REQUIRE(found);
    used.insert(found->quantity->path);
  }
  for (const ValueRow& row : quantities().rows()) {
    CAPTURE(row.path);
    CHECK(used.count(row.path) == 1);
    CHECK_FALSE(row.label.empty());
    CHECK_FALSE(row.meaning.empty());
    CHECK_FALSE(row.formula.empty());
  }
}

TEST_CASE("quantities: what a row is computed from exists", "[planner][answer]") {
  const Json tree = prediction_tree(fixtures::fitting());
  for (const ValueRow& row : quantities().rows()) {
    std::istringstream in{row.inputs};
    for (std::string word; in >> word;) {
      CAPTURE(row.path, word);
      if (word.starts_with('@')) CHECK(find_path(tree, word.substr(1)) != nullptr);
    }
  }
}

TEST_CASE("quantities: a part of the step is one row", "[planner][answer]") {
  std::vector<StepPart> parts(step_parts().begin(), step_parts().end());
  parts.push_back(fan);
  const Quantities table(parts);
  Report report = fixtures::fitting();
  report.prediction.step->breakdown.input = Seconds{0.25};
  const std::string path = "step.breakdown.fan_s";

  const Json tree = prediction_tree(report, table);
  REQUIRE(find_path(tree, path) != nullptr);
  CHECK(find_path(tree, path)->get<double>() == 0.25);

  const std::string csv = report_csv({report}, table);
  CHECK(csv.substr(0, csv.find('\r')).find(",step_breakdown_fan_s,") != std::string::npos);

  CHECK(SweepMetrics({path}, table).of(report.prediction).front() == 0.25);
  const auto limits = table.number_paths();
  CHECK(std::count(limits.begin(), limits.end(), path) == 1);
  CHECK(table.find("step.time_s")->quantity->inputs.ends_with("@" + path));
  CHECK(table.find(path)->quantity->meaning == fan.meaning);

  const auto bars = whole_waterfall(report.scenario.job, report.prediction, parts);
  CHECK(bars.back().label == "fans");
  CHECK(bars.back().time == Seconds{0.25});
}

TEST_CASE("quantities: parts add up to their whole", "[planner][answer]") {
  Prediction p = fixtures::fitting().prediction;
  Seconds step;
  for (const StepPart& part : step_parts()) step += p.step->breakdown.*part.time;
  CHECK(step == p.step->breakdown.total());
  RunSplit split;
  double each = 1.0;
  for (const RunPart& part : run_parts()) split.*part.time = Seconds{each *= 2.0};
  CHECK(split.total() == Seconds{2.0 * each - 2.0});
  const StageMemory& stage = p.memory->stages.front();
  Bytes peak;
  for (const MemoryPart& part : memory_parts()) peak += stage.*part.size;
  CHECK(peak.value() == Approx(stage.peak.value()));
}

TEST_CASE("quantities: a value reads as its measure says", "[planner][answer]") {
  CHECK(quantity_text("mfu", 0.451) == "45.1 %");
  CHECK(quantity_text("step.time_s", 0.0124) == "12.4 ms");
  CHECK(quantity_text("run.split.lost_s", 86400.0 * 2) == "2.00 days");
  CHECK(quantity_text("provenance.software.asked_year", 2025.0) == "2025");
  CHECK(quantity_text("memory.stages.3.weights_bytes", 1073741824.0) == "1.0 GiB");
  CHECK(quantity_text("cost.usd", std::nullopt) == "unknown");
  CHECK(quantity_text("parallel.tensor", 8.0) == "8");
}

TEST_CASE("quantities: paths of lists need an index", "[planner][answer]") {
  CHECK(quantities().find("memory.stages.12.peak_bytes")->index == 12);
  CHECK_FALSE(quantities().find("memory.stages.01.peak_bytes"));
  CHECK_FALSE(quantities().find("memory.stages.peak_bytes"));
  CHECK_FALSE(quantities().find("memory.stages.-1.peak_bytes"));
  CHECK_FALSE(quantities().find(""));
  const Prediction p = fixtures::fitting().prediction;
  CHECK_FALSE(quantities().find("memory.stages.999.peak_bytes")->number(p));
}

}  // namespace foretrain
