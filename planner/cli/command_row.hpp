// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/base/names.hpp"

namespace foretrain {

/// What the program tells its caller. Signals give 128 + n.
enum ExitCode : int {
  exit_ok = 0,
  exit_internal = 1,      ///< a defect of ours, or the output could not be written
  exit_usage = 2,         ///< bad usage or input
  exit_infeasible = 3,    ///< the plan cannot run
  exit_budget = 4,        ///< a budget is violated, or a claim is impossible
  exit_uncalibrated = 5,  ///< outside the calibrated range, under --strict
  exit_partial = 6,       ///< points of a sweep have no answer
  exit_out_of_memory = 7  ///< the process itself
};
/// By Ctrl-C.
inline constexpr int exit_interrupted = 130;
/// Output was refused because its reader went away: 128 + SIGPIPE, without a word.
inline constexpr int exit_closed_pipe = 141;

/// An exit code of a command, and what it means there; left empty, what it means everywhere.
struct Exit {
  int code = exit_ok;
  std::string meaning{};
};

/// What a file is for, and so what of it may be replaced without --force.
enum class FileUse {
  report,   ///< read by people and programs: an earlier report
  to_edit,  ///< scenarios, catalog files, scripts: never, for they may have been edited since
  rewrite,  ///< what the user asked to change in place, a baseline or a profile: always
};

/// A value of an enumeration, which a command line names.
struct Choice {
  void* target = nullptr;
  bool (*set)(void* target, std::string_view name) = nullptr;  ///< false: there is no such name
  std::vector<std::string> names{};
};

/// Where the words behind an option go. An optional one that may stand without a value holds an
/// empty text, or an empty list, where it does.
using OptionTarget =
    std::variant<bool*, int*, double*, std::uint64_t*, std::string*, std::vector<std::string>*,
                 std::vector<int>*, std::optional<int>*, std::optional<double>*,
                 std::optional<std::uint64_t>*, std::optional<std::string>*,
                 std::optional<std::vector<std::string>>*, Choice>;

/// What a value is, so that a shell can offer some.
enum class ValueKind { none, file, folder, key, word, other };

/// What holds for an option.
struct OptionRules {
  bool required = false;
  bool repeated = false;                        ///< may be given again, with one value each
  std::optional<std::pair<int, int>> values{};  ///< least and most of one; -1: any number
  char separator = '\0';                        ///< between several values in one word
  bool shows_default = false;
  std::optional<std::pair<double, double>> range{};
  std::vector<std::string> legal{};      ///< the only values; empty: any
  std::vector<std::string> excludes{};   ///< options that it cannot stand beside
  std::vector<std::string> refuses{};    ///< the same where not every command has them
  std::vector<std::string> needs{};      ///< options that it means nothing without
  std::vector<std::string> questions{};  ///< that know it, of commands that answer several
  std::vector<std::string> works{};      ///< kinds of scenario that it is for; empty: any
  std::string elsewhere{};               ///< what is right for the other kinds
  std::optional<FileUse> writes{};       ///< names a file to write
  std::function<void(const std::string&)> each{};  ///< told every value as it is read
};

/// An option, a flag or a positional argument of a command.
struct OptionRow : OptionRules {
  std::vector<std::string> names{};  ///< "--out", "-o"; none: a positional argument
  std::string argument{};            ///< name of a positional argument, "scenario"; else empty
  OptionTarget target{};
  std::string value{};  ///< what stands for its value, "FILE"; empty: a flag
  std::string help{};

  /// "--out", or the name of the argument.
  [[nodiscard]] const std::string& name() const { return names.empty() ? argument : names.front(); }
  /// Names that it may take, of a legal list or an enumeration: those that its help mentions, or
  /// all. Empty: it takes others.
  [[nodiscard]] std::vector<std::string> words() const;
  [[nodiscard]] ValueKind kind() const;
  /// Whether one takes any number of values.
  [[nodiscard]] bool many() const;
};

/// The names of questions.
template <class E>
[[nodiscard]] std::vector<std::string> names_of(std::initializer_list<E> questions) {
  std::vector<std::string> names;
  for (const E question : questions) names.emplace_back(name_of(question));
  return names;
}

/// What a command line gave, by name of option or argument; flags have no values.
using GivenOptions = std::map<std::string, std::vector<std::string>>;

/// What help and manual say of a command beside its options.
struct CommandTexts {
  std::string notes{};                  ///< lines about the command as a whole
  std::vector<std::string> examples{};  ///< whole command lines
  std::vector<Exit> exits{};  ///< beside 0 and 2, or in their place; none: nothing is said of them
};

/// A command as data: help, completion, manual, and the functions of Python are made of it.
struct CommandRow {
  std::string name;
  std::string help;
  std::vector<OptionRow> options{};
  CommandTexts texts{};
  std::string group{};  ///< what it is for, in the help of the program
  std::vector<CommandRow> commands{};
  /// Which of several questions was asked, where options belong to some of them.
  std::function<std::string()> question{};
  /// Once the options are parsed. @return an exit code. Empty: one of `commands` must follow
  std::function<int()> run{};
  std::shared_ptr<GivenOptions> given = std::make_shared<GivenOptions>();

  /// @param names "--out", "-o,--out", or the name of a positional argument
  /// @param value what stands for its value in help
  template <class T>
  void option(const std::string& names, T& target, std::string value, std::string meaning,
              OptionRules rules = {}) {
    add(names, target_of(target), std::move(value), std::move(meaning), std::move(rules));
  }
  void flag(const std::string& names, bool& target, std::string meaning, OptionRules rules = {}) {
    add(names, &target, {}, std::move(meaning), std::move(rules));
  }
  /// Makes options that are there already for some kinds of scenario alone.
  void limit(const std::vector<std::string>& names, const std::vector<std::string>& works,
             const std::string& elsewhere);
  /// Null where there is none of that name.
  [[nodiscard]] const OptionRow* find(std::string_view option) const;
  [[nodiscard]] bool has(const std::string& option) const { return given->contains(option); }

  /// Options without names, and those with names, --help among them.
  [[nodiscard]] std::vector<OptionRow> arguments() const;
  [[nodiscard]] std::vector<OptionRow> named_options() const;

 private:
  void add(const std::string& names, OptionTarget target, std::string value, std::string meaning,
           OptionRules rules);
  template <class T>
  static OptionTarget target_of(T& target) {
    if constexpr (std::is_enum_v<T>)
      return choice<T>(target);
    else
      return &target;
  }
  template <class E>
  static OptionTarget target_of(std::optional<E>& target) requires std::is_enum_v<E> {
    return choice<E>(target);
  }
  template <class E, class T>
  static Choice choice(T& target) {
    Choice made{&target, [](void* place, std::string_view name) {
                  const auto value = from_name<E>(name);
                  if (value) *static_cast<T*>(place) = *value;
                  return value.has_value();
                }};
    for (const auto& name : all_names<E>()) made.names.emplace_back(name);
    return made;
  }
};

/// "0 ok", "2 bad usage or input", "3 nothing fits": of a command that says some; else none.
[[nodiscard]] std::vector<std::string> exit_texts(const CommandRow& command);

/// Refuses options that were given and do not belong to the question: "--deadline has no effect on
/// batch: it is for gpus". @throws UsageError
void refuse_other_questions(const CommandRow& command);

/// Refuses options that were given and are not for the kind of scenario that was read: "--step is
/// for scenarios of post-training, and this is one of serving: ...". @throws UsageError
void refuse_other_works(const CommandRow& command, std::string_view work);

}  // namespace foretrain
