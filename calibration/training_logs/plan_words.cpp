// SPDX-License-Identifier: Apache-2.0
#include "calibration/training_logs/plan_words.hpp"

#include <cmath>

#include "calibration/training_logs/line_values.hpp"
#include "scenarios/imports/frameworks/dialect.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

using F = PlanField;

bool is_switch(PlanField field) {
  return field == F::bf16 || field == F::fp16 || field == F::fp8 ||
         field == F::distributed_optimizer || field == F::sequence_parallel ||
         field == F::overlap_gradients || field == F::overlap_parameters ||
         field == F::overlap_tensor || field == F::gated || field == F::compiled;
}

bool says_no(std::string_view text) {
  return text.empty() || text == "false" || text == "none" || text == "null" || text == "0" ||
         text == "no";
}

/// The precision that the name of a number format stands for; empty: none.
std::string precision_of(std::string_view text) {
  for (const std::string_view eight : {"fp8", "float8"})
    if (text.find(eight) != std::string_view::npos) return "fp8";
  for (const std::string_view brain : {"bf16", "bfloat16"})
    if (text.find(brain) != std::string_view::npos) return "bf16";
  for (const std::string_view half : {"fp16", "float16", "half"})
    if (text.find(half) != std::string_view::npos) return "fp16";
  if (text.starts_with("16")) return "fp16";
  for (const std::string_view full : {"fp32", "float32", "32"})
    if (text.find(full) != std::string_view::npos) return "fp32";
  return "";
}

std::string folded_text(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, 60)) result += folded(c);
  return result;
}

template <class... Counts>
std::optional<int> product(const Counts&... counts) {
  if (!(counts.has_value() && ...)) return std::nullopt;
  double value = 1.0;
  ((value *= *counts), ...);
  return value <= 1e9 ? std::optional(static_cast<int>(value)) : std::nullopt;
}

struct PlanTable {
  std::shared_ptr<const Dialect> dialect = dialect_named("logs");  ///< holds the texts
  std::vector<PlanWord> words;

  /// "FIELD" or "FIELD@FORMAT". @throws ScenarioError for a field that is none
  PlanTable() {
    Diagnostics diagnostics;
    for (const DialectTerm& term : dialect->terms) {
      const std::string_view says = term.says;
      const auto at = says.find('@');
      const auto field = from_name<PlanField>(std::string(says.substr(0, at)));
      if (!field) {
        diagnostics.add(Mark{}, "terms", in_quotes(term.says) + " is not a setting of a plan");
        continue;
      }
      for (const std::string& word : term.keys)
        words.push_back({word, *field, at == std::string_view::npos ? "" : says.substr(at + 1)});
    }
    diagnostics.throw_if_any();
  }
};

}  // namespace

std::span<const PlanWord> plan_words() {
  static const PlanTable table;
  return table.words;
}

bool PlanFinder::take(int word, std::string_view line, std::size_t end) {
  const PlanWord& known = plan_words()[static_cast<std::size_t>(word)];
  const PlanField field = known.field;
  const bool in_words =
      is_switch(field) || field == F::dtype || field == F::recompute || field == F::transformer;
  const auto setting = in_words ? word_setting(known, line, end) : number_setting(field, line, end);
  if (!setting) return false;
  if (setting->text.empty() && !setting->number) return true;
  const auto [place, is_new] = found_.emplace(word, *setting);
  if (!is_new && field == F::tasks && setting->number > place->second.number)
    place->second = *setting;
  return true;
}

std::optional<PlanFinder::Setting> PlanFinder::word_setting(const PlanWord& word,
                                                            std::string_view line,
                                                            std::size_t end) {
  Setting setting;
  setting.text = folded_text(word_behind(line, end));
  if (is_switch(word.field)) {
    // An option that needs no value ends its line, or is followed by the next one.
    const std::size_t begin = end - word.word.size();
    const bool option = begin >= 2 && line.substr(begin - 2, 2) == "--";
    if (setting.text.starts_with("__") || (option && setting.text.empty())) setting.text = "true";
  }
  if (setting.text.empty()) return std::nullopt;
  if (word.field == F::dtype && precision_of(setting.text).empty()) setting.text.clear();
  return setting;
}

std::optional<PlanFinder::Setting> PlanFinder::number_setting(PlanField field,
                                                              std::string_view line,
                                                              std::size_t end) {
  constexpr double most = 1e9;
  Setting setting;
  setting.number = number_behind(line, end, false);
  if (!setting.number) return std::nullopt;
  // GPT-NeoX calls a run without stages one of 0.
  if (field == F::pipeline && *setting.number == 0.0) setting.number = 1.0;
  const double number = *setting.number;
  const double least = field == F::zero ? 0.0 : 1.0;
  if (number < least || number > most || std::floor(number) != number) setting.number.reset();
  return setting;
}

const PlanFinder::Setting* PlanFinder::find(PlanField field, std::string_view format) const {
  const auto words = plan_words();
  for (std::size_t place = 0; place < words.size(); ++place) {
    const PlanWord& word = words[place];
    if (word.field != field || (!word.only.empty() && word.only != format)) continue;
    const auto found = found_.find(static_cast<int>(place));
    if (found != found_.end()) return &found->second;
  }
  return nullptr;
}

std::optional<int> PlanFinder::count(PlanField field, std::string_view format) const {
  const Setting* const setting = find(field, format);
  if (setting == nullptr || !setting->number) return std::nullopt;
  return static_cast<int>(*setting->number);
}

std::string PlanFinder::precision(std::string_view format) const {
  const auto on = [&](PlanField field) {
    const Setting* const setting = find(field, format);
    return setting != nullptr && !says_no(setting->text);
  };
  if (on(F::fp8)) return "fp8";
  if (on(F::bf16)) return "bf16";
  if (on(F::fp16)) return "fp16";
  const Setting* const type = find(F::dtype, format);
  return type == nullptr ? "" : precision_of(type->text);
}

LoggedPlan PlanFinder::plan(std::string_view format) const {
  const auto count_of = [&](PlanField field) { return count(field, format); };
  LoggedPlan plan{
      .gpus = count_of(F::gpus),
      .tensor = count_of(F::tensor),
      .pipeline = count_of(F::pipeline),
      .virtual_stages = count_of(F::virtual_stages),
      .data = count_of(F::data),
      .context = count_of(F::context),
      .expert = count_of(F::expert),
      .micro_batch = count_of(F::micro_batch),
      .accumulation = count_of(F::accumulation),
      .global_batch = count_of(F::global_batch),
      .sequence = count_of(F::sequence),
      .zero = count_of(F::zero),
      .layers = count_of(F::layers),
      .hidden = count_of(F::hidden),
      .heads = count_of(F::heads),
      .kv_heads = count_of(F::kv_heads),
      .ffn_hidden = count_of(F::ffn_hidden),
      .vocabulary = count_of(F::vocabulary),
      .experts = count_of(F::experts),
      .top_k = count_of(F::top_k),
      .distributed_optimizer = std::nullopt,
      .sequence_parallel = std::nullopt,
      .overlap_gradients = std::nullopt,
      .overlap_parameters = std::nullopt,
      .overlap_tensor = std::nullopt,
      .gated = std::nullopt,
      .compiled = std::nullopt,
      .precision = precision(format),
      .recompute = "",
      .transformer = "",
  };
  const auto truth = [&](PlanField field) {
    const Setting* const setting = find(field, format);
    return setting == nullptr ? std::nullopt : std::optional(!says_no(setting->text));
  };
  plan.distributed_optimizer = truth(F::distributed_optimizer);
  plan.sequence_parallel = truth(F::sequence_parallel);
  plan.overlap_gradients = truth(F::overlap_gradients);
  plan.overlap_parameters = truth(F::overlap_parameters);
  plan.overlap_tensor = truth(F::overlap_tensor);
  plan.gated = truth(F::gated);
  plan.compiled = truth(F::compiled);
  if (const Setting* const kind = find(F::transformer, format)) plan.transformer = kind->text;
  if (const Setting* const kind = find(F::recompute, format))
    plan.recompute = says_no(kind->text) ? "none" : kind->text;
  if (const auto between = count_of(F::tensor_between); between && plan.tensor)
    plan.tensor = product(plan.tensor, between);
  const auto tokens = count_of(F::batch_tokens);
  if (tokens && plan.sequence && !plan.global_batch && *tokens % *plan.sequence == 0)
    plan.global_batch = *tokens / *plan.sequence;
  if (const auto between = count_of(F::data_between); between && plan.data)
    plan.data = product(plan.data, between);
  if (const auto tasks = count_of(F::tasks); !plan.gpus && tasks && *tasks > 1) plan.gpus = tasks;
  if (!plan.gpus) plan.gpus = product(count_of(F::gpus_per_node), count_of(F::nodes));
  if (!plan.gpus && (format == "litgpt" || format == "wandb"))
    plan.gpus = count_of(F::gpus_per_node);
  return plan;
}

void complete_plan(LoggedPlan& plan, const std::string& format) {
  // These have no ranks but those of data.
  const bool data_alone = format == "deepspeed" || format == "hf-trainer" || format == "litgpt" ||
                          format == "nanogpt" || format == "llm.c";
  if (data_alone && !plan.data && !plan.tensor && !plan.pipeline) plan.data = plan.gpus;
  const auto context = plan.context ? plan.context : std::optional(1);
  if (!plan.gpus) plan.gpus = product(plan.tensor, plan.pipeline, plan.data, context);
  if (!plan.data && plan.gpus && plan.tensor && plan.pipeline) {
    const auto ranks = product(plan.tensor, plan.pipeline, context);
    if (ranks && *plan.gpus % *ranks == 0) plan.data = *plan.gpus / *ranks;
  }
  if (!plan.global_batch)
    plan.global_batch = product(plan.micro_batch, plan.accumulation, plan.data);
}

}  // namespace foretrain
