// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep_pool.hpp"

#include <unistd.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <csignal>
#include <map>
#include <stdexcept>
#include <string>

#include "planner/sweep/sweep_choices.hpp"
#include "tests/temporary_folder.hpp"

using namespace foretrain;

namespace {

SweepRow answer(std::int64_t point) {
  SweepRow row;
  row.point = point;
  row.hash = std::string(64, 'h');
  row.metrics = {static_cast<double>(point) * 2.0};
  return row;
}

/// Points 0 to `size` - 1 and what came back for them.
struct Harvest {
  std::int64_t next = 0;
  std::int64_t size = 0;
  std::map<std::int64_t, SweepRow> rows;
  bool doubled = false;

  PoolTraffic traffic() {
    PoolTraffic result;
    result.take = [this](std::size_t wanted) {
      std::vector<std::int64_t> points;
      while (next < size && points.size() < wanted) points.push_back(next++);
      return points;
    };
    result.deliver = [this](const std::vector<SweepRow>& more) {
      for (const SweepRow& row : more) doubled |= !rows.emplace(row.point, row).second;
    };
    result.idle = [] {};
    return result;
  }
};

Harvest run(std::int64_t size, const std::function<SweepRow(std::int64_t)>& forecast,
            PoolOptions options) {
  Harvest harvest;
  harvest.size = size;
  run_pool(forecast, 1, options, harvest.traffic());
  return harvest;
}

/// Whether a process may be told to the tests' scratch that a point was tried before.
class Scratch {
 public:
  /// True the first time that any process asks.
  [[nodiscard]] bool first() const { return ::symlink("seen", (folder_ / "seen").c_str()) == 0; }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("sweep pool: every point comes back once, however many workers", "[sweep][pool]") {
  const int workers = GENERATE(1, 2, 5);
  const Harvest harvest = run(5000, answer, {workers, {}, nullptr});
  CHECK(harvest.rows.size() == 5000);
  CHECK_FALSE(harvest.doubled);
  CHECK(std::all_of(harvest.rows.begin(), harvest.rows.end(), [](const auto& entry) {
    return entry.second.status == PointStatus::ok &&
           entry.second.metrics.front() == static_cast<double>(entry.first) * 2.0;
  }));
}

TEST_CASE("sweep pool: nothing to do is done at once", "[sweep][pool]") {
  CHECK(run(0, answer, {2, {}, nullptr}).rows.empty());
}

TEST_CASE("sweep pool: a crash is one failed row with its signal", "[sweep][pool]") {
  const auto crashing = [](std::int64_t point) {
    if (point == 17) {
      std::signal(SIGSEGV, SIG_DFL);  // not the test framework's
      std::raise(SIGSEGV);
    }
    if (point == 40) _exit(3);
    return answer(point);
  };
  const Harvest harvest = run(200, crashing, {2, {}, nullptr});
  REQUIRE(harvest.rows.size() == 200);
  CHECK_FALSE(harvest.doubled);
  for (const auto& [point, row] : harvest.rows)
    CHECK((row.status == PointStatus::failed) == (point == 17 || point == 40));
  CHECK(harvest.rows.at(17).rule == "crash");
  CHECK(harvest.rows.at(17).reason ==
        "the worker died of it twice, of signal 11 (Segmentation fault)");
  CHECK(harvest.rows.at(40).reason == "the worker died of it twice, of exit status 3");
  CHECK(harvest.rows.at(40).metrics == std::vector<std::optional<double>>(1));
}

TEST_CASE("sweep pool: a worker that somebody killed once leaves no trace", "[sweep][pool]") {
  const Scratch scratch;
  const auto killed = [&](std::int64_t point) {
    if (point == 30 && scratch.first()) ::kill(getpid(), SIGKILL);
    return answer(point);
  };
  const Harvest harvest = run(100, killed, {2, {}, nullptr});
  CHECK_FALSE(scratch.first());
  CHECK(harvest.rows.size() == 100);
  CHECK(harvest.rows.at(30).status == PointStatus::ok);
}

TEST_CASE("sweep pool: an exception is one failed row with its words", "[sweep][pool]") {
  const auto throwing = [](std::int64_t point) {
    if (point == 3) throw std::logic_error("a rule of ours is broken");
    if (point == 4) throw 4;
    return answer(point);
  };
  const Harvest harvest = run(10, throwing, {1, {}, nullptr});
  REQUIRE(harvest.rows.size() == 10);
  CHECK(harvest.rows.at(3).status == PointStatus::failed);
  CHECK(harvest.rows.at(3).rule == "internal-error");
  CHECK(harvest.rows.at(3).reason == "a rule of ours is broken");
  CHECK(harvest.rows.at(4).reason == "unknown exception");
}

TEST_CASE("sweep pool: a point that takes too long is one failed row", "[sweep][pool]") {
  const auto hanging = [](std::int64_t point) {
    if (point == 5 || point == 6)
      for (;;) ::pause();
    return answer(point);
  };
  const Harvest harvest = run(60, hanging, {2, Seconds{0.5}, nullptr});
  REQUIRE(harvest.rows.size() == 60);
  CHECK_FALSE(harvest.doubled);
  for (const auto& [point, row] : harvest.rows)
    CHECK((row.status == PointStatus::failed) == (point == 5 || point == 6));
  CHECK(harvest.rows.at(5).rule == "time-out");
  CHECK(harvest.rows.at(6).reason == "took longer than 0.5 s");
}

TEST_CASE("sweep pool: stopped, it ends soon with what is done", "[sweep][pool]") {
  std::atomic<bool> stop{false};
  const auto slow = [](std::int64_t point) {
    ::usleep(2000);
    return answer(point);
  };
  Harvest harvest;
  harvest.size = 1'000'000;
  PoolTraffic traffic = harvest.traffic();
  traffic.idle = [&] { stop = stop || harvest.rows.size() > 50; };
  run_pool(slow, 1, {2, {}, &stop}, traffic);
  CHECK(harvest.rows.size() > 50);
  CHECK(harvest.rows.size() < 100'000);
  CHECK_FALSE(harvest.doubled);
}

TEST_CASE("sweep ranks: a process finds its place in what mpirun set", "[sweep]") {
  std::map<std::string, std::string> set;
  const auto place = [&] {
    return rank_place([&](const char* name) {
      const auto found = set.find(name);
      return found == set.end() ? nullptr : found->second.c_str();
    });
  };
  CHECK_FALSE(place());
  set = {{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}};
  REQUIRE(place());
  CHECK(place()->rank == 2);
  CHECK(place()->size == 4);
  set = {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}};
  CHECK_FALSE(place());
  set = {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}};
  REQUIRE(place());
  CHECK(place()->rank == 1);
  // A step of several tasks that srun started without PMIx is no MPI job.
  set = {{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "3"}};
  CHECK_FALSE(place());
  set = {{"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "4"}};
  CHECK_FALSE(place());
}
