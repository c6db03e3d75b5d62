// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/fit_room.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "models/base/require.hpp"
#include "models/grid/process_grid.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/text/format.hpp"
#include "planner/text/quoting.hpp"

namespace foretrain {
namespace {

constexpr int label_columns = 15;

Verdict verdict_of(FitVerdict verdict) {
  if (verdict == FitVerdict::fits) return Verdict::safe;
  const bool either = verdict == FitVerdict::fits_barely || verdict == FitVerdict::may_not_fit;
  return either ? Verdict::at_risk : Verdict::no;
}

std::string_view words_of(FitVerdict verdict) {
  switch (verdict) {
    case FitVerdict::fits:
      return "FITS";
    case FitVerdict::fits_barely:
      return "FITS BARELY";
    case FitVerdict::may_not_fit:
      return "MAY NOT FIT";
    case FitVerdict::does_not_fit:
      return "DOES NOT FIT";
    case FitVerdict::illegal:
      break;
  }
  return "NOT A LEGAL PLAN";
}

/// Whether the plan is not forecast to fit.
bool needs_change(const FitReport& report) {
  return report.verdict == FitVerdict::may_not_fit || report.verdict == FitVerdict::does_not_fit;
}

std::string next_command(const FitReport& report, const std::string& source) {
  if (source.empty()) return {};
  if (needs_change(report) && !report.changes.empty())
    return fmt::format("foretrain fit {} {}", source, set_words(report.changes.front().settings));
  const bool runs = report.memory && report.memory->fits() && report.not_forecast.empty();
  // `plan` reads no framework's configuration in place of a scenario ("--hf FILE").
  if (!runs && source.starts_with("--")) return {};
  return fmt::format("foretrain {} {}", runs ? "simulate" : "plan", source);
}

std::string band_text(const FitReport& report) {
  const MemoryBand& band = report.band;
  const Job& job = report.scenario.job;
  std::string text = fmt::format(
      "{} to {} on the device, {} to {} allocated, {} to {} reserved: allocated bytes within {} "
      "(90th percentile of the error that stack {} has against measured memory), with the "
      "allocator's cache within {}",
      bytes_text(band.low), bytes_text(band.high), bytes_text(band.allocated.low),
      bytes_text(band.allocated.high), bytes_text(band.reserved.low),
      bytes_text(band.reserved.high), percent_text(band.share), job.stack.name,
      percent_text(band.reserved_share));
  if (report.verdict == FitVerdict::fits_barely)
    text += band.high > report.memory->usable
                ? fmt::format(
                      "; its upper end is {} over what is usable, so try before you rely "
                      "on it",
                      bytes_text(band.high - report.memory->usable))
                : "; the allocator's cache fills the GPU, so try before you rely on it";
  if (report.verdict == FitVerdict::may_not_fit)
    text += "; its lower end fits, so try before you give it up";
  return text;
}

std::string counters_text(const StageMemory& stage) {
  std::string text = fmt::format(
      "stage {}: {} allocated between steps, {} at the peak; {} reserved; {} in "
      "nvidia-smi",
      stage.stage, bytes_text(stage.resident), bytes_text(stage.allocated),
      bytes_text(stage.reserved), bytes_text(stage.peak));
  if (stage.host > Bytes{})
    text +=
        fmt::format("; {} of host memory, {} down and {} up the host link per step",
                    bytes_text(stage.host), bytes_text(stage.to_host), bytes_text(stage.to_device));
  return text;
}

std::string rank_text(const Job& job, int rank) {
  const RankPlace place = ProcessGrid{job.parallel}.place(rank);
  std::string text = fmt::format("{}: stage {}, data {}, context {}, tensor {}", rank, place.stage,
                                 place.data, place.context, place.tensor);
  if (job.model.moe && job.parallel.expert > 1) text += fmt::format(", experts {}", place.expert);
  const int alike = ProcessGrid{job.parallel}.stage_ranks();
  if (job.parallel.single_process())
    return text + (rank == 0 ? "; GPU 0, which alone holds optimizer states, summed gradients and "
                               "gathered outputs"
                             : "; a copy of GPU 0's weights, made for every micro-batch");
  text += alike > 1 ? fmt::format("; the {} ranks of the stage hold the same", alike)
                    : std::string("; the only rank of its stage");
  if (job.model.moe && job.parallel.expert > 1)
    text += " but for routed tokens, of which the forecast is the busiest rank's";
  return text;
}

AnswerSection timeline_section(const FitReport& report, const StageAccount& account) {
  const Bytes usable = report.memory->usable;
  const Bytes scale = max(usable, Bytes{account.allocated}) * 1.02;
  AnswerTable table{{words_column(), words_column(), number_column(), words_column()}};
  table.layout.apart = 1;
  for (std::size_t p = 0; p < memory_phases; ++p) {
    const auto phase = static_cast<MemoryPhase>(p);
    const StageMemory memory = phase_memory(account, phase);
    if (memory.allocated == Bytes{}) continue;  // stages without an output layer lack its phase
    table.add({phase == account.peak_phase ? ">" : " ", std::string(name_of(phase)),
               bytes_text(memory.allocated), memory_stack(memory, usable, scale)});
  }
  return {fmt::format("Stage {} over a step, allocated bytes", account.stage), {std::move(table)}};
}

AnswerSection remedies_section(const FitReport& report) {
  if (!needs_change(report)) return {};
  if (!report.changes.empty()) return changes_section(report.changes);
  return {"", {AnswerLine{"Remedy: " + std::string(no_change_fits) + "."}}};
}

AnswerSection tried_section(const FitReport& report) {
  if (report.tried.empty()) return {};
  AnswerTable table{{words_column("change"), number_column("peak"), words_column(),
                     number_column("step"), words_column("--set")}};
  std::string costs;
  for (const TriedChange& row : report.tried) {
    const bool helps = row.fits && needs_change(report);
    const Tone tone = helps ? Tone::good : row.fits ? Tone::plain : Tone::bad;
    table.add({row.name,
               {bytes_text(row.change.peak), tone},
               {row.fits ? "" : "no", tone},
               step_text(row.change),
               row.change.text()});
    costs += fmt::format("{}{}: {}", costs.empty() ? "" : "; ", row.name, row.costs);
    if (!row.change.gives_up.empty()) costs += ", and " + row.change.gives_up;
  }
  return {"One change at a time, in the order in which people try them",
          {std::move(table), AnswerLine{costs + ".", "Costs. "}}};
}

AnswerTable room_table(const FitReport& report) {
  AnswerTable table{{words_column(), number_column("now"), number_column("most"),
                     number_column("peak"), words_column("limited by")}};
  for (const Room& room : report.room)
    table.add({room.key, with_thousands(room.now),
               room.largest ? with_thousands(*room.largest) : "none",
               room.peak ? bytes_text(*room.peak) : "-",
               std::string(name_of(room.bound)) + ": " + room.why});
  return table;
}

AnswerHead fit_head(const FitReport& report, const std::string& source) {
  AnswerHead head;
  head.subject = report.scenario.job.name;
  head.verdict = verdict_of(report.verdict);
  head.words = words_of(report.verdict);
  head.made_by = "memory";
  head.next = next_command(report, source);
  if (!report.memory) {
    head.sentence = report.reasons.empty() ? "" : report.reasons.front().message + ".";
    return head;
  }
  const MemoryForecast& memory = *report.memory;
  const auto range = [](const ByteRange& band) {
    return bytes_text(band.low) + " to " + bytes_text(band.high);
  };
  const StageMemory& stage = heaviest_stage(memory);
  head.sentence = memory_verdict(memory) + ".";
  head.sentence.front() =
      static_cast<char>(std::toupper(static_cast<unsigned char>(head.sentence.front())));
  head.figures = {
      {"On the device", bytes_text(memory.peak), range({report.band.low, report.band.high}),
       bytes_text(memory.usable) + " usable"},
      {"Reserved", bytes_text(stage.reserved), range(report.band.reserved)},
      {"Allocated", bytes_text(stage.allocated), range(report.band.allocated)}};
  return head;
}

}  // namespace

Answer fit_answer(const FitReport& report, const FitView& view, const std::string& source) {
  Answer answer{fit_head(report, source)};
  AnswerFacts question;
  question.label_columns = label_columns;
  for (const auto& [label, text] : question_lines(report.scenario.job)) question.add(label, text);
  answer.add("", std::move(question));
  for (const Infeasible& reason : report.reasons) answer.add(reason_section(reason));
  for (const Infeasible& reason : report.not_forecast)
    answer.add("", AnswerLine{"simulate refuses this plan, " + reason.message,
                              "Memory alone: ", Tone::warn});
  if (!report.memory) return answer;
  const MemoryForecast& memory = *report.memory;
  const int chosen = view.stage.value_or(memory.peak_stage);
  FORETRAIN_REQUIRE(0 <= chosen && chosen < static_cast<int>(memory.stages.size()));
  const bool other = memory.replica && view.rank.value_or(0) > 0;
  const StageMemory& stage =
      other ? *memory.replica : memory.stages[static_cast<std::size_t>(chosen)];
  AnswerFacts facts;
  facts.label_columns = label_columns;
  facts.add("Band", band_text(report));
  if (view.rank) facts.add("Rank", rank_text(report.scenario.job, *view.rank));
  facts.add("Counters", counters_text(stage));
  answer.add("", std::move(facts));
  answer.add(memory_section(memory, StageOrder::heaviest_first));
  answer.add(memory_rows_section(stage));
  if (view.timeline)
    answer.add(timeline_section(
        report, other ? *report.replica : report.accounts[static_cast<std::size_t>(chosen)]));
  answer.add(remedies_section(report));
  answer.add(tried_section(report));
  answer.add("Room: the most with memory to spare, all else equal", room_table(report));
  return answer;
}

}  // namespace foretrain
