// SPDX-License-Identifier: Apache-2.0
#include "python/module/command_table.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "planner/cli/program.hpp"

namespace foretrain {
namespace {

namespace py = pybind11;

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

}  // namespace

py::dict command_table() { return table_of(program_tree()); }

}  // namespace foretrain
