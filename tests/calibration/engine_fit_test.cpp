// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/engine_fit.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "calibration/records/run_record.hpp"
#include "tests/calibration/measured_records.hpp"

namespace foretrain {
namespace {

/// Every tenth shipped record of dense models of two engines: enough to move constants, quickly
/// fitted.
std::vector<EngineCase> some_cases() {
  Diagnostics diagnostics;
  const auto document = parse_yaml(measured_file("inference_runs.yaml"), "inference_runs.yaml",
                                   run_record_limits(), diagnostics);
  REQUIRE(document.has_value());
  std::vector<InferenceRecord> some;
  int seen = 0;
  for (InferenceRecord& record :
       read_inference_records(*document, "inference_runs.yaml", diagnostics))
    if (!record.model.moe && record.tpot_s && seen++ % 10 == 0) some.push_back(std::move(record));
  return engine_cases(some, shipped_catalog());
}

TEST_CASE("engine fit: what is left out has no say", "[calibration][serving]") {
  const std::vector<EngineCase> all = some_cases();
  REQUIRE(all.size() > 10);
  const auto hidden = [&](const EngineCase& one) { return one.engine == all.front().engine; };
  std::vector<EngineCase> others;
  for (const EngineCase& one : all)
    if (!hidden(one)) others.push_back(one);
  const auto without = fit_engines(all, hidden);
  const auto never = fit_engines(others);
  REQUIRE(without.size() == never.size());
  for (std::size_t i = 0; i < never.size(); ++i) {
    CHECK(without[i].engine == never[i].engine);
    REQUIRE(without[i].constants.size() == never[i].constants.size());
    for (std::size_t k = 0; k < never[i].constants.size(); ++k)
      CHECK(without[i].constants[k].value == never[i].constants[k].value);
  }
}

TEST_CASE(
    "engine fit: records make constants surer than their priors, and move an engine's from "
    "those of all",
    "[calibration][serving]") {
  const auto fits = fit_engines(some_cases());
  REQUIRE(fits.size() > 1);
  CHECK(fits.front().engine == any_engine);
  for (const EngineFit& fit : fits)
    for (std::size_t i = 0; i < fit.constants.size(); ++i) {
      CAPTURE(fit.engine, fit.constants[i].key);
      CHECK(fit.constants[i].deviation <= fit.constants[i].width * 1.0001);
      if (fit.engine != any_engine)
        CHECK(fit.constants[i].prior == fits.front().constants[i].value);
    }
}

TEST_CASE("engine fit: a case priced again with its engine's constants is the case",
          "[calibration][serving]") {
  for (const EngineCase& one : some_cases()) {
    const EngineTimes& times = shipped_catalog().engines.at(one.engine).times;
    CHECK(one.ready.load(times).tpot == one.ready.load().tpot);
    CHECK(one.ready.load(times).ttft == one.ready.load().ttft);
  }
}

}  // namespace
}  // namespace foretrain
