// SPDX-License-Identifier: Apache-2.0
#include "calibration/training_logs/run_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "models/base/percentile.hpp"

namespace foretrain {
namespace {

using SeriesList = std::vector<const StepSeries*>;

/// The series of a grammar, by their first steps; those that another rank wrote once more are left
/// out: they begin and end within another one.
SeriesList series_of(int grammar, const std::vector<LogFile>& files) {
  SeriesList all;
  for (const LogFile& file : files)
    if (const auto found = file.series.find(grammar); found != file.series.end())
      all.push_back(&found->second);
  std::ranges::stable_sort(all, [](const StepSeries* a, const StepSeries* b) {
    if (a->first().value_or(0) != b->first().value_or(0))
      return a->first().value_or(0) < b->first().value_or(0);
    return a->last().value_or(0) > b->last().value_or(0);
  });
  SeriesList kept;
  long reached = -1;
  for (const StepSeries* const one : all) {
    const bool copy = !kept.empty() && one->last() && *one->last() <= reached;
    if (copy) continue;
    kept.push_back(one);
    reached = std::max(reached, one->last().value_or(-1));
  }
  return kept;
}

/// The first five steps are left out where there are ten records or more, else the first record
/// where times are printed: a clock gives the first record none, and rates of few are all taken.
std::size_t warm_up(std::size_t count, long interval, bool clocked) {
  constexpr std::size_t many = 10;
  constexpr long steps = 5;
  if (count >= many) return static_cast<std::size_t>((steps + interval - 1) / interval);
  return count >= 2 && !clocked ? 1 : 0;
}

std::vector<float> steady(const SeriesList& list, bool clocked,
                          const std::function<double(const KeptStep&)>& value) {
  std::vector<float> values;
  for (const StepSeries* const series : list)
    for (const KeptStep& kept : series->kept()) {
      const double each = value(kept);
      if (std::isfinite(each) && each > 0.0) values.push_back(static_cast<float>(each));
    }
  if (values.empty()) return values;
  const std::size_t first = warm_up(values.size(), list.front()->interval(), clocked);
  values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(first));
  return values;
}

std::optional<double> median_of(const SeriesList& list, float KeptStep::*member) {
  auto values = steady(list, true, [member](const KeptStep& kept) { return kept.*member; });
  if (values.empty()) return std::nullopt;
  return percentile_of(values, 0.5);
}

/// One way to a step time.
struct Way {
  const char* how;
  bool clocked;
  std::function<double(const KeptStep&)> seconds;
};

/// @param stamped whether the clock is that of the lines: it covers what rates leave out
std::vector<Way> ways_of(const LoggedPlan& plan, bool stamped) {
  std::vector<Way> ways{
      {"step times that the log prints", false, [](const KeptStep& k) { return k.seconds; }}};
  if (plan.gpus)
    ways.push_back({"tokens of a step over the rate that the log prints", false,
                    [gpus = *plan.gpus](const KeptStep& k) {
                      return static_cast<double>(k.tokens_per_step) / k.tokens_per_s_per_gpu / gpus;
                    }});
  const Way clocked{"time from one record to the next", stamped,
                    [](const KeptStep& k) { return k.clocked; }};
  if (stamped) ways.push_back(clocked);
  if (plan.global_batch)
    ways.push_back({"global batch over the samples per second that the log prints", false,
                    [batch = *plan.global_batch](const KeptStep& k) {
                      return batch / static_cast<double>(k.samples_per_s);
                    }});
  if (!stamped) ways.push_back(clocked);
  return ways;
}

/// What steps take by a clock of whole seconds: their differences are 3 or 4 s where steps
/// take 3.5, in the mean 3.5.
double mean_without_pauses(const std::vector<float>& values, double median) {
  constexpr double pause = 3.0;
  double sum = 0.0;
  long count = 0;
  for (const float value : values)
    if (value <= pause * median + 1.0) {
      sum += value;
      ++count;
    }
  return count > 0 ? sum / static_cast<double>(count) : median;
}

/// Every record's time by one way, with the warm-up, and the numbers of its steps.
std::vector<LoggedStep> series_by(const Way& way, const SeriesList& list) {
  std::vector<LoggedStep> steps;
  for (const StepSeries* const series : list)
    for (const KeptStep& kept : series->kept())
      steps.push_back({kept.step, static_cast<float>(way.seconds(kept)), kept.stamp});
  return steps;
}

/// By the first way that the records allow. Bars have a clock of whole seconds.
/// @param every receives the time of every record
std::optional<LoggedSteps> times_of(const SeriesList& list, const LoggedPlan& plan,
                                    const LogGrammar& rules, std::vector<LoggedStep>& every) {
  const bool coarse = rules.name == "progress-bar";
  for (const Way& way : ways_of(plan, rules.clock != StepClock::none)) {
    auto values = steady(list, way.clocked, way.seconds);
    if (values.empty()) continue;
    LoggedSteps steps;
    steps.median = percentile_of(values, 0.5);
    if (way.clocked && coarse) steps.median = mean_without_pauses(values, steps.median);
    steps.p10 = percentile_of(values, 0.1);
    steps.p90 = percentile_of(values, 0.9);
    steps.records = static_cast<long>(values.size());
    steps.how = way.how;
    every = series_by(way, list);
    return steps;
  }
  return std::nullopt;
}

/// GPUs where rates tell them, batch and sequence as lines of steps print them.
void learn_plan(LoggedPlan& plan, const SeriesList& list) {
  for (const StepSeries* const series : list) {
    const auto whole = [](const std::optional<double>& value) {
      return value && *value <= 1e9 ? std::optional(static_cast<int>(*value)) : std::nullopt;
    };
    if (const auto batch = whole(series->global_batch())) plan.global_batch = batch;
    if (const auto sequence = whole(series->sequence()); sequence && !plan.sequence)
      plan.sequence = sequence;
  }
  if (plan.gpus) return;
  const auto all = median_of(list, &KeptStep::tokens_per_s);
  const auto each = median_of(list, &KeptStep::tokens_per_s_per_gpu);
  if (!all || !each) return;
  const double gpus = std::round(*all / *each);
  if (gpus >= 1.0 && gpus < 1e7 && std::abs(*all / *each / gpus - 1.0) < 0.02)
    plan.gpus = static_cast<int>(gpus);
}

void find_rates(TrainingLog& log, const SeriesList& list) {
  log.tflops_per_gpu = median_of(list, &KeptStep::tflops_per_gpu);
  log.tokens_per_s_per_gpu = median_of(list, &KeptStep::tokens_per_s_per_gpu);
  if (log.tokens_per_s_per_gpu || !log.plan.gpus) return;
  const double gpus = *log.plan.gpus;
  if (const auto all = median_of(list, &KeptStep::tokens_per_s))
    log.tokens_per_s_per_gpu = *all / gpus;
  else if (log.step && log.plan.global_batch && log.plan.sequence)
    log.tokens_per_s_per_gpu = static_cast<double>(*log.plan.global_batch) * *log.plan.sequence /
                               (log.step->median * gpus);
}

/// The time of the whole run over its steps, where nothing finer is said.
std::optional<LoggedSteps> whole_run(const std::vector<LogFile>& files) {
  for (const LogFile& file : files)
    if (file.total_seconds && file.total_steps && *file.total_seconds > 0.0 &&
        *file.total_steps >= 1.0) {
      const double each = *file.total_seconds / *file.total_steps;
      return LoggedSteps{each, each, each, 1, "time of the whole run over its steps"};
    }
  return std::nullopt;
}

}  // namespace

std::optional<int> grammar_of_run(const std::vector<LogFile>& files) {
  std::map<int, long> counts;
  for (const LogFile& file : files)
    for (const auto& [grammar, series] : file.series)
      if (series.count() > 0) counts[grammar] += series.count();
  const auto is_fallback = [](int grammar) {
    return log_grammars()[static_cast<std::size_t>(grammar)].fallback;
  };
  long most = 0;
  for (const auto& [grammar, count] : counts)
    if (!is_fallback(grammar)) most = std::max(most, count);
  // Lines of other programs may look like steps of a format by chance, but not many of them.
  constexpr double few = 0.1;
  for (const auto& [grammar, count] : counts)
    if (!is_fallback(grammar) && static_cast<double>(count) >= few * static_cast<double>(most))
      return grammar;
  return counts.empty() ? std::nullopt : std::optional(counts.begin()->first);
}

std::string name_of_signs(const std::vector<LogFile>& files) {
  for (const LogFile& file : files)
    if (!file.signed_name.empty()) return file.signed_name;
  const auto signs = grammar_signs();
  for (std::size_t place = 0; place < signs.size(); ++place)
    for (const LogFile& file : files)
      if (file.signs.contains(static_cast<int>(place))) return std::string(signs[place].name);
  return "";
}

std::string name_of_format(int grammar, const std::vector<LogFile>& files) {
  const LogGrammar& rules = log_grammars()[static_cast<std::size_t>(grammar)];
  const std::string_view name = rules.name;
  if (rules.fallback)
    if (std::string signed_name = name_of_signs(files); !signed_name.empty()) return signed_name;
  const auto variants = grammar_variants();
  for (std::size_t place = 0; place < variants.size(); ++place)
    if (variants[place].grammar == name)
      for (const LogFile& file : files)
        if (file.variants.contains(static_cast<int>(place)))
          return std::string(variants[place].name);
  return std::string(name);
}

void read_run_steps(TrainingLog& log, int grammar, const std::vector<LogFile>& files) {
  const SeriesList list = series_of(grammar, files);
  const bool counts = log_grammars()[static_cast<std::size_t>(grammar)].counts;
  long skipped = 0;
  for (const StepSeries* const series : list) {
    if (counts) log.iterations += series->count();
    skipped += series->skipped();
    if (!log.first_step) log.first_step = series->first();
    if (series->last()) log.last_step = series->last();
  }
  log.event_counts[static_cast<std::size_t>(LogEventKind::skipped)] += skipped;
  learn_plan(log.plan, list);
  complete_plan(log.plan, log.format);
  const auto& grammars = log_grammars();
  log.step = times_of(list, log.plan, grammars[static_cast<std::size_t>(grammar)], log.series);
  for (std::size_t other = 0; !log.step && other < grammars.size(); ++other) {
    const SeriesList others = series_of(static_cast<int>(other), files);
    if (!others.empty()) log.step = times_of(others, log.plan, grammars[other], log.series);
  }
  if (!log.step) log.step = whole_run(files);
  find_rates(log, list);
}

void fill_plan(LoggedPlan& plan, const LoggedPlan& other) {
  for (std::optional<int> LoggedPlan::*const member :
       {&LoggedPlan::gpus,           &LoggedPlan::tensor,      &LoggedPlan::pipeline,
        &LoggedPlan::virtual_stages, &LoggedPlan::data,        &LoggedPlan::context,
        &LoggedPlan::expert,         &LoggedPlan::micro_batch, &LoggedPlan::accumulation,
        &LoggedPlan::global_batch,   &LoggedPlan::sequence,    &LoggedPlan::zero,
        &LoggedPlan::layers,         &LoggedPlan::hidden,      &LoggedPlan::heads,
        &LoggedPlan::kv_heads,       &LoggedPlan::ffn_hidden,  &LoggedPlan::vocabulary,
        &LoggedPlan::experts,        &LoggedPlan::top_k})
    if (!(plan.*member)) plan.*member = other.*member;
  if (!plan.distributed_optimizer) plan.distributed_optimizer = other.distributed_optimizer;
  for (std::optional<bool> LoggedPlan::*const member :
       {&LoggedPlan::sequence_parallel, &LoggedPlan::overlap_gradients,
        &LoggedPlan::overlap_parameters, &LoggedPlan::overlap_tensor, &LoggedPlan::gated,
        &LoggedPlan::compiled})
    if (!(plan.*member)) plan.*member = other.*member;
  if (plan.transformer.empty()) plan.transformer = other.transformer;
  if (plan.precision.empty()) plan.precision = other.precision;
  if (plan.recompute.empty()) plan.recompute = other.recompute;
}

}  // namespace foretrain
