// SPDX-License-Identifier: Apache-2.0
// Megatron-LM core/timers.py (_get_global_min_max_time_string, _get_all_ranks_time_string) and
// core/README_STRAGGLER.md, DeepSpeed runtime/engine.py (EngineTimers) and runtime/zero/stage3.py
// (allocator cache flushes), Transformer Engine attention/dot_product_attention/utils.py, NCCL
// transport/net_ib.cc, torchtitan tools/utils.py (GarbageCollection).
#include "calibration/training_logs/run_clues.hpp"

#include <algorithm>
#include <string>

#include "calibration/training_logs/line_values.hpp"
#include "calibration/training_logs/step_series.hpp"
#include "models/base/percentile.hpp"

namespace foretrain {
namespace {

constexpr std::array clue_table{
    ClueWord{"time (ms) |", Clue::timers_line},
    ClueWord{"time across ranks (ms):", Clue::timers_block},
    ClueWord{"times across ranks (ms):", Clue::timers_block},
    ClueWord{"| mnrtt/rnk:", Clue::straggler},
    ClueWord{"net/ib : using", Clue::nics},
    ClueWord{"net/socket : using", Clue::sockets},
    ClueWord{"selected backend =", Clue::attention},
    ClueWord{"pytorch allocator cache flushes", Clue::retry},
    ClueWord{"cuda memory allocation retries", Clue::retry},
    ClueWord{"[gc]", Clue::collection},
    ClueWord{"throughput/device/data loading (s)=", Clue::loading},
};

struct TimerName {
  std::string_view name;
  LogSection section;
};

/// Timers that are parts of others in the table (backward-reduce-model-grads, optimizer-inner-step)
/// are left out.
constexpr std::array timer_names{
    TimerName{"forward-compute", LogSection::forward},
    TimerName{"backward-compute", LogSection::backward},
    TimerName{"forward-backward", LogSection::passes},
    TimerName{"batch-generator", LogSection::input},
    TimerName{"all-grads-sync", LogSection::gradients},
    TimerName{"backward-params-all-reduce", LogSection::gradients},
    TimerName{"backward-gather-model-params", LogSection::parameters},
    TimerName{"params-all-gather", LogSection::parameters},
    TimerName{"forward-recv", LogSection::waiting},
    TimerName{"backward-recv", LogSection::waiting},
    TimerName{"forward-send", LogSection::waiting},
    TimerName{"backward-send", LogSection::waiting},
    TimerName{"forward-send-forward-recv", LogSection::waiting},
    TimerName{"forward-send-backward-recv", LogSection::waiting},
    TimerName{"backward-send-forward-recv", LogSection::waiting},
    TimerName{"backward-send-backward-recv", LogSection::waiting},
    TimerName{"forward-backward-send-forward-backward-recv", LogSection::waiting},
    TimerName{"optimizer", LogSection::optimizer},
    TimerName{"save-checkpoint", LogSection::checkpoint},
    // DeepSpeed's, of the micro-batches of a step together.
    TimerName{"forward", LogSection::forward},
    TimerName{"fwd", LogSection::forward},
    TimerName{"backward_inner", LogSection::backward},
    TimerName{"bwd_inner", LogSection::backward},
    TimerName{"backward_allreduce", LogSection::gradients},
    TimerName{"bwd_allreduce", LogSection::gradients},
    TimerName{"step", LogSection::optimizer},
};

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.remove_suffix(1);
  return text;
}

bool is_timer(std::string_view name) {
  return std::ranges::any_of(timer_names,
                             [&](const TimerName& timer) { return timer.name == name; });
}

/// The number behind "MnClk/Rnk:" and such.
std::optional<double> field_of(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  return number_behind(line, at + name.size(), false);
}

}  // namespace

std::span<const ClueWord> clue_words() { return clue_table; }

void Sampled::add(double value) {
  constexpr std::size_t most = 4096;
  if (count_ % stride_ == 0) {
    if (kept_.size() == most) {
      std::size_t to = 0;
      for (std::size_t from = 0; from < kept_.size(); from += 2) kept_[to++] = kept_[from];
      kept_.resize(to);
      stride_ *= 2;
    }
    kept_.push_back(static_cast<float>(value));
  }
  ++count_;
}

double Sampled::median() const {
  std::vector<float> values(kept_.begin() + (kept_.size() > 1 ? 1 : 0), kept_.end());
  return percentile_of(values, 0.5);
}

void ClueReader::take(Clue clue, std::string_view line, std::size_t at) {
  switch (clue) {
    case Clue::timers_line:
      take_timers(line.substr(at));
      return;
    case Clue::timers_block:
      finish();
      open_ = true;
      return;
    case Clue::straggler:
      take_straggler(line);
      return;
    case Clue::nics:
      take_nics(line.substr(at, line.find(';', at) - at));
      return;
    case Clue::sockets:
      sockets_ = true;
      return;
    case Clue::attention: {
      const std::string_view chosen = word_behind(line, at);
      if (chosen.starts_with("Fused")) attention_ = "fused";
      if (chosen.starts_with("Flash"))
        attention_ = line.substr(at, 40).find("(3") == std::string_view::npos ? "flash" : "flash3";
      if (chosen.starts_with("Unfused")) attention_ = "unfused";
      return;
    }
    case Clue::retry:
      ++retries_;
      return;
    case Clue::collection:
      ++collections_;
      return;
    case Clue::loading:
      if (const auto seconds = number_behind(line, at, false); seconds && *seconds >= 0.0) {
        add(LogSection::input, {*seconds, *seconds});
        finish();
      }
      return;
  }
}

/// `[0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]`
void ClueReader::take_nics(std::string_view list) {
  int count = 0;
  for (std::size_t place = list.find('['); place != std::string_view::npos;
       place = list.find('[', place + 1))
    if (place + 1 < list.size() && list[place + 1] >= '0' && list[place + 1] <= '9') ++count;
  if (count > 0) nics_ = std::min(nics_.value_or(count), count);
}

bool ClueReader::take_line(std::string_view line) {
  if (!open_) return false;
  const std::string_view text = without_blanks(line);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    finish();
    return false;
  }
  if (take_rank(text)) return true;
  // A timer that is not known is told by the dots behind its name, or by what follows.
  const std::string_view name = without_blanks(text.substr(0, colon));
  const std::string_view value = without_blanks(text.substr(colon + 1));
  const bool timer = value.empty() || value.front() == '(' || text.find(" ...") < colon;
  if (is_timer(name) || timer) return take_timer(name, value);
  finish();
  return false;
}

/// `| forward-compute: 176.39 | forward-recv: 127.53 | ...`
void ClueReader::take_timers(std::string_view rest) {
  finish();
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('|'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::size_t colon = part.find(':');
    if (colon != std::string_view::npos)
      take_timer(without_blanks(part.substr(0, colon)), part.substr(colon + 1));
  }
  finish();
}

/// `rank  3: 412.47` below the name of a timer.
bool ClueReader::take_rank(std::string_view text) {
  if (!by_rank_ || !text.starts_with("rank")) return false;
  const auto value = number_behind(text, text.find(':') + 1, false);
  if (!value || *value < 0.0) return true;
  const double seconds = *value * 1e-3;
  if (!of_ranks_) of_ranks_ = Range{seconds, seconds};
  of_ranks_->least = std::min(of_ranks_->least, seconds);
  of_ranks_->most = std::max(of_ranks_->most, seconds);
  return true;
}

/// A timer's name with `(5300.12, 5310.22)`, one number, or nothing where ranks follow.
/// @return false: this is no line of timers
bool ClueReader::take_timer(std::string_view name, std::string_view value) {
  constexpr std::size_t most_name = 60;
  if (by_rank_ && of_ranks_) add(*by_rank_, *of_ranks_);
  by_rank_.reset();
  of_ranks_.reset();
  if (name.empty() || name.size() > most_name || name.find(' ') != std::string_view::npos) {
    finish();
    return false;
  }
  const auto* const known =
      std::ranges::find_if(timer_names, [&](const TimerName& timer) { return timer.name == name; });
  value = without_blanks(value);
  if (known == timer_names.end()) return true;
  if (value.empty()) {
    by_rank_ = known->section;
    return true;
  }
  const bool pair = value.front() == '(';
  const auto first = number_behind(value, pair ? 1 : 0, false);
  const std::size_t comma = value.find(',');
  const auto second =
      pair && comma != std::string_view::npos ? number_behind(value, comma + 1, false) : first;
  if (first && second && *first >= 0.0 && *second >= *first)
    add(known->section, {*first * 1e-3, *second * 1e-3});
  return true;
}

void ClueReader::add(LogSection section, Range seconds) {
  Range& sum = step_[section];
  sum.least += seconds.least;
  sum.most += seconds.most;
}

void ClueReader::finish() {
  if (by_rank_ && of_ranks_) add(*by_rank_, *of_ranks_);
  by_rank_.reset();
  of_ranks_.reset();
  open_ = false;
  // Megatron's get_batch() runs inside the forward pass: core/pipeline_parallel/schedules.py,
  // forward_step().
  const auto forward = step_.find(LogSection::forward);
  const auto input = step_.find(LogSection::input);
  if (forward != step_.end() && input != step_.end()) {
    Range& passes = forward->second;
    passes.least = std::max(0.0, passes.least - input->second.least);
    passes.most = std::max(passes.least, passes.most - input->second.most);
  }
  for (const auto& [section, range] : step_) {
    sections_[static_cast<std::size_t>(section)].first.add(range.least);
    sections_[static_cast<std::size_t>(section)].second.add(range.most);
  }
  step_.clear();
}

void ClueReader::take_straggler(std::string_view line) {
  const auto fastest = field_of(line, "MnRtt/Rnk:");
  const auto slowest = field_of(line, "MxRtt/Rnk:");
  if (fastest && slowest && *fastest > 0.0) gap_.add(*slowest / *fastest);
  if (const auto clock = field_of(line, "MnClk/Rnk:")) clock_low_.add(*clock);
  if (const auto clock = field_of(line, "MxClk/Rnk:")) clock_high_.add(*clock);
  if (const auto use = field_of(line, "MnUtl/Rnk:")) use_low_.add(*use / 100.0);
}

LogClues ClueReader::clues() const {
  LogClues clues;
  for (std::size_t place = 0; place < log_sections; ++place)
    if (const auto& [least, most] = sections_[place]; least.count() > 0)
      clues.sections[static_cast<LogSection>(place)] = {least.median(), most.median(),
                                                        least.count()};
  const auto median = [](const Sampled& values) {
    return values.count() > 0 ? std::optional(values.median()) : std::nullopt;
  };
  clues.rank_gap = median(gap_);
  clues.clock_low_mhz = median(clock_low_);
  clues.clock_high_mhz = median(clock_high_);
  clues.use_low = median(use_low_);
  clues.nics = nics_;
  clues.sockets = sockets_;
  clues.attention = attention_;
  clues.allocator_retries = retries_;
  clues.collections = collections_;
  return clues;
}

}  // namespace foretrain
