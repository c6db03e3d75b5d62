// SPDX-License-Identifier: Apache-2.0
// What a configuration over Megatron-Core says beside the model: precision, data parallelism,
// overlaps, optimizer, adapters.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "scenarios/imports/core/internal/core_fields.hpp"
#include "scenarios/imports/frameworks/adapter_targets.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/yaml/text_file.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain::core {
namespace {

/// "float32", "torch.bfloat16" as --exp-avg-dtype has them.
std::string short_dtype(const std::string& type) {
  if (type == "float32") return "fp32";
  if (type == "bfloat16") return "bf16";
  if (type == "float16" || type == "half") return "fp16";
  if (type == "uint8") return "fp8";
  return type;
}

}  // namespace

/// "bf16_with_mxfp8_mixed", also with hyphens, and Lightning's "bf16-mixed" and "16-mixed".
void CoreReader::read_named_precision(const std::string& name) {
  std::string plain = lower_case(name);
  std::ranges::replace(plain, '-', '_');
  if (plain == "16_mixed") plain = "fp16_mixed";
  MegatronArguments& arguments = config_.found.arguments;
  const bool half = plain.starts_with("fp16_");
  const std::string rest = half || plain.starts_with("bf16_") ? plain.substr(5) : plain;
  const bool says_half = rest != plain || rest.find("16_") != std::string::npos;
  const auto found = says_half ? precision_named(rest) : std::nullopt;
  if (!found)
    return in_.refuse(groups_.precision, in_quotes(name) +
                                             " is no precision that is known here; state its "
                                             "fields (" +
                                             groups_.precision + ".fp8, .fp8_recipe, ...)");
  arguments[half ? "fp16" : "bf16"] = "true";
  if (half) arguments["grad-reduce-in-bf16"] = "true";
  if (!found->fp8_recipe.empty()) {
    arguments["fp8-format"] = "hybrid";
    arguments["fp8-recipe"] = std::string(found->fp8_recipe);
  }
  if (!found->fp4_recipe.empty()) {
    arguments["fp4-format"] = "e2m1";
    arguments["fp4-recipe"] = std::string(found->fp4_recipe);
  }
  if (found->parameters && !(groups_.nemo && found->fp8_recipe == "mxfp8"))
    arguments["fp8-param-gather"] = "true";
  if (found->bf16_ends > 0) {
    arguments["first-last-layers-bf16"] = "true";
    arguments["num-layers-at-start-in-bf16"] = std::to_string(found->bf16_ends);
    arguments["num-layers-at-end-in-bf16"] = std::to_string(found->bf16_ends);
  }
}

/// Fields of a precision, or of a model without one.
void CoreReader::read_precision_fields(const std::string& group) {
  MegatronArguments& arguments = config_.found.arguments;
  const auto there = [&](const char* name) {
    return node_at(root_, group + "." + name) != nullptr && !left(group + "." + name);
  };
  for (const char* name : {"bf16", "fp16", "first_last_layers_bf16", "num_layers_at_start_in_bf16",
                           "num_layers_at_end_in_bf16", "fp8_dot_product_attention",
                           "fp8_multi_head_attention", "fp4_param", "fp4_param_gather"})
    if (there(name)) read_field(group, name);
  if (there("fp8")) put("fp8-format", group + ".fp8");
  if (there("fp4")) put("fp4-format", group + ".fp4");
  if (there("fp8_param")) put("fp8-param-gather", group + ".fp8_param");
  if (there("fp8_param_gather")) put("fp8-param-gather", group + ".fp8_param_gather");
  if (there("fp8_recipe")) put("fp8-recipe", group + ".fp8_recipe");
  if (there("fp4_recipe")) put("fp4-recipe", group + ".fp4_recipe");
  if (there("grad_reduce_in_fp32")) {
    if (on(group + ".grad_reduce_in_fp32", true))
      arguments.erase("grad-reduce-in-bf16");
    else
      set("grad-reduce-in-bf16", "true", group + ".grad_reduce_in_fp32");
  }
  // Written beside a precision that does not use them.
  if (arguments.count("fp8-format") == 0)
    for (const char* name : {"fp8-recipe", "fp8-param-gather"}) arguments.erase(name);
  if (arguments.count("fp4-format") == 0) arguments.erase("fp4-recipe");
}

/// A precision replaces the fields of its names in model, optimizer and DDP configurations.
void CoreReader::read_precision() {
  const YamlNode* precision = left(groups_.precision) ? nullptr : node_at(root_, groups_.precision);
  const bool stated = precision != nullptr && !precision->is_null();
  for (const std::string& group : groups_.model) {
    if (!stated) read_precision_fields(group);
    for (const char* name :
         {"bf16", "fp16", "fp8", "fp4", "fp8_recipe", "fp4_recipe", "fp8_param", "fp4_param",
          "fp8_dot_product_attention", "fp8_multi_head_attention", "first_last_layers_bf16",
          "num_layers_at_start_in_bf16", "num_layers_at_end_in_bf16", "fp8_amax_compute_algo",
          "fp8_amax_history_len", "fp8_interval", "fp8_margin"})
      in_.harmless({group + "." + name + ".*"});
  }
  in_.harmless({groups_.ddp + ".grad_reduce_in_fp32"});
  refuse_if(groups_.precision + ".fp8_wgrad", false);
  if (!stated) {
    if (!on(groups_.ddp + ".grad_reduce_in_fp32", true))
      set("grad-reduce-in-bf16", "true", groups_.ddp + ".grad_reduce_in_fp32");
    return;
  }
  std::string name = precision->is_scalar() ? take(groups_.precision)->text : std::string();
  // Overrides of single fields leave the name of the whole in the map.
  if (precision->is_map() && !precision->text.empty()) name = precision->text;
  if (const YamlNode* word = node_at(root_, groups_.precision + ".precision"))
    if (name.empty()) name = word->text;
  if (!name.empty()) read_named_precision(name);
  read_precision_fields(groups_.precision);
  for (const std::string_view field : fields_of("harmless.precision"))
    in_.harmless({groups_.precision + "." + std::string(field) + ".*"});
}

int CoreReader::degree(const char* argument) const {
  const auto found = config_.found.arguments.find(argument);
  if (found == config_.found.arguments.end()) return 1;
  const auto parsed = parse_integer(found->second);
  return parsed.value && *parsed.value > 0 && *parsed.value < 1'000'000
             ? static_cast<int>(*parsed.value)
             : 1;
}

/// An overlap configuration turns on what fits the layout unless it says otherwise; without one the
/// fields of the model and of DDP decide (training/comm_overlap.py).
void CoreReader::read_overlap(bool distributed) {
  const std::string& group = groups_.overlap;
  const YamlNode* overlap = group.empty() || left(group) ? nullptr : node_at(root_, group);
  const bool configured = overlap != nullptr && overlap->is_map();
  bool tensor = false;
  bool stages = false;
  for (const std::string& model : groups_.model) {
    tensor = on(model + ".tp_comm_overlap", tensor);
    stages = on(model + ".overlap_p2p_comm", stages);
  }
  const bool chunks = degree("num-virtual-stages-per-pipeline-rank") > 1;
  bool gradients = on(groups_.ddp + ".overlap_grad_reduce", false);
  bool parameters = on(groups_.ddp + ".overlap_param_gather", false);
  if (configured) {
    tensor = on(group + ".tp_comm_overlap", false) && degree("tensor-model-parallel-size") > 1 &&
             config_.found.arguments.count("sequence-parallel") > 0;
    stages = on(group + ".overlap_p2p_comm", chunks);
    if (distributed) {
      gradients = on(group + ".overlap_grad_reduce", true);
      parameters = on(group + ".overlap_param_gather", true);
    }
    // Without shards those of the DDP configuration count.
    in_.harmless({group + ".overlap_grad_reduce", group + ".overlap_param_gather"});
    for (const char* name : {"delay_wgrad_compute", "overlap_moe_expert_parallel_comm",
                             "defer_embedding_wgrad_compute", "wgrad_deferral_limit"})
      if (overlap->find(name) != nullptr) read_field(group, name);
    for (const std::string_view name : fields_of("harmless.overlap"))
      in_.approximate({group + "." + std::string(name) + ".*"});
  }
  MegatronArguments& arguments = config_.found.arguments;
  const auto flag = [&](const char* name, bool value) {
    if (value)
      arguments[name] = "true";
    else
      arguments.erase(name);
  };
  flag("tp-comm-overlap", tensor);
  flag("no-overlap-p2p-communication", chunks && !stages);
  flag("overlap-grad-reduce", gradients);
  flag("overlap-param-gather", parameters);
}

void CoreReader::read_data_parallel() {
  MegatronArguments& arguments = config_.found.arguments;
  const bool first = on(groups_.ddp + ".use_distributed_optimizer", false);
  const bool second = on(groups_.optimizer + ".use_distributed_optimizer", false);
  if (first || second) arguments["use-distributed-optimizer"] = "true";
  if (const YamlNode* ddp = node_at(root_, groups_.ddp); ddp != nullptr && ddp->is_scalar()) {
    (void)take(groups_.ddp);
    if (ddp->text != "megatron")
      in_.refuse(groups_.ddp, in_quotes(ddp->text) +
                                  " leaves Megatron-Core's data parallelism, which is not read "
                                  "here; give the plan as a scenario");
  }
  for (const char* name :
       {"use_megatron_fsdp", "use_custom_fsdp", "data_parallel_sharding_strategy",
        "num_distributed_optimizer_instances", "outer_dp_sharding_strategy", "fsdp_double_buffer",
        "megatron_fsdp_main_params_dtype", "megatron_fsdp_main_grads_dtype",
        "megatron_fsdp_grad_comm_dtype"})
    if (node_at(root_, groups_.ddp + "." + name) != nullptr) read_field(groups_.ddp, name);
  for (const char* name : {"megatron-fsdp-main-params-dtype", "megatron-fsdp-main-grads-dtype",
                           "megatron-fsdp-grad-comm-dtype"})
    if (const auto found = arguments.find(name); found != arguments.end())
      found->second = short_dtype(found->second);
  if (!groups_.distributed.empty())
    for (const char* name : {"use_tp_pp_dp_mapping", "use_torch_fsdp2", "use_megatron_fsdp"})
      if (on(groups_.distributed + "." + name, false)) read_field(groups_.distributed, name);
  for (const std::string_view name : fields_of("harmless.ddp"))
    in_.harmless({groups_.ddp + "." + std::string(name) + ".*"});
  for (const std::string_view name : fields_of("approximate.ddp"))
    in_.approximate({groups_.ddp + "." + std::string(name) + ".*"});
  read_overlap(first || second);
}

void CoreReader::read_optimizer() {
  const YamlNode* optimizer = node_at(root_, groups_.optimizer);
  if (optimizer == nullptr) return;
  refuse_if(groups_.optimizer + ".store_param_remainders", false);
  for (const YamlEntry& entry : optimizer->entries) {
    const bool passed = is_field("harmless.optimizer", entry.key);
    if (!passed && entry.key != "use_distributed_optimizer")
      read_field(groups_.optimizer, entry.key);
  }
  for (const char* name :
       {"main-grads-dtype", "main-params-dtype", "exp-avg-dtype", "exp-avg-sq-dtype"})
    if (const auto found = config_.found.arguments.find(name);
        found != config_.found.arguments.end())
      found->second = short_dtype(found->second);
  for (const std::string_view name : fields_of("harmless.optimizer"))
    in_.harmless({groups_.optimizer + "." + std::string(name) + ".*"});
}

void CoreReader::read_targets(const YamlNode& targets) {
  FineTuning& fine = config_.fine_tuning;
  fine.targets = {};
  for (const YamlNode& item : targets.items)
    if (const auto target = megatron_target(item.text))
      fine.targets.add(*target);
    else
      in_.refuse(groups_.adapter + ".target_modules",
                 in_quotes(item.text) + " is no linear layer of attention or MLP that is modelled");
}

void CoreReader::read_adapter() {
  const std::string& group = groups_.adapter;
  const YamlNode* adapter = take(group);
  if (adapter == nullptr) return;
  std::string kind = adapter->is_map() ? adapter->text : core_text(*adapter);
  if (const YamlNode* target = adapter->find("_target_")) kind = target->text;
  kind = lower_case(kind.substr(kind.find_last_of('.') + 1));
  if (kind.empty() && !adapter->is_map()) return;
  if (kind == "none") return;
  const bool dora = kind.find("dora") != std::string::npos;
  if (!dora && kind.find("lora") == std::string::npos && !kind.empty())
    return in_.refuse(group, in_quotes(kind) + " is not modelled: lora, dora");
  FineTuning& fine = config_.fine_tuning;
  fine.adapter = dora ? AdapterKind::dora : AdapterKind::lora;
  const auto rank = in_.integer({group + ".dim"}, 1, 65536);
  fine.rank = rank.value_or(32);
  fine.dropout = in_.number({group + ".dropout"}).value_or(0.0);
  fine.targets = {AdapterTarget::qkv, AdapterTarget::projection, AdapterTarget::fc1,
                  AdapterTarget::fc2};
  const YamlNode* targets = in_.take(group + ".target_modules");
  if (targets != nullptr && targets->is_sequence() && !targets->items.empty())
    read_targets(*targets);
  else
    config_.assumed.emplace_back("adapters beside all linear layers, the class's default");
  const bool shared = in_.truth({group + ".share_expert_adapters"}, true);
  fine.expert_adapters = shared ? ExpertAdapters::shared : ExpertAdapters::per_expert;
  if (in_.truth({group + ".normalize_moe_lora"}, false))
    in_.refuse(group + ".normalize_moe_lora", "another rank beside experts is not modelled");
  if (!rank) config_.assumed.emplace_back("adapters of rank 32, the class's default");
}

}  // namespace foretrain::core
