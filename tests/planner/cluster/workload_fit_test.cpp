// SPDX-License-Identifier: Apache-2.0
#include "planner/cluster/workload_fit.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "planner/cluster/cluster_file.hpp"
#include "planner/text/usage_error.hpp"
#include "sim/queue/queue_study.hpp"
#include "tests/json_schema.hpp"
#include "tests/planner/cluster/cluster_texts.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using cluster_texts::source;
using test::has;

/// Two teams on 40 hosts for two years, at some 80 % load.
constexpr const char* known_model = R"(schema: 1
cluster: {host: dgx-h100, hosts: 40}
workload:
  horizon: 728 days
  classes:
    - name: vision
      team: vision
      arrivals: {poisson: 50 per day, day: [1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 6, 8, 8, 8, 8, 6, 4, 3, 3, 2, 2, 1]}
      sizes: [{hosts: 1, weight: 6}, {hosts: 2, weight: 3}, {hosts: 3, weight: 1}]
      duration: {lognormal: {mean: 6 h, cv: 1.2}}
    - name: language
      team: language
      arrivals: {poisson: 4 per day}
      hosts: 8
      duration: {gamma: {mean: 9 h, cv: 0.6}}
policy: {order: fifo, backfill: easy}
)";

/// What a cluster logs of one replication, as CSV.
std::string log_of(const ClusterFile& file) {
  QueueRunOptions options;
  options.schedule = true;
  const QueueSample sample = simulate_queue(file.queue, options);
  std::string text = "submit_s,duration_s,hosts,wait_s,team\n";
  for (const ScheduledStretch& job : sample.schedule) {
    if (job.submit < Seconds{} || job.submit >= file.queue.horizon) continue;
    const auto team = file.queue.classes[static_cast<std::size_t>(job.job_class)].name;
    text += fmt::format("{:.3f},{:.3f},{},{:.3f},{}\n", job.submit.value(),
                        (job.end - job.start).value(), job.hosts, (job.start - job.submit).value(),
                        team);
  }
  return text;
}

LoggedJobs read_log_text(const test::TemporaryFolder& folder, const std::string& text,
                         const std::string& name = "jobs.csv") {
  std::ofstream(folder.path() / name) << text;
  Diagnostics diagnostics;
  LoggedJobs log = read_job_log(folder.path() / name, name, 8, diagnostics);
  diagnostics.throw_if_any();
  return log;
}

WorkloadFitRequest request_for(std::optional<int> hosts = std::nullopt) {
  WorkloadFitRequest request;
  request.name = "fitted";
  request.source = "jobs.csv";
  request.host = "dgx-h100";
  request.hosts = hosts;
  return request;
}

ClusterFile loaded(const WorkloadFit& fit) {
  return load_cluster_text(workload_yaml(fit), "fitted.yaml", source);
}

const FittedClass& named(const WorkloadFit& fit, const std::string& name) {
  const auto found = std::find_if(fit.classes.begin(), fit.classes.end(),
                                  [&](const FittedClass& each) { return each.name == name; });
  INFO(name);
  REQUIRE(found != fit.classes.end());
  return *found;
}

/// Jobs an hour apart, `count` of each of the sizes.
std::string evenly_sized(const std::vector<int>& sizes, int count) {
  std::string text = "submit_s,duration_s,hosts\n";
  int hour = 0;
  for (int i = 0; i < count; ++i)
    for (const int hosts : sizes) text += fmt::format("{},{},{}\n", 3600 * hour++, 60 + i, hosts);
  return text;
}

std::string usage_error_of(const LoggedJobs& log, const WorkloadFitRequest& request) {
  try {
    (void)fit_workload(log, request);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("workload fit: a model is recovered from its log", "[planner][cluster]") {
  const test::TemporaryFolder folder;
  const ClusterFile truth = load_cluster_text(known_model, "known.yaml", source);
  const LoggedJobs log = read_log_text(folder, log_of(truth));
  WorkloadFitRequest request = request_for(40);
  request.by = std::vector<ClassBy>{ClassBy::team};
  const WorkloadFit fit = fit_workload(log, request);
  REQUIRE(fit.classes.size() == 2);
  CHECK(*fit.most_in_use <= 40);
  CHECK(*fit.most_in_use > 35);

  const ClusterFile file = loaded(fit);
  CHECK(file.queue.hosts == 40);
  CHECK(file.queue.horizon == 728.0 * days);
  CHECK(offered_load(file.queue) == Approx(offered_load(truth.queue)).epsilon(0.03));
  const QueueClass& vision = file.queue.classes.at(1);
  CHECK(vision.name == "vision");
  // Some 36,400 jobs: four standard errors.
  CHECK(vision.arrivals.rate * days == Approx(50.0).epsilon(4.0 / std::sqrt(36400.0)));
  REQUIRE(vision.arrivals.day.size() == 24);
  CHECK(vision.arrivals.week.empty());
  const double sum = 96.0;  // of the relative rates above
  CHECK(vision.arrivals.day[3] == Approx(100.0 * 24.0 * 1.0 / sum).epsilon(0.25));
  CHECK(vision.arrivals.day[10] == Approx(100.0 * 24.0 * 8.0 / sum).epsilon(0.1));
  CHECK(vision.duration.kind == DurationKind::lognormal);
  CHECK(vision.duration.typical.value() == Approx(6.0 * 3600.0).epsilon(0.03));
  CHECK(vision.duration.variation == Approx(1.2).epsilon(0.04));
  REQUIRE(vision.sizes.size() == 3);
  CHECK(vision.sizes[1].weight /
            (vision.sizes[0].weight + vision.sizes[1].weight + vision.sizes[2].weight) ==
        Approx(0.3).margin(0.01));
  const QueueClass& language = file.queue.classes.at(0);
  CHECK(language.arrivals.rate * days == Approx(4.0).epsilon(4.0 / std::sqrt(2900.0)));
  CHECK(language.arrivals.day.empty());
  CHECK(language.duration.kind == DurationKind::gamma);
  CHECK(language.duration.typical.value() == Approx(9.0 * 3600.0).epsilon(0.05));
  CHECK(language.duration.variation == Approx(0.6).epsilon(0.06));
  CHECK(language.sizes.size() == 1);
  CHECK(language.most_hosts() == 8);
  CHECK(file.queue.teams.size() == 2);
  CHECK(named(fit, "vision").distance < 1.63 / std::sqrt(36000.0));
}

TEST_CASE("workload fit: the model waits as the log does when it is replayed",
          "[planner][cluster]") {
  const test::TemporaryFolder folder;
  const ClusterFile truth = load_cluster_text(known_model, "known.yaml", source);
  const LoggedJobs log = read_log_text(folder, log_of(truth));
  const WorkloadFit fit = fit_workload(log, request_for(40));
  const ClusterFile model = loaded(fit);
  const ClusterFile replay = load_cluster_text(
      "schema: 1\ncluster: {host: dgx-h100, hosts: 40}\nworkload:\n  horizon: 728 days\n  classes: "
      "[{name: all, trace: jobs.csv}]\npolicy: {order: fifo, backfill: easy}\n",
      "replay.yaml", folder.path());
  QueueStudyOptions options;
  options.replications = 24;
  const QueueSummary fitted = *study_queue(model.queue, options);
  options.replications = 1;
  const QueueSummary replayed = *study_queue(replay.queue, options);
  const auto check = [](const QueueEstimate& of_model, double of_log) {
    // Student's t of 23 degrees of freedom: a half interval is 2.07 standard errors.
    const double deviation = (*of_model.high - of_model.value) / 2.07 * std::sqrt(24.0);
    CAPTURE(of_model.value, deviation, of_log);
    // Two years tell waits well enough that a model of other jobs would be seen.
    CHECK(deviation < 0.2 * of_model.value);
    CHECK(std::abs(of_model.value - of_log) < 3.5 * deviation);
  };
  check(fitted.all.wait.mean, replayed.all.wait.mean.value);
  check(fitted.all.wait.p90, replayed.all.wait.p90.value);
  check(fitted.allocated, replayed.allocated.value);
  // Without its largest class the model waits for less: the comparison can fail.
  ClusterFile other = model;
  const auto largest = std::max_element(
      fit.classes.begin(), fit.classes.end(),
      [](const FittedClass& a, const FittedClass& b) { return a.log_hosts < b.log_hosts; });
  other.queue.classes.erase(other.queue.classes.begin() + (largest - fit.classes.begin()));
  options.replications = 2;
  const QueueSummary without = *study_queue(other.queue, options);
  CHECK(without.all.wait.mean.value < 0.5 * replayed.all.wait.mean.value);
}

TEST_CASE("workload fit: classes by team, queue and size", "[planner][cluster]") {
  const test::TemporaryFolder folder;
  // 40 jobs each of 1, 2, 3, 4 and 32 hosts: buckets 1, 2-3, 4 and 32.
  const LoggedJobs log = read_log_text(folder, evenly_sized({1, 2, 3, 4, 32}, 40));
  const auto names = [](const WorkloadFit& fit) {
    std::string text;
    for (const FittedClass& each : fit.classes) text += each.name + ";";
    return text;
  };
  CHECK(names(fit_workload(log, request_for(64))) == "1 host;2-3 hosts;4 hosts;32 hosts;");
  WorkloadFitRequest request = request_for(64);
  request.by.emplace();
  const WorkloadFit one = fit_workload(log, request);
  CHECK(names(one) == "all;");
  CHECK(one.classes[0].sizes.size() == 5);
  CHECK(one.classes[0].jobs == 200);
  // Two classes: that with most host time, and the rest.
  request = request_for(64);
  request.most_classes = 2;
  const WorkloadFit two = fit_workload(log, request);
  CHECK(names(two) == "32 hosts;others;");
  CHECK(two.classes[1].jobs == 160);
  // Few jobs of a size join the next sizes, the last those before.
  LoggedJobs few = read_log_text(folder, evenly_sized({1, 2, 4, 8}, 20));
  CHECK(names(fit_workload(few, request_for(64))) == "1-2 hosts;4-8 hosts;");
  few = read_log_text(folder, evenly_sized({1, 2, 4, 8}, 12));
  CHECK(names(fit_workload(few, request_for(64))) == "1-8 hosts;");
  request = request_for(64);
  request.by = std::vector<ClassBy>{ClassBy::team};
  CHECK(has(usage_error_of(log, request), "--by team: the log has none"));
}

TEST_CASE("workload fit: hostile names are data", "[planner][cluster]") {
  const test::TemporaryFolder folder;
  const std::string name = R"(a"b: {x} \ # [1] 'y' <b>&amp;)";
  std::string text = "submit_s,duration_s,hosts,team,queue\n";
  for (int i = 0; i < 80; ++i)
    text += fmt::format("{},{},1,{},q{}\n", 3600 * i, 100 + i, i % 2 == 0 ? name : "", i % 2);
  const WorkloadFit fit = fit_workload(read_log_text(folder, text), request_for(4));
  const ClusterFile file = loaded(fit);
  REQUIRE(file.queue.classes.size() == 2);
  CHECK(file.queue.classes[0].name == "no-team 1 host");
  CHECK(file.queue.classes[1].name == name + " 1 host");
  CHECK(file.queue.teams[1].name == name);
  CHECK_THROWS_AS(read_log_text(folder, "submit_s,duration_s,hosts,team\n0,1,1,\xff\xfe\n"),
                  ScenarioError);
}

TEST_CASE("workload fit: durations that no law describes stay as measured", "[planner][cluster]") {
  const test::TemporaryFolder folder;
  // Half of the jobs fail within a minute, half take a day.
  std::string text = "submit_s,duration_s,hosts\n";
  for (int i = 0; i < 1000; ++i)
    text += fmt::format("{},{},1\n", 3600 * i, i % 2 == 0 ? 30 + i % 40 : 86000 + i);
  const WorkloadFit fit = fit_workload(read_log_text(folder, text), request_for(40));
  const FittedClass& only = fit.classes.at(0);
  CHECK(only.is_measured());
  CHECK(only.duration.values.size() == most_measured);
  CHECK(only.distance < 0.006);
  CHECK(only.model_hosts == Approx(only.log_hosts));
  CHECK(std::any_of(fit.notes.begin(), fit.notes.end(),
                    [](const std::string& note) { return has(note, "No law describes"); }));
  // The file holds them to four digits.
  CHECK(loaded(fit).queue.classes[0].duration.mean().value() ==
        Approx(only.log_mean.value()).epsilon(2e-4));
}

TEST_CASE("workload fit: time limits", "[planner][cluster]") {
  const test::TemporaryFolder folder;
  const auto limit_of = [&](const auto& limit) {
    std::string text = "submit_s,duration_s,hosts,limit_s\n";
    for (int i = 0; i < 100; ++i)
      text += fmt::format("{},{},1,{}\n", 3600 * i, 600 + 60 * i, limit(i));
    return fit_workload(read_log_text(folder, text), request_for(8)).classes.at(0).limit;
  };
  const LimitFit same = limit_of([](int /*i*/) { return "86400"; });
  CHECK(same.told == 100);
  CHECK(same.reached == 0);
  REQUIRE(same.time);
  CHECK(same.time->value() == 86400.0);
  const LimitFit three = limit_of([](int i) { return std::to_string(3 * (600 + 60 * i)); });
  CHECK(!three.time);
  CHECK(*three.factor == Approx(3.0));
  // A limit that half of the jobs would reach, and that none of the log did, is none for all.
  const LimitFit low = limit_of([](int i) { return std::to_string(std::max(3000, 660 + 60 * i)); });
  CHECK(low.reached == 0);
  CHECK(!low.time);
  CHECK(low.factor);
  // Where the log's did, it is.
  const LimitFit kills = limit_of([](int /*i*/) { return "3000"; });
  CHECK(kills.reached == 60);
  CHECK(kills.time);
  const LimitFit seldom = limit_of([](int i) { return i % 3 == 0 ? "86400" : ""; });
  CHECK(seldom.told == 34);
  CHECK(!seldom.time);
  CHECK(!seldom.factor);
}

TEST_CASE("workload fit: many sizes of a class", "[planner][cluster]") {
  const test::TemporaryFolder folder;
  std::vector<int> sizes;
  for (int hosts = 1; hosts <= 150; ++hosts) sizes.push_back(hosts);
  WorkloadFitRequest request = request_for(200);
  request.by.emplace();
  const WorkloadFit fit = fit_workload(read_log_text(folder, evenly_sized(sizes, 2)), request);
  CHECK(fit.classes[0].sizes.size() <= most_sizes);
  double jobs = 0.0;
  double hosts = 0.0;
  for (const JobSize& size : fit.classes[0].sizes) {
    jobs += size.weight;
    hosts += size.weight * size.hosts;
  }
  CHECK(jobs == 300.0);
  CHECK(hosts / jobs == Approx(75.5).epsilon(0.01));
  CHECK(loaded(fit).queue.classes.size() == 1);
}

TEST_CASE("workload fit: logs that tell too little are refused", "[planner][cluster]") {
  const test::TemporaryFolder folder;
  const std::string header = "submit_s,duration_s,hosts\n";
  const auto refused = [&](const std::string& rows, std::optional<int> hosts) {
    return usage_error_of(read_log_text(folder, header + rows), request_for(hosts));
  };
  CHECK(has(refused("0,5,1\n9,5,1\n", std::nullopt), "give --hosts N"));
  CHECK(has(refused("0,5,1\n9,0,1\n", 4), "two jobs that ran"));
  CHECK(has(refused("7,5,1\n7,6,1\n", 4), "submitted at one instant"));
  CHECK(has(refused("7,5,1\n7e9,6,1\n", 4), "are its times seconds?"));
  CHECK(refused("7,5,1\n9,6,1\n", 4).empty());
  CHECK_THROWS_AS(read_log_text(folder, header), ScenarioError);
  // The log's own number of hosts: two at a time.
  const LoggedJobs log =
      read_log_text(folder, "submit_s,duration_s,hosts,wait_s\n0,10,1,0\n5,10,1,0\n6,9,1,9\n");
  const WorkloadFit fit = fit_workload(log, request_for());
  CHECK(fit.hosts == 2);
  CHECK(has(fit.notes.at(0), "it may have more"));
}

TEST_CASE("workload fit: teams and queues of every kind of log", "[planner][cluster]") {
  const test::TemporaryFolder folder;
  const LoggedJobs sacct =
      read_log_text(folder,
                    "Submit|Start|End|NNodes|Account|Partition\n"
                    "2026-01-05T09:00:00|2026-01-05T10:00:00|2026-01-06T10:00:00|2|vision|gpu\n"
                    "2026-01-05T09:30:00|Unknown|Unknown|1|vision|gpu\n"
                    "2026-01-05T09:30:00|2026-01-05T09:30:00|2026-01-05T09:31:00|1|language|gpu\n",
                    "sacct.txt");
  CHECK(sacct.teams.names == std::vector<std::string>{"vision", "language"});
  CHECK(sacct.teams.of_jobs == std::vector<std::uint32_t>{0, 1});
  CHECK(sacct.queues.names == std::vector<std::string>{"gpu"});
  CHECK(sacct.waits == std::vector<float>{3600.0F, 0.0F});
  const LoggedJobs swf = read_log_text(folder,
                                       "1 0 5 100 12 -1 -1 16 200 -1 1 1 7 1 3 1 -1 -1\n"
                                       "2 9 -1 50 8 -1 -1 8 200 -1 0 1 -1 1 3 1 -1 -1\n",
                                       "log.swf");
  CHECK(swf.teams.names == std::vector<std::string>{"7", ""});
  CHECK(swf.queues.of_jobs == std::vector<std::uint32_t>{0, 0});
  CHECK(swf.waits == std::vector<float>{5.0F, -1.0F});
  CHECK(!swf.from_monday);
}

TEST_CASE("workload fit: logs with times of a calendar", "[planner][cluster]") {
  const test::TemporaryFolder folder;
  // Columns of Helios and Acme. A job on CPUs alone and one that never started are left out.
  const std::string header =
      "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,"
      "queue\n";
  const LoggedJobs log = read_log_text(
      folder,
      header +
          "1,u,vca,16,1,2,COMPLETED,2026-01-05 09:00:00,2026-01-05 10:00:00,2026-01-06 "
          "10:00:00,1,0\n"
          "2,u,vcb,1,1,1,FAILED,2026-01-06 00:00:10,2026-01-06 00:00:10,2026-01-06 00:00:40,1,0\n"
          "3,u,vcb,0,8,1,FAILED,2026-01-06 00:00:10,2026-01-06 00:00:10,2026-01-06 00:00:40,1,0\n"
          "4,u,vcb,8,8,1,CANCELLED,2026-01-06 00:00:10,,2026-01-06 00:00:40,1,0\n");
  REQUIRE(log.jobs.size() == 2);
  CHECK(log.left_out == 2);
  CHECK(log.partial.jobs == 1);
  CHECK(log.partial.own_hours == Approx(30.0 / 3600.0));
  CHECK(log.partial.host_hours == Approx(8.0 * 30.0 / 3600.0));
  CHECK(log.jobs[0].submit == 9.0 * hours);
  CHECK(*log.jobs[0].duration == 24.0 * hours);
  CHECK(*log.jobs[0].hosts == 2);
  CHECK(log.waits == std::vector<float>{3600.0F, 0.0F});
  CHECK(log.teams.names == std::vector<std::string>{"vca", "vcb"});
  CHECK(!log.queues.told());
  const auto errors_of = [&](const std::string& text) -> std::string {
    try {
      (void)read_log_text(folder, text);
    } catch (const ScenarioError& error) {
      return error.what();
    }
    return {};
  };
  const std::string offsets =
      "node_num,type,submit_time,start_time,end_time\n"
      "1,Pretrain,2026-01-05 09:00:00+08:00,2026-01-05 10:00:00+08:00,2026-01-06 10:00:00+08:00\n";
  CHECK(errors_of(offsets).empty());
  CHECK(read_log_text(folder, offsets).queues.names == std::vector<std::string>{"Pretrain"});
  CHECK(has(errors_of(offsets + "1,x,2026-01-05 09:00:00+00:00,,\n"),
            "jobs.csv:3:1: the offset from UTC is '+00:00' here and '+08:00' above"));
  CHECK(has(errors_of("submit_time,start_time,node_num\n"), "the column end_time is missing"));
  CHECK(has(errors_of(header + "1,u,v,8,1,1,X,yesterday,,,1,0\n"),
            "jobs.csv:2:1: submit_time: 'yesterday' is not a time"));
  CHECK(has(errors_of(header + "1,u\n"), "has 2 cells where the header has 12"));
}

TEST_CASE("workload fit: report and JSON", "[planner][cluster]") {
  const test::TemporaryFolder folder;
  std::string text = "submit_s,duration_s,hosts,team,limit_s\n";
  for (int i = 0; i < 400; ++i)
    text += fmt::format("{},{},{},team-of-a-rather-long-name-{},{}\n", 36000 * i, 60 + i * i,
                        1 + i % 40, i % 7, 200000);
  const WorkloadFit fit = fit_workload(read_log_text(folder, text), request_for(64));
  const std::string report = answer_text(workload_fit_answer(fit));
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= 80);
  for (const char* part : {"KS", "per day", "Durations", "time limits", "Notes"})
    CHECK(has(report, part));
  const auto document = nlohmann::json::parse(workload_fit_json(fit));
  CHECK(test::schema_errors(source / "planner/schemas/cluster-fit.schema.json", document).empty());
  CHECK(document["file"] == workload_yaml(fit));
}

}  // namespace foretrain
