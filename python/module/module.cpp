// SPDX-License-Identifier: Apache-2.0
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/base/too_large.hpp"
#include "planner/cli/program.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"
#include "python/module/command_run.hpp"
#include "python/module/quick_cache.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "sim/flows/plug_in_file.hpp"

namespace foretrain {
namespace {

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

py::list options_of(const std::vector<TreeOption>& options) {
  py::list result;
  for (const TreeOption& option : options) {
    py::dict entry;
    entry["names"] = option.names;
    entry["argument"] = option.argument;
    entry["many"] = option.many;
    entry["value"] = option.value;
    entry["help"] = option.help;
    entry["words"] = option.kind == ValueKind::word ? option.words : std::vector<std::string>{};
    entry["required"] = option.required;
    result.append(entry);
  }
  return result;
}

py::dict table_of(const TreeCommand& command) {
  py::dict entry;
  entry["name"] = command.name;
  entry["help"] = command.help;
  entry["notes"] = command.notes;
  entry["options"] = options_of(command.options);
  entry["arguments"] = options_of(command.arguments);
  py::list commands;
  for (const TreeCommand& child : command.commands)
    if (std::find(of_shells.begin(), of_shells.end(), child.name) == of_shells.end())
      commands.append(table_of(child));
  entry["commands"] = commands;
  return entry;
}

/// All commands that make sense outside of a shell, with their options and arguments as the program
/// declares them: a tree of dicts (name, help, notes, examples, options, arguments, commands).
py::dict command_table() { return table_of(program_tree()); }

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
