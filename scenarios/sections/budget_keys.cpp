// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/budget_keys.hpp"

namespace foretrain {
namespace {

using section::left_out;

section::Elements<BudgetLine> lines() {
  return {
      {section::always({.path = "budget[].metric",
                        .help = "A number of the forecast's JSON, by its dotted path.",
                        .example = "step.time_s",
                        .required = true},
                       &BudgetLine::metric),
       left_out(
           {.path = "budget[].max", .help = "The largest value that passes.", .example = "4.2"},
           &BudgetLine::max),
       left_out(
           {.path = "budget[].min", .help = "The smallest value that passes.", .example = "0.4"},
           &BudgetLine::min)},
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
