// SPDX-License-Identifier: Apache-2.0
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "models/base/ranges.hpp"
#include "models/base/too_large.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/program.hpp"
#include "planner/forecast/quick_forecast.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "sim/flows/plug_in_file.hpp"

namespace foretrain {
namespace {

/// What a forecast is asked for: a scenario file and keys with values, as for --set.
struct QuickQuestion {
  std::string file;
  std::vector<std::string> keys;
  std::vector<std::string> values;
  std::vector<std::string> catalogs;
};

namespace fs = std::filesystem;

/// Each holds a scenario and the machines that were asked for: some megabytes at most.
constexpr std::size_t most_kept = 8;

struct Kept {
  std::string name;
  std::mutex mutex;
  std::unique_ptr<QuickForecasts> forecasts;
};

/// Forecasts that were asked for last, the newest first.
class Cache {
 public:
  std::shared_ptr<Kept> entry(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto known =
        std::ranges::find_if(kept_, [&](const auto& kept) { return kept->name == name; });
    if (known != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, known);
    } else {
      kept_.push_front(std::make_shared<Kept>());
      kept_.front()->name = name;
      if (kept_.size() > most_kept) kept_.pop_back();
    }
    return kept_.front();
  }

 private:
  std::mutex mutex_;
  std::list<std::shared_ptr<Kept>> kept_;
};

Cache& cache() {
  static Cache all;
  return all;
}

/// Whether a key stands twice, or beside a group around it: then the order decides.
bool overlap(const std::vector<std::string>& keys) {
  for (const std::string& outer : keys)
    for (const std::string& inner : keys)
      if (&outer != &inner && inner.starts_with(outer) &&
          (inner.size() == outer.size() || inner[outer.size()] == '.'))
        return true;
  return false;
}

std::string name_of_question(const QuickQuestion& question, const fs::path& folder) {
  std::string name = question.file;
  // Relative paths mean something else after a change of folder.
  name.append("\n").append(folder.string());
  for (const auto* part : {&question.keys, &question.catalogs}) {
    name += '\n';
    for (const std::string& word : *part) name.append("\t").append(word);
  }
  return name;
}

std::optional<Prediction> forecast(Kept& kept, const QuickQuestion& question,
                                   const fs::path& folder) {
  if (!kept.forecasts || !kept.forecasts->fresh()) {
    std::vector<fs::path> catalogs;
    for (const std::string& catalog : question.catalogs) catalogs.push_back(folder / catalog);
    kept.forecasts = std::make_unique<QuickForecasts>(folder / question.file, question.keys,
                                                      catalogs, question.values);
  }
  return kept.forecasts->forecast(question.values);
}

/// The forecast of `foretrain simulate FILE --set KEY=VALUE...`; those who change the same keys of
/// the same file again get it some hundred times as fast. Nothing where that command must be run to
/// know: it may have errors to tell. Any number of threads may ask.
std::shared_ptr<const Prediction> quick_forecast(const QuickQuestion& question) {
  if (overlap(question.keys)) return nullptr;
  const fs::path folder = fs::current_path();
  const auto kept = cache().entry(name_of_question(question, folder));
  const std::lock_guard lock(kept->mutex);
  try {
    auto found = forecast(*kept, question, folder);
    if (!found) return nullptr;
    return std::make_shared<const Prediction>(std::move(*found));
  } catch (const ScenarioError&) {
    return nullptr;  // the command tells it in the words of a user's own --set
  }
}

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

/// Runs a command line as run_captured() does, on a thread of its own, with the interpreter free
/// meanwhile. Commands of several threads run one after another. Ctrl-C ends the wait within a
/// second with KeyboardInterrupt: work that looks stops, other work goes on unheard and holds up
/// the next command. @pre the caller holds the GIL
/// @throws as run_captured(); py::error_already_set for KeyboardInterrupt
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

/// Waits for commands that were given up. To be called before the interpreter ends.
void join_commands() {
  const py::gil_scoped_release free;
  const std::lock_guard lock(abandoned().mutex);
  for (std::thread& thread : abandoned().threads) thread.join();
  abandoned().threads.clear();
}

namespace py = pybind11;

namespace py = pybind11;

py::object error_class(const char* name) {
  return py::module_::import("foretrain._errors").attr(name);
}

void raise(const char* name, const std::exception& error) {
  PyErr_SetString(error_class(name).ptr(), error.what());
}

void raise_diagnostics(const ScenarioError& error) {
  py::list places;
  for (const Diagnostic& item : error.diagnostics())
    places.append(py::make_tuple(item.file, item.line, item.column, item.path, item.message));
  const py::object raised = error_class("ScenarioError")(places);
  PyErr_SetObject(error_class("ScenarioError").ptr(), raised.ptr());
}

/// Exceptions of ours as those of foretrain._errors.
// NOLINTNEXTLINE(performance-unnecessary-value-param): the signature is pybind11's
void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const ScenarioError& error) {
    raise_diagnostics(error);
  } catch (const UsageError& error) {
    raise("UsageError", error);
  } catch (const TooLarge& error) {
    raise("TooLarge", error);
  } catch (const PlugInMissing& error) {
    raise("PlugInMissing", error);
  } catch (const SystemError& error) {
    raise("MachineError", error);
  }
}

py::tuple run(std::vector<std::string> words, std::string input) {
  const CapturedRun done = run_command(std::move(words), std::move(input));
  return py::make_tuple(done.exit_code, done.output, done.diagnostics);
}

std::shared_ptr<const Prediction> quick(std::string file, std::vector<std::string> keys,
                                        std::vector<std::string> values,
                                        std::vector<std::string> catalogs) {
  const py::gil_scoped_release free;
  return quick_forecast({std::move(file), std::move(keys), std::move(values), std::move(catalogs)});
}

/// A part of the JSON, or None for those that the whole command alone knows.
py::object section(const Prediction& prediction, const std::string& name) {
  if (!known_early(name)) return py::none();
  const auto text = section_json(prediction, name);
  return text ? py::object(py::str(*text)) : py::none();
}

/// What these do, they do to a shell, a terminal or the program's own file.
constexpr std::array<std::string_view, 4> of_shells{"gui", "completion", "man", "doctor"};

py::list options_of(const std::vector<OptionRow>& options) {
  py::list result;
  for (const OptionRow& option : options) {
    py::dict entry;
    entry["names"] = option.names;
    entry["argument"] = option.argument;
    entry["many"] = option.many();
    entry["value"] = option.value;
    entry["help"] = option.help;
    entry["words"] = option.words();
    entry["required"] = option.required;
    result.append(entry);
  }
  return result;
}

py::dict table_of(const CommandRow& command) {
  py::dict entry;
  entry["name"] = command.name;
  entry["help"] = command.help;
  entry["notes"] = command.texts.notes;
  entry["options"] = options_of(command.named_options());
  entry["arguments"] = options_of(command.arguments());
  py::list commands;
  for (const CommandRow& child : command.commands)
    if (!contains(of_shells, child.name)) commands.append(table_of(child));
  entry["commands"] = commands;
  return entry;
}

/// All commands that make sense outside of a shell, with their options and arguments as the program
/// declares them: a tree of dicts (name, help, notes, examples, options, arguments, commands).
py::dict command_table() { return table_of(program_row()); }

}  // namespace

}  // namespace foretrain

PYBIND11_MODULE(_core, module) {
  namespace py = pybind11;
  module.doc() = "Foretrain's commands and forecasts; the package foretrain is their face.";
  module.attr("version") = foretrain::version;
  py::register_exception_translator(&foretrain::translate);
  py::class_<foretrain::Prediction, std::shared_ptr<foretrain::Prediction>>(module, "Prediction")
      .def("section", &foretrain::section);
  module.def("run", &foretrain::run, "Exit code, standard output and lines of standard error");
  module.def("quick", [](std::string file, std::vector<std::string> keys,
                         std::vector<std::string> values, std::vector<std::string> catalogs) {
    return std::const_pointer_cast<foretrain::Prediction>(
        foretrain::quick(std::move(file), std::move(keys), std::move(values), std::move(catalogs)));
  });
  module.def("commands", &foretrain::command_table);
  py::module_::import("atexit").attr("register")(py::cpp_function(&foretrain::join_commands));
}
