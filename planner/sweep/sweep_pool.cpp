// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep_pool.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <new>
#include <utility>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "planner/sweep/internal/sweep_worker.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

using sweep_worker::Slot;
using sweep_worker::Worker;

constexpr std::int64_t second = 1'000'000'000;
constexpr std::size_t smallest_batch = 1;
constexpr std::size_t largest_batch = 2048;  ///< two of them fit into a pipe
constexpr std::int64_t batch_time = second / 20;
constexpr std::int64_t grace = second / 2;  ///< for work at hand once the pool is stopped
constexpr int poll_ms = 50;
constexpr int most_idle_deaths = 20;

/// Memory that a process shares with those that it forks.
class SharedSlots {
 public:
  explicit SharedSlots(std::size_t count) : bytes_(count * sizeof(Slot)) {
    memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw SystemError("there is no memory to share with workers");
    first_ = static_cast<Slot*>(memory_);
    for (std::size_t i = 0; i < count; ++i) new (first_ + i) Slot{};
  }
  SharedSlots(const SharedSlots&) = delete;
  SharedSlots& operator=(const SharedSlots&) = delete;
  ~SharedSlots() { ::munmap(memory_, bytes_); }

  [[nodiscard]] Slot* at(std::size_t i) const { return first_ + i; }

 private:
  std::size_t bytes_;
  void* memory_ = nullptr;
  Slot* first_ = nullptr;
};

std::string ending(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("exit status {}", WEXITSTATUS(status));
  const char* name = ::sigdescr_np(WTERMSIG(status));
  return fmt::format("signal {} ({})", WTERMSIG(status), name ? name : "unknown");
}

class Pool {
 public:
  Pool(const std::function<SweepRow(std::int64_t)>& forecast, std::size_t metrics,
       const PoolOptions& options, const PoolTraffic& traffic)
      : forecast_(forecast),
        metrics_(metrics),
        options_(options),
        traffic_(traffic),
        slots_(static_cast<std::size_t>(options.workers)),
        workers_(static_cast<std::size_t>(options.workers)) {
    for (std::size_t i = 0; i < workers_.size(); ++i) workers_[i].slot = slots_.at(i);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (Worker& worker : workers_)
      if (worker.alive()) sweep_worker::end(worker);
  }

  void run() {
    while (true) {
      const bool stopping = options_.stop != nullptr && *options_.stop;
      if (stopping && stopped_at_ == 0) stopped_at_ = sweep_worker::now();
      if (!stopping) hand_out();
      if (!busy() || (stopping && sweep_worker::now() - stopped_at_ > grace)) return;
      wait();
      end_late_ones();
      traffic_.idle();
    }
  }

 private:
  [[nodiscard]] bool busy() const {
    return std::ranges::any_of(workers_,
                               [](const Worker& worker) { return !worker.outstanding.empty(); });
  }

  /// About as many points as a worker does in batch_time, judged by all that were done so far.
  [[nodiscard]] std::size_t batch() const {
    const std::int64_t spent = sweep_worker::now() - started_;
    if (done_ == 0 || spent <= 0) return smallest_batch;
    const double rate = static_cast<double>(done_) / static_cast<double>(spent) /
                        static_cast<double>(workers_.size());
    return std::clamp(static_cast<std::size_t>(rate * static_cast<double>(batch_time)),
                      smallest_batch, largest_batch);
  }

  /// Points that came back from dead workers first.
  std::vector<std::int64_t> next(std::size_t wanted) {
    std::vector<std::int64_t> points;
    while (!returned_.empty() && points.size() < wanted) {
      points.push_back(returned_.front());
      returned_.pop_front();
    }
    if (!points.empty() || exhausted_) return points;
    points = traffic_.take(wanted);
    exhausted_ = points.empty();
    return points;
  }

  /// Keeps every worker at least a batch ahead.
  void hand_out() {
    const std::size_t wanted = batch();
    for (Worker& worker : workers_) {
      if (worker.outstanding.size() >= wanted) continue;
      const auto points = next(wanted);
      if (points.empty()) return;
      if (!worker.alive()) sweep_worker::start(worker, forecast_, metrics_);
      // A worker that died meanwhile is noticed where its results end.
      static_cast<void>(sweep_worker::request(worker, points));
    }
  }

  /// A limit shorter than the usual wait is looked after as often as it asks for.
  [[nodiscard]] int longest_wait_ms() const {
    if (!options_.timeout || options_.timeout->value() * 1e3 >= poll_ms) return poll_ms;
    return std::max(1, static_cast<int>(options_.timeout->value() * 1e3));
  }

  void wait() {
    std::vector<pollfd> files;
    std::vector<Worker*> owners;
    for (Worker& worker : workers_) {
      if (!worker.alive()) continue;
      files.push_back({worker.results, POLLIN, 0});
      owners.push_back(&worker);
    }
    if (::poll(files.data(), files.size(), longest_wait_ms()) <= 0) return;
    for (std::size_t i = 0; i < files.size(); ++i)
      if (files[i].revents != 0 && !read_rows(*owners[i])) bury(*owners[i]);
  }

  /// @return false when there is nothing more to read
  bool read_rows(Worker& worker) {
    std::array<char, 65536> block;
    const ssize_t got = ::read(worker.results, block.data(), block.size());
    if (got < 0 && errno == EINTR) return true;
    if (got <= 0) return false;
    worker.inbox.append(block.data(), static_cast<std::size_t>(got));
    std::vector<SweepRow> rows = decode_rows(worker.inbox);
    for (const SweepRow& row : rows) {
      FORETRAIN_REQUIRE(!worker.outstanding.empty() && worker.outstanding.front() == row.point);
      worker.outstanding.pop_front();
    }
    done_ += rows.size();
    if (!rows.empty()) traffic_.deliver(std::move(rows));
    return true;
  }

  void fail(std::int64_t point, std::string rule, std::string reason) {
    SweepRow row;
    row.point = point;
    row.status = PointStatus::failed;
    row.rule = std::move(rule);
    row.reason = std::move(reason);
    row.metrics.resize(metrics_);
    ++done_;
    traffic_.deliver({std::move(row)});
  }

  /// Gives back what a dead worker was asked for. The point that it died of gets one more chance:
  /// it may have been the system that was short of memory.
  void bury(Worker& worker) {
    const std::int64_t last = worker.slot->point;
    const int status = sweep_worker::end(worker);
    const bool at_work = contains(worker.outstanding, last);
    if (!at_work && ++idle_deaths_ > most_idle_deaths)
      throw SystemError("the workers of a sweep keep dying: " + ending(status));
    give_back(worker, at_work && ++deaths_[last] >= 2 ? last : sweep_worker::no_point);
    if (at_work && deaths_[last] >= 2)
      fail(last, "crash", "the worker died of it twice, of " + ending(status));
  }

  void give_back(Worker& worker, std::int64_t except) {
    for (const std::int64_t point : worker.outstanding)
      if (point != except) returned_.push_back(point);
    worker.outstanding.clear();
    worker.inbox.clear();
  }

  void end_late_ones() {
    if (!options_.timeout) return;
    const auto longest = static_cast<std::int64_t>(options_.timeout->value() * second);
    for (Worker& worker : workers_) {
      if (!worker.alive()) continue;
      const std::int64_t point = worker.slot->point;
      const std::int64_t since = worker.slot->since;
      if (point == sweep_worker::no_point || sweep_worker::now() - since <= longest ||
          worker.slot->point != point)
        continue;
      // Stopped first, so that the point in work is still this one when the rest is read.
      ::kill(worker.process, SIGKILL);
      while (read_rows(worker)) {
      }
      sweep_worker::end(worker);
      const bool unanswered = contains(worker.outstanding, point);
      const bool still = unanswered && worker.slot->point == point;
      give_back(worker, still ? point : sweep_worker::no_point);
      if (still)
        fail(point, "time-out", fmt::format("took longer than {:g} s", options_.timeout->value()));
    }
  }

  const std::function<SweepRow(std::int64_t)>& forecast_;
  std::size_t metrics_;
  const PoolOptions& options_;
  const PoolTraffic& traffic_;
  SharedSlots slots_;
  std::vector<Worker> workers_;
  std::deque<std::int64_t> returned_;
  std::map<std::int64_t, int> deaths_;  ///< of workers, by the point they were at
  int idle_deaths_ = 0;
  std::int64_t started_ = sweep_worker::now();
  std::int64_t stopped_at_ = 0;
  std::size_t done_ = 0;
  bool exhausted_ = false;
};

}  // namespace

void run_pool(const std::function<SweepRow(std::int64_t)>& forecast, std::size_t metrics,
              const PoolOptions& options, const PoolTraffic& traffic) {
  FORETRAIN_REQUIRE(options.workers >= 1);
  Pool(forecast, metrics, options, traffic).run();
}

}  // namespace foretrain
