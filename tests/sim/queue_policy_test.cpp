// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

#include "sim/queue/queue_run.hpp"

namespace foretrain {
namespace {

/// A job by hand: submitted, runs for, hosts; limit where it is another.
struct Hand {
  double submit;
  double duration;
  int hosts;
  double limit = 0.0;
};

QueueClass listed(const std::vector<Hand>& jobs) {
  QueueClass result;
  for (const Hand& job : jobs)
    result.arrivals.listed.push_back({Seconds{job.submit}, Seconds{job.duration},
                                      Seconds{job.limit > 0.0 ? job.limit : job.duration},
                                      job.hosts});
  return result;
}

QueueModel cluster_of(int hosts, std::vector<QueueClass> classes, const char* backfill = "none") {
  QueueModel model;
  model.hosts = hosts;
  model.classes = std::move(classes);
  model.horizon = Seconds{1000.0};
  model.policy.backfill = find_backfill(backfill);
  return model;
}

/// Start of each job, by order of submission.
std::vector<double> starts_of(const QueueModel& model) {
  std::map<std::int64_t, double> first;
  for (const ScheduledStretch& stretch : simulate_queue(model, {0, 10, true}).schedule) {
    const double start = stretch.start.value();
    const auto place = first.emplace(stretch.job, start).first;
    place->second = std::min(place->second, start);
  }
  std::vector<double> starts;
  for (const auto& [job, start] : first) starts.push_back(start);
  return starts;
}

using Starts = std::vector<double>;

}  // namespace

// Four hosts. A runs 10 s on 3. B wants all 4 for 10 s. C wants 1 for 10 s, D 1 for 15 s.
const std::vector<Hand> classic{{0, 10, 3}, {1, 10, 4}, {2, 8, 1}, {3, 15, 1}};

TEST_CASE("FIFO: nothing passes the first job that waits", "[sim][queue]") {
  CHECK(starts_of(cluster_of(4, {listed(classic)})) == Starts{0, 10, 20, 20});
}

TEST_CASE("EASY: what ends before the first reservation starts at once", "[sim][queue]") {
  // C ends at 10, when B can start; D would end at 18, and waits for B.
  CHECK(starts_of(cluster_of(4, {listed(classic)}, "easy")) == Starts{0, 10, 2, 20});
}

TEST_CASE("EASY: hosts that the first reservation leaves may be used beyond it", "[sim][queue]") {
  // B wants 3 of 4 at 10: one host is left over, and D takes it although it ends after 10.
  CHECK(starts_of(cluster_of(4, {listed({{0, 10, 3}, {1, 10, 3}, {3, 15, 1}})}, "easy")) ==
        Starts{0, 10, 3});
}

TEST_CASE("EASY delays the second waiting job, conservative backfill does not", "[sim][queue]") {
  // A has 3 of 4 hosts until 10. B (4 hosts) waits until 10, C (2 hosts, 10 s) until 20. At 3 comes
  // D: 1 host for 7 s, which delays nobody; at 4 E: 1 host for 30 s.
  const std::vector<Hand> jobs{{0, 10, 3}, {1, 10, 3}, {2, 10, 2}, {3, 30, 1}};
  // EASY: D takes the host that B leaves, from 3 to 33: C starts at 20 beside it.
  CHECK(starts_of(cluster_of(4, {listed(jobs)}, "easy")) == Starts{0, 10, 20, 3});
  CHECK(starts_of(cluster_of(4, {listed(jobs)}, "conservative")) == Starts{0, 10, 20, 3});
  // With C on all 4 hosts, EASY lets D delay C to 33; conservative starts D after C.
  const std::vector<Hand> wide{{0, 10, 3}, {1, 10, 3}, {2, 10, 4}, {3, 30, 1}};
  CHECK(starts_of(cluster_of(4, {listed(wide)}, "easy")) == Starts{0, 10, 33, 3});
  CHECK(starts_of(cluster_of(4, {listed(wide)}, "conservative")) == Starts{0, 10, 20, 30});
}

TEST_CASE("time limits that are too long keep hosts from backfill until the job ends",
          "[sim][queue]") {
  // A says 20 s and takes 10: B is expected at 20, so that D (15 s) starts at 3 and delays it
  // to 18.
  const std::vector<Hand> jobs{{0, 10, 3, 20}, {1, 10, 4}, {3, 15, 1}};
  CHECK(starts_of(cluster_of(4, {listed(jobs)}, "easy")) == Starts{0, 18, 3});
}

TEST_CASE("jobs are killed at their limit", "[sim][queue]") {
  QueueModel model = cluster_of(1, {listed({{0, 100, 1, 30}, {1, 10, 1}})});
  const QueueSample sample = simulate_queue(model, {});
  CHECK(sample.classes[0].killed == 1);
  CHECK(sample.hosts.killed == 30.0);
  CHECK(sample.hosts.productive == 10.0);
  CHECK(starts_of(model) == Starts{0, 30});
}

TEST_CASE("orders of the registry", "[sim][queue]") {
  // One host; all wait for the first. Limits 30, 10, 20.
  QueueModel model = cluster_of(1, {listed({{0, 5, 1}, {1, 30, 1}, {2, 10, 1}, {3, 20, 1}})});
  model.policy.order = find_order("shortest");
  CHECK(starts_of(model) == Starts{0, 35, 5, 15});
  QueueModel sizes = cluster_of(4, {listed({{0, 5, 4}, {1, 10, 2}, {2, 10, 4}, {3, 10, 3}})});
  sizes.policy.order = find_order("largest");
  CHECK(starts_of(sizes) == Starts{0, 25, 5, 15});
  sizes.policy.order = find_order("smallest");
  CHECK(starts_of(sizes) == Starts{0, 5, 25, 15});
  CHECK(find_order("lifo") == nullptr);
}

TEST_CASE("aging lets an old job pass a more important one", "[sim][queue]") {
  QueueClass low = listed({{0, 100, 1}, {10, 10, 1}});
  QueueClass high = listed({{60, 10, 1}});
  high.priority = 1.0;
  QueueModel model = cluster_of(1, {low, high});
  model.policy.order = find_order("priority");
  CHECK(starts_of(model) == Starts{0, 110, 100});
  model.policy.points_per_second = 1.0 / 40.0;  // 50 s earlier are more than one point
  CHECK(starts_of(model) == Starts{0, 100, 110});
}

TEST_CASE("fair share: teams that want everything get their shares", "[sim][queue]") {
  QueueModel model = cluster_of(4, {});
  for (int team = 0; team < 2; ++team) {
    QueueClass jobs;
    jobs.team = team;
    jobs.duration = {DurationKind::exponential, Seconds{600.0}};
    jobs.arrivals.rate = PerSecond{10.0 / 600.0};  // 2.5 times the cluster each
    model.classes.push_back(jobs);
  }
  model.teams = {{"a", 3.0, {}}, {"b", 1.0, {}}};
  model.horizon = 3.0 * days;
  model.policy.order = find_order("fair-share");
  model.policy.half_life = Seconds{7200.0};
  const QueueSample sample = simulate_queue(model, {});
  const double all = sample.team_host_s[0] + sample.team_host_s[1];
  CHECK(sample.team_host_s[0] / all == Approx(0.75).margin(0.02));
}

namespace {

/// Teams that always have the next job ready, each of `hosts[team]` hosts for 10 s, on 16 hosts for
/// 1,000 s; host-seconds of each team over those of a whole-cluster job.
std::vector<double> jobs_worth(const std::vector<double>& shares, const std::vector<int>& hosts,
                               double half_life_s) {
  QueueModel model = cluster_of(16, {});
  for (std::size_t team = 0; team < shares.size(); ++team) {
    model.classes.push_back(listed(
        std::vector<Hand>(static_cast<std::size_t>(1600 / hosts[team]), {0, 10, hosts[team]})));
    model.classes.back().team = static_cast<int>(team);
    model.teams.resize(team + 1);
    model.teams.back().share = shares[team];
  }
  model.policy.order = find_order("fair-share");
  model.policy.half_life = Seconds{half_life_s};
  std::vector<double> worth;
  for (const double used : simulate_queue(model, {}).team_host_s) worth.push_back(used / 160.0);
  return worth;
}

using Worth = std::vector<double>;

}  // namespace

TEST_CASE("fair share counts the hosts that a job has just given back", "[sim][queue]") {
  constexpr double week = 7.0 * 86400.0;
  // Jobs of the whole cluster: when the next may start, nobody holds a host.
  CHECK(jobs_worth({1, 1}, {16, 16}, week) == Worth{50, 50});
  CHECK(jobs_worth({1, 1}, {16, 4}, week) == Worth{50, 50});  // four of 4 hosts at a time
  CHECK(jobs_worth({1, 1, 1, 1}, {16, 16, 16, 16}, week) == Worth{25, 25, 25, 25});
  // 100 jobs' worth by shares of 5 : 3 : 2, to within a job.
  const Worth three = jobs_worth({5, 3, 2}, {16, 16, 16}, week);
  CHECK(three[0] == Approx(50.0).margin(1.0));
  CHECK(three[1] == Approx(30.0).margin(1.0));
  CHECK(three[2] == Approx(20.0).margin(1.0));
  const Worth mixed = jobs_worth({3, 1}, {4, 16}, week);
  CHECK(mixed[0] == Approx(75.0).margin(1.0));
}

TEST_CASE("fair share forgets with its half-life", "[sim][queue]") {
  // Usage halves during every job, which adds c. In turn, a team has c (1 + 1/4 + ...) = 4/3 c
  // after its job, the other 2/3 c: level at shares of 2 : 1, which therefore get 1 : 1.
  CHECK(jobs_worth({2, 1}, {16, 16}, 10.0)[0] == Approx(50.0).margin(1.0));
  // Two of a's jobs for one of b's. After b's, a has 6/7 c and b 8/7 c; after one and two more of
  // a's, 10/7 and 4/7, 12/7 and 2/7: a fifth of a's is less than b's, less, and more.
  CHECK(jobs_worth({5, 1}, {16, 16}, 10.0)[0] == Approx(200.0 / 3.0).margin(1.0));
  // A memory of a hundred jobs is enough for the shares.
  CHECK(jobs_worth({2, 1}, {16, 16}, 1000.0)[0] == Approx(200.0 / 3.0).margin(1.0));
}

TEST_CASE("a job that follows another one is submitted when that has ended", "[sim][queue]") {
  // Of one host: a 100 s; b behind a, and 5 s of thought; c behind b; d behind nobody.
  QueueClass jobs = listed({{0, 100, 1}, {0, 10, 1}, {1, 10, 1}, {2, 50, 1}});
  auto& list = jobs.arrivals.listed;
  list[1].after = 0;
  list[1].think = Seconds{5.0};
  list[2].after = 1;
  const QueueModel model = cluster_of(1, {jobs});
  const QueueSample sample = simulate_queue(model, {0, 10, true});
  std::map<double, double> waited;  // by start
  for (const ScheduledStretch& stretch : sample.schedule)
    waited[stretch.start.value()] = (stretch.start - stretch.submit).value();
  // d starts at 100; b is submitted at 105 and starts at 150; c at 160, at once.
  CHECK(waited == std::map<double, double>{{0, 0}, {100, 98}, {150, 45}, {160, 0}});
  // One that comes after its parent has ended waits for nothing.
  QueueClass late = listed({{0, 10, 1}, {50, 10, 1}});
  late.arrivals.listed[1].after = 0;
  CHECK(starts_of(cluster_of(1, {late})) == Starts{0, 50});
}

TEST_CASE("jobs of a list have teams of their own", "[sim][queue]") {
  QueueClass jobs = listed({{0, 10, 2}, {1, 10, 1}, {2, 10, 2}});
  jobs.arrivals.listed[2].team = 1;
  QueueModel model = cluster_of(4, {jobs});
  model.teams = {{"a", 1.0, 2}, {"b", 1.0, {}}};
  CHECK(starts_of(model) == Starts{0, 10, 2});
}

TEST_CASE("a quota holds back its team, and nobody else", "[sim][queue]") {
  QueueClass first = listed({{0, 10, 2}, {1, 10, 1}});
  QueueClass second = listed({{2, 10, 2}});
  second.team = 1;
  QueueModel model = cluster_of(4, {first, second});
  model.teams = {{"a", 1.0, 2}, {"b", 1.0, {}}};
  CHECK(starts_of(model) == Starts{0, 10, 2});
}

TEST_CASE("preemption: work since the last checkpoint is lost, and the restart is paid",
          "[sim][queue]") {
  QueueClass low = listed({{0, 100, 2}});
  low.preemptible = true;
  low.checkpoint_every = Seconds{15.0};
  low.restart = Seconds{5.0};
  QueueClass high = listed({{40, 20, 1}});
  high.priority = 1.0;
  QueueModel model = cluster_of(2, {low, high});
  model.policy.preempt = true;
  const QueueSample sample = simulate_queue(model, {0, 10, true});
  // 40 s run, 30 kept; from 60 on 5 s restart and 70 s left.
  CHECK(sample.preempted == 1);
  CHECK(sample.schedule.back().end.value() == 135.0);
  CHECK(sample.hosts.lost == 2 * 10.0);
  CHECK(sample.hosts.restart == 2 * 5.0);
  CHECK(sample.hosts.productive == 2 * 100.0 + 20.0);
  CHECK(sample.classes[1].wait.front() == 0.0F);
}

TEST_CASE("maintenance: jobs that would reach into it wait until it is over", "[sim][queue]") {
  QueueModel model = cluster_of(2, {listed({{0, 40, 1}, {20, 40, 1}, {20, 25, 1}})}, "easy");
  model.blocks = {{Seconds{50.0}, Seconds{10.0}, Seconds{}, 2, {}}};
  CHECK(starts_of(model) == Starts{0, 60, 20});
}

TEST_CASE("a reservation is its team's", "[sim][queue]") {
  QueueClass others = listed({{10, 20, 1}, {10, 20, 1}});
  QueueClass owner = listed({{12, 20, 1}});
  owner.team = 1;
  QueueModel model = cluster_of(2, {others, owner}, GENERATE("none", "easy"));
  model.teams = {{"a", 1.0, {}}, {"b", 1.0, {}}};
  model.blocks = {{Seconds{5.0}, Seconds{100.0}, Seconds{}, 1, 1}};
  const auto starts = starts_of(model);
  CHECK(starts[0] == 10.0);
  CHECK(starts[1] == 30.0);
  // Behind a job that waits, FIFO holds the owner, too; with backfill it starts at once.
  CHECK(starts[2] == (model.policy.backfill->reservations == 0 ? 30.0 : 12.0));
}

TEST_CASE("packing keeps jobs on few leaves", "[sim][queue]") {
  // Leaves of 4. Two jobs of 2, then one of 4: packed, the 4 lie on one leaf.
  QueueModel model = cluster_of(8, {listed({{0, 50, 1}, {1, 50, 3}, {2, 50, 4}})});
  model.leaf_hosts = 4;
  model.policy.placement = HostPlacement::pack;
  QueueSample sample = simulate_queue(model, {0, 10, true});
  CHECK(std::all_of(sample.schedule.begin(), sample.schedule.end(),
                    [](const ScheduledStretch& stretch) { return stretch.leaves == 1; }));
  model.classes[0] = listed({{0, 50, 1}, {1, 50, 4}});
  model.policy.placement = HostPlacement::any;
  sample = simulate_queue(model, {0, 10, true});
  CHECK(sample.schedule.back().leaves == 2);
  CHECK(sample.classes[0].scattered == 1);
}

TEST_CASE("jobs on more leaves than they need are slower where their class says so",
          "[sim][queue]") {
  // Leaves of 4: the first job leaves 3 hosts of the first leaf, so that the second has 3 and 1.
  QueueClass jobs = listed({{0, 50, 1}, {1, 50, 4}, {2, 50, 3}});
  jobs.scattered_slowdown = 1.5;
  jobs.productive = 0.8;
  QueueModel model = cluster_of(8, {jobs});
  model.classes[0].arrivals.listed[1].limit = Seconds{75.0};
  model.leaf_hosts = 4;
  const QueueSample sample = simulate_queue(model, {0, 10, true});
  REQUIRE(sample.schedule.size() == 3);
  CHECK(sample.schedule[2].end.value() == 76.0);
  CHECK(sample.classes[0].scattered == 1);
  CHECK(sample.hosts.sharing == Approx(4 * 25.0));
  CHECK(sample.hosts.productive == Approx(0.8 * (1 + 4 + 3) * 50.0));
  CHECK(sample.hosts.overhead == Approx(0.2 * (1 + 4 + 3) * 50.0));
  CHECK(sample.hosts.allocated == Approx(8 * 50.0 + 4 * 25.0));
  // Packed, the second fills the other leaf.
  model.policy.placement = HostPlacement::pack;
  CHECK(simulate_queue(model, {}).hosts.sharing == 0.0);
}

TEST_CASE("limits by factor have room for slower leaves", "[sim][queue]") {
  QueueClass jobs;
  jobs.arrivals.every = Seconds{100.0};
  jobs.sizes = {{3, 1.0}};
  jobs.duration = {DurationKind::fixed, Seconds{50.0}};
  jobs.scattered_slowdown = 1.5;
  QueueModel model = cluster_of(4, {jobs});
  model.leaf_hosts = 3;
  model.classes.push_back(listed({{-1, 10000, 1}}));  // on the first leaf: others get 2 and 1
  const QueueSample sample = simulate_queue(model, {0, 10, true});
  CHECK(sample.classes[0].killed == 0);
  CHECK(sample.classes[0].turnaround.front() == 75.0F);
}

TEST_CASE("within_leaf waits for a leaf although hosts are free", "[sim][queue]") {
  QueueClass jobs = listed({{0, 10, 3}, {0, 20, 3}, {1, 10, 2}});
  jobs.within_leaf = true;
  QueueModel model = cluster_of(8, {jobs});
  model.leaf_hosts = 4;
  CHECK(starts_of(model) == Starts{0, 0, 10});
}

TEST_CASE("failures: jobs lose work, spares keep their hosts", "[sim][queue]") {
  QueueClass jobs;
  jobs.duration = {DurationKind::fixed, Seconds{1000.0}};
  jobs.arrivals.every = Seconds{1250.0};
  jobs.checkpoint_every = Seconds{100.0};
  jobs.restart = Seconds{10.0};
  QueueModel model = cluster_of(1, {jobs});
  model.horizon = 100.0 * days;
  model.failures = {Seconds{5000.0}, Seconds{1.0}, 100};
  const QueueSample sample = simulate_queue(model, {});
  CHECK(sample.hosts.down == 0.0);  // spares stand in
  // Poisson at 1/5000 per second on the host, busy or not.
  CHECK(static_cast<double>(sample.failures) == Approx(100.0 * 86400 / 5000).epsilon(0.1));
  const HostSeconds& hosts = sample.hosts;
  CHECK(hosts.allocated ==
        Approx(hosts.productive + hosts.overhead + hosts.lost + hosts.restart + hosts.killed));
  // Each interruption loses half a checkpoint's time on average, and pays one restart.
  const auto hits = static_cast<double>(sample.interrupted);
  CHECK(hosts.lost / hits == Approx(50.0).epsilon(0.1));
  CHECK(hosts.restart / hits == Approx(10.0).epsilon(0.02));
  CHECK(hosts.productive == Approx(100.0 * 86400 / 1250 * 1000).epsilon(0.002));
}

TEST_CASE("hosts under repair are not there", "[sim][queue]") {
  QueueClass jobs;
  jobs.duration = {DurationKind::fixed, Seconds{10.0}};
  jobs.arrivals.every = Seconds{1e6};
  QueueModel model = cluster_of(10, {jobs});
  model.horizon = 2000.0 * days;
  model.failures = {100.0 * days, 10.0 * days, 0};
  const QueueSample sample = simulate_queue(model, {});
  // Up and down in turn: 1 / (1 + 10) of the time under repair.
  CHECK(sample.hosts.down / (10 * model.horizon.value()) == Approx(1.0 / 11.0).epsilon(0.1));
}

}  // namespace foretrain
