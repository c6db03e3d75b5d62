// SPDX-License-Identifier: Apache-2.0
#include "gui/process/dropped_file.hpp"

#include <QByteArray>
#include <QFile>

#include <algorithm>
#include <array>
#include <initializer_list>

namespace foretrain::gui {
namespace {

constexpr qint64 start_of_file = 1 << 16;

/// Words of a framework's configuration; the first row with one of them is it.
struct FrameworkMarks {
  const char* framework;
  std::array<const char*, 3> any;
};
constexpr std::array<FrameworkMarks, 18> framework_marks{{
    {"verl", {"verl.trainer", "actor_rollout_ref.", nullptr}},
    {"nemo-rl", {"num_prompts_per_step:", "\ngrpo:", nullptr}},
    {"openrlhf", {"openrlhf.cli.train_ppo", nullptr, nullptr}},
    {"slime", {"--rollout-batch-size", "--rollout-num-gpus", nullptr}},
    {"deepspeed", {"\"zero_optimization\"", "\"train_micro_batch_size_per_gpu\"", nullptr}},
    {"torchtune", {"_component_: torchtune", "tune run", nullptr}},
    {"llamafactory", {"finetuning_type:", "llamafactory-cli", nullptr}},
    {"axolotl", {"\nbase_model:", "base_model_config:", "axolotl"}},
    {"swift", {"--train_type", "swift sft", "megatron sft"}},
    {"lightning",
     {"class_path: lightning", "class_path: pytorch_lightning", "\ntrainer:\n  accelerator"}},
    {"torchtitan", {"[parallelism]", "[experimental]", "data_parallel_shard_degree"}},
    {"nanotron", {"tp_linear_async_communication", "\nparallelism:\n", nullptr}},
    {"maxtext", {"ici_fsdp_parallelism", "dcn_data_parallelism", "per_device_batch_size:"}},
    {"horovod", {"horovodrun", nullptr, nullptr}},
    {"megatron-bridge", {"run_recipe", "megatron.bridge", nullptr}},
    {"nemo2", {"nemo llm pretrain", "nemo llm finetune", nullptr}},
    {"megatron", {"--tensor-model-parallel-size", "--num-layers", "\ntensor-model-parallel-size"}},
    {"nemo", {"tensor_model_parallel_size", nullptr, nullptr}},
}};

/// Trainer arguments, accelerate and PEFT files, once nothing else claims their keys.
constexpr std::array trainer_marks{"per_device_train_batch_size",
                                   "distributed_type:", "\"peft_type\""};

bool has_key(const QByteArray& text, const char* key) {
  const QByteArray line = QByteArray(key) + ':';
  return text.startsWith(line) || text.contains('\n' + line);
}

bool is_ours(const QByteArray& text) {
  return has_key(text, "workload") || has_key(text, "extends") ||
         (has_key(text, "model") && has_key(text, "cluster"));
}

}  // namespace

DroppedFile dropped_file(const QString& file) {
  QFile source{file};
  if (!source.open(QIODevice::ReadOnly)) return {};
  const QByteArray text = source.read(start_of_file);
  const bool yaml = file.endsWith(QLatin1String(".yaml")) || file.endsWith(QLatin1String(".yml"));
  if (yaml && is_ours(text)) return {DroppedFile::Kind::scenario};
  const auto has = [&](const char* mark) { return mark != nullptr && text.contains(mark); };
  if (has("\"architectures\"") || has("\"model_type\"")) return {DroppedFile::Kind::model};
  // Logs of a run repeat its arguments: only what people write by hand is a configuration.
  const bool log = file.endsWith(QLatin1String(".log")) || file.endsWith(QLatin1String(".out")) ||
                   file.endsWith(QLatin1String(".csv")) || file.endsWith(QLatin1String(".jsonl"));
  if (log) return {};
  for (const FrameworkMarks& row : framework_marks)
    if (std::any_of(row.any.begin(), row.any.end(), has))
      return {DroppedFile::Kind::framework, QLatin1String(row.framework)};
  if (std::any_of(trainer_marks.begin(), trainer_marks.end(), has))
    return {DroppedFile::Kind::framework, QStringLiteral("transformers")};
  return {};
}

}  // namespace foretrain::gui
