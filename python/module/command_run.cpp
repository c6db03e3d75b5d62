// SPDX-License-Identifier: Apache-2.0
#include "python/module/command_run.hpp"

#include <pybind11/pybind11.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "planner/cli/interruption.hpp"

namespace foretrain {
namespace {

namespace py = pybind11;
using std::chrono::milliseconds;

/// Commands declare their options in places that a process has once.
std::mutex& one_at_a_time() {
  static std::mutex mutex;
  return mutex;
}

/// A command line on its way, shared by who waits for it and the thread that runs it.
class Work {
 public:
  Work(std::vector<std::string> words, std::string input)
      : words_(std::move(words)), input_(std::move(input)) {}

  void run() {
    const std::lock_guard turn(one_at_a_time());
    if (begin()) {
      try {
        result_ = run_captured(words_, std::move(input_));
      } catch (...) {
        error_ = std::current_exception();
      }
    }
    const std::lock_guard lock(mutex_);
    state_ = State::done;
    changed_.notify_all();
  }

  bool wait(milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return state_ == State::done; });
  }

  void give_up() {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    if (state_ == State::running) Interruption::tell(SIGINT);
  }

  /// @pre wait() returned true
  CapturedRun take() {
    if (error_) std::rethrow_exception(error_);
    return std::move(*result_);
  }

 private:
  enum class State { waiting, running, done };

  /// @return false where nobody waits any more
  bool begin() {
    const std::lock_guard lock(mutex_);
    Interruption::tell(0);
    state_ = State::running;
    return !given_up_;
  }

  std::vector<std::string> words_;
  std::string input_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::waiting;
  bool given_up_ = false;
  std::optional<CapturedRun> result_;
  std::exception_ptr error_;
};

/// Threads whose command was given up.
struct Abandoned {
  std::mutex mutex;
  std::vector<std::thread> threads;
};

Abandoned& abandoned() {
  static Abandoned all;
  return all;
}

/// Whether a signal's handler in Python raised. @pre without the GIL
bool interrupted() {
  const py::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

}  // namespace

CapturedRun run_command(std::vector<std::string> words, std::string input) {
  const auto work = std::make_shared<Work>(std::move(words), std::move(input));
  bool stopped = false;
  {
    const py::gil_scoped_release free;
    std::thread thread([work] { work->run(); });
    while (!stopped && !work->wait(milliseconds(50))) stopped = interrupted();
    if (stopped) work->give_up();
    if (!stopped || work->wait(milliseconds(800))) {
      thread.join();
    } else {
      const std::lock_guard lock(abandoned().mutex);
      abandoned().threads.push_back(std::move(thread));
    }
  }
  if (stopped) throw py::error_already_set();
  return work->take();
}

void join_commands() {
  const py::gil_scoped_release free;
  const std::lock_guard lock(abandoned().mutex);
  for (std::thread& thread : abandoned().threads) thread.join();
  abandoned().threads.clear();
}

}  // namespace foretrain
