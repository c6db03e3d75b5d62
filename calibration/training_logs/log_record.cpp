// SPDX-License-Identifier: Apache-2.0
#include "calibration/training_logs/log_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "calibration/imports/imported_log.hpp"
#include "calibration/imports/record_text.hpp"

namespace foretrain {
namespace {

struct FormatStack {
  std::string_view format;
  std::string_view stack;
};

/// Frameworks of which one profile tells. Megatron-LM's kernels depend on its transformer_impl,
/// torchtitan's on its compiler, and what DeepSpeed, Hugging Face's Trainer and small programs run
/// depends on their model's code.
constexpr std::array format_stacks{
    FormatStack{"megatron-deepspeed", "megatron-deepspeed"},
    FormatStack{"gpt-neox", "megatron-deepspeed"},
    FormatStack{"megatron-bridge", "megatron-core"},
    FormatStack{"nemo", "nemo"},
    FormatStack{"nanotron", "nanotron"},
    FormatStack{"composer", "composer"},
    FormatStack{"internevo", "internevo"},
    FormatStack{"maxtext", "jax"},
};

using Json = nlohmann::ordered_json;

template <class T>
Json said(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json said_text(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string record_id(const TrainingLog& log, LogNaming naming) {
  const std::string format = log.format.empty() ? "log" : log.format;
  // The first word is the record's source family: one's own runs are of none that is known.
  if (naming == LogNaming::file) return "own-" + format + "-" + stem_of(log.files.front());
  return log.plan.gpus ? fmt::format("own-{}-{}gpus", format, *log.plan.gpus) : "own-" + format;
}

std::string record_source(const TrainingLog& log, LogNaming naming) {
  std::string source = "training log";
  if (!log.format.empty()) source += " of " + log.format;
  for (const std::string& version : log.versions) source += ", " + plain_text(version, 60);
  if (naming == LogNaming::anonymous) return source + " (anonymised)";
  for (std::size_t i = 0; i < log.files.size() && i < 3; ++i) {
    const std::string& file = log.files[i];
    source += (i == 0 ? " (" : ", ") + plain_text(file.substr(file.find_last_of('/') + 1), 80);
  }
  return source + (log.files.size() > 3 ? ", ...)" : ")");
}

std::string record_notes(const TrainingLog& log) {
  std::string notes = fmt::format("{} records of steps", log.iterations);
  if (log.step) notes += fmt::format("; median of {} ({})", log.step->records, log.step->how);
  for (std::size_t kind = 0; kind < log_event_kinds; ++kind)
    if (log.event_counts[kind] > 0)
      notes += fmt::format("; {} x {}", log.event_counts[kind],
                           name_of(static_cast<LogEventKind>(kind)));
  return notes;
}

/// In the words of records, where "fused" is Megatron's fused softmax of 2021.
std::string attention_kernel(const std::string& chosen) {
  if (chosen == "fused") return "cudnn";
  if (chosen == "flash") return "flash_attention2";
  return chosen == "flash3" ? "flash_attention3" : chosen;
}

Json measured_of(const TrainingLog& log) {
  constexpr double gibi = 1073741824.0;
  const auto of_step = [&](double LoggedSteps::*member) {
    return log.step ? Json((*log.step).*member) : Json(nullptr);
  };
  return {{"iteration_s", of_step(&LoggedSteps::median)},
          {"iteration_s_p10", of_step(&LoggedSteps::p10)},
          {"iteration_s_p90", of_step(&LoggedSteps::p90)},
          {"tokens_per_s_per_gpu", said(log.tokens_per_s_per_gpu)},
          {"tflops_per_gpu", said(log.tflops_per_gpu)},
          {"memory_gb", log.memory_max_bytes ? Json(*log.memory_max_bytes / gibi) : Json(nullptr)}};
}

}  // namespace

std::string stack_of_log(const TrainingLog& log) {
  if (log.format == "megatron-lm") {
    if (log.plan.transformer == "transformer_engine") return "megatron-core";
    return log.plan.transformer == "local" ? "megatron-core-local" : "";
  }
  if (log.format == "torchtitan") {
    if (!log.plan.compiled) return "";
    return *log.plan.compiled ? "fsdp2-compile" : "fsdp2";
  }
  const auto* const known = std::ranges::find_if(
      format_stacks, [&](const FormatStack& one) { return one.format == log.format; });
  return known == format_stacks.end() ? "" : std::string(known->stack);
}

nlohmann::ordered_json log_record(const TrainingLog& log, LogNaming naming) {
  const LoggedPlan& plan = log.plan;
  const std::string device = device_of_product(log.gpu);
  Json record{{"id", record_id(log, naming)},
              {"source", record_source(log, naming)},
              {"confidence", "A"},
              {"task", "pretrain"},
              {"model",
               {{"name", nullptr},
                {"layers", said(plan.layers)},
                {"hidden", said(plan.hidden)},
                {"heads", said(plan.heads)},
                {"kv_heads", said(plan.kv_heads)},
                {"ffn_hidden", said(plan.ffn_hidden)},
                {"vocab", said(plan.vocabulary)},
                {"gated_mlp", said(plan.gated)},
                {"seq", said(plan.sequence)}}},
              {"stack", said_text(stack_of_log(log))},
              {"gpu", said_text(device.empty() ? plain_text(log.gpu, 60) : device)},
              {"gpus", said(plan.gpus)},
              {"gpus_per_node", nullptr},
              {"network", nullptr},
              {"parallel",
               {{"tp", said(plan.tensor)},
                {"sp", said(plan.sequence_parallel)},
                {"pp", said(plan.pipeline)},
                {"vpp", said(plan.virtual_stages)},
                {"dp", said(plan.data)},
                {"cp", said(plan.context)},
                {"ep", said(plan.expert)},
                {"zero", said(plan.zero)},
                {"distributed_optimizer", said(plan.distributed_optimizer)},
                {"overlap", said(plan.overlap_gradients)},
                {"async_tp", said(plan.overlap_tensor)}}},
              {"micro_batch", said(plan.micro_batch)},
              {"global_batch", said(plan.global_batch)},
              {"precision", said_text(plan.precision)},
              {"recompute", said_text(plain_text(plan.recompute, 40))},
              {"attention_kernel", said_text(attention_kernel(log.clues.attention))},
              {"measured", measured_of(log)},
              {"memory_unit", log.memory_max_bytes ? Json("GiB") : Json(nullptr)},
              {"memory_kind", said_text(log.memory_kind)},
              {"flops_convention", "unknown"},
              {"notes", record_notes(log)}};
  if (plan.experts && *plan.experts > 1)
    record["model"]["moe"] = {{"experts", *plan.experts}, {"topk", said(plan.top_k)}};
  if (log.event_counts[static_cast<std::size_t>(LogEventKind::out_of_memory)] > 0 && !log.step)
    record["oom"] = true;
  return record;
}

std::string log_record_text(const TrainingLog& log, LogNaming naming) {
  std::string text =
      "# A run as its log gives it. What the log does not state is null: fill it in (the GPU, the "
      "network,\n# the model's name), and `foretrain validate --runs` compares a forecast with "
      "it.\nschema: 1\nruns:\n";
  const nlohmann::ordered_json record = log_record(log, naming);
  bool first = true;
  for (const auto& [key, value] : record.items()) {
    text += fmt::format("{}{}: {}\n", first ? "- " : "  ", key, value.dump());
    first = false;
  }
  return text;
}

}  // namespace foretrain
