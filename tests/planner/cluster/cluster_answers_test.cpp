// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "planner/cluster/cluster_file.hpp"
#include "planner/cluster/cluster_hosts.hpp"
#include "planner/cluster/cluster_report.hpp"
#include "planner/text/usage_error.hpp"
#include "tests/json_schema.hpp"
#include "tests/planner/cluster/cluster_texts.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using cluster_texts::errors_of;
using cluster_texts::file_with;
using cluster_texts::plain;
using cluster_texts::read;
using cluster_texts::source;
using test::has;

}  // namespace

TEST_CASE("cluster file: moldable jobs by a table and by forecasts", "[planner][cluster]") {
  const std::string table =
      "moldable: [{hosts: 1, speed: 1}, {hosts: 2, speed: 1.8}, {hosts: 8, speed: 5}]";
  const ClusterFile file = read(
      file_with("hosts: 4", "arrivals: {every: 9 h}, duration: 9 h, " + table, "{molding: share}"));
  const QueueClass& jobs = file.queue.classes[0];
  REQUIRE(jobs.moldable.size() == 3);  // 8 hosts are for a larger cluster
  CHECK(jobs.moldable[1].speed == 1.8);
  CHECK(jobs.most_hosts() == 1);
  CHECK(file.queue.policy.molding->name == "share");
  const auto wrong = [](const std::string& job_class, const std::string& part) {
    const std::string errors = errors_of(file_with("hosts: 128", job_class));
    CAPTURE(job_class, errors);
    CHECK(has(errors, part));
  };
  const std::string drawn = "arrivals: {every: 9 h}, duration: 9 h, ";
  wrong(drawn + "moldable: [{hosts: 2}]", "moldable[0]: needs a speed");
  wrong(drawn + "moldable: []", "there must be at least one size");
  wrong(drawn + "hosts: 1, moldable: [{hosts: 2, speed: 1}]", "only one of");
  wrong(drawn + "moldable: [{hosts: 2, speed: 1}, {hosts: 2, speed: 2}]", "must be above the 2");
  wrong(drawn + "moldable: [{hosts: 2, speed: 1}, {hosts: 4, speed: 1}]",
        "moldable[1].speed: 4 hosts are no faster than 2 (1 against 1)");
  wrong("trace: a.csv, moldable: [{hosts: 2, speed: 1}]", "has no effect: the trace says it");
  const std::string forecast =
      "arrivals: {at: [0 h]}, scenario: scenarios/llama3.1-70b-1024xh100.yaml, ";
  wrong(forecast + "moldable: [{hosts: 64, speed: 1}]", "has no effect: the scenario's forecast");
  wrong(forecast + "moldable: [{hosts: 64}, {hosts: 96}]", "its plan does not run on 96 hosts");
  CHECK(has(errors_of(file_with("hosts: 4", plain, "{molding: share}")), "no class is moldable"));

  const QueueClass run =
      read(file_with("hosts: 128", forecast + "moldable: [{hosts: 64}, {hosts: 128}]"))
          .queue.classes[0];
  const QueueClass on_64 = read(file_with("hosts: 128", forecast + "hosts: 64")).queue.classes[0];
  const QueueClass on_128 = read(file_with("hosts: 128", forecast + "hosts: 128")).queue.classes[0];
  CHECK(run.duration.typical == on_64.duration.typical);
  CHECK(run.moldable[0].speed == 1.0);
  CHECK(run.duration.typical / run.moldable[1].speed == on_128.duration.typical);
}

TEST_CASE("cost and energy are those of a cluster by hand", "[planner][cluster]") {
  // 4 hosts of 8 GPUs for 10 days. One job takes all for 24 h; one of 2 hosts and 12 h comes at 1
  // h, waits 6 h and is rented.
  const std::string text =
      "schema: 1\ncluster:\n  host: dgx-h100\n  hosts: 4\n  price: 2 USD/GPU-hour\n"
      "  power: {busy: 8 kW, idle: 2 kW}\n  burst: {after: 6 h, price: 5 USD/GPU-hour}\n"
      "workload:\n  horizon: 10 days\n  classes:\n"
      "    - {name: a, team: x, arrivals: {at: [0 h]}, hosts: 4, duration: 24 h, deadline: 25 h}\n"
      "    - {name: b, team: y, arrivals: {at: [1 h]}, hosts: 2, duration: 12 h, deadline: 17 h}\n";
  const ClusterFile file = read(text);
  const QueueSummary summary = *study_queue(file.queue, {});
  const ClusterCost cost = cluster_cost(file, summary);
  CHECK(cost.own->value() == Approx(4 * 8 * 240.0 * 2.0));
  CHECK(cost.rented_gpu_hours == Approx(2 * 8 * 12.0));
  CHECK(cost.rented->value() == Approx(2 * 8 * 12.0 * 5.0));
  CHECK(cost.together->value() == Approx(cost.own->value() + cost.rented->value()));
  const auto energy = cluster_energy(file, summary);
  CHECK(energy->teams[0].value() == Approx(4 * 24.0 * 8.0 * 3.6e6));
  CHECK(energy->teams[1].value() == 0.0);
  CHECK(energy->idle.value() == Approx(4 * 216.0 * 2.0 * 3.6e6));
  CHECK(summary.classes[0].in_time->value == 1.0);
  CHECK(summary.classes[1].in_time->value == 0.0);  // 6 h and 12 h are more than 17 h
  CHECK(summary.all.in_time->value == 0.5);
  const auto document = nlohmann::json::parse(cluster_json(file, summary));
  CHECK(test::schema_errors(source / "planner/schemas/cluster.schema.json", document).empty());
  CHECK(document["teams"][1]["rented_usd"] == 960.0);
  CHECK(document["energy"]["together_kwh"] == Approx(4 * 24.0 * 8.0 + 4 * 216.0 * 2.0));
  CHECK(has(answer_text(cluster_answer(file, summary)), "Own and rented hosts"));

  const ClusterFile bare = read(file_with("hosts: 4", plain));
  const QueueSummary unknown = *study_queue(bare.queue, {});
  CHECK(!cluster_energy(bare, unknown));
  CHECK(!cluster_cost(bare, unknown).own);
  CHECK(has(errors_of(file_with("hosts: 4, power: {busy: 1 kW, idle: 2 kW}", plain)),
            "cluster.power.idle: must not be above"));
  CHECK(has(errors_of(file_with("hosts: 4", plain + ", bursts: false")),
            "has no effect without cluster.burst"));
  CHECK(has(errors_of(file_with("hosts: 4", plain + ", scattered_slowdown: 1.1")),
            "has no effect without cluster.hosts_per_leaf"));
}

TEST_CASE("goals of deadlines", "[planner][cluster]") {
  const QueueGoal goal = deadlines_goal("--deadlines", "vision runs 97.5 %");
  CHECK(goal.job_class == "vision runs");
  CHECK(goal.is_deadlines());
  CHECK(goal.least == Approx(0.975));
  CHECK(goal.text() == "vision runs 97.5 % of deadlines");
  CHECK(deadlines_goal("--deadlines", "95%").least == Approx(0.95));
  for (const char* text : {"", "95", "0 %", "101 %", "a % b", "%", "-5 %"})
    CHECK_THROWS_AS(deadlines_goal("--deadlines", text), UsageError);
  const ClusterFile none = read(file_with("hosts: 4", plain));
  CHECK_THROWS_AS(check_goal("--deadlines", deadlines_goal("--deadlines", "95 %"), none),
                  UsageError);

  const auto with = [](int hosts) {
    return read(file_with("hosts: " + std::to_string(hosts),
                          "arrivals: {poisson: 0.5 per h}, hosts: 1, duration: {exponential: 6 h}, "
                          "deadline: 24 h"));
  };
  QueueStudyOptions options;
  options.replications = 60;
  const HostsStudy study =
      fewest_hosts(with(4), deadlines_goal("--deadlines", "a 95 %"), with, options);
  REQUIRE(study.fewest);
  for (const HostsRow& row : study.rows) {
    const bool keeps =
        row.summary.classes[0].in_time->value >= 0.95 && has_steady_state(row.file.queue);
    CHECK(keeps == (row.file.queue.hosts >= *study.fewest));
  }
  const auto document = nlohmann::json::parse(hosts_study_json(study));
  CHECK(
      test::schema_errors(source / "planner/schemas/cluster-hosts.schema.json", document).empty());
  CHECK(document["goal"]["least_share"] == Approx(0.95));
}

}  // namespace foretrain
