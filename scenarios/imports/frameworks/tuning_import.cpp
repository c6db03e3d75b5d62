// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/tuning_import.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "scenarios/catalog/catalog_listing.hpp"
#include "scenarios/imports/frameworks/internal/tuning_keys.hpp"
#include "scenarios/imports/frameworks/tree_reader.hpp"

namespace foretrain {
namespace {

using tuning::Keys;
using tuning::TuningKeys;

struct Target {
  std::string_view module;
  AdapterTarget target;
};

/// Modules of transformers' Llama-like models.
constexpr auto modules = std::to_array<Target>({{"q_proj", AdapterTarget::query},
                                                {"k_proj", AdapterTarget::key},
                                                {"v_proj", AdapterTarget::value},
                                                {"qkv_proj", AdapterTarget::qkv},
                                                {"o_proj", AdapterTarget::projection},
                                                {"gate_proj", AdapterTarget::gate},
                                                {"up_proj", AdapterTarget::up},
                                                {"gate_up_proj", AdapterTarget::fc1},
                                                {"down_proj", AdapterTarget::fc2}});

const EnumSet<AdapterTarget> all_linear{AdapterTarget::query, AdapterTarget::key,
                                        AdapterTarget::value, AdapterTarget::projection,
                                        AdapterTarget::gate,  AdapterTarget::up,
                                        AdapterTarget::fc2};

/// Reads a configuration into a plan.
class TuningReader {
 public:
  TuningReader(const TuningKeys& keys, TreeReader& in, const PlanImportOptions& options,
               ImportedPlan& plan)
      : keys_{keys}, in_{in}, options_{options}, plan_{plan}, job_{plan.job} {}

  void read(int host_gpus, Diagnostics& diagnostics) {
    read_model(diagnostics);
    read_sharding();
    read_layout(host_gpus);
    read_batch();
    read_precision();
    read_adapter();
    read_objective();
    read_rest();
  }

 private:
  void assume(std::string sentence) { plan_.notes.assumed.push_back(std::move(sentence)); }

  /// Letters and digits of a model's name, in lower case, without what names of instruction-tuned
  /// copies and publishers add.
  static std::string plain(std::string name) {
    name = name.substr(name.find_last_of('/') + 1);
    std::string letters;
    for (const char c : name)
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.')
        letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const std::string_view word : {"meta", "instruct", "chat", "base", "it", "hf", "v0.3"}) {
      const auto at = letters.find(word);
      const bool ends = at + word.size() == letters.size();
      if (at != std::string::npos && (ends || (at == 0 && word == "meta")))
        letters.erase(at, word.size());
    }
    return letters;
  }

  void read_model(Diagnostics& diagnostics) {
    const std::string said = in_.text(keys_.model);
    if (!options_.model.empty()) {
      plan_.model = options_.model;
      return;
    }
    LoadOptions load;
    load.catalogs = options_.catalogs;
    for (const CatalogEntry& entry : catalog_entries("models", load))
      if (!said.empty() && plain(entry.name) == plain(said)) plan_.model = entry.name;
    if (plan_.model.empty())
      diagnostics.add(Mark{}, std::string(keys_.model.front()),
                      (said.empty() ? std::string("is missing")
                                    : in_quotes(said) + " is no model of the catalog") +
                          "; give --model NAME, or the path of a model or config.json");
  }

  /// "full_shard auto_wrap", a list of those, or nothing.
  std::string words_of(const Keys& keys) {
    std::string text;
    for (const std::string_view key : keys) {
      const YamlNode* node = in_.take(key);
      if (node == nullptr) continue;
      text += node->text + " ";
      for (const YamlNode& item : node->items) text += item.text + " ";
    }
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  }

  void read_sharding() {
    Parallel& parallel = job_.parallel;
    const std::string fsdp =
        words_of({"fsdp", "fsdp_config.fsdp_sharding_strategy", "fsdp_config.sharding_strategy",
                  "fsdp_sharding_strategy"});
    const bool resharded = in_.truth({"fsdp_config.reshard_after_forward",
                                      "fsdp_config.fsdp_reshard_after_forward"},
                                     true);
    const std::string type = in_.text({"distributed_type"});
    const auto stage = in_.integer({"deepspeed_config.zero_stage"}, 0, 3);
    const std::string deepspeed = words_of({"deepspeed"});
    const auto has = [](const std::string& text, const char* word) {
      return text.find(word) != std::string::npos;
    };
    if (has(fsdp, "offload") || has(in_.text({"deepspeed_config.offload_optimizer_device"}), "cpu"))
      in_.refuse("fsdp", "the time of offloading is not modelled");
    if (has(fsdp, "hybrid_shard")) {
      parallel.zero = 3;
      parallel.zero_group = 8;
    } else if (has(fsdp, "shard_grad_op") || (!resharded && (type == "fsdp" || !fsdp.empty()))) {
      parallel.zero = 2;
    } else if (!fsdp.empty() || type == "fsdp") {
      parallel.zero = 3;
    } else if (stage) {
      parallel.zero = *stage;
    } else if (!deepspeed.empty()) {
      read_deepspeed_name(deepspeed);
    }
    deepspeed_ = parallel.zero > 0 && fsdp.empty() && type != "fsdp";
  }

  /// A path says its stage in its name; what is in that file is not read.
  void read_deepspeed_name(const std::string& name) {
    const auto at = name.find("zero");
    const std::size_t digit = at == std::string::npos ? at : name.find_first_of("0123", at);
    if (digit == std::string::npos || digit > at + 6) {
      in_.refuse("deepspeed", "is a file whose name tells no ZeRO stage; import that file with "
                              "foretrain import deepspeed");
      return;
    }
    job_.parallel.zero = name[digit] - '0';
    assume(fmt::format("ZeRO stage {}, by the name of the DeepSpeed file: what is in it was not "
                       "read",
                       job_.parallel.zero));
    if (name.find("offload") != std::string::npos)
      in_.refuse("deepspeed", "offloads, whose time is not modelled");
  }

  void read_layout(int host_gpus) {
    LaunchSize size;
    size.gpus = in_.integer({"num_processes"}, 1, 1'000'000);
    size.nodes = in_.integer({"num_machines"}, 1, 1'000'000);
    Parallel& parallel = job_.parallel;
    parallel.tensor = in_.integer({"tensor_parallel_size"}, 1, 1024).value_or(1);
    const int pieces =
        in_.integer({"context_parallel_size", "sequence_parallel_degree", "sequence_parallel_size"},
                    1, 1024)
            .value_or(1);
    if (pieces > 1)
      in_.refuse("sequence_parallel_size",
                 "splits sequences over GPUs by all-to-all or by rings of another attention; "
                 "neither is modelled, a ring of context ranks is (parallel.context)");
    const int gpus = gpus_for(size, parallel.tensor, host_gpus, options_, plan_.notes);
    parallel.data = std::max(1, gpus / parallel.tensor);
    if (parallel.zero_group > parallel.data) parallel.zero_group = 0;
    // PyTorch's FSDP and DDP with one rank shard nothing.
    if (parallel.data == 1) parallel.zero = 0;
  }

  void read_batch() {
    Training& training = job_.training;
    const auto sequence = in_.integer(keys_.sequence, 1, 100'000'000);
    training.sequence = options_.sequence.value_or(sequence.value_or(2048));
    if (!options_.sequence && !sequence)
      assume("rows of 2,048 tokens; the source does not say (--sequence)");
    training.micro_batch = in_.integer(keys_.micro_batch, 1, 100'000).value_or(8);
    const int accumulation = in_.integer(keys_.accumulation, 1, 100'000).value_or(1);
    const bool packs = packing();
    assume(packs ? "every row is one sample: the source does not say how long samples are "
                   "(training.samples)"
                 : "rows are full: the source does not say how long samples are, and pads are "
                   "waste (training.samples)");
    const double batch = 1.0 * training.micro_batch * accumulation * job_.parallel.data;
    if (batch > 1e8) return in_.refuse(keys_.micro_batch.front(), "gives too large a global batch");
    training.global_batch = static_cast<int>(batch);
    training.vocabulary_multiple = 1;
    if (const auto steps = in_.integer(keys_.steps, -1, 2'000'000'000); steps && *steps > 0)
      training.tokens = 1.0 * *steps * training.global_batch * training.sequence;
  }

  bool packing() {
    bool packs = false;
    for (const std::string_view key : keys_.packing) packs = in_.truth({key}, false) || packs;
    return packs;
  }

  void read_precision() {
    const auto on = [&](const Keys& keys) {
      const std::string said = in_.text(keys);
      return said == "true" || said == "auto" || said == "full";
    };
    const std::string mixed = in_.text({"mixed_precision", "torch_dtype", "dtype"});
    const bool half = on({"fp16"}) || mixed == "fp16" || mixed == "float16";
    const bool brain = on({"bf16"}) || mixed == "bf16" || mixed == "bfloat16";
    const bool tf32 = on({"tf32"});
    Precision& precision = job_.training.precision;
    if (mixed == "fp8") in_.refuse("mixed_precision", "fp8 through accelerate is not modelled");
    precision = brain ? Precision::bf16 : half ? Precision::fp16 : Precision::fp32;
    if (precision == Precision::fp32 && tf32) precision = Precision::tf32;
    job_.communication.gradient_dtype = Precision::fp32;
  }

  void add_target(const std::string& word, FineTuning& fine) {
    if (word == "all-linear" || word == "all") {
      fine.targets = all_linear;
      return;
    }
    for (const Target& known : modules)
      if (known.module == word) return fine.targets.add(known.target);
    in_.refuse(keys_.targets.front(),
               in_quotes(word) + " is no linear layer of attention or MLP that is modelled");
  }

  void read_targets(FineTuning& fine) {
    fine.targets = {};
    std::istringstream words(words_of(keys_.targets));
    for (std::string word; std::getline(words, word, ' ');) {
      std::istringstream parts(word);
      for (std::string part; std::getline(parts, part, ',');)
        if (!part.empty()) add_target(part, fine);
    }
    if (!keys_.all_linear.empty() && in_.truth({keys_.all_linear}, false))
      fine.targets = all_linear;
    if (fine.targets.any()) return;
    fine.targets = {AdapterTarget::query, AdapterTarget::value};
    assume("adapters beside queries and values, PEFT's default for Llama");
  }

  void read_trained(FineTuning& fine) {
    std::istringstream words(words_of(keys_.trained_too));
    EnumSet<ModelPart> parts;
    for (std::string word; words >> word;) {
      if (word == "embed_tokens")
        parts.add(ModelPart::embedding);
      else if (word == "lm_head")
        parts.add(ModelPart::output);
      else
        in_.refuse(keys_.trained_too.front(), in_quotes(word) + " is not modelled");
    }
    if (parts.any()) fine.trained = parts;
  }

  void read_adapter() {
    FineTuning& fine = job_.fine_tuning;
    const std::string kind = in_.text(keys_.adapter);
    const bool lora = kind == "lora" || kind == "qlora";
    if (!lora && !kind.empty() && kind != "full" && kind != "none")
      in_.refuse(keys_.adapter.front(), in_quotes(kind) + " is not modelled: lora, qlora, full");
    const auto rank = in_.integer(keys_.rank, 1, 65536);
    fine.dropout = in_.number(keys_.dropout).value_or(0.0);
    const bool dora = in_.truth({"use_dora", "peft_use_dora"}, false);
    const auto bits = in_.integer(keys_.bits, 2, 8);
    const bool four = in_.truth(keys_.four_bits, kind == "qlora") || (bits && *bits == 4);
    const bool twice = in_.truth(keys_.double_scales, true);
    if (in_.truth({"load_in_8bit"}, false) || (bits && *bits != 4))
      in_.refuse(keys_.bits.empty() ? "load_in_8bit" : keys_.bits.front(),
                 "frozen weights of other than 4 and 16 bits are not modelled");
    read_targets_if(lora, fine);
    if (!lora) return;
    fine.adapter = dora ? AdapterKind::dora : AdapterKind::lora;
    fine.rank = rank.value_or(keys_.usual_rank);
    if (!rank) assume(fmt::format("rank {}, the default", fine.rank));
    read_trained(fine);
    if (four) fine.frozen_format = twice ? FrozenFormat::nf4_double : FrozenFormat::nf4;
  }

  void read_targets_if(bool lora, FineTuning& fine) {
    if (lora) return read_targets(fine);
    (void)words_of(keys_.targets);
    if (!keys_.all_linear.empty()) (void)in_.truth({keys_.all_linear}, false);
    fine.dropout = 0.0;
  }

  /// TRL's trainers put both answers of a pair into one pass.
  void read_objective() {
    FineTuning& fine = job_.fine_tuning;
    const std::string said = in_.text(keys_.objective);
    if (said.empty() || said == "sft" || said == "pt") return;
    if (said == "dpo") {
      fine.objective = Objective::preference;
      fine.reference = fine.adapts() ? ReferenceKind::without_adapters : ReferenceKind::copy;
      if (in_.truth({"precompute_ref_log_probs"}, false))
        fine.reference = ReferenceKind::precomputed;
    } else if (said == "rm" || said == "reward") {
      fine.objective = Objective::reward;
    } else {
      return in_.refuse(keys_.objective.front(), in_quotes(said) + " is not modelled: sft, dpo, rm");
    }
    job_.training.micro_batch *= 2;
    job_.training.global_batch *= 2;
    assume("batches count pairs of answers: two sequences each");
  }

  void read_rest() {
    const std::string optimizer = in_.text(keys_.optimizer, "adamw_torch");
    if (optimizer.find("8bit") != std::string::npos)
      job_.training.optimizer = OptimizerKind::adam8bit;
    else if (optimizer == "sgd")
      job_.training.optimizer = OptimizerKind::sgd;
    else if (optimizer.find("adamw") == std::string::npos)
      in_.refuse(keys_.optimizer.front(), in_quotes(optimizer) + " is not modelled");
    bool again = keys_.checkpoints;
    if (!keys_.checkpointing.empty()) again = in_.truth(keys_.checkpointing, again);
    if (in_.truth({"disable_gradient_checkpointing"}, false)) again = false;
    job_.memory.recompute.kind = again ? RecomputeKind::full : RecomputeKind::none;
    const std::string kernel =
        in_.text({"attn_implementation", "attn_impl", "flash_attn", "flash_attention"}, "auto");
    if (kernel == "eager" || kernel == "disabled")
      job_.memory.attention = AttentionKind::unfused;
    (void)in_.truth({"sdp_attention", "xformers_attention"}, false);
    in_.harmless(keys_.harmless);
    in_.harmless({"fsdp_config", "deepspeed_config", "fsdp_version", "pad_to_sequence_len",
                  "layers_to_transform", "layers_pattern", "rank_pattern", "alpha_pattern",
                  "loftq_config", "megatron_config", "megatron_core", "fsdp_transformer_layer_cls"});
    in_.approximate(keys_.approximate);
    const bool three = deepspeed_ && job_.parallel.zero == 3;
    choose_stack(plan_, three ? "deepspeed-zero3" : "fsdp2",
                 three ? "DeepSpeed's ZeRO-3"
                       : "kernels of plain PyTorch, as those that torchtitan runs uncompiled");
  }

  const TuningKeys& keys_;
  TreeReader& in_;
  const PlanImportOptions& options_;
  ImportedPlan& plan_;
  Job& job_;
  bool deepspeed_ = false;
};

/// The file and those beside it as one map; a key of two of them is refused.
YamlNode merged_tree(const ImportSource& source, const PlanImportOptions& options,
                     Diagnostics& diagnostics) {
  YamlNode root;
  root.kind = YamlNode::Kind::map;
  root.mark = {std::make_shared<const std::string>(source.name), 1, 1};
  const auto add = [&](const std::string& text, const std::string& name) {
    const auto parsed = parse_yaml(text, name, YamlLimits{}, diagnostics);
    if (!parsed) return;
    if (!parsed->is_map())
      return diagnostics.add(parsed->mark, "", "must be a map: YAML or JSON of a configuration");
    for (const YamlEntry& entry : parsed->entries) {
      if (root.find(entry.key) != nullptr)
        diagnostics.add(entry.value.mark, entry.key, "stands in another of the files as well");
      else
        root.entries.push_back(entry);
    }
  };
  add(source.text, source.name);
  for (const auto& [name, text] : options.beside) add(text, name);
  return root;
}

}  // namespace

ImportedScenario import_tuning(TuningFramework framework, const ImportSource& source,
                               const PlanImportOptions& options) {
  Diagnostics diagnostics;
  const YamlNode root = merged_tree(source, options, diagnostics);
  const auto per_host = host_gpus(options, diagnostics);
  diagnostics.throw_if_any();
  TreeReader in(root, diagnostics);
  ImportedPlan plan;
  plan.job.name = std::filesystem::path(source.name).stem().string();
  TuningReader(tuning::keys_of(framework), in, options, plan).read(*per_host, diagnostics);
  in.finish(options, plan.notes);
  return finish_import(std::move(plan), source, options, diagnostics);
}

}  // namespace foretrain
