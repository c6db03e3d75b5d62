// SPDX-License-Identifier: Apache-2.0

#include "planner/solve/internal/solve_parts.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "models/base/require.hpp"
#include "models/forecast/closed_form.hpp"
#include "planner/solve/solve.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/plan_words.hpp"
#include "planner/text/quoting.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"

namespace foretrain {

SolveValue solve_value(std::string key, std::string label, double number, std::string text) {
  return {std::move(key), std::move(label), std::move(text), number};
}

SolveValue solve_word(std::string key, std::string label, std::string text) {
  return {std::move(key), std::move(label), std::move(text), std::nullopt};
}

SolveValue solve_count(std::string key, std::string label, double number) {
  return solve_value(std::move(key), std::move(label), number,
                     with_thousands(static_cast<std::int64_t>(number)));
}

namespace {

/// Plans that need least memory: one sequence at a time, and no more of them in flight than stages.
SearchSpace light_space(const Job& job) {
  SearchSpace space = default_space(job);
  space.micro_batch = {1};
  space.schedule = {default_schedule};
  space.virtual_stages = {1};
  return space;
}

}  // namespace

std::optional<LightPlan> lightest_plan(const Job& job, int threads) {
  SearchOptions options;
  options.top = 1;
  options.threads = threads;
  // No plan is as small as that: all are weighed, none is timed, and the nearest is the lightest.
  options.limits.max_memory_share = 1e-12;
  const SearchSpace space = light_space(job);
  const SearchResult result = search(job, space, options);
  if (!result.nearest) return std::nullopt;
  const ScoredPlan& plan = result.nearest->plan;
  return LightPlan{job_at(job, space, plan.index), plan.need(),
                   settings_at(job, space, plan.index)};
}

std::string plan_words(const Job& job) {
  std::string text = axis_words(job.parallel) +
                     fmt::format(" zero {} mbs {} recompute {}", job.parallel.zero,
                                 job.training.micro_batch, name_of(job.memory.recompute.kind));
  if (job.memory.offload != OffloadKind::none)
    text += fmt::format(" offload {}", name_of(job.memory.offload));
  return text;
}

void require_runs(const Scenario& scenario, bool memory) {
  const Prediction forecast = closed_form(scenario.job);
  for (const Infeasible& reason : forecast.reasons)
    if (memory || reason.rule != "out-of-memory")
      throw CannotRun(
          fmt::format("{}: the plan cannot run: {}", scenario.job.name, reason.message));
}

std::int64_t largest_good(std::int64_t most, const std::function<bool(std::int64_t)>& good) {
  if (most < 1 || !good(1)) return 0;
  std::int64_t low = 1;
  std::int64_t high = 2;
  while (high <= most && good(high)) {
    low = high;
    high *= 2;
  }
  high = std::min(high, most + 1);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (good(middle) ? low : high) = middle;
  }
  return low;
}

std::optional<double> least_good(double low, double high, double resolution,
                                 const std::function<bool(double)>& good) {
  FORETRAIN_REQUIRE(0.0 < low && low < high && resolution > 0.0);
  if (!good(high)) return std::nullopt;
  if (good(low)) return low;
  while (high / low > 1.0 + resolution) {
    const double middle = std::sqrt(low * high);
    (good(middle) ? high : low) = middle;
  }
  return high;
}

namespace {

constexpr int label_columns = 24;
constexpr std::size_t most_figures = 4;  // of the head

Json value_tree(const SolveValue& value) {
  return value.number ? number_or_null(value.number) : Json(value.text);
}

AnswerTable trials_table(const SolveAnswer& answer) {
  AnswerTable table;
  for (std::size_t i = 0; i < answer.heads.size(); ++i)
    table.columns.push_back(answer.rows.front()[i].number ? number_column(answer.heads[i])
                                                          : words_column(answer.heads[i]));
  for (const auto& row : answer.rows) {
    std::vector<AnswerCell> cells;
    for (const SolveValue& cell : row) cells.emplace_back(cell.text);
    table.add(std::move(cells));
  }
  return table;
}

AnswerHead solve_head(const SolveAnswer& answer, const std::string& source) {
  AnswerHead head;
  head.subject = answer.name;
  head.verdict = answer.found ? Verdict::safe : Verdict::no;
  head.words = answer.found ? name_of(answer.question) : "NO ANSWER";
  if (!answer.found) head.made_by = fmt::format("solve {}", name_of(answer.question));
  head.sentence = answer.sentence;
  for (const SolveValue& value : answer.values)
    if (head.figures.size() < most_figures) head.figures.push_back({value.label, value.text});
  if (!source.empty() && !answer.settings.empty())
    head.next = fmt::format("foretrain simulate {} {}", source, set_words(answer.settings));
  return head;
}

}  // namespace

Answer solve_answer(const SolveAnswer& solved, const std::string& source) {
  Answer answer{solve_head(solved, source)};
  AnswerFacts more;
  more.label_columns = label_columns;
  for (std::size_t i = most_figures; i < solved.values.size(); ++i)
    more.add(solved.values[i].label, solved.values[i].text);
  answer.add("", std::move(more));
  if (!solved.settings.empty() && source.empty())
    answer.add("", AnswerCode{set_words(solved.settings)});
  if (!solved.rows.empty()) answer.add("", trials_table(solved));
  AnswerSection notes;
  for (const std::string& note : solved.notes) notes.blocks.emplace_back(AnswerLine{note + "."});
  answer.add(std::move(notes));
  return answer;
}

std::string solve_json(const SolveAnswer& answer) {
  Json values = Json::object();
  for (const SolveValue& value : answer.values) values[value.key] = value_tree(value);
  Json rows = Json::array();
  for (const auto& row : answer.rows) {
    Json tree = Json::object();
    for (const SolveValue& cell : row)
      tree[cell.key] = cell.number || cell.text != "-" ? value_tree(cell) : Json(nullptr);
    rows.push_back(std::move(tree));
  }
  return dump({{"schema", "solve/1"},
               {"foretrain_version", version},
               {"name", answer.name},
               {"question", name_of(answer.question)},
               {"found", answer.found},
               {"answer", answer.sentence},
               {"values", std::move(values)},
               {"set", answer.settings},
               {"trials", std::move(rows)},
               {"notes", answer.notes}});
}

}  // namespace foretrain
