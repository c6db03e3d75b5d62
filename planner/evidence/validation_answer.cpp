// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/validate/validations.hpp"
#include "planner/evidence/figure_order.hpp"
#include "planner/evidence/internal/validate_report.hpp"
#include "planner/evidence/validate.hpp"
#include "planner/evidence/validate_pictures.hpp"
#include "planner/scene/scene.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

bool is_fit(const RecordCheck& check) { return check.quantity == fits_quantity; }

std::string label(const CheckSummary& line) { return source_label(line.source, line.group); }

AnswerCell name_cell(const CheckSummary& line) {
  return {label(line), line.source == "all" ? Tone::strong : Tone::plain};
}

std::string or_dash(bool known, const std::string& text) { return known ? text : "-"; }

std::vector<AnswerCell> step_row(const CheckSummary& line) {
  std::vector<AnswerCell> cells{name_cell(line), std::to_string(line.count),
                                std::to_string(line.skipped)};
  add_errors(line, cells);
  for (const std::string& text :
       {fixed_text(100.0 * line.covered, 0), or_dash(line.pairs > 0, fixed_text(line.tau, 2)),
        short_percent(line.half_peak_mape), short_percent(line.own_mfu_mape),
        std::to_string(line.pairs)})
    cells.emplace_back(text);
  return cells;
}

/// One line per source and group that something could be compared of.
AnswerTable step_table(const Validation& validation) {
  AnswerTable table{{words_column("source"), number_column("runs"), number_column("skip")}};
  add_error_columns(table.columns);
  for (const char* const head : {"band", "tau", "50 %", "own", "pairs"})
    table.columns.push_back(number_column(head));
  table.layout.apart = 1;
  int of_group = -1;
  for (const CheckSummary& line : validation.summary) {
    if (line.quantity != step_quantity) continue;
    // With one group alone, its total is that of all.
    if (line.source == "all" && line.group.empty() && line.count == of_group) continue;
    if (line.source == "all") of_group = std::max(of_group, line.count);
    if (line.count > 0) table.add(step_row(line));
  }
  return table;
}

/// Sources with step times of which none could be compared.
std::string sources_left_out(const Validation& validation) {
  std::string text;
  for (const CheckSummary& line : validation.summary)
    if (line.quantity == step_quantity && line.count == 0 && line.source != "all")
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", label(line), line.skipped);
  return text;
}

void add_steps(const Validation& validation, Answer& answer) {
  const CheckSummary* const all = total_of(validation, step_quantity);
  if (all == nullptr) return;
  if (all->count > 0)
    answer.add({"Step time: predicted / measured - 1, percent",
                {step_table(validation),
                 AnswerLine{fmt::format(
                     "band: measurements inside P10 to P90 of the forecast, {} % of all. tau: "
                     "Kendall's rank correlation over pairs of runs with the same model, GPUs and "
                     "batch. MAPE of a constant MFU: 50 %, and own, the mean of those runs.",
                     percent_figure(all->covered, 0))}}});
  AnswerSection skipped{"Step times not predicted", {reasons_table(validation, step_quantity)}};
  if (const std::string sources = sources_left_out(validation); !sources.empty())
    skipped.blocks.emplace_back(AnswerLine{"Nothing was compared of " + sources + "."});
  answer.add(std::move(skipped));
}

/// Errors of sizes in percent: one line per source and quantity.
void add_sizes(const Validation& validation, Answer& answer) {
  AnswerTable table{{words_column("source"), words_column("quantity"), number_column("count"),
                     number_column("skip"), number_column("bias"), number_column("MAPE"),
                     number_column("median"), number_column("P90"), number_column("worst")}};
  table.layout = {1, 2, 1};
  for (const CheckSummary& line : validation.summary) {
    if (line.quantity == fits_quantity || line.quantity == step_quantity || is_alone(line.quantity))
      continue;
    const auto known = [&](const std::string& text) { return or_dash(line.count > 0, text); };
    table.add({name_cell(line), line.quantity, std::to_string(line.count),
               std::to_string(line.skipped), known(signed_percent_text(line.bias, 2)),
               known(percent_figure(line.mape, 2)), known(percent_figure(line.median, 2)),
               known(percent_figure(line.p90, 2)), known(signed_percent_text(line.worst, 2))});
  }
  AnswerSection section{"Memory: predicted / measured - 1, percent", {std::move(table)}};
  const StageProfiles profiles = stage_profiles(validation.records);
  if (profiles.count > 0)
    section.blocks.emplace_back(AnswerLine{
        fmt::format("Profiles over pipeline stages: heaviest stage right in {} of {}; median error "
                    "of the {} stages {} %, P90 {} %.",
                    profiles.heaviest_right, profiles.count, profiles.stages,
                    percent_figure(profiles.median, 2), percent_figure(profiles.p90, 2))});
  answer.add(std::move(section));
}

struct FitCount {
  int right = 0;
  int promised = 0;  ///< predicted to fit, ran out
  int refused = 0;   ///< predicted not to fit, ran
};

FitCount fit_count(const Validation& validation, const std::string& source) {
  FitCount count;
  for (const RecordCheck& check : validation.records) {
    if (!is_fit(check) || check.skipped) continue;
    if (source != "all" && check.source != source) continue;
    const double error = check.error();
    ++(error > 0.0 ? count.promised : error < 0.0 ? count.refused : count.right);
  }
  return count;
}

std::string right_text(const CheckSummary& line, const FitCount& count) {
  return or_dash(line.count > 0, percent_figure(count.right / std::max(1.0, 1.0 * line.count), 2));
}

void add_fits(const Validation& validation, Answer& answer) {
  AnswerTable table{{words_column("source"), number_column("count"), number_column("skip"),
                     number_column("correct, percent"), number_column("false fit"),
                     number_column("false OOM")}};
  for (const CheckSummary& line : validation.summary) {
    if (line.quantity != fits_quantity) continue;
    const FitCount count = fit_count(validation, line.source);
    table.add({name_cell(line), std::to_string(line.count), std::to_string(line.skipped),
               right_text(line, count), std::to_string(count.promised),
               std::to_string(count.refused)});
  }
  if (table.rows.empty()) return;
  const auto surprises = std::ranges::count_if(validation.records, [](const RecordCheck& check) {
    return is_fit(check) && !check.skipped && check.measured == 0.0 && check.load < 0.95;
  });
  answer.add(
      {"Fits or runs out of memory",
       {std::move(table), AnswerLine{fmt::format(
                              "{} ran out of memory although the forecast left more than 5 % free.",
                              surprises == 0 ? "None" : std::to_string(surprises))}}});
}

/// The record with the largest error of each source and quantity.
AnswerTable worst_table(const Validation& validation, bool alone) {
  AnswerTable table{{words_column(), words_column(), number_column(), words_column()}};
  for (const CheckSummary& line : validation.summary) {
    if (line.count == 0 || line.worst == 0.0 || line.source == "all" ||
        is_alone(line.quantity) != alone)
      continue;
    const std::string error = line.quantity != fits_quantity ? signed_percent_text(line.worst, 2)
                              : line.worst > 0.0             ? "false fit"
                                                             : "false OOM";
    table.add({alone ? alone_label(line) : label(line), alone ? line.group : line.quantity, error,
               line.worst_id});
  }
  return table;
}

AnswerList skipped_list(const Validation& validation) {
  AnswerList list;
  for (std::size_t i = 0; i < validation.records.size(); ++i) {
    const RecordCheck& check = validation.records[i];
    if (!check.skipped) continue;
    std::string quantities = check.quantity;
    // The quantities of one record follow each other.
    while (i + 1 < validation.records.size() && validation.records[i + 1].skipped &&
           validation.records[i + 1].id == check.id && validation.records[i + 1].why == check.why)
      quantities += ", " + validation.records[++i].quantity;
    list.items.push_back(fmt::format("{} ({}): {}", check.id, quantities, check.why));
  }
  return list;
}

void add_figure(const CheckSummary* total, const char* name, std::string beside, AnswerHead& head) {
  if (total == nullptr || total->count == 0) return;
  head.figures.push_back({name, short_percent(total->median) + " %",
                          "P90 " + short_percent(total->p90) + " %",
                          with_thousands(total->count) + std::move(beside)});
}

/// The quantity of memory that most is known of.
const CheckSummary* memory_total(const Validation& validation) {
  for (const char* const quantity : {"mem_max", "mem_device", "mem_reserved", "mem_allocated"})
    if (const CheckSummary* total = total_of(validation, quantity);
        total != nullptr && total->count > 0)
      return total;
  return nullptr;
}

std::string fits_beside(const Validation& validation) {
  const CheckSummary* const fits = total_of(validation, fits_quantity);
  if (fits == nullptr || fits->count == 0) return " records";
  const double right = fit_count(validation, "all").right;
  return fmt::format(" records; fits or not: {} of {} right", right, fits->count);
}

/// The sentence of the first kind of records that something could be compared of.
std::string sentence_of(const Validation& validation) {
  if (const CheckSummary* steps = total_of(validation, step_quantity);
      steps != nullptr && steps->count > 0)
    return fmt::format(
        "Forecast step times of {} measured runs are {} % off in the median, {} % in the mean; the "
        "band held {} % of the measurements.",
        with_thousands(steps->count), short_percent(steps->median), short_percent(steps->mape),
        percent_figure(steps->covered, 0));
  const CheckSummary* total = memory_total(validation);
  const char* what =
      "Forecast memory of {} measured runs is {} % off in the median, {} % in the "
      "mean.";
  if (total == nullptr) {
    what = "Forecast times of {} kernels are {} % off in the median, {} % in the mean.";
    total = total_of(validation, kernel_quantity);
  }
  if (total == nullptr || total->count == 0) {
    what = "Forecast times of {} collectives are {} % off in the median, {} % in the mean.";
    total = total_of(validation, collective_quantity);
  }
  if (total == nullptr || total->count == 0) return "";
  return fmt::format(fmt::runtime(what), with_thousands(total->count), short_percent(total->median),
                     short_percent(total->mape));
}

/// "3 measured steps and 2 measured peaks of memory".
std::string compared_words(const RecordsCheck& check) {
  const auto some = [](int count, const char* one, const char* more) {
    return fmt::format("{} measured {}", count, count == 1 ? one : more);
  };
  const std::string steps = some(check.steps, "step", "steps");
  const std::string memory = some(check.memory, "peak of memory", "peaks of memory");
  if (check.memory == 0) return steps;
  return check.steps == 0 ? memory : steps + " and " + memory;
}

void judge(const RecordsCheck& check, AnswerHead& head) {
  const bool inside = check.outside.empty();
  head.verdict = inside ? Verdict::safe : Verdict::no;
  head.words = inside ? "AS FORECAST" : "OUTSIDE THE BAND";
  head.sentence =
      inside
          ? fmt::format("Of {}, all lie inside the bands of their forecasts. ",
                        compared_words(check))
          : fmt::format(
                "Of {}, {} outside the bands of their forecasts. ", compared_words(check),
                check.outside.size() == 1 ? "1 lies" : fmt::format("{} lie", check.outside.size()));
}

AnswerHead head_of(const Validation& validation, const ValidationView& view) {
  AnswerHead head;
  head.subject = "Forecasts against measurements";
  add_figure(total_of(validation, step_quantity), "step time", " runs", head);
  add_figure(memory_total(validation), "memory", fits_beside(validation), head);
  add_figure(total_of(validation, kernel_quantity), "kernels", " timings", head);
  add_figure(total_of(validation, collective_quantity), "collectives", " timings", head);
  head.words =
      head.figures.empty() ? "NOTHING COMPARED" : "MEDIAN ERROR " + head.figures.front().value;
  if (view.check) judge(*view.check, head);
  head.sentence += sentence_of(validation);
  const CheckSummary* const steps = total_of(validation, step_quantity);
  if (view.shipped && steps != nullptr && steps->count > 0)
    head.sentence +=
        " Constants were fitted on most of these; --accuracy has the errors of runs that no fit "
        "has seen.";
  if (head.sentence.empty())
    head.sentence = fmt::format("None of {} figures could be compared.", validation.records.size());
  return head;
}

AnswerFacts files_of(const Validation& validation) {
  AnswerFacts facts;
  facts.label_columns = 10;
  for (const std::string& file : validation.files) facts.add("Measured", file);
  return facts;
}

void add_pictures(const Validation& validation, Answer& answer) {
  if (!has_step_times(validation)) return;
  answer.add({"Step times, drawn",
              {AnswerPicture{scatter_chart(validation, picture_space({}, 1100.0, 800.0)),
                             "Predicted against measured step times"},
               AnswerPicture{residuals_chart(validation, picture_space({}, 1160.0)),
                             "Errors of step times by source and kind of run"}},
              AnswerPlace::pages});
}

}  // namespace

Answer validation_answer(const Validation& validation, const ValidationView& view) {
  Answer answer{head_of(validation, view)};
  answer.add("", files_of(validation));
  add_pictures(validation, answer);
  if (view.check)
    answer.add("Outside the band", AnswerList{view.check->outside}, AnswerPlace::pages);
  add_steps(validation, answer);
  add_alone(validation, answer);
  add_sizes(validation, answer);
  add_fits(validation, answer);
  answer.add("Worst record of each", worst_table(validation, false));
  answer.add("Worst kernel and collective of each", worst_table(validation, true),
             AnswerPlace::pages);
  if (view.figures) answer.add(figure_orders_section(figure_orders(validation.records)));
  if (view.skipped)
    answer.add("Skipped", skipped_list(validation));
  else
    answer.add("", skipped_line(validation));
  return answer;
}

}  // namespace foretrain
