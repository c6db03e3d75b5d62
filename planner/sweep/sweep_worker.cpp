// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/internal/sweep_worker.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <exception>

#include "planner/text/usage_error.hpp"

namespace foretrain::sweep_worker {
namespace {

constexpr std::size_t flush_bytes = 16384;
constexpr std::int64_t flush_after = 20'000'000;

/// False when the other side is gone: it tells, rather than SIGPIPE, which ends a program that does
/// not expect it.
bool write_all(int file, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::send(file, data, size, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

SweepRow guarded(const std::function<SweepRow(std::int64_t)>& forecast, std::size_t metrics,
                 std::int64_t point) {
  SweepRow row;
  try {
    return forecast(point);
  } catch (const std::exception& error) {
    row.reason = error.what();
  } catch (...) {
    row.reason = "unknown exception";
  }
  row.point = point;
  row.status = PointStatus::failed;
  row.rule = "internal-error";
  row.metrics.resize(metrics);
  return row;
}

/// Closes all files but two and the standard ones: pipes of other workers would hide that their
/// ends are gone, and locks of the pool's files would outlive it.
void keep_only(int one, int other) {
  const auto first = static_cast<unsigned>(std::min(one, other));
  const auto second = static_cast<unsigned>(std::max(one, other));
  if (first > 3) ::close_range(3, first - 1, 0);
  if (second > first + 1) ::close_range(first + 1, second - 1, 0);
  ::close_range(second + 1, ~0U, 0);
}

/// Life of a worker process: whole batches of point numbers in, rows out.
class Loop {
 public:
  Loop(int requests, int results, Slot& slot)
      : requests_(requests), results_(results), slot_(slot) {}

  void run(const std::function<SweepRow(std::int64_t)>& forecast, std::size_t metrics) {
    std::int64_t point = 0;
    while (next(point)) {
      slot_.since = now();
      slot_.point = point;
      const SweepRow row = guarded(forecast, metrics, point);
      slot_.point = no_point;
      encode_row(row, outbox_);
      if (outbox_.size() >= flush_bytes || now() - flushed_ > flush_after) flush();
    }
    flush();
  }

 private:
  void flush() {
    // Nobody is left to tell when the pool is gone.
    if (!write_all(results_, outbox_.data(), outbox_.size())) _exit(0);
    outbox_.clear();
    flushed_ = now();
  }

  bool next(std::int64_t& point) {
    if (at_ + sizeof(point) > filled_ && !refill()) return false;
    std::memcpy(&point, inbox_.data() + at_, sizeof(point));
    at_ += sizeof(point);
    return true;
  }

  /// Reads what was asked for; what is done so far is told before waiting for more.
  bool refill() {
    const std::size_t kept = filled_ - at_;
    std::memmove(inbox_.data(), inbox_.data() + at_, kept);
    at_ = 0;
    filled_ = kept;
    while (filled_ < sizeof(std::int64_t)) {
      pollfd waiting{requests_, POLLIN, 0};
      if (!outbox_.empty() && ::poll(&waiting, 1, 0) == 0) flush();
      const ssize_t got = ::read(requests_, inbox_.data() + filled_, inbox_.size() - filled_);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      filled_ += static_cast<std::size_t>(got);
    }
    return true;
  }

  int requests_;
  int results_;
  Slot& slot_;
  std::string outbox_;
  std::int64_t flushed_ = now();
  std::array<char, 4096> inbox_{};
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
};

[[noreturn]] void cannot_start(int error) {
  throw SystemError(std::string("cannot start a worker of the sweep: ") + std::strerror(error) +
                    "; -j N asks for fewer of them");
}

void close_both(const Worker& worker) {
  if (worker.requests >= 0) ::close(worker.requests);
  if (worker.results >= 0) ::close(worker.results);
}

}  // namespace

std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void start(Worker& worker, const std::function<SweepRow(std::int64_t)>& forecast,
           std::size_t metrics) {
  std::array<int, 2> down{};
  std::array<int, 2> up{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, down.data()) != 0) cannot_start(errno);
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, up.data()) != 0) {
    const int error = errno;
    ::close(down[0]);
    ::close(down[1]);
    cannot_start(error);
  }
  worker.slot->point = no_point;
  const pid_t parent = getpid();
  const pid_t process = ::fork();
  if (process == 0) {
    // The terminal's Ctrl-C and a batch system's warning are for the pool, which then decides.
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    keep_only(down[0], up[1]);
    Loop(down[0], up[1], *worker.slot).run(forecast, metrics);
    _exit(0);
  }
  const int error = errno;
  ::close(down[0]);
  ::close(up[1]);
  if (process < 0) {
    ::close(down[1]);
    ::close(up[0]);
    cannot_start(error);
  }
  worker.process = process;
  worker.requests = down[1];
  worker.results = up[0];
  worker.inbox.clear();
}

bool request(Worker& worker, const std::vector<std::int64_t>& points) {
  worker.outstanding.insert(worker.outstanding.end(), points.begin(), points.end());
  std::string bytes(points.size() * sizeof(std::int64_t), '\0');
  std::memcpy(bytes.data(), points.data(), bytes.size());
  return write_all(worker.requests, bytes.data(), bytes.size());
}

int end(Worker& worker) {
  ::kill(worker.process, SIGKILL);
  int status = 0;
  while (::waitpid(worker.process, &status, 0) < 0 && errno == EINTR) {
  }
  close_both(worker);
  worker.process = -1;
  worker.requests = -1;
  worker.results = -1;
  return status;
}

}  // namespace foretrain::sweep_worker
