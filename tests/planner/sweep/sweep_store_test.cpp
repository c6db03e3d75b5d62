// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep_store.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "planner/sweep/internal/sweep_file.hpp"
#include "planner/sweep/sweep_report.hpp"
#include "planner/sweep/sweep_row.hpp"
#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"
#include "tests/planner/sweep/usage_message.hpp"
#include "tests/temporary_folder.hpp"

using namespace foretrain;
using foretrain::test::usage_message;

namespace {

namespace fs = std::filesystem;

SweepQuestion stored_question(const std::vector<std::string>& axes) {
  SweepQuestion result;
  result.base = {R"(schema: 1
name: stored
model: llama2-7b
cluster: {host: dgx-h100, hosts: 2, fabric: {kind: rail-optimized, preset: ib-ndr}}
training: {sequence: 4096, micro_batch: 1, global_batch: 64}
parallel: {tensor: 2, zero: 1}
stack: megatron-core
)",
                 "stored.yaml",
                 fs::path(FORETRAIN_SOURCE_DIR) / "scenarios",
                 {}};
  result.grid = make_grid(axes);
  result.metrics = {"step.time_s", "mfu"};
  result.program = "test";
  return result;
}

const std::vector<std::string> stored_axes{"parallel.tensor=1,2,3,8",
                                           "memory.attention=flash,unfused"};

void fill(SweepStore& store, Sweep& sweep, const std::vector<std::int64_t>& points) {
  for (const std::int64_t point : points) store.insert(sweep, {sweep.forecast(point)});
  store.commit();
}

std::string csv(const SweepStore& store) {
  std::string text;
  sweep_csv(store, [&](std::string_view piece) {
    text += piece;
    return true;
  });
  return text;
}

}  // namespace

TEST_CASE("sweep store: rows read the same in whatever order they came", "[sweep][store]") {
  const test::TemporaryFolder folder;
  Sweep sweep(stored_question(stored_axes));
  SweepStore forwards({}, sweep, false);
  fill(forwards, sweep, {0, 1, 2, 3, 4, 5, 6, 7});
  SweepStore backwards(folder / "b.sqlite", sweep, false);
  fill(backwards, sweep, {7, 5, 3, 1, 0, 2, 4, 6});
  CHECK(csv(forwards) == csv(backwards));
  CHECK(backwards.header() == sweep.header());
  const SweepCounts counts = backwards.counts();
  CHECK(counts.points == 8);
  CHECK(counts.ok + counts.infeasible == 6);
  CHECK(counts.invalid == 2);
  CHECK(counts.complete());
}

TEST_CASE("sweep store: a result goes on where it was committed", "[sweep][store]") {
  const test::TemporaryFolder folder;
  Sweep sweep(stored_question(stored_axes));
  {
    SweepStore store(folder / "r.sqlite", sweep, false);
    fill(store, sweep, {1, 4});
    store.insert(sweep, {sweep.forecast(6)});  // never committed
  }
  CHECK(usage_message([&] {
          SweepStore(folder / "r.sqlite", sweep, false);
        }).find("--resume continues") != std::string::npos);
  SweepStore store(folder / "r.sqlite", sweep, true);
  const std::vector<bool> expected{false, true, false, false, true, false, false, false};
  CHECK(store.done(false) == expected);
  CHECK(store.counts().missing() == 6);
}

TEST_CASE("sweep store: without a point that was done nothing is judged", "[sweep][store]") {
  Sweep sweep(stored_question(stored_axes));
  const AnswerHead head = sweep_answer(SweepStore({}, sweep, false)).head;
  CHECK(head.words == "INTERRUPTED");
  CHECK_FALSE(head.verdict);
}

TEST_CASE("sweep store: failed points can be done again", "[sweep][store]") {
  Sweep sweep(stored_question(stored_axes));
  SweepStore store({}, sweep, false);
  SweepRow failed;
  failed.point = 2;
  failed.status = PointStatus::failed;
  failed.rule = "crash";
  failed.metrics.resize(2);
  store.insert(sweep, {failed, sweep.forecast(3)});
  CHECK(store.done(false)[2]);
  CHECK_FALSE(store.done(true)[2]);
  CHECK(store.done(true)[3]);
  CHECK(store.refusals().front().first == "failed: crash");
  store.insert(sweep, {sweep.forecast(2)});
  CHECK(store.counts().failed == 0);
}

TEST_CASE("sweep store: results of other sweeps and other files are refused",
          "[sweep][store][error]") {
  const test::TemporaryFolder folder;
  const auto refused = [&](const SweepQuestion& asked, const char* name) {
    return usage_message([&] {
      const Sweep sweep(asked);
      SweepStore(folder / name, sweep, true);
    });
  };
  Sweep sweep(stored_question(stored_axes));
  { SweepStore store(folder / "s.sqlite", sweep, false); }
  CHECK(refused(stored_question(stored_axes), "s.sqlite") == "no error");
  SweepQuestion other = stored_question(stored_axes);
  other.program = "newer";
  CHECK(refused(other, "s.sqlite").find("another program (test, not newer)") != std::string::npos);
  other = stored_question(stored_axes);
  other.engine = EngineKind::path;
  CHECK(refused(other, "s.sqlite").find("--engine closed-form, not path") != std::string::npos);
  other = stored_question(stored_axes);
  other.base.options.overrides = {"training.sequence=2048"};
  CHECK(refused(other, "s.sqlite").find("another scenario") != std::string::npos);
  other = stored_question(stored_axes);
  other.metrics = {"mfu"};
  CHECK(refused(other, "s.sqlite").find("other metrics") != std::string::npos);
  CHECK(refused(stored_question({"parallel.tensor=1,2"}), "s.sqlite").find("holds another sweep") !=
        std::string::npos);

  std::ofstream(folder / "text.txt") << std::string(4096, 'x');
  CHECK(refused(stored_question(stored_axes), "text.txt").find("not a database") !=
        std::string::npos);
  CHECK(refused(stored_question(stored_axes), "nowhere/s.sqlite").find("unable to open") !=
        std::string::npos);
  CHECK(usage_message([&] { SweepStore(folder / "none.sqlite"); }).find("is not a file") !=
        std::string::npos);
}

TEST_CASE("sweep store: one process writes at a time", "[sweep][store]") {
  const test::TemporaryFolder folder;
  Sweep sweep(stored_question(stored_axes));
  std::array<int, 2> gate{};
  REQUIRE(::pipe(gate.data()) == 0);
  // Forked before SQLite knows the file: it cannot be carried over a fork.
  const pid_t other = ::fork();
  if (other == 0) {
    char opened = 0;
    while (::read(gate[0], &opened, 1) != 1) {
    }
    const std::string refused =
        usage_message([&] { SweepStore(folder / "w.sqlite", sweep, true); });
    const bool reads = SweepStore(folder / "w.sqlite").counts().rows() == 1;
    _exit((refused.find("another sweep is writing") != std::string::npos ? 0 : 1) +
          (reads ? 0 : 2));
  }
  SweepStore store(folder / "w.sqlite", sweep, false);
  fill(store, sweep, {0});
  REQUIRE(::write(gate[1], "o", 1) == 1);
  int status = 1;
  REQUIRE(::waitpid(other, &status, 0) == other);
  CHECK(WEXITSTATUS(status) == 0);
  ::close(gate[0]);
  ::close(gate[1]);
}

TEST_CASE("sweep merge: shards make what one run makes", "[sweep][store]") {
  const test::TemporaryFolder folder;
  Sweep sweep(stored_question(stored_axes));
  {
    SweepStore one(folder / "1.sqlite", sweep, false);
    fill(one, sweep, {6, 0, 2, 4});
    SweepStore two(folder / "2.sqlite", sweep, false);
    fill(two, sweep, {1, 3, 5, 7, 0});
  }
  merge_sweeps(folder / "all.sqlite", {folder / "2.sqlite", folder / "1.sqlite"});
  SweepStore whole({}, sweep, false);
  fill(whole, sweep, {0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(csv(SweepStore(folder / "all.sqlite")) == csv(whole));

  CHECK(usage_message([&] {
          merge_sweeps(folder / "all.sqlite", {folder / "1.sqlite"});
        }).find("is there already") != std::string::npos);
  const Sweep other(stored_question({"parallel.tensor=1"}));
  { SweepStore store(folder / "o.sqlite", other, false); }
  CHECK(usage_message([&] {
          merge_sweeps(folder / "x.sqlite", {folder / "1.sqlite", folder / "o.sqlite"});
        }).find("is of another sweep") != std::string::npos);
  CHECK_FALSE(fs::exists(folder / "x.sqlite"));
}

TEST_CASE("sweep merge: an answer wins over a failure, and two answers must agree",
          "[sweep][store]") {
  const test::TemporaryFolder folder;
  Sweep sweep(stored_question(stored_axes));
  SweepRow failed;
  failed.point = 2;
  failed.status = PointStatus::failed;
  failed.rule = "time-out";
  failed.metrics.resize(2);
  SweepRow wrong = sweep.forecast(2);
  wrong.metrics = {1.0, 2.0};
  const auto write = [&](const char* name, const SweepRow& row) {
    SweepStore store(folder / name, sweep, false);
    store.insert(sweep, {row});
    store.commit();
  };
  write("good.sqlite", sweep.forecast(2));
  write("failed.sqlite", failed);
  write("wrong.sqlite", wrong);
  merge_sweeps(folder / "a.sqlite", {folder / "failed.sqlite", folder / "good.sqlite"});
  merge_sweeps(folder / "b.sqlite", {folder / "good.sqlite", folder / "failed.sqlite"});
  CHECK(csv(SweepStore(folder / "a.sqlite")) == csv(SweepStore(folder / "b.sqlite")));
  CHECK(SweepStore(folder / "a.sqlite").counts().failed == 0);
  CHECK(usage_message([&] {
          merge_sweeps(folder / "c.sqlite", {folder / "good.sqlite", folder / "wrong.sqlite"});
        }).find("point 2 has another result") != std::string::npos);
}

TEST_CASE("sweep reports: CSV, JSON and text show the rows that there are", "[sweep][store]") {
  Sweep sweep(stored_question(stored_axes));
  SweepStore store({}, sweep, false);
  fill(store, sweep, {2, 4});
  const std::string table = csv(store);
  CHECK(table.starts_with(
      "point,hash,status,rule,reason,parallel.tensor,memory.attention,step.time_s,mfu\r\n2,"));
  CHECK(table.find(",ok,,,2,flash,") != std::string::npos);
  CHECK(table.find(",invalid,,") != std::string::npos);
  std::string text;
  sweep_json(store, [&](std::string_view piece) {
    text += piece;
    return true;
  });
  const Json tree = Json::parse(text);
  CHECK(tree["schema"] == "sweep/1");
  CHECK(tree["points"] == 8);
  CHECK(tree["counts"]["missing"] == 6);
  REQUIRE(tree["rows"].size() == 2);
  CHECK(tree["rows"][0]["parallel.tensor"] == 2);
  CHECK(tree["rows"][0]["step.time_s"].get<double>() == sweep.forecast(2).metrics[0]);
  CHECK(tree["rows"][1]["mfu"].is_null());
  const std::string shown = answer_text(sweep_answer(store));
  CHECK(shown.find("1 ok, 0 infeasible, 1 invalid, 0 failed, 6 missing of 8 points") !=
        std::string::npos);
  CHECK(shown.find("Least step.time_s") != std::string::npos);
}

TEST_CASE("sweep tables: what is better when there is more of it comes most first",
          "[sweep][store]") {
  const test::TemporaryFolder folder;
  SweepQuestion asked = stored_question({"parallel.tensor=1,2,8"});
  asked.metrics = {"mfu", "step.time_s"};
  Sweep sweep(asked);
  SweepStore store(folder / "best.sqlite", sweep, false);
  fill(store, sweep, {0, 1, 2});
  store.commit();
  const auto rows = store.first_by("mfu", true, 10);
  REQUIRE(rows.size() >= 2);
  const std::string shown = answer_text(sweep_answer(store));
  CHECK(shown.find("Most mfu") != std::string::npos);
  const auto least = store.first_by("step.time_s", false, 10);
  // The batch is one, so that the fastest point has the most MFU.
  CHECK(rows.front() == least.front());
  for (const char* path : {"run.goodput", "run.runtime_goodput", "hfu", "tokens_per_s",
                           "tokens_per_s_per_gpu", "model_tflops_per_gpu", "run.meets_deadline"})
    CHECK(more_is_better(path));
  for (const char* path : {"step.time_s", "memory.peak_bytes", "cost.usd", "run.expected_s"})
    CHECK_FALSE(more_is_better(path));
}

TEST_CASE("sweep file: what SQLite refuses is a sentence with the reason",
          "[sweep][store][error]") {
  const auto said = [](int code, int system_error) -> std::string {
    try {
      sweep_file::refuse("r.sqlite", sqlite::Error(code, "words of SQLite", system_error));
    } catch (const SystemError& error) {
      return std::string("system: ") + error.what();
    } catch (const UsageError& error) {
      return std::string("usage: ") + error.what();
    }
  };
  CHECK(said(SQLITE_FULL, 0) ==
        "system: r.sqlite: the disk is full; what was committed is kept, and --resume continues "
        "it once there is room");
  CHECK(said(SQLITE_IOERR_WRITE, ENOSPC) == said(SQLITE_FULL, 0));
  CHECK(said(SQLITE_BUSY, 0) ==
        "system: r.sqlite: another program has locked it; try again when that has ended");
  CHECK(said(SQLITE_BUSY_SNAPSHOT, 0) == said(SQLITE_LOCKED, 0));
  CHECK(said(SQLITE_CANTOPEN, EMFILE) ==
        "system: r.sqlite: cannot be opened: Too many open files (see ulimit -n)");
  CHECK(said(SQLITE_CANTOPEN, ENOENT) ==
        "usage: r.sqlite: words of SQLite: No such file or directory");
  CHECK(said(SQLITE_CORRUPT, 0) ==
        "usage: r.sqlite: is damaged (words of SQLite); take a copy of it, or make it anew");
  CHECK(said(SQLITE_IOERR_READ, EIO) ==
        "system: r.sqlite: reading or writing it failed: Input/output error");
  CHECK(said(SQLITE_NOTADB, 0) == "usage: r.sqlite: words of SQLite");
}

TEST_CASE("sweep file: every cell of a row counts for its checksum", "[sweep][store]") {
  const std::vector<SweepCell> row{std::int64_t{7}, std::string("ok"), 1.5, std::monostate{}};
  const std::int64_t sum = sweep_file::checksum(row);
  for (std::size_t at = 0; at < row.size(); ++at) {
    std::vector<SweepCell> other = row;
    other[at] = std::string("x");
    CHECK(sweep_file::checksum(other) != sum);
  }
  // Neither does text move from one cell to the next.
  CHECK(sweep_file::checksum({std::string("ab"), std::string("c")}) !=
        sweep_file::checksum({std::string("a"), std::string("bc")}));
}
