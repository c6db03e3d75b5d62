// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/sections.hpp"

#include <utility>

#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

// A number, or text with a unit, which is read when the metric is known.
template <auto number, auto text>
void read_limit(BudgetLine& line, const FieldValue& value) {
  line.*number = parse_number(value.text).value;
  if (!(line.*number)) line.*text = value.text;
}

template <auto number, auto text>
std::string limit_text(const BudgetLine& line) {
  return line.*number ? format_number(*(line.*number)) : line.*text;
}

template <auto number, auto text>
KeyRow limit_key(const char* path, const char* help, const char* example) {
  return keys::computed<BudgetLine, read_limit<number, text>, limit_text<number, text>>(
      {.path = path, .help = help, .example = example, .or_number = true});
}

KeyRows line_keys() {
  return {keys::always({.path = "budget[].metric",
                        .help = "A number of the forecast's JSON, by its dotted path.",
                        .example = "step.time_s",
                        .required = true},
                       &BudgetLine::metric),
          limit_key<&BudgetLine::max, &BudgetLine::max_text>(
              "budget[].max",
              "The largest value that passes, in the metric's unit or with another.", "45 days"),
          limit_key<&BudgetLine::min, &BudgetLine::min_text>(
              "budget[].min",
              "The smallest value that passes, in the metric's unit or with another.", "0.4")};
}

void finish_line(BudgetLine& line, const FieldValues& values, const std::string& path) {
  line.line = values.where(path).line;
}

}  // namespace

const BoundTable<Job>& budget_keys() {
  static const BoundTable<Job> table(
      "budget", keys::list_of<finish_line>(
                    "budget", "Limits that `foretrain check` compares the forecast with.",
                    line_keys(), &Job::budget));
  return table;
}

}  // namespace foretrain
