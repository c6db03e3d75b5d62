// SPDX-License-Identifier: Apache-2.0
// Who shards what: accelerate's FSDP plugin (utils/dataclasses.py, FullyShardedDataParallelPlugin,
// ParallelismConfig), TrainingArguments' fsdp and fsdp_config, Axolotl's fsdp_version.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "scenarios/imports/tuning/internal/tuning_reader.hpp"

namespace foretrain::tuning {
namespace {

/// A key of the plugin: accelerate writes it with fsdp_ before it, the others mostly without.
struct PluginKey {
  std::array<std::string, 3> names;
  Keys keys;

  explicit PluginKey(const std::string& name)
      : names{"fsdp_config.fsdp_" + name, "fsdp_config." + name, "fsdp_" + name},
        keys(names.begin(), names.end()) {}
};

/// Strategies of the first version, by name and by the number that old files have.
struct Strategy {
  std::string_view name, number;
  int zero;
  bool hybrid;
};

constexpr std::array<Strategy, 5> strategies{{{"full_shard", "1", 3, false},
                                              {"shard_grad_op", "2", 2, false},
                                              {"no_shard", "3", 0, false},
                                              {"hybrid_shard", "4", 3, true},
                                              {"hybrid_shard_zero2", "5", 2, true}}};

const Strategy* strategy_of(const std::string& word) {
  for (const Strategy& known : strategies)
    if (word == known.name || word == known.number || word == "_" + std::string(known.name))
      return &known;
  return nullptr;
}

bool names_layers(const std::string& name) {
  return name.ends_with("layer") || name.ends_with("block");
}

}  // namespace

bool TuningReader::uses_fsdp(const std::vector<std::string>& words) {
  const std::string type = in_.text({"distributed_type"});
  const YamlNode* const group = files_.root.find("fsdp_config");
  const bool configured =
      (group != nullptr && !group->entries.empty()) || files_.root.find("fsdp_version") != nullptr;
  if (type == "fsdp" || (!words.empty() && words.front() != "false")) return true;
  for (const char* none : {"megatron_lm", "xla", "tpu", "multi_cpu"})
    if (type == none) in_.refuse("distributed_type", in_quotes(type) + " is not modelled");
  if (!configured) return false;
  if (!type.empty()) {
    refuse({"fsdp_config", "fsdp_version"}, "has no effect where distributed_type is " + type +
                                                "; write FSDP there, or leave out "
                                                "fsdp_config");
    return false;
  }
  if (framework_ != Framework::axolotl)
    assume("FSDP, as fsdp_config is there: neither fsdp nor distributed_type names it");
  return true;
}

void TuningReader::read_sharding() {
  std::vector<std::string> words = words_of({"fsdp"});
  fsdp_ = uses_fsdp(words);
  deepspeed_ = uses_deepspeed();
  if (fsdp_ && deepspeed_)
    refuse({"deepspeed", "deepspeed_config", "fsdp", "fsdp_config"},
           "stands beside FSDP: a run has one of the two");
  read_fsdp(std::move(words));
  read_wrapping();
  read_fsdp_rest();
}

/// Version 2 knows no strategies: weights are kept after the forward pass or given back.
void TuningReader::read_strategy(const std::vector<std::string>& words, int version) {
  const PluginKey strategy("sharding_strategy");
  const Keys keys{"fsdp", strategy.names[0], strategy.names[1], strategy.names[2]};
  const Strategy* chosen = &strategies.front();
  for (const std::string& word : words) {
    const Strategy* const found = strategy_of(word);
    if (found == nullptr)
      refuse(keys, in_quotes(word) +
                       " is no strategy of FSDP: full_shard, shard_grad_op, no_shard, "
                       "hybrid_shard, hybrid_shard_zero2");
    else
      chosen = found;
  }
  if (version == 2 && chosen != &strategies.front())
    refuse(keys,
           "has no effect in FSDP 2, which has fsdp_reshard_after_forward: false and "
           "parallelism_config in its place");
  job_.parallel.zero = chosen->zero;
  hybrid_ = chosen->hybrid;
}

void TuningReader::read_fsdp(std::vector<std::string> words) {
  const PluginKey version_key("version");
  const PluginKey strategy("sharding_strategy");
  const PluginKey reshard("reshard_after_forward");
  const PluginKey offload("offload_params");
  const PluginKey checkpoints("activation_checkpointing");
  const int version = in_.integer(version_key.keys, 1, 2).value_or(1);
  std::erase_if(words, [](const std::string& word) {
    return word == "auto_wrap" || word == "true" || word == "false" || word == "xla";
  });
  bool away = std::erase(words, "offload") > 0;
  away = in_.truth(offload.keys, false) || away;
  fsdp_checkpoints_ = in_.truth(checkpoints.keys, false) && fsdp_;
  for (std::string& word : words_of(strategy.keys)) words.push_back(std::move(word));
  const std::string after = in_.text(reshard.keys, "true");
  if (!fsdp_) return;
  if (strategy_of(after) != nullptr && version == 1) words.push_back(after);
  read_strategy(words, version);
  if (after == "false" && job_.parallel.zero == 3) job_.parallel.zero = 2;
  if (after != "true" && after != "false" && strategy_of(after) == nullptr)
    refuse(reshard.keys, in_quotes(after) + " is neither true nor false");
  if (away) job_.memory.offload = OffloadKind::optimizer_and_parameters;
}

void TuningReader::read_wrapping() {
  const PluginKey policy("auto_wrap_policy");
  const PluginKey layers("transformer_layer_cls_to_wrap");
  const std::string how = in_.text(policy.keys, "transformer_based_wrap");
  const std::vector<std::string> names = words_of(layers.keys);
  if (!fsdp_) return;
  if (how == "no_wrap")
    refuse(policy.keys, "gathers the whole model at once, which is not modelled");
  else if (how != "transformer_based_wrap" && how != "size_based_wrap")
    refuse(policy.keys, in_quotes(how) + " is not modelled: transformer_based_wrap");
  if (!names.empty() && std::ranges::none_of(names, names_layers))
    refuse(layers.keys, "names no whole layers; shards are modelled layer by layer");
}

void TuningReader::read_fsdp_rest() {
  for (const char* name : {"xla", "xla_fsdp_v2", "xla_fsdp_grad_ckpt"})
    refuse_if_on(PluginKey(name).keys, "is TPUs', which are not modelled");
  if (!words_of(PluginKey("ignored_modules").keys).empty())
    refuse(PluginKey("ignored_modules").keys, "keeps modules whole, which is not modelled");
  for (const char* name :
       {"backward_prefetch", "backward_prefetch_policy", "forward_prefetch", "limit_all_gathers",
        "use_orig_params", "min_num_params", "cpu_offload_pin_memory", "mixed_precision_policy"})
    in_.approximate(PluginKey(name).keys);
}

int TuningReader::read_context() {
  const Keys rings{"context_parallel_size", "sequence_parallel_degree"};
  const Keys gathers{"parallelism_config.parallelism_config_cp_size", "parallelism_config.cp_size"};
  const Keys swaps{"sequence_parallel_size", "parallelism_config.parallelism_config_sp_size",
                   "parallelism_config.sp_size"};
  const int ring = in_.integer(rings, 1, 1024).value_or(1);
  const int gather = in_.integer(gathers, 1, 1024).value_or(1);
  const int swap = in_.integer(swaps, 1, 1024).value_or(1);
  const std::string how = in_.text({"ring_attn_func"});
  const std::string rotation = in_.text(
      {"parallelism_config.parallelism_config_cp_comm_strategy",
       "parallelism_config.cp_comm_strategy", "parallelism_config.cp_handler.cp_comm_strategy"},
      "allgather");
  if ((ring > 1) + (gather > 1) + (swap > 1) > 1)
    refuse(swaps, "stands beside another way to split sequences; one of them is modelled");
  ContextExchange& exchange = job_.communication.context_exchange;
  // With packed samples Axolotl takes Llama 3's way: keys and values are gathered first.
  const bool packs = in_.truth({"sample_packing"}, false);
  if (how.starts_with("varlen_llama3") || (how.empty() && packs && ring > 1))
    exchange = ContextExchange::all_gather;
  if (gather > 1 && rotation == "allgather") exchange = ContextExchange::all_gather;
  if (swap > 1) exchange = ContextExchange::all_to_all;
  return std::max({ring, gather, swap});
}

bool TuningReader::splits_sequences() const { return job_.parallel.context > 1; }

void TuningReader::read_layout(const Host& host) {
  LaunchSize size;
  size.gpus = in_.integer({"num_processes", "ray_num_workers"}, 1, 1'000'000);
  size.nodes = in_.integer({"num_machines"}, 1, 1'000'000);
  Parallel& parallel = job_.parallel;
  const auto degree = [&](const std::string& name, const char* plain) {
    return in_.integer(
        {"parallelism_config.parallelism_config_" + name, "parallelism_config." + name, plain}, 1,
        100'000);
  };
  parallel.tensor = degree("tp_size", "tensor_parallel_size").value_or(1);
  const int copies = degree("dp_replicate_size", "dp_replicate_size").value_or(1);
  const int shards = degree("dp_shard_size", "dp_shard_size").value_or(0);
  parallel.context = read_context();
  const double ranks = 1.0 * parallel.tensor * parallel.context * copies * std::max(1, shards);
  if (ranks > 1e6) {
    parallel.tensor = parallel.context = 1;
    return refuse({"dp_shard_size", "parallelism_config", "tensor_parallel_size"},
                  "asks for more than 1,000,000 GPUs");
  }
  const int gpus = gpus_for(size, static_cast<int>(ranks), host.gpus, options_, plan_.notes);
  read_ranks(gpus, copies, shards);
  // Replicas of a host, with all of their ranks.
  const int inside = std::max(1, host.gpus / (parallel.tensor * parallel.context));
  if (hybrid_ && parallel.data > inside) parallel.zero_group = inside;
  // PyTorch's FSDP with one rank shards nothing.
  if (parallel.data * parallel.context == 1) parallel.zero = 0;
}

void TuningReader::read_ranks(int gpus, int copies, int shards) {
  const Keys named{"dp_shard_size",        "parallelism_config",    "dp_replicate_size",
                   "tensor_parallel_size", "context_parallel_size", "sequence_parallel_size",
                   "num_processes"};
  Parallel& parallel = job_.parallel;
  const int replica = parallel.tensor * parallel.context;
  parallel.data = std::max(1, gpus / replica);
  if (gpus % replica != 0 || parallel.data % copies != 0 ||
      (shards > 0 && copies * shards != parallel.data)) {
    const std::string asked =
        shards > 0 ? fmt::format("; give --gpus {}", replica * copies * shards) : std::string();
    refuse(named,
           fmt::format("tensor {} x context {} x {} copies x {} shards do not make {} GPUs{}",
                       parallel.tensor, parallel.context, copies,
                       shards > 0 ? std::to_string(shards) : "any", gpus, asked));
    return;
  }
  const int spread = parallel.data / copies;
  // Shards lie over the ranks of a sequence as well, where it is split.
  const bool shards_any = spread * parallel.context > 1;
  if (copies > 1 && !shards_any) parallel.zero = 0;
  if (copies > 1 && shards_any && parallel.zero >= 2) parallel.zero_group = spread;
}

}  // namespace foretrain::tuning
