// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <atomic>
#include <filesystem>

#include "planner/post_training/post_training_search.hpp"
#include "planner/search/plan_report.hpp"
#include "planner/serving/serving_search.hpp"
#include "planner/serving/serving_study.hpp"
#include "planner/solve/procure.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "tests/planner/search/search_fixtures.hpp"

using namespace foretrain;

namespace {

const std::atomic<bool> stopped{true};

Scenario shipped(const char* file) {
  LoadOptions options;
  options.purpose = Purpose::any;
  const std::filesystem::path folder = FORETRAIN_SOURCE_DIR;
  return load_scenario(folder / "scenarios" / file, options);
}

/// What ended before there was anything judges nothing and sends nobody on.
void check_tells_nothing(const AnswerHead& head) {
  CAPTURE(head.subject, head.sentence);
  CHECK(head.words == "INTERRUPTED");
  CHECK_FALSE(head.verdict);
  CHECK(head.next.empty());
}

}  // namespace

TEST_CASE("a search that was stopped before it began judges nothing", "[planner][interrupted]") {
  const Scenario training = fixtures::small_scenario();
  SearchOptions search;
  search.stop = &stopped;
  check_tells_nothing(plan_head(plan(training, default_space(training.job), search), "small.yaml"));
  ProcureOptions buying;
  buying.stop = &stopped;
  check_tells_nothing(procure_answer(procure({training}, {training}, buying)).head);
  const Scenario grpo = shipped("post-training/llama3.1-8b-grpo-16xh100.yaml");
  check_tells_nothing(
      post_training_plan_answer(search_splits(grpo, true, &stopped), "grpo.yaml", 3).head);
  const Scenario chat = shipped("serving/llama3.1-70b-8xh100.yaml");
  check_tells_nothing(serving_answer(study_serving(chat, &stopped)).head);
}
