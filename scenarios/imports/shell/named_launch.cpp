// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/shell/named_launch.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "scenarios/imports/shell/launch_line.hpp"

namespace foretrain {
namespace {

bool only_prints(const std::string& program) {
  return program == "echo" || program == "printf" || program == "cat" || program == "print";
}

/// The first word behind a training script, Python before shell; the first word without one.
std::size_t words_start(const std::vector<std::string>& words) {
  for (const std::string_view end : {".py", ".sh"}) {
    const auto script = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
      return word.ends_with(end) && word.find('=') == std::string::npos;
    });
    if (script != words.end()) return static_cast<std::size_t>(script - words.begin()) + 1;
  }
  return 0;
}

}  // namespace

std::optional<NamedLaunch> find_launch(
    const ImportSource& source, const PlanImportOptions& options,
    const std::function<bool(const std::vector<std::string>&)>& wanted, const std::string& missing,
    Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.count();
  const LaunchSize allocation = launch_size(directive_words(source.text));
  std::map<std::string, std::string> given = slurm_variables(allocation);
  for (const auto& [name, value] : options.variables) given[name] = value;
  const ShellScript script = follow_shell_script(source.text, source.name, given, diagnostics);
  if (diagnostics.count() != before) return std::nullopt;
  const auto file = std::make_shared<const std::string>(source.name);
  NamedLaunch found;
  int count = 0;
  for (const ShellCommand& command : script.commands) {
    if (command.words.empty() || only_prints(command.words.front()) || !wanted(command.words))
      continue;
    ++count;
    const auto start = static_cast<std::ptrdiff_t>(words_start(command.words));
    found.words.assign(command.words.begin() + start, command.words.end());
    found.before.assign(command.words.begin(), command.words.begin() + start);
    found.size = combined(launch_size(command.words), allocation);
    found.mark = {file, command.line, 1};
    found.assumed.clear();
    if (command.undecided)
      found.assumed.push_back(fmt::format(
          "the launch of line {} runs, though only running the script would decide that",
          command.line));
  }
  if (count == 0) {
    diagnostics.add(Mark{file, 0, 0}, "", missing);
    return std::nullopt;
  }
  if (count > 1)
    found.assumed.push_back(
        fmt::format("the last of {} launches, line {}, is meant", count, found.mark.line));
  for (const auto& [name, value] : script.variables.all())
    if (!value.array && !value.fields.empty()) found.variables[name] = value.fields.front();
  return found;
}

}  // namespace foretrain
