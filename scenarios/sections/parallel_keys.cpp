// SPDX-License-Identifier: Apache-2.0

#include "scenarios/sections/parallel_keys.hpp"

#include <utility>

#include "scenarios/sections/sections.hpp"

namespace foretrain {
namespace {

using keys::bind;
using keys::with_default;

constexpr double most_ranks = 1000000;
constexpr double most_replicas = 1000000000;

Field degree(const char* path, const char* help, const char* example, double most = most_ranks) {
  return {.path = path, .help = help, .example = example, .min = 1, .max = most};
}

KeyRows split_keys() {
  return {
      {{.path = "parallel",
        .kind = FieldKind::group,
        .help = "How the work is split over the GPUs."}},
      with_default(degree("parallel.tensor",
                          "GPUs that every weight matrix of a layer is sharded across (tensor "
                          "parallelism).",
                          "8"),
                   &Parallel::tensor),
      with_default({.path = "parallel.sequence",
                    .help = "Split norms and dropout along the sequence over the tensor-parallel "
                            "GPUs (Megatron sequence parallelism).",
                    .example = "true"},
                   &Parallel::sequence),
      with_default(degree("parallel.context",
                          "GPUs that share one sequence, each with a part of its tokens (context "
                          "parallelism).",
                          "1"),
                   &Parallel::context),
      with_default(degree("parallel.pipeline",
                          "Stages that the layers are split into (pipeline parallelism).", "8"),
                   &Parallel::pipeline),
      with_default(
          degree("parallel.virtual_stages",
                 "Chunks of layers per stage; above 1 only with schedule: interleaved.", "1"),
          &Parallel::virtual_stages),
      with_default({.path = "parallel.schedule",
                    .help = "Order of forward and backward passes on a stage.",
                    .example = "1f1b"},
                   &Parallel::schedule),
      with_default({.path = "parallel.vocabulary",
                    .help = "Stages that hold embedding and output layer: both ends of the "
                            "pipeline, or all, with one or two synchronisations per micro-batch "
                            "(split, split-two-syncs), or as tensor ranks (interlaced).",
                    .example = "split"},
                   &Parallel::vocabulary),
      bind(degree("parallel.microbatch_group",
                  "With schedule: interleaved, micro-batches that a chunk takes in a row; "
                  "left out, as many as stages.",
                  "8"),
           &Parallel::microbatch_group),
      with_default(
          degree("parallel.expert",
                 "GPUs that the experts of a mixture-of-experts layer are sharded across.", "1"),
          &Parallel::expert),
      bind(degree("parallel.expert_tensor",
                  "GPUs that every weight matrix of an expert is sharded across; left out, as "
                  "many as parallel.tensor.",
                  "1"),
           &Parallel::expert_tensor),
  };
}

/// Replicas follow from the GPUs; a scenario that is written does not say them again.
KeyRow data_key() {
  KeyRow key = bind(degree("parallel.data",
                           "Replicas that see different sequences; left out, all GPUs / (tensor "
                           "* context * pipeline).",
                           "16", most_replicas),
                    &Parallel::data);
  key.written = WhenWritten::never;
  return key;
}

void read_order(Parallel& plan, const FieldValue& value) {
  plan.order = value.text == rank_order_text(stages_in_replica) ? stages_in_replica : data_in_stage;
}

std::string order_text(const Parallel& plan) {
  return plan.order == data_in_stage ? std::string() : rank_order_text(plan.order);
}

/// Megatron-Core's names of its rank orders.
KeyRow order_key() {
  return keys::computed<Parallel, read_order, order_text>(
      {.path = "parallel.order",
       .kind = FieldKind::choice,
       .help =
           "How ranks are numbered, the axis in which neighbours differ first: "
           "tp-cp-ep-dp-pp puts the replicas of a stage side by side (Megatron-Core, DeepSpeed, "
           "torchtitan), tp-cp-ep-pp-dp the stages of a replica (Megatron-Core's "
           "--use-tp-pp-dp-mapping).",
       .example = rank_order_text(stages_in_replica),
       .default_text = rank_order_text(data_in_stage),
       .choices = {rank_order_text(data_in_stage), rank_order_text(stages_in_replica)}});
}

KeyRows replica_keys() {
  return {
      bind({.path = "parallel.processes",
            .help = "How processes drive GPUs: per-gpu (DistributedDataParallel, FSDP; what a "
                    "file without this key means), or per-host, one process with a thread for "
                    "each GPU of the one host (torch.nn.DataParallel).",
            .example = "per-gpu"},
           &Parallel::processes),
      bind({.path = "parallel.gather",
            .help = "What torch.nn.DataParallel brings to GPU 0: outputs (logits of all "
                    "replicas, the loss is computed there; what a file without this key "
                    "means), or loss (computed inside the module, one number per replica).",
            .example = "outputs"},
           &Parallel::gather),
      bind({.path = "parallel.framework",
            .help =
                "The program that runs the plan, where it has not all ways to split a "
                "model that others on the same kernels have: plans that it cannot run are "
                "illegal. any is what a file without this key means, but with stack: hf-trainer, "
                "which the Trainer runs.",
            .example = "transformers"},
           &Parallel::framework),
      with_default({.path = "parallel.zero",
                    .help = "What replicas shard instead of copy: 0 nothing (DDP), 1 optimizer "
                            "states, 2 also gradients, 3 also weights (fully sharded). Under a "
                            "pipeline 2 and 3 are FSDP2's (torchtitan, NeMo AutoModel).",
                    .example = "1",
                    .min = 0,
                    .max = 3},
                   &Parallel::zero),
      bind(degree("parallel.zero_group",
                  "Replicas that one shard set is spread over (hybrid sharding); left out, all "
                  "of them.",
                  "8", most_replicas),
           &Parallel::zero_group),
      bind({.path = "parallel.stage_layers",
            .help = "Layers of each pipeline stage, first stage first; left out, split evenly, "
                    "but that no "
                    "layer is parted from one whose keys or choice it reads.",
            .example = "[19, 20, 20, 21]",
            .min = 0,
            .max = most_ranks},
           &Parallel::stage_layers),
      bind({.path = "parallel.prediction_stage",
            .help = "Stage that holds the modules of multi-token prediction, from 0 on, behind "
                    "all layers; left out, the one with the loss, which keeps their outputs.",
            .example = "2",
            .min = 1,
            .max = most_ranks},
           &Parallel::prediction_stage),
  };
}

}  // namespace

const BoundTable<Parallel>& parallel_keys() {
  static const BoundTable<Parallel> table(
      "parallel", joined_rows({split_keys(), {data_key(), order_key()}, replica_keys()}));
  return table;
}

}  // namespace foretrain
