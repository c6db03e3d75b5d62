// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/sections.hpp"

#include <string>

namespace foretrain {
namespace {

using keys::bind;
using keys::group;
using keys::only_where;
using keys::with_default;

bool packs_frozen(const FineTuning& tuning) { return tuning.packs_frozen(); }
bool prefers(const FineTuning& tuning) { return tuning.objective == Objective::preference; }
bool adapts(const FineTuning& tuning) { return tuning.adapts(); }

KeyRows adapter_keys() {
  return {
      with_default(
          {.path = "fine_tuning.adapter",
           .help = "Small trained matrices beside frozen ones: lora, or dora, which trains "
                   "the magnitude of every column as well; none trains the model itself.",
           .example = "lora"},
          &FineTuning::adapter),
      only_where<FineTuning, adapts>(
          with_default({.path = "fine_tuning.rank",
                        .help = "Rank of the adapters: columns of the first of their two "
                                "matrices.",
                        .example = "16",
                        .min = 1,
                        .max = 65536},
                       &FineTuning::rank)),
      only_where<FineTuning, adapts>(bind(
          {.path = "fine_tuning.targets",
           .help = "Linear layers that have adapters: qkv, projection, fc1 and fc2 as "
                   "Megatron-Core fuses them, or query, key, value, gate and up one by one as "
                   "Hugging Face has them (o_proj is projection, down_proj fc2). Of latent "
                   "attention query-down and query-up (query, where it has no latent vector), "
                   "key-value-down and key-value-up; of mixers mixer-in and mixer-out, or "
                   "mixer-qkvz and mixer-ba for mixer-in; of a mixture router and shared-gate. "
                   "fc1, gate, up and fc2 are those of experts as well. Left out, qkv and "
                   "projection.",
           .example = "[query, key, value, projection, gate, up, fc2]"},
          &FineTuning::targets)),
      only_where<FineTuning, adapts>(with_default(
          {.path = "fine_tuning.expert_adapters",
           .help = "How fc1, gate, up and fc2 stand beside routed experts: per-expert, a pair "
                   "of matrices for each; shared, one pair for all experts of a rank "
                   "(Megatron-Bridge's grouped linear layers); merged, a pair for each whose "
                   "product is added to the experts' parameter before every pass (PEFT's "
                   "target_parameters); none, MLPs and shared experts alone have adapters.",
           .example = "shared"},
          &FineTuning::expert_adapters)),
      only_where<FineTuning, adapts>(
          with_default({.path = "fine_tuning.dropout",
                        .help = "Dropout probability before the adapters; any above zero keeps a "
                                "copy of their input and a mask.",
                        .example = "0.05",
                        .min = 0,
                        .max = 1},
                       &FineTuning::dropout)),
  };
}

KeyRows frozen_keys() {
  return {
      bind({.path = "fine_tuning.trained",
            .help = "Parts of the model that are trained, the others are frozen; left out, all of "
                    "them, and none beside adapters. vision is the layers of a vision tower, "
                    "projector what joins it to the language model, whose parts the others are.",
            .example = "[norms, output]"},
           &FineTuning::trained),
      with_default({.path = "fine_tuning.frozen_layers",
                    .help = "The first layers of the model, of which nothing is trained, nor of "
                            "the embedding before them: no gradient goes through them.",
                    .example = "24",
                    .min = 0,
                    .max = 1000000},
                   &FineTuning::frozen_layers),
      with_default(
          {.path = "fine_tuning.frozen_format",
           .help =
               "How frozen matrices of layers rest in memory: as they are multiplied; in 4 bits "
               "with scales of 32 bits (nf4) or scales that are quantised once more "
               "(nf4-double, QLoRA); in 4 bits of GPTQ in groups of 128; in 8 bits (int8, "
               "LLM.int8()), unpacked for every pass; or in 32 bits (FSDP of a model that was "
               "loaded so).",
           .example = "nf4-double"},
          &FineTuning::frozen_format),
      only_where<FineTuning, packs_frozen>(with_default(
          {.path = "fine_tuning.packed_experts",
           .help = "Whether routed experts rest packed as well: each a linear layer of its own; "
                   "false where they are one parameter of three dimensions (GPT-OSS, and "
                   "transformers from 5 on), which bitsandbytes leaves in 16 bits.",
           .example = "false"},
          &FineTuning::packed_experts)),
  };
}

KeyRows objective_keys() {
  return {
      with_default(
          {.path = "fine_tuning.objective",
           .help = "What is learnt: the next token; a preference among two answers (DPO); a score "
                   "of an answer (a reward model, which has no projection to the vocabulary); or a "
                   "policy by its gradient (GRPO, PPO: the update alone, without generation). Of "
                   "preference and reward, batches count answers: a pair is two sequences.",
           .example = "preference"},
          &FineTuning::objective),
      only_where<FineTuning, prefers>(with_default(
          {.path = "fine_tuning.reference",
           .help = "For a preference: what the model is compared with, a frozen copy of "
                   "itself, itself without its adapters, or log-probabilities that were "
                   "computed before training.",
           .example = "without-adapters"},
          &FineTuning::reference)),
  };
}

}  // namespace

const BoundTable<FineTuning>& fine_tuning_keys() {
  static const BoundTable<FineTuning> table(
      "fine_tuning",
      joined_rows({{group("fine_tuning",
                          "What of the model is trained, and for what; left out, all of it on next "
                          "tokens.")},
                   adapter_keys(),
                   frozen_keys(),
                   objective_keys()}));
  return table;
}

}  // namespace foretrain
