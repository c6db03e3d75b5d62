// SPDX-License-Identifier: Apache-2.0
// Words: verl trainer/ppo/ray_trainer.py, NeMo-RL algorithms/grpo.py, slime
// utils/train_metric_utils, SkyRL trainer.py, OpenRLHF trainer/ppo_trainer.py; read in November
// 2026.
#include "calibration/training_logs/post_training_log.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <optional>

namespace foretrain {
namespace {

struct LogWord {
  std::string_view word;
  LoggedPart part;
};
constexpr auto log_words = std::to_array<LogWord>({
    {"timing_s/step", LoggedPart::step},
    {"timing_s/gen", LoggedPart::generation},
    {"timing_s/reward", LoggedPart::rewards},
    {"timing_s/old_log_prob", LoggedPart::log_probs},
    {"timing_s/ref", LoggedPart::reference},
    {"timing_s/ref_log_prob", LoggedPart::reference},
    {"timing_s/values", LoggedPart::values},
    {"timing_s/update_actor", LoggedPart::training},
    {"timing_s/update_critic", LoggedPart::critic},
    {"timing_s/update_weights", LoggedPart::sync},
    {"timing_s/adv", LoggedPart::loop},
    {"response_length/mean", LoggedPart::answer_tokens},
    {"Mean Generation Length", LoggedPart::answer_tokens},
    {"rollout/response_len/mean", LoggedPart::answer_tokens},
    {"rollout/response_lengths", LoggedPart::answer_tokens},
    {"Total step time", LoggedPart::step},
    {"timing/train/total_step_time", LoggedPart::step},
    {"timing/train/generation", LoggedPart::generation},
    {"generation", LoggedPart::generation},
    {"reward_calculation", LoggedPart::rewards},
    {"policy_and_reference_logprobs", LoggedPart::scoring},
    {"policy_training", LoggedPart::training},
    {"value_training", LoggedPart::critic},
    {"weight_sync", LoggedPart::sync},
    {"prepare_for_generation/total", LoggedPart::turn},
    {"data_processing", LoggedPart::loop},
    {"perf/step_time", LoggedPart::step},
    {"perf/rollout_time", LoggedPart::generation},
    {"perf/log_probs_time", LoggedPart::log_probs},
    {"perf/ref_log_probs_time", LoggedPart::reference},
    {"perf/actor_train_time", LoggedPart::training},
    {"perf/critic_train_time", LoggedPart::critic},
    {"perf/update_weights_time", LoggedPart::sync},
    {"timing/step", LoggedPart::step},
    {"timing/generate", LoggedPart::generation},
    {"timing/fwd_logprobs_values_reward", LoggedPart::scoring},
    {"timing/policy_train", LoggedPart::training},
    {"timing/critic_train", LoggedPart::critic},
    {"timing/sync_weights", LoggedPart::sync},
    {"timing/step_total", LoggedPart::step},
    {"timing/generation", LoggedPart::generation},
    {"timing/make_experience", LoggedPart::scoring},
    {"timing/ppo_train", LoggedPart::training},
    {"timing/broadcast", LoggedPart::sync},
});

bool in_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '/';
}

/// The number behind a name, past quotes, colons, signs of equality and blanks.
std::optional<double> seconds_behind(std::string_view rest) {
  const std::size_t start = rest.find_first_not_of("'\": =\t");
  if (start == std::string_view::npos || start == 0) return std::nullopt;
  // numpy prints its numbers as np.float64(1.5).
  constexpr std::string_view wrapped = "np.float64(";
  rest.remove_prefix(start);
  if (rest.starts_with(wrapped)) rest.remove_prefix(wrapped.size());
  double value = 0.0;
  const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  const bool number = failure == std::errc() && value > 0.0;
  const bool of_word = number && end != rest.data() + rest.size() && *end == '%';
  return number && !of_word ? std::optional(value) : std::nullopt;
}

/// The value of a word in a line; nothing where it is part of another.
std::optional<double> value_in(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos;
       at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at > 0 && in_word(line[at - 1])) || (end < line.size() && in_word(line[end]))) continue;
    if (const auto value = seconds_behind(line.substr(end))) return value;
  }
  return std::nullopt;
}

LoggedSeries& series_of(std::vector<LoggedSeries>& all, const LogWord& word) {
  for (LoggedSeries& series : all)
    if (series.word == word.word) return series;
  all.push_back({word.part, std::string(word.word), {}});
  return all.back();
}

}  // namespace

double LoggedSeries::median() const {
  std::vector<double> sorted = seconds;
  if (sorted.size() >= 3) sorted.erase(sorted.begin());
  if (sorted.empty()) return 0.0;
  std::ranges::sort(sorted);
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0;
}

std::vector<LoggedSeries> read_post_training_log(std::string_view text) {
  std::vector<LoggedSeries> all;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    for (const LogWord& word : log_words)
      if (const auto value = value_in(line, word.word))
        series_of(all, word).seconds.push_back(*value);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  // Of two words for one part the first in the log counts.
  std::vector<LoggedSeries> parts;
  for (LoggedSeries& series : all)
    if (std::ranges::none_of(parts,
                             [&](const LoggedSeries& other) { return other.part == series.part; }))
      parts.push_back(std::move(series));
  return parts;
}

}  // namespace foretrain
