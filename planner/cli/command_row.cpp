// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/command_row.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

constexpr std::array meanings{
    std::pair{int{exit_ok}, "ok"},
    std::pair{int{exit_internal}, "a defect of the program, or output that cannot be written"},
    std::pair{int{exit_usage}, "bad usage or input"},
    std::pair{int{exit_infeasible}, "the plan cannot run"},
    std::pair{int{exit_budget}, "a budget is violated"},
    std::pair{int{exit_uncalibrated}, "outside the calibrated range under --strict"},
    std::pair{int{exit_partial}, "points without an answer"},
    std::pair{exit_interrupted, "interrupted"}};

std::string meaning_of(const Exit& exit) {
  if (!exit.meaning.empty()) return exit.meaning;
  const auto* const found =
      std::ranges::find(meanings, exit.code, [](const auto& row) { return row.first; });
  FORETRAIN_REQUIRE(found != meanings.end());
  return found->second;
}

}  // namespace

std::vector<std::string> OptionRow::words() const {
  const auto* const choice = std::get_if<Choice>(&target);
  const std::vector<std::string>& known = choice != nullptr ? choice->names : legal;
  std::vector<std::string> mentioned;
  for (const std::string& word : known)
    if (help.find(word) != std::string::npos) mentioned.push_back(word);
  return mentioned.empty() ? known : mentioned;
}

ValueKind OptionRow::kind() const {
  if (value.empty()) return ValueKind::none;
  if (!words().empty()) return ValueKind::word;
  if (value.starts_with("KEY=") || value == "KEY") return ValueKind::key;
  if (value.find("DIR") != std::string::npos) return ValueKind::folder;
  for (const char* part : {"FILE", "SCENARIO", "CONFIG", "MODEL"})
    if (value.find(part) != std::string::npos) return ValueKind::file;
  return ValueKind::other;
}

bool OptionRow::many() const {
  if (values) return values->second < 0 || values->second > 2;
  return !repeated && (std::holds_alternative<std::vector<int>*>(target) ||
                       std::holds_alternative<std::vector<std::string>*>(target) ||
                       std::holds_alternative<std::optional<std::vector<std::string>>*>(target));
}

void CommandRow::add(const std::string& names, OptionTarget target, std::string value,
                     std::string meaning, OptionRules rules) {
  OptionRow row{std::move(rules), {}, {}, std::move(target), std::move(value), std::move(meaning)};
  std::istringstream list(names);
  for (std::string one; std::getline(list, one, ',');)
    if (one.starts_with("--"))
      row.names.insert(std::ranges::find_if_not(
                           row.names, [](const auto& other) { return other.starts_with("--"); }),
                       one);
    else if (one.starts_with('-'))
      row.names.push_back(one);
    else
      row.argument = one;
  FORETRAIN_REQUIRE(find(row.name()) == nullptr);
  options.push_back(std::move(row));
}

void CommandRow::limit(const std::vector<std::string>& names, const std::vector<std::string>& works,
                       const std::string& elsewhere) {
  for (const std::string& limited : names) {
    const auto row = std::ranges::find(options, limited, &OptionRow::name);
    FORETRAIN_REQUIRE(row != options.end());
    row->works = works;
    row->elsewhere = elsewhere;
  }
}

const OptionRow* CommandRow::find(std::string_view option) const {
  for (const OptionRow& row : options)
    if (row.argument == option || contains(row.names, option)) return &row;
  return nullptr;
}

std::vector<OptionRow> CommandRow::arguments() const {
  std::vector<OptionRow> rows;
  std::ranges::copy_if(options, std::back_inserter(rows),
                       [](const OptionRow& row) { return row.names.empty(); });
  return rows;
}

std::vector<OptionRow> CommandRow::named_options() const {
  static bool asked = false;  // that is answered before anything else
  std::vector<OptionRow> rows{
      {{}, {"--help", "-h"}, {}, &asked, {}, "Print this help message and exit"}};
  std::ranges::copy_if(options, std::back_inserter(rows),
                       [](const OptionRow& row) { return !row.names.empty(); });
  return rows;
}

std::vector<std::string> exit_texts(const CommandRow& command) {
  if (command.texts.exits.empty()) return {};
  std::map<int, std::string> said{{exit_ok, meaning_of({exit_ok})},
                                  {exit_usage, meaning_of({exit_usage})}};
  for (const Exit& exit : command.texts.exits) said[exit.code] = meaning_of(exit);
  std::vector<std::string> parts;
  for (const auto& [code, meaning] : said) parts.push_back(fmt::format("{} {}", code, meaning));
  return parts;
}

void refuse_other_questions(const CommandRow& command) {
  if (!command.question) return;
  const std::string question = command.question();
  for (const OptionRow& row : command.options)
    if (!row.questions.empty() && command.has(row.name()) && !contains(row.questions, question))
      throw UsageError(fmt::format("{} has no effect on {}: it is for {}", row.name(), question,
                                   fmt::join(row.questions, ", ")));
}

void refuse_other_works(const CommandRow& command, std::string_view work) {
  for (const OptionRow& row : command.options)
    if (!row.works.empty() && command.has(row.name()) && !contains(row.works, work))
      throw UsageError(fmt::format("{} is for scenarios of {}, and this is one of {}{}{}",
                                   row.name(), fmt::join(row.works, " and "), work,
                                   row.elsewhere.empty() ? "" : ": ", row.elsewhere));
}

}  // namespace foretrain
