// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "models/version.hpp"
#include "planner/forecast/report.hpp"
#include "scenarios/resolve/scenario.hpp"

static_assert(FORETRAIN_VERSION >= 100, "written for 0.1");

int main(int argc, char** argv) try {
  for (int i = 1; i < argc; ++i) {
    const foretrain::Report report = foretrain::evaluate(foretrain::load_scenario(argv[i]));
    if (const auto& step = report.prediction.step)
      std::printf("%s: %.6g s\n", report.scenario.job.name.c_str(), step->time.value());
  }
} catch (const foretrain::ScenarioError& error) {
  std::fputs(error.what(), stderr);
  return 2;
}
