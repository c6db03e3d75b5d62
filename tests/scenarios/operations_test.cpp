// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "scenarios/resolve/resolve_operations.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "tests/test_text.hpp"

using namespace foretrain;
namespace fs = std::filesystem;

namespace {

const fs::path bases = fs::path(FORETRAIN_SOURCE_DIR) / "tests/bad_scenarios";

Operations operations_from(const std::string& yaml) {
  return load_scenario_text("schema: 1\nextends: bases/good.yaml\noperations:\n" + yaml, "f.yaml",
                            bases)
      .job.operations;
}

/// The messages of the only errors of a scenario, one a line.
std::string errors_of(const std::string& yaml) {
  try {
    (void)operations_from(yaml);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return {};
}

std::string corpus(const std::string& name) {
  std::ifstream file{fs::path(FORETRAIN_SOURCE_DIR) / "tests/fuzz/corpus" / name};
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("operations: every key of all_keys.yaml reaches the job", "[scenarios][operations]") {
  const Operations o =
      load_scenario_text(corpus("all_keys.yaml"), "all.yaml", bases).job.operations;
  CHECK(o.mean_time_between_interruptions == 3.1 * hours);
  CHECK(o.interruptions.planned_every->in(days) == Approx(1.1));
  CHECK(o.interruptions.planned_pause == 20.0 * minutes);
  CHECK(o.restart == 10.0 * minutes);
  CHECK(o.warm_up == 1.0 * minutes);
  CHECK(o.spares.hosts == 4);
  CHECK(o.spares.repair == 2.0 * days);
  CHECK(o.spares.share == 0.78);
  CHECK(o.fail_slow.every == 2.0 * days);
  CHECK(o.fail_slow.pace == 0.8);
  CHECK(o.fail_slow.lasts == 72.0 * minutes);
  CHECK(o.fail_slow.restart);
  CHECK(o.preemption.every == 8.0 * hours);
  CHECK(o.preemption.notice == 2.0 * minutes);
  CHECK(o.preemption.wait == 30.0 * minutes);
  CHECK(o.queue == 6.0 * hours);
  CHECK(o.deadline == 60.0 * days);
  CHECK(o.checkpoint.size == 1.0 * TB);
  CHECK(o.checkpoint.read_bandwidth == 400.0 * GBps);
  CHECK(o.checkpoint.stall == Seconds{5.0});
  CHECK(o.storage.read == 2.0 * TBps);
  CHECK(o.storage.write == 1.0 * TBps);
  CHECK(o.storage.host_link == 25.0 * GBps);
  CHECK(o.evaluation.every_steps == 1000);
  CHECK(o.evaluation.pause == 3.0 * minutes);
  REQUIRE(o.batch_ramp.size() == 2);
  CHECK(o.batch_ramp[1].global_batch == 512);
  CHECK(o.batch_ramp[1].tokens == 20e9);
  CHECK(o.loading.workers == 4);
  CHECK(o.loading.tokens_per_worker == 500e3);
  CHECK(o.loading.bytes_per_token == 4.0);
  CHECK(o.prices_as_of == "2026-11-01");
  CHECK(o.owned.network == Dollars{4e3});
  CHECK(o.owned.storage == Dollars{1e3});
  CHECK(o.owned.lifetime == 1460.0 * days);
  CHECK(o.owned.utilisation == 0.85);
  CHECK(o.owned.staff->value() == Approx(3e6 / (365.0 * 86400.0)));
  CHECK(o.owned.upkeep->value() == Approx(1e6 / (365.0 * 86400.0)));
  CHECK(o.power.electricity->value() == Approx(0.08 / 3.6e6));
  CHECK(o.power.pue == 1.2);
  CHECK(o.power.host == Watts{2200.0});
  CHECK(o.power.host_idle == Watts{1900.0});
  CHECK(o.power.hosts_per_rack == 4);
  CHECK(o.power.floor == 0.7);
  CHECK(o.power.network == Watts{400.0});
  CHECK(o.power.gpu_busy == Watts{650.0});
  CHECK(o.power.gpu_waiting == Watts{300.0});
  CHECK(o.power.gpu_idle == Watts{120.0});
  CHECK(*o.power.carbon_kg_per_joule == Approx(0.35 / 3.6e6));
}

TEST_CASE("operations: rates per part, parts of recovery and intervals in steps reach the job",
          "[scenarios][operations]") {
  const Operations o =
      load_scenario_text(corpus("operations_keys.yaml"), "operations.yaml", bases).job.operations;
  REQUIRE(o.interruptions.components.size() == 4);
  CHECK(o.interruptions.components[1].name == "nic");
  CHECK(o.interruptions.components[1].per == ComponentKind::nic);
  CHECK(o.interruptions.components[1].every == 400000.0 * hours);
  CHECK(o.recovery.detection == 3.0 * minutes);
  CHECK(o.recovery.reschedule == 5.0 * minutes);
  CHECK(o.recovery.reload == 2.0 * minutes);
  CHECK(o.fail_slow.per_1000_node_days == 1.5);
  CHECK(o.checkpoint.every_steps == 100);
  CHECK(o.owned.gpu == Dollars{35e3});
  const Operations rates = operations_from("  interruptions: {per_gpu_hour: 2e-5}\n");
  CHECK(rates.interruptions.per_gpu_hour == 2e-5);
  const Operations nodes = operations_from("  interruptions: {per_1000_node_days: 6.5}\n");
  CHECK(nodes.interruptions.per_1000_node_days == 6.5);
  const Operations curve = operations_from(
      "  interruptions: {curve: [{gpus: 8, every: 47.7 d}, {gpus: 1024, every: 7.9 h}]}\n"
      "  checkpoint: {optimal: true}\n");
  REQUIRE(curve.interruptions.curve.size() == 2);
  CHECK(curve.interruptions.curve[1].gpus == 1024.0);
  CHECK(curve.checkpoint.optimal);
  const Operations trace =
      operations_from("  interruptions: {trace: [{at: 3 h}, {at: 9 h, down: 40 min}]}\n");
  REQUIRE(trace.interruptions.trace.size() == 2);
  CHECK(trace.interruptions.trace[1].down == 40.0 * minutes);
}

TEST_CASE("operations: what answers the same question twice is refused",
          "[scenarios][operations][error]") {
  CHECK(test::has(errors_of("  mean_time_between_interruptions: 3 h\n"
                            "  interruptions: {per_gpu_hour: 2e-5}\n"),
                  "operations.mean_time_between_interruptions says the same"));
  CHECK(test::has(errors_of("  restart: 10 min\n  recovery: {detection: 3 min}\n"),
                  "operations.recovery.detection: operations.restart says the same"));
  CHECK(test::has(errors_of("  checkpoint: {every: 30 min, optimal: true}\n"),
                  "operations.checkpoint.optimal: operations.checkpoint.every says the same"));
  CHECK(test::has(errors_of("  price: 2 USD/GPU-hour\n  owned: {gpu: 35 kUSD}\n"),
                  "operations.owned.gpu: operations.price says the same"));
}

TEST_CASE("operations: money needs a currency that is known, and a day that exists",
          "[scenarios][operations][error]") {
  CHECK(test::has(errors_of("  price: 2.5\n"), "'2.5' has no currency"));
  CHECK(test::has(errors_of("  price: 2.5 EUR/GPU-hour\n"), "convert other currencies"));
  CHECK(test::has(errors_of("  owned: {gpu: 35000}\n"), "'35000' has no currency"));
  CHECK(test::has(errors_of("  power: {electricity: 8 ct/kWh}\n"), "USD/kWh"));
  for (const char* day : {"2026-13-01", "2026-02-29", "2026-1-1", "yesterday", "2026-04-31"})
    CHECK(test::has(errors_of("  prices_as_of: " + std::string(day) + "\n"), "is not a day"));
  CHECK(errors_of("  prices_as_of: 2028-02-29\n").empty());
}

TEST_CASE("operations: a deadline in the past is refused", "[scenarios][operations][error]") {
  CHECK(test::has(errors_of("  deadline: -3 d\n"), "must be above 0"));
  CHECK(test::has(errors_of("  deadline: 0 d\n"), "must be above 0"));
}

TEST_CASE("operations: curves and traces are in order", "[scenarios][operations][error]") {
  CHECK(test::has(errors_of("  interruptions: {curve: [{gpus: 8, every: 9 d}, {gpus: 8, every: "
                            "7 d}]}\n"),
                  "curve[1].gpus: must be larger"));
  CHECK(test::has(errors_of("  interruptions: {trace: [{at: 3 h}, {at: 2 h}]}\n"),
                  "trace[1].at: must be larger"));
}

TEST_CASE("operations: a ramp must divide into micro-batches of all replicas",
          "[scenarios][operations][error]") {
  // bases/good.yaml: data 16, micro-batch 1
  CHECK(test::has(errors_of("  batch_ramp: [{global_batch: 100, tokens: 1 B}]\n"),
                  "the next larger that does is 112"));
}

TEST_CASE("operations: a trace file is read line by line", "[scenarios][operations]") {
  Diagnostics good;
  const auto trace = read_trace("at,down\n3.2 h,40 min\r\n\n5 h,\n9 h\n", "t.csv", good);
  CHECK(good.empty());
  REQUIRE(trace.size() == 3);
  CHECK(trace[0].at == 3.2 * hours);
  CHECK(trace[0].down == 40.0 * minutes);
  CHECK_FALSE(trace[1].down.has_value());
  CHECK_FALSE(trace[2].down.has_value());

  Diagnostics bad;
  (void)read_trace("at;down\n3 h\n2 h\n4\n5 h,-1 s\n", "t.csv", bad);
  REQUIRE(bad.items().size() == 4);
  CHECK(bad.items()[0].text() == "t.csv:1:1: the first line must be at,down");
  CHECK(bad.items()[1].line == 3);
  CHECK(bad.items()[2].line == 4);
  CHECK(bad.items()[3].line == 5);
}

TEST_CASE("operations: a trace file lies in the scenario's folder, as a base does",
          "[scenarios][operations][error]") {
  CHECK(test::has(errors_of("  interruptions: {trace_file: ../t.csv}\n"),
                  "'../t.csv' leads out of the scenario's folder; only files in it or below it can "
                  "be read"));
  CHECK(test::has(errors_of("  interruptions: {trace_file: /etc/hostname}\n"),
                  "'/etc/hostname' is an absolute path; write it relative to this file"));
}

TEST_CASE("operations: a trace file that is not there is told at the key that names it",
          "[scenarios][operations][error]") {
  const std::string errors = errors_of("  interruptions: {trace_file: none.csv}\n");
  CHECK(test::has(errors, "f.yaml:4:"));
  CHECK(test::has(errors, "operations.interruptions.trace_file"));
}
