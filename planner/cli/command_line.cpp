// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "models/base/ranges.hpp"
#include "planner/cli/command.hpp"
#include "planner/cli/help/program_build.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {
namespace {

/// A row and what CLI11 made of it.
struct Known {
  const CommandRow* row = nullptr;
  CLI::App* app = nullptr;
  std::vector<CLI::Option*> options;  ///< in the order of the row's
  std::vector<Known> commands;
};

std::string range_text(const std::pair<double, double>& range) {
  const auto text = [](double number) {
    return number < 1e15 && number == static_cast<double>(static_cast<std::int64_t>(number))
               ? with_thousands(static_cast<std::int64_t>(number))
               : fmt::format("{:g}", number);
  };
  return text(range.first) + " to " + text(range.second);
}

/// What an error calls it.
std::string shown_name(const OptionRow& row) { return row.names.empty() ? row.value : row.name(); }

/// What stands for its value: with the legal ones where its help does not name them.
std::string value_text(const OptionRow& row) {
  const bool named = std::ranges::all_of(
      row.legal, [&](const std::string& word) { return row.help.find(word) != std::string::npos; });
  return named ? row.value : fmt::format("{}:{{{}}}", row.value, fmt::join(row.legal, ","));
}

/// With its target; every kind of target has its own way into CLI11.
CLI::Option* added(CLI::App& app, const OptionRow& row) {
  std::string names = row.argument;
  for (const std::string& name : row.names) names += (names.empty() ? "" : ",") + name;
  // A range that is there against slips of the keyboard alone is not told.
  constexpr double narrow = 65536.0;
  const bool told = row.range && row.range->second <= narrow;
  const std::string help = told ? row.help + ", " + range_text(*row.range) : row.help;
  return std::visit(
      [&](const auto& target) -> CLI::Option* {
        using Target = std::decay_t<decltype(target)>;
        if constexpr (std::is_same_v<Target, bool*>) {
          return app.add_flag(names, *target, help);
        } else if constexpr (std::is_same_v<Target, Choice>) {
          const auto set =
              [target, name = row.names.empty() ? row.value : row.name()](const std::string& text) {
                if (!target.set(target.target, text)) refuse_value(name, text, target.names);
              };
          return app.add_option_function<std::string>(names, set, help);
        } else if constexpr (std::is_same_v<Target, std::optional<std::string>*>) {
          return app.add_option_function<std::string>(
              names, [target](const std::string& text) { *target = text; }, help);
        } else if constexpr (std::is_same_v<Target, std::optional<std::vector<std::string>>*>) {
          const auto set = [target](const std::vector<std::string>& texts) {
            target->emplace();
            std::ranges::remove_copy(texts, std::back_inserter(**target), std::string());
          };
          return app.add_option_function<std::vector<std::string>>(names, set, help);
        } else {
          return app.add_option(names, *target, help);
        }
      },
      row.target);
}

CLI::Option* known_option(CLI::App& app, const OptionRow& row) {
  if (row.name() == "--version") return app.set_version_flag("--version", "", row.help);
  CLI::Option* option = added(app, row);
  if (!row.value.empty()) option->type_name(value_text(row));
  option->required(row.required);
  if (row.values) option->expected(row.values->first, row.values->second);
  if (row.repeated) option->expected(1)->take_all()->allow_extra_args(false);
  if (row.separator != '\0') option->delimiter(row.separator)->allow_extra_args(false);
  if (row.shows_default) option->capture_default_str();
  if (!row.legal.empty())
    option->check([name = shown_name(row), legal = row.legal](const std::string& text) {
      if (!contains(legal, text)) refuse_value(name, text, legal);
      return std::string();
    });
  if (row.range)
    option->check([range = *row.range, name = shown_name(row)](const std::string& text) {
      double number = 0.0;
      if (CLI::detail::lexical_cast(text, number) && number >= range.first &&
          number <= range.second)
        return std::string();
      throw UsageError(fmt::format("{} takes {}, not {}", name, range_text(range), text));
    });
  if (row.each) option->each(row.each);
  return option;
}

/// What stands below the options.
std::string footer_of(const CommandRow& command) {
  std::string text = command.texts.notes;
  const auto part = [&](const std::string& more) { text += (text.empty() ? "" : "\n") + more; };
  if (!command.texts.examples.empty()) {
    part("Examples:");
    for (const std::string& example : command.texts.examples) part("  " + example);
  }
  std::string line = "Exit codes:";
  const std::vector<std::string> exits = exit_texts(command);
  for (const std::string& exit : exits) {
    if (line.size() + exit.size() > 92) {
      part(line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + exit + (&exit == &exits.back() ? "." : ",");
  }
  if (!exits.empty()) part(line);
  return text;
}

/// Options that others exclude or need are there already.
void add_rules(const Known& known) {
  for (std::size_t i = 0; i < known.options.size(); ++i) {
    const OptionRow& row = known.row->options[i];
    for (const std::string& other : row.excludes)
      known.options[i]->excludes(known.app->get_option(other));
    for (const std::string& other : row.needs)
      known.options[i]->needs(known.app->get_option(other));
  }
}

Known known_command(const CommandRow& row, CLI::App& app) {
  Known known{&row, &app, {}, {}};
  for (const OptionRow& option : row.options) known.options.push_back(known_option(app, option));
  add_rules(known);
  for (const CommandRow& child : row.commands) {
    CLI::App* below = app.add_subcommand(child.name, child.help);
    known.commands.push_back(known_command(child, *below));
    if (!child.group.empty()) below->group(child.group);  // last, for those below would inherit it
  }
  if (!row.run) app.require_subcommand(1);
  app.footer(footer_of(row));
  return known;
}

/// From the program to the command that was named.
std::vector<const Known*> path_of(const Known& program) {
  std::vector<const Known*> path{&program};
  while (true) {
    const auto& commands = path.back()->commands;
    const auto next =
        std::ranges::find_if(commands, [](const Known& child) { return child.app->parsed(); });
    if (next == commands.end()) return path;
    path.push_back(&*next);
  }
}

void note_given(const Known& known) {
  for (std::size_t i = 0; i < known.options.size(); ++i) {
    if (known.options[i]->count() == 0) continue;
    const OptionRow& row = known.row->options[i];
    const bool flag = std::holds_alternative<bool*>(row.target);
    (*known.row->given)[row.name()] =
        flag ? std::vector<std::string>{} : known.options[i]->results();
  }
}

/// @throws CLI::ExcludesError
void check_refused(const CommandRow& command) {
  for (const OptionRow& row : command.options)
    for (const std::string& other : row.refuses)
      if (command.has(row.name()) && command.has(other))
        throw CLI::ExcludesError(row.name(), other);
}

/// CLI11's sentence for a usage error, with the nearest option where one was misspelt.
std::string usage_message(CLI::App& program, const CLI::ParseError& error) {
  std::string message = error.what();
  std::ranges::replace(message, '\n', ' ');
  for (CLI::App* app : program.get_subcommands())
    for (const std::string& extra : app->remaining()) {
      if (!extra.starts_with("-")) continue;
      std::vector<std::string> names;
      for (const CLI::Option* option : app->get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
      return message + nearest_hint(extra.substr(0, extra.find('=')), names);
    }
  return message;
}

std::vector<std::string> names_below(const CommandRow& group) {
  std::vector<std::string> names;
  for (const CommandRow& command : group.commands) names.push_back(command.name);
  return names;
}

/// @param word what stands in place of a command; empty: nothing
std::string no_command(const std::string& word, const CommandRow& group) {
  const std::vector<std::string> names = names_below(group);
  const std::string known = " (commands: " + joined(names) + ")";
  if (word.empty()) return "no command is given" + known;
  return "there is no command " + in_quotes(word) + known + nearest_hint(word, names);
}

/// What a line that ends before its last command lacks, or has in its place.
std::string group_message(const Known& group) {
  const std::vector<std::string> rest = group.app->remaining();
  const bool word = !rest.empty() && !rest.front().starts_with("-");
  const std::string message = no_command(word ? rest.front() : "", *group.row);
  return group.app->get_parent() == nullptr ? message : group.row->name + ": " + message;
}

int parse_failure(const Known& program, const CLI::ParseError& error) {
  const std::vector<const Known*> path = path_of(program);
  const Known& subject = *path.back();
  std::string words;
  std::string before;
  for (const Known* one : path) {
    before = words;
    words += (words.empty() ? "" : " ") + one->row->name;
  }
  if (error.get_name() == "CallForHelp") return deliver(subject.app->help(before));
  if (error.get_name() == "CallForVersion") return deliver(version_text());
  const bool group = !subject.row->run && error.get_name() == "RequiredError";
  write_diagnostic("foretrain: " +
                   (group ? group_message(subject) : usage_message(*program.app, error)));
  write_diagnostic("see " + words + " --help");
  return exit_usage;
}

/// CLI11 reports a misspelt subcommand as an unexpected argument; this names the nearest one.
void check_subcommand(const CommandRow& program, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-' || argv[1][0] == '\0') return;
  if (!contains(names_below(program), argv[1])) throw UsageError(no_command(argv[1], program));
}

}  // namespace

ParsedLine parse_line(const CommandRow& program, int argc, const char* const* argv) {
  check_subcommand(program, argc, argv);
  CLI::App app{program.help, program.name};
  app.failure_message(CLI::FailureMessage::simple);
  const Known known = known_command(program, app);
  ParsedLine line;
  try {
    app.parse(argc, argv);
    for (const Known* one : path_of(known)) {
      note_given(*one);
      check_refused(*one->row);
      line.path.push_back(one->row);
    }
  } catch (const CLI::ParseError& error) {
    line.exit_code = parse_failure(known, error);
  }
  return line;
}

}  // namespace foretrain
