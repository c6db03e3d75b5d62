// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/fit_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "models/base/require.hpp"
#include "models/grid/process_grid.hpp"
#include "planner/forecast/report_text.hpp"
#include "planner/forecast/smallest_change.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

constexpr int label_columns = 15;

Verdict verdict_of(FitVerdict verdict) {
  if (verdict == FitVerdict::fits) return Verdict::safe;
  return verdict == FitVerdict::fits_barely ? Verdict::at_risk : Verdict::no;
}

std::string_view words_of(FitVerdict verdict) {
  switch (verdict) {
    case FitVerdict::fits:
      return "FITS";
    case FitVerdict::fits_barely:
      return "FITS BARELY";
    case FitVerdict::does_not_fit:
      return "DOES NOT FIT";
    case FitVerdict::illegal:
      break;
  }
  return "NOT A LEGAL PLAN";
}

std::string next_command(const FitReport& report, const std::string& source) {
  if (source.empty()) return {};
  if (report.verdict == FitVerdict::does_not_fit && !report.changes.empty())
    return fmt::format("foretrain fit {} --set {}", source,
                       fmt::join(report.changes.front().settings, " --set "));
  const bool runs = report.memory && report.memory->fits() && report.not_forecast.empty();
  // `plan` reads no framework's configuration in place of a scenario ("--hf FILE").
  if (!runs && source.starts_with("--")) return {};
  return fmt::format("foretrain {} {}", runs ? "simulate" : "plan", source);
}

std::string reasons_text(const FitReport& report, const TextStyle& style) {
  std::string result;
  for (const Infeasible& reason : report.reasons) {
    result +=
        "\n" + hanging("", toned("Not feasible", Tone::bad, style) + ": " + reason.message, style);
    result += labelled("rule", reason.rule, style, label_columns);
    if (!reason.key.empty()) result += labelled("key", reason.key, style, label_columns);
    if (!reason.remedy.empty())
      result += labelled("what helps", reason.remedy, style, label_columns);
  }
  for (const Infeasible& reason : report.not_forecast)
    result += "\n" + hanging("",
                             toned("Memory alone", Tone::warn, style) +
                                 ": simulate refuses this plan, " + reason.message,
                             style);
  return result;
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
  if (report.verdict == FitVerdict::does_not_fit && band.low <= report.memory->usable)
    text += "; its lower end would fit";
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

std::string timeline_text(const FitReport& report, const StageAccount& account,
                          const TextStyle& style) {
  const Bytes usable = report.memory->usable;
  const Bytes scale = max(usable, Bytes{account.allocated}) * 1.02;
  const int cells = style.width - 46;
  std::string result =
      "\n" +
      hanging("", fmt::format("Stage {} over a step, allocated bytes:", account.stage), style);
  for (std::size_t p = 0; p < memory_phases; ++p) {
    const auto phase = static_cast<MemoryPhase>(p);
    const StageMemory memory = phase_memory(account, phase);
    if (memory.allocated == Bytes{}) continue;  // stages without an output layer lack its phase
    std::string line =
        fmt::format("  {} {} {} ", phase == account.peak_phase ? '>' : ' ',
                    pad_right(name_of(phase), 28), pad_left(bytes_text(memory.allocated), 10)) +
        memory_phase_bar(memory, usable, scale, cells, style);
    while (line.ends_with(' ')) line.pop_back();
    result += line + '\n';
  }
  return result;
}

std::string changes_text(const FitReport& report, const TextStyle& style) {
  if (report.verdict != FitVerdict::does_not_fit) return "";
  if (!report.changes.empty()) return changes_text(report.changes, style);
  return "\n" + hanging("", "Remedy: " + std::string(no_change_fits) + ".", style);
}

std::string room_text(const FitReport& report, const TextStyle& style) {
  std::string result =
      "\n" + toned("Room: the most with memory to spare, all else equal", Tone::strong, style) +
      "\n";
  using Align = TextTable::Align;
  TextTable table{{Align::left, Align::right, Align::right, Align::right, Align::left}};
  table.add({"", "now", "most", "peak", "limited by"});
  for (const Room& room : report.room)
    table.add({room.key, with_thousands(room.now),
               room.largest ? with_thousands(*room.largest) : "none",
               room.peak ? bytes_text(*room.peak) : "-",
               std::string(name_of(room.bound)) + ": " + room.why});
  return result + table.text(style);
}

}  // namespace

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

std::string fit_text(const FitReport& report, const FitView& view, const TextStyle& style,
                     const std::string& source) {
  std::string result = head_text(fit_head(report, source), style) + "\n";
  for (const auto& [label, text] : question_lines(report.scenario.job))
    result += labelled(label, text, style, label_columns);
  result += reasons_text(report, style);
  if (!report.memory) return result;
  const MemoryForecast& memory = *report.memory;
  const int chosen = view.stage.value_or(memory.peak_stage);
  FORETRAIN_REQUIRE(0 <= chosen && chosen < static_cast<int>(memory.stages.size()));
  const bool other = memory.replica && view.rank.value_or(0) > 0;
  const StageMemory& stage =
      other ? *memory.replica : memory.stages[static_cast<std::size_t>(chosen)];
  result += "\n";
  result += labelled("Band", band_text(report), style, label_columns);
  if (view.rank)
    result += labelled("Rank", rank_text(report.scenario.job, *view.rank), style, label_columns);
  result += labelled("Counters", counters_text(stage), style, label_columns);
  result += "\n" + memory_stacks_text(memory, StageOrder::heaviest_first, style);
  result += "\n" + memory_rows_text(stage, style);
  if (view.timeline)
    result += timeline_text(
        report, other ? *report.replica : report.accounts[static_cast<std::size_t>(chosen)], style);
  return result + changes_text(report, style) + room_text(report, style);
}

}  // namespace foretrain
