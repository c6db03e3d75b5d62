// SPDX-License-Identifier: Apache-2.0
#include "planner/explain/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/base/ranges.hpp"
#include "models/forecast/band.hpp"
#include "planner/answer/json_of.hpp"
#include "planner/answer/quantity.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {
namespace {

constexpr const char* band_path = "step.band";

/// Short names of what people ask for most.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> short_names{
    {{"step", "step.time_s"},
     {"memory", "memory.peak_bytes"},
     {"flops", "flops.model_per_step"},
     {"run", "run.ideal_s"},
     {"cost", "cost.gpu_hours"},
     {"goodput", "run.goodput"}}};

std::string expand_quantity(const std::string& quantity) {
  for (const auto& [name, path] : short_names)
    if (name == quantity) return std::string(path);
  return quantity;
}

/// A value of the JSON as people read it.
std::string shown(std::string_view path, const Json& value) {
  if (value.is_number()) return quantity_text(path, value.get<double>());
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "unknown" : value.dump();
}

const ResolvedValue* find_value(const Scenario& scenario, std::string_view path) {
  for (const ResolvedValue& value : scenario.values)
    if (value.path == path) return &value;
  return nullptr;
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    result.push_back(text.substr(0, blank));
    if (blank == std::string_view::npos) break;
    text.remove_prefix(blank + 1);
  }
  return result;
}

void add_scenario_inputs(const Scenario& scenario, std::string_view key,
                         std::vector<ExplainInput>& inputs) {
  if (const ResolvedValue* exact = find_value(scenario, key)) {
    inputs.push_back({exact->path, exact->value, exact->origin});
    return;
  }
  const std::string group = std::string(key) + ".";
  for (const ResolvedValue& value : scenario.values)
    if (value.path.starts_with(group)) inputs.push_back({value.path, value.value, value.origin});
}

std::vector<ExplainInput> inputs_of(const Report& report, const Json& tree, const ValueRow& row) {
  std::vector<ExplainInput> inputs;
  for (const std::string_view word : words(row.inputs)) {
    if (!word.starts_with('@')) {
      add_scenario_inputs(report.scenario, word, inputs);
      continue;
    }
    const std::string_view path = word.substr(1);
    const Json* value = find_path(tree, path);
    inputs.push_back({std::string(path), value ? shown(path, *value) : "unknown", "forecast"});
  }
  return inputs;
}

void add_constants(const Prediction& p, ConstantSource source, ExplainAnswer& answer) {
  switch (source) {
    case ConstantSource::none:
      break;
    case ConstantSource::device:
      answer.constants.emplace_back("device", p.device);
      break;
    case ConstantSource::kernels:
      answer.constants.emplace_back("kernels", p.kernels);
      break;
    case ConstantSource::collectives:
      answer.constants.emplace_back("collectives", p.collectives);
      break;
    case ConstantSource::stack:
      answer.constants.emplace_back("stack", p.stack);
      break;
  }
}

ExplainAnswer explain_scenario_value(const ResolvedValue& value) {
  ExplainAnswer answer;
  answer.path = value.path;
  answer.value = answer.exact = value.value;
  answer.meaning = "A value of the resolved scenario.";
  answer.formula = "as given";
  answer.inputs.push_back({value.path, value.value, value.origin});
  return answer;
}

/// Numbers that a plan has which does not fit (Prediction::if_it_fit).
bool is_of_the_step(std::string_view path) {
  return path.starts_with("step.") || path == "mfu" || path == "hfu" ||
         path.starts_with("tokens_per_s") || path == "model_tflops_per_gpu";
}

ExplainAnswer explain_number(const Report& report, const Json& tree, const std::string& path,
                             const ValueRow& row) {
  ExplainAnswer answer;
  answer.path = path;
  answer.meaning = row.meaning;
  answer.formula = row.formula;
  const Json* value = find_path(tree, path);
  answer.value = value ? shown(path, *value) : "unknown";
  answer.exact = value ? value->dump() : "null";
  if (answer.exact == "null" && !report.prediction.feasible())
    answer.meaning +=
        " Unknown here, because the plan cannot run: " + report.prediction.reasons.front().message +
        ".";
  else if (report.prediction.if_it_fit && is_of_the_step(path))
    answer.meaning += " The plan does not fit: this is what it would be if it did.";
  answer.inputs = inputs_of(report, tree, row);
  add_constants(report.prediction, row.constants.first, answer);
  add_constants(report.prediction, row.constants.second, answer);
  // The named rows of a memory category are its exact parts.
  if (path.starts_with("memory.stages.") && report.prediction.memory) {
    for (const StageMemory& stage : report.prediction.memory->stages)
      for (const MemoryRow& item : stage.rows)
        if (path == "memory.stages." + std::to_string(stage.stage) + "." + item.category + "_bytes")
          answer.parts.emplace_back(item.name, bytes_text(item.size));
  }
  return answer;
}

/// Both ends of the band, and the reasons for its width.
ExplainAnswer explain_band(const Report& report) {
  ExplainAnswer answer;
  answer.path = band_path;
  answer.meaning = "How far a step may be from its forecast, 10th to 90th percentile.";
  answer.formula =
      "the parts, as root of squares; widths by kind are fitted on runs that were left out of the "
      "fit (calibration/fits/bands.yaml; models/forecast/README.md, \"Band\")";
  const auto& step = report.prediction.step;
  if (!step) {
    answer.value = "unknown";
    answer.exact = "null";
    return answer;
  }
  const auto sides = [](const BandSides& band) {
    return fmt::format("-{} +{}", percent_text(band.low), percent_text(band.high));
  };
  answer.value = sides({step->time / step->low - 1.0, step->high / step->time - 1.0});
  const auto parts = band_parts(report.scenario.job, *step);
  for (const BandPart& part : parts)
    answer.parts.emplace_back(part.name + ": " + part.why, sides(part.width));
  const auto narrower =
      std::ranges::find_if(parts, [](const BandPart& part) { return !part.narrower.empty(); });
  if (narrower != parts.end())
    answer.meaning += " What would narrow it most: " + narrower->narrower + ".";
  add_constants(report.prediction, ConstantSource::stack, answer);
  return answer;
}

std::vector<std::string> known_quantities(const Report& report, const Json& tree) {
  std::vector<std::string> result;
  for (const std::string& path : leaf_paths(tree))
    if (quantities().find(path)) result.push_back(path);
  // What this forecast lacks as a whole still has a formula.
  for (const ValueRow& row : quantities().rows())
    if (!row.in_list() && !contains(result, row.path)) result.push_back(row.path);
  for (const ResolvedValue& value : report.scenario.values) result.push_back(value.path);
  result.emplace_back(band_path);
  return result;
}

ExplainAnswer explain_group(const Json& group, const std::string& path) {
  ExplainAnswer answer;
  answer.path = path;
  answer.meaning = "A group of values.";
  for (const std::string& leaf : leaf_paths(group)) {
    const std::string full = fmt::format("{}.{}", path, leaf);
    answer.parts.emplace_back(full, shown(full, *find_path(group, leaf)));
  }
  return answer;
}

/// The row whose last word is `word`, its unit left out or not ("bubble", "bubble_s"), when there
/// is just one.
const ValueRow* find_by_last_word(std::string_view word) {
  const ValueRow* found = nullptr;
  for (const ValueRow& row : quantities().rows()) {
    if (row.in_list()) continue;
    const std::string_view path = row.path;
    const std::string_view last = path.substr(path.rfind('.') + 1);
    const bool unit_left_out = last.starts_with(word) && last.find('_') == word.size() &&
                               last.find('_', word.size() + 1) == std::string_view::npos;
    if (last != word && !unit_left_out) continue;
    if (found != nullptr) return nullptr;
    found = &row;
  }
  return found;
}

/// Of a scenario that serves or post-trains.
ExplainAnswer explain_figure(const Study& study, const StudyFigure& figure) {
  ExplainAnswer answer;
  answer.path = figure.path;
  answer.value = quantity_text(figure.path, figure.value);
  answer.exact = number_or_null(figure.value).dump();
  answer.meaning = figure.meaning;
  answer.formula = figure.formula;
  if (!figure.value && !study.reasons.empty())
    answer.meaning +=
        " Unknown here, because it cannot run: " + study.reasons.front().message + ".";
  if (figure.band)
    answer.meaning +=
        fmt::format(" 10th to 90th percentile: {}.", range_text(figure.path, *figure.band));
  return answer;
}

/// "step" is the step's time, "samples_per_s" itself, "ttft" all that begins with it.
ExplainAnswer explain_study(const Report& report, const std::string& quantity) {
  const Study& study = *report.study;
  for (const std::string& path : {quantity, quantity + ".time_s"})
    if (const StudyFigure* figure = find_figure(study.figures, path))
      return explain_figure(study, *figure);
  if (const ResolvedValue* value = find_value(report.scenario, quantity))
    return explain_scenario_value(*value);
  ExplainAnswer group;
  group.path = quantity;
  group.meaning = "A group of values.";
  std::vector<std::string> known;
  for (const StudyFigure& figure : study.figures) {
    known.push_back(figure.path);
    if (figure.path.starts_with(quantity + ".") ||
        figure.path.find("." + quantity + "_s.") != std::string::npos)
      group.parts.emplace_back(figure.path, quantity_text(figure.path, figure.value));
  }
  if (!group.parts.empty()) return group;
  for (const ResolvedValue& value : report.scenario.values) known.push_back(value.path);
  throw UsageError("there is no quantity '" + quantity +
                   "' (foretrain explain SCENARIO lists all)" + nearest_hint(quantity, known));
}

Answer study_quantities(const Report& report, const std::string& source) {
  AnswerTable table{{words_column(), number_column(), words_column()}};
  table.layout.apart = 1;
  for (const StudyFigure& figure : report.study->figures)
    table.add({figure.path, quantity_text(figure.path, figure.value), std::string(figure.meaning)});
  Answer answer{report.study->answer.head};
  answer.head.words = fmt::format("{} QUANTITIES", table.rows.size());
  answer.head.verdict.reset();
  answer.head.sentence =
      "Quantities of this forecast. foretrain explain SCENARIO QUANTITY shows what one is; "
      "scenario "
      "keys (serving.parallel.tensor) work too.";
  if (!source.empty())
    answer.head.next = "foretrain explain " + source + " " + ranking(report.study->figures).path;
  answer.add("", std::move(table));
  return answer;
}

}  // namespace

ExplainAnswer explain(const Report& report, const std::string& quantity) {
  if (report.study) return explain_study(report, quantity);
  const Json tree = prediction_tree(report);
  const std::string path = expand_quantity(quantity);
  if (path == band_path) return explain_band(report);
  if (const auto found = quantities().find(path);
      found && (find_path(tree, path) != nullptr || !found->quantity->in_list()))
    return explain_number(report, tree, path, *found->quantity);
  const std::string key = path.starts_with("scenario.") ? path.substr(9) : path;
  if (const ResolvedValue* value = find_value(report.scenario, key))
    return explain_scenario_value(*value);
  const Json resolved = json_of(scenario_value(report.scenario));
  for (const auto& [root, name] : {std::pair{&tree, &path}, std::pair{&resolved, &key}}) {
    const Json* group = name->empty() ? nullptr : find_path(*root, *name);
    if (group != nullptr && group->is_structured()) return explain_group(*group, *name);
  }
  if (const ValueRow* meant = find_by_last_word(quantity))
    return explain_number(report, tree, meant->path, *meant);
  throw UsageError("there is no quantity '" + quantity +
                   "' (foretrain explain SCENARIO lists all)" +
                   nearest_hint(quantity, known_quantities(report, tree)));
}

Answer quantities_answer(const Report& report, const std::string& source) {
  if (report.study) return study_quantities(report, source);
  const Json tree = prediction_tree(report);
  AnswerTable table{{words_column(), number_column(), words_column()}};
  table.layout.apart = 1;
  const std::string heaviest =
      report.prediction.memory ? std::to_string(report.prediction.memory->peak_stage) : "0";
  for (const ValueRow& row : quantities().rows()) {
    if (row.in_list() && !row.path.starts_with("memory.stages.")) continue;
    std::string path = row.path;
    if (const std::size_t star = path.find('*'); star != std::string::npos)
      path.replace(star, 1, heaviest);
    const Json* value = find_path(tree, path);
    if (value == nullptr ? row.left_out : value->is_string()) continue;  // texts explain themselves
    table.add({path, value ? shown(path, *value) : "unknown", std::string(row.meaning)});
  }
  Answer answer;
  answer.head.subject = report.scenario.job.name;
  answer.head.made_by = name_of(report.prediction.engine);
  answer.head.words = fmt::format("{} QUANTITIES", table.rows.size());
  answer.head.sentence =
      "Quantities of this forecast. foretrain explain SCENARIO QUANTITY shows what one is and "
      "where it comes from; other stages, groups (step.breakdown) and scenario keys "
      "(parallel.tensor) work too.";
  for (const char* const path : {"step.time_s", "mfu", "memory.peak_bytes"})
    if (const Json* value = find_path(tree, path))
      answer.head.figures.push_back({path, shown(path, *value)});
  if (!source.empty()) answer.head.next = "foretrain explain " + source + " step";
  answer.add("", std::move(table));
  return answer;
}

std::string quantities_json(const Report& report) {
  Json list = Json::array();
  if (report.study) {
    for (const StudyFigure& figure : report.study->figures)
      list.push_back({{"quantity", figure.path},
                      {"value", number_or_null(figure.value)},
                      {"meaning", figure.meaning}});
    return dump({{"schema", "quantities/1"}, {"quantities", list}});
  }
  const Json tree = prediction_tree(report);
  for (const std::string& path : leaf_paths(tree))
    if (const auto found = quantities().find(path))
      list.push_back({{"quantity", path},
                      {"value", *find_path(tree, path)},
                      {"meaning", found->quantity->meaning}});
  return dump({{"schema", "quantities/1"}, {"quantities", list}});
}

}  // namespace foretrain
