// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "planner/cluster/cluster_file.hpp"
#include "planner/cluster/cluster_hosts.hpp"
#include "planner/cluster/cluster_report.hpp"
#include "planner/page/answer_page.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/fields/reference.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "tests/json_schema.hpp"
#include "tests/planner/cluster/cluster_texts.hpp"
#include "tests/temporary_folder.hpp"
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

TEST_CASE("cluster file: schema and reference page are generated from the field table",
          "[planner][cluster][golden]") {
  const auto check_committed = [](const std::filesystem::path& file, const std::string& text) {
    if (std::getenv("FORETRAIN_UPDATE_GOLDEN")) std::ofstream(file, std::ios::binary) << text;
    INFO(file.string());
    CHECK(test::contents(file) == text);
  };
  check_committed(source / "planner/schemas/cluster-file.schema.json",
                  schema_json(cluster_fields()));
  check_committed(source / "planner/cluster/REFERENCE.md", reference_page(cluster_fields()));
}

TEST_CASE("cluster file: the smallest one", "[planner][cluster]") {
  const ClusterFile file = load_cluster(source / "scenarios/clusters/smallest.yaml");
  CHECK(file.name == "smallest");
  CHECK(file.queue.hosts == 32);
  CHECK(file.queue.horizon == 730.0 * days);
  CHECK(file.queue.warm_up == 30.0 * days);
  const QueueClass& jobs = file.queue.classes.at(0);
  CHECK(jobs.arrivals.rate.value() == 6.0 / 86400.0);
  CHECK(jobs.duration.kind == DurationKind::exponential);
  CHECK(jobs.duration.typical == 96.0 * hours);
  CHECK(file.queue.policy.order->name == "fifo");
  CHECK(file.queue.policy.backfill->name == "none");
  CHECK(offered_load(file.queue) == Approx(0.75));
}

TEST_CASE("cluster file: every example reads, and its result keeps the schema",
          "[planner][cluster]") {
  for (const auto& entry : std::filesystem::directory_iterator(source / "scenarios/clusters")) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path());
    const ClusterFile file = load_cluster(entry.path());
    QueueStudyOptions options;
    options.replications = 2;
    const auto summary = *study_queue(file.queue, options);
    const auto document = nlohmann::json::parse(cluster_json(file, summary));
    CHECK(test::schema_errors(source / "planner/schemas/cluster.schema.json", document).empty());
    std::istringstream lines(answer_text(cluster_answer(file, summary)));
    for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= 80);
    CHECK(has(answer_page(cluster_answer(file, summary), "queue"), "</html>"));
  }
}

TEST_CASE("cluster file: durations", "[planner][cluster]") {
  const auto law = [](const std::string& duration) {
    return read(file_with("hosts: 4", "arrivals: {every: 1 h}, hosts: 1, duration: " + duration))
        .queue.classes[0]
        .duration;
  };
  CHECK(law("30 min").kind == DurationKind::fixed);
  CHECK(law("30 min").typical == 30.0 * minutes);
  CHECK(law("{fixed: 2 h}").typical == 2.0 * hours);
  CHECK(law("{uniform: {from: 1 h, to: 3 h}}").mean() == 2.0 * hours);
  CHECK(law("{lognormal: {mean: 2 h, cv: 3}}").squared_variation() == 9.0);
  CHECK(law("{lognormal: {mean: 2 h, median: 1 h}}").variation == Approx(std::sqrt(3.0)));
  CHECK(law("{gamma: {mean: 2 h, cv: 0.5}}").squared_variation() == 0.25);
  CHECK(law("{empirical: [1 h, 2 h, 6 h]}").mean() == 3.0 * hours);
}

TEST_CASE("cluster file: rates in the project's units", "[planner][cluster]") {
  const auto rate = [](const std::string& text) {
    return read(file_with("hosts: 4", "arrivals: {poisson: " + text + "}, hosts: 1, duration: 1 h"))
        .queue.classes[0]
        .arrivals.rate.value();
  };
  CHECK(rate("6 per day") == 6.0 / 86400.0);
  CHECK(rate("6/day") == 6.0 / 86400.0);
  CHECK(rate("0.5 per h") == 0.5 / 3600.0);
  CHECK(rate("2 per week") == 2.0 / (7 * 86400.0));
}

TEST_CASE("cluster file: what is wrong is said with file, line and key", "[planner][cluster]") {
  CHECK(errors_of(file_with("hosts: 4", plain)).empty());
  const auto wrong = [](const std::string& job_class, const std::string& part) {
    const std::string errors = errors_of(file_with("hosts: 4, hosts_per_leaf: 2", job_class));
    CAPTURE(job_class, errors);
    CHECK(has(errors, part));
    CHECK(has(errors, "c.yaml:6:"));
  };
  wrong("arrivals: {poisson: 6}, hosts: 1, duration: 1 h",
        "workload.classes[0].arrivals.poisson: '6' has no unit");
  wrong("arrivals: {poisson: 6 per fortnight}, hosts: 1, duration: 1 h", "is not a rate");
  wrong("arrivals: {}, hosts: 1, duration: 1 h", "needs one of poisson, every, at");
  wrong("arrivals: {poisson: 1 per h, every: 1 h}, hosts: 1, duration: 1 h", "only one of");
  wrong("arrivals: {every: 1 h}, hosts: 5, duration: 1 h",
        "a job of 5 hosts can never start: the cluster has 4");
  wrong("arrivals: {every: 1 h}, hosts: 3, duration: 1 h, within_leaf: true",
        "can never start within a leaf of 2");
  wrong("arrivals: {every: 1 h}, hosts: 1", "needs one of duration, scenario, trace");
  wrong("arrivals: {every: 1 h}, duration: 1 h", "needs one of hosts, sizes");
  wrong("arrivals: {every: 1 h}, hosts: 1, duration: {exponentiel: 1 h}", "did you mean");
  wrong("arrivals: {every: 1 h}, hosts: 1, duration: -1 h", "must be above 0");
  wrong("arrivals: {every: 1 h, day: [1, 2]}, hosts: 1, duration: 1 h", "must have 24 numbers");
  wrong("arrivals: {at: [1 h, 2]}, hosts: 1, duration: 1 h", "arrivals.at[1]: '2' has no unit");
  wrong("arrivals: {every: 1 h}, hosts: 1, scenario: none.yaml", "none.yaml");
  wrong("arrivals: {every: 1 h}, hosts: 1, scenario: ../../etc/passwd", "leads out of");
  wrong("arrivals: {every: 1 h}, hosts: 1, duration: 1 h, limit: {time: 1 h, factor: 2}",
        "only one of time and factor");
}

TEST_CASE("cluster file: what has no effect or cannot be is refused", "[planner][cluster]") {
  const auto refused = [](const std::string& cluster, const std::string& policy,
                          const std::string& part) {
    const std::string errors = errors_of(file_with(cluster, plain, policy));
    CAPTURE(policy, errors);
    CHECK(has(errors, part));
  };
  refused("hosts: 4", "{order: lifo}", "fifo, priority, fair-share");
  refused("hosts: 4", "{aging: 1 h}", "has no effect: order fifo does not look at priority");
  refused("hosts: 4", "{half_life: 1 h}", "has no effect without order: fair-share");
  refused("hosts: 4", "{preempt: true}", "no class is preemptible");
  refused("hosts: 4", "{placement: pack}", "packing needs cluster.hosts_per_leaf");
  refused("hosts: 4, spares: 1", "{}", "has no effect without cluster.failures");
  refused("hosts: 4, maintenance: [{from: 0 s, lasts: 1 h, every: 1 h}]", "{}",
          "must be longer than `lasts`");
  refused("hosts: 4, reservations: [{team: b, from: 0 s, lasts: 1 h, hosts: 1}]", "{}",
          "'b' is not one of workload.teams: all");
  const std::string errors = errors_of(
      "schema: 1\ncluster: {host: dgx-h200x, hosts: 4}\nworkload: {horizon: 1 d, warm_up: 2 d}\n");
  CHECK(has(errors, "c.yaml:2:17: cluster.host"));
  CHECK(has(errors, "workload.warm_up: must be shorter"));
  CHECK(has(errors, "workload.classes: required key is missing"));
}

TEST_CASE("cluster file: what sacct tells of jobs that wait, run on or have parts of hosts",
          "[planner][cluster]") {
  const test::TemporaryFolder folder;
  // A chain of two, a job on one of 8 GPUs, one without GPUs, one that runs on, a name with bars.
  std::ofstream(folder.path() / "log.txt")
      << "JobID|JobName|Account|Submit|Eligible|Start|End|NNodes|AllocTRES|State\n"
         "1|first|vision|2026-01-05T00:00:00|2026-01-05T00:00:00|2026-01-05T01:00:00|"
         "2026-01-06T00:00:00|2|cpu=128,gres/gpu:h100=16,gres/gpu=16,node=2|COMPLETED\n"
         "2|a|b|c|vision|2026-01-05T00:00:00|2026-01-06T00:00:00|2026-01-06T00:30:00|"
         "2026-01-06T10:00:00|2|gres/gpu=16|COMPLETED\n"
         "3|one|language|2026-01-05T02:00:00|2026-01-05T02:00:00|2026-01-05T02:00:00|"
         "2026-01-05T12:00:00|1|cpu=8,gres/gpu:h100=1,node=1|COMPLETED\n"
         "4|cpus|language|2026-01-05T02:00:00|2026-01-05T02:00:00|2026-01-05T02:00:00|"
         "2026-01-05T12:00:00|1|cpu=8,node=1|COMPLETED\n"
         "5|long|language|2026-01-05T04:00:00|2026-01-05T04:00:00|2026-01-05T06:00:00|Unknown|1|"
         "gres/gpu=8|RUNNING\n";
  const auto file = [&](const std::string& more) {
    return load_cluster_text(file_with("hosts: 4", "trace: log.txt" + more), "c.yaml",
                             folder.path());
  };
  const ClusterFile read = file("");
  const auto& listed = read.queue.classes[0].arrivals.listed;
  REQUIRE(listed.size() == 4);
  CHECK(listed[0].submit == 0.0 * hours);
  CHECK(*listed[1].duration == 10.0 * hours);
  CHECK(listed[2].submit == 4.0 * hours);
  CHECK(*listed[2].duration == 28.0 * hours);  // from 6:00 until the last instant, 10:00
  CHECK(listed[3].submit == 24.0 * hours);     // submitted at 0:00 behind the first
  REQUIRE(read.queue.teams.size() == 2);
  CHECK(read.queue.teams[0].name == "vision");
  CHECK(listed[0].team == 0);
  CHECK(listed[2].team == 1);
  CHECK(has(read.notes.at(0), "1 job of 'log.txt' never ran, or had no GPUs, and is left out"));
  CHECK(has(read.notes.at(1), "1 job of 'log.txt' had not ended"));
  CHECK(has(read.notes.at(2), "1 job of 'log.txt' could start only after another job or a date"));
  CHECK(has(read.notes.at(3), "1 job of 'log.txt' had fewer GPUs than its hosts have: 10"));
  CHECK(has(read.notes.at(3), "GPU-hours, which count as 80"));
  CHECK(has(read.notes.at(4), "waited 52.5 minutes on average"));  // 60, 30, 0 and 120 min

  // A team of the class's own, and teams that workload.teams lists.
  CHECK(file(", team: all").queue.classes[0].arrivals.listed[0].team == std::nullopt);
}

TEST_CASE("cluster file: jobs of a CSV log that follow another one", "[planner][cluster]") {
  const test::TemporaryFolder folder;
  const auto read = [&](const std::string& lines) {
    std::ofstream(folder.path() / "log.csv") << "submit_s,duration_s,hosts,job,after\n" << lines;
    return load_cluster_text(file_with("hosts: 4", "trace: log.csv"), "c.yaml", folder.path());
  };
  const auto listed = read("50,100,1,a,\n0,10,1,b,a\n").queue.classes[0].arrivals.listed;
  REQUIRE(listed.size() == 2);
  CHECK(listed[0].after == 1);  // b is submitted first, and stands first
  CHECK(!listed[1].after);
  CHECK_THROWS_WITH(read("0,10,1,b,a\n50,100,1,a,\n"),
                    Catch::Contains("log.csv:2:1: after: there is no job 'a' above"));
  CHECK_THROWS_WITH(read("0,10,1,a,\n50,100,1,a,\n"),
                    Catch::Contains("log.csv:3:1: job: 'a' stands there twice"));
}

TEST_CASE("cluster file: traces", "[planner][cluster]") {
  const test::TemporaryFolder folder;
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder.path() / name) << text;
  };
  const auto loaded = [&](const std::string& trace) {
    return load_cluster_text(file_with("hosts: 4", "trace: " + trace), "c.yaml", folder.path());
  };
  write("jobs.csv", "submit_s,duration_s,hosts,limit_s\n10,100,2,300\n0,50,1,\n");
  const auto jobs = loaded("jobs.csv").queue.classes[0].arrivals.listed;
  REQUIRE(jobs.size() == 2);
  CHECK(jobs[0].submit.value() == 0.0);
  CHECK(!jobs[0].limit);
  CHECK(jobs[1].limit->value() == 300.0);
  CHECK(*jobs[1].hosts == 2);
  // Job 2 never ran.
  write("log.swf",
        "; Version: 2.2\n"
        "1 0 5 100 12 -1 -1 16 200 -1 1 1 1 1 1 1 -1 -1\n"
        "2 9 -1 -1 -1 -1 -1 8 200 -1 0 1 1 1 1 1 -1 -1\n");
  const ClusterFile swf = loaded("{file: log.swf, processors_per_host: 8}");
  REQUIRE(swf.queue.classes[0].arrivals.listed.size() == 1);
  CHECK(*swf.queue.classes[0].arrivals.listed[0].hosts == 2);
  CHECK(has(swf.notes.at(0), "1 job of 'log.swf' never ran"));
  write("huge.swf", "1 0 5 100 1e300 -1 -1 16 200 -1 1 1 1 1 1 1 -1 -1\n");
  try {
    (void)loaded("{file: huge.swf, processors_per_host: 8}");
    FAIL("a job of more processors than there are was read");
  } catch (const ScenarioError& error) {
    CHECK(has(error.what(), "huge.swf:1:1: allocated processors: 1.25e+299 is not a number"));
  }

  // Submitted on a Monday at 9:00; one job was cancelled before it ran, one has no limit.
  write("sacct.txt",
        "Submit|Start|End|NNodes|Timelimit|State\n"
        "2026-01-05T09:00:00|2026-01-05T10:00:00|2026-01-06T10:00:00|2|1-12:00:00|COMPLETED\n"
        "2026-01-05T09:30:00|Unknown|Unknown|1|12:00:00|CANCELLED\n"
        "2026-01-05T09:30:00|2026-01-05T09:30:00|2026-01-05T09:31:00|1|UNLIMITED|FAILED\n");
  const ClusterFile sacct = loaded("sacct.txt");
  const auto& listed = sacct.queue.classes[0].arrivals.listed;
  REQUIRE(listed.size() == 2);
  CHECK(listed[0].submit == 9.0 * hours);
  CHECK(*listed[0].duration == 24.0 * hours);
  CHECK(*listed[0].limit == 36.0 * hours);
  CHECK(*listed[0].hosts == 2);
  CHECK(!listed[1].limit);
  CHECK(has(sacct.notes.at(0), "1 job of 'sacct.txt' never ran"));
  CHECK(has(sacct.notes.at(1), "'sacct.txt' has no column Eligible: jobs that waited for"));
  CHECK(has(sacct.notes.at(2), "'sacct.txt' has no column AllocTRES: each job counts with"));
  CHECK(has(sacct.notes.at(3), "jobs waited 30.0 minutes on average"));

  write("bad.csv", "submit_s,duration_s,hosts\n1,x,1\n2,5\n3,5,1.5\n");
  try {
    (void)loaded("bad.csv");
    FAIL("a bad trace was read");
  } catch (const ScenarioError& error) {
    CHECK(has(error.what(), "bad.csv:2:1: duration_s: 'x' is not a decimal number"));
    CHECK(has(error.what(), "bad.csv:3:1: has 2 cells where the header has 3"));
    CHECK(has(error.what(), "bad.csv:4:1: hosts: 1.5 is not a number of hosts"));
  }
}

TEST_CASE("cluster file: a scenario's forecast is the duration", "[planner][cluster]") {
  const ClusterFile file = load_cluster(source / "scenarios/clusters/lab.yaml");
  const QueueClass& pretraining = file.queue.classes[0];
  CHECK(pretraining.sizes.front().hosts == 128);
  CHECK(pretraining.duration.typical > 100.0 * days);
  CHECK(pretraining.duration.typical < 200.0 * days);
  CHECK(pretraining.productive == 1.0);  // its goodput is unknown, which a note says
  CHECK(has(file.notes.at(0), "Goodput of class 'pretraining' is unknown"));
}

TEST_CASE("goals of waits", "[planner][cluster]") {
  const QueueGoal goal = wait_goal("--wait", "vision runs P90 <= 4 h");
  CHECK(goal.job_class == "vision runs");
  CHECK(goal.statistic == "p90");
  CHECK(goal.most == 4.0 * hours);
  CHECK(goal.text() == "vision runs P90 wait <= 4 h");
  CHECK(wait_goal("--wait", "mean <= 30 min").job_class.empty());
  for (const char* text : {"P90 < 4 h", "P80 <= 4 h", "P90 <= 4", "<= 4 h", "P90 <= -4 h", ""})
    CHECK_THROWS_AS(wait_goal("--wait", text), UsageError);
}

TEST_CASE("the fewest hosts keep the wait, one less does not", "[planner][cluster]") {
  const ClusterFile file = read(file_with("hosts: 4",
                                          "arrivals: {poisson: 1 per h}, hosts: 1, "
                                          "duration: {exponential: 6 h}"));
  const FileWithHosts file_with_hosts = [&](int hosts) {
    ClusterFile other = file;
    other.queue.hosts = hosts;
    return other;
  };
  QueueStudyOptions options;
  options.replications = 200;
  const QueueGoal goal = wait_goal("--wait", "mean <= 1 h");
  const HostsStudy study = fewest_hosts(file, goal, file_with_hosts, options);
  // M/M/c with 6 erlangs, by Erlang C.
  const auto mean_wait_h = [](int servers) {
    double loss = 1.0;
    for (int k = 1; k <= servers; ++k) loss = 6.0 * loss / (k + 6.0 * loss);
    const double load = 6.0 / servers;
    return loss / (1.0 - load * (1.0 - loss)) * 6.0 / (servers * (1.0 - load));
  };
  int theory = 7;
  while (mean_wait_h(theory) > 1.0) ++theory;
  CHECK(study.fewest == theory);
  const auto document = nlohmann::json::parse(hosts_study_json(study));
  CHECK(
      test::schema_errors(source / "planner/schemas/cluster-hosts.schema.json", document).empty());
  const HostsStudy none = fewest_hosts(
      file, wait_goal("--wait", "mean <= 0 s"),
      [&](int hosts) {
        ClusterFile other = file_with_hosts(std::min(hosts, 7));
        return other;
      },
      options);
  CHECK(!none.fewest);
}

}  // namespace foretrain
