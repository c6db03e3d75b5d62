// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/sections.hpp"

#include <utility>

#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

/// A number, or text with a unit, which is read when the metric is known.
SectionKey<BudgetLine> limit_key(Field field, std::optional<double> BudgetLine::*number,
                                 std::string BudgetLine::*text) {
  field.or_number = true;
  SectionKey<BudgetLine> key{std::move(field)};
  key.read = [number, text](BudgetLine& line, const FieldValue& value) {
    line.*number = parse_number(value.text).value;
    if (!(line.*number)) line.*text = value.text;
  };
  key.write = [number, text](const BudgetLine& line) {
    return line.*number ? format_number(*(line.*number)) : line.*text;
  };
  return key;
}

section::Elements<BudgetLine> lines() {
  return {
      {section::always({.path = "budget[].metric",
                        .help = "A number of the forecast's JSON, by its dotted path.",
                        .example = "step.time_s",
                        .required = true},
                       &BudgetLine::metric),
       limit_key({.path = "budget[].max",
                  .help = "The largest value that passes, in the metric's unit or with another.",
                  .example = "45 days"},
                 &BudgetLine::max, &BudgetLine::max_text),
       limit_key({.path = "budget[].min",
                  .help = "The smallest value that passes, in the metric's unit or with another.",
                  .example = "0.4"},
                 &BudgetLine::min, &BudgetLine::min_text)},
      [](BudgetLine& line, const FieldValues& values, const std::string& path) {
        line.line = values.where(path).line;
      }};
}

}  // namespace

const SectionTable<Job>& budget_keys() {
  static const SectionTable<Job> table(
      section::list_of("budget", "Limits that `foretrain check` compares the forecast with.",
                       lines(), &Job::budget));
  return table;
}

}  // namespace foretrain
