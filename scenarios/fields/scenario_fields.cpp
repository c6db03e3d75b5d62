// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fields/scenario_fields.hpp"

#include <vector>

#include "models/inputs/job.hpp"
#include "scenarios/fields/model_keys.hpp"
#include "scenarios/fields/scenario_fields_machine.hpp"
#include "scenarios/fields/scenario_fields_operations.hpp"
#include "scenarios/fields/scenario_fields_plan.hpp"

namespace foretrain {
namespace {

std::vector<Field> head_fields() {
  return {
      {.path = "schema",
       .kind = FieldKind::integer,
       .help = "Version of this file format; this program reads version 1.",
       .example = "1",
       .required = true,
       .min = 1,
       .max = 1},
      {.path = "extends",
       .help = "Another scenario file whose values hold wherever this file says nothing; a path "
               "relative to this file, inside its folder.",
       .example = "base.yaml"},
      {.path = "name",
       .help = "What reports and result files call this run.",
       .example = "llama2-70b-1024xh100",
       .required = true},
      {.path = "model",
       .help =
           "The LLM to train: a name from the model catalog (`foretrain show models`) or a "
           "path to a model file, relative to this file; or the model itself, with the keys of a "
           "model file but schema, sources and published.",
       .example = "llama2-70b",
       .required = true,
       .entry = inline_model_fields},
  };
}

std::vector<Field> training_fields() {
  return {
      {.path = "training",
       .kind = FieldKind::group,
       .help = "What one optimizer step does.",
       .required = true},
      {.path = "training.sequence",
       .kind = FieldKind::integer,
       .help = "Tokens in one training sequence.",
       .example = "4096",
       .required = true,
       .min = 1,
       .max = 100000000},
      {.path = "training.micro_batch",
       .kind = FieldKind::integer,
       .help = "Sequences that one GPU passes through its layers at a time.",
       .example = "1",
       .default_text = "1",
       .min = 1,
       .max = 1000000},
      {.path = "training.global_batch",
       .kind = FieldKind::integer,
       .help = "Sequences of one optimizer step, over all replicas.",
       .example = "1024",
       .required = true,
       .min = 1,
       .max = 1000000000},
      {.path = "training.tokens",
       .kind = FieldKind::quantity,
       .help =
           "Tokens of the whole run; without it there is no time-to-train and no cost of the run.",
       .example = "2 T",
       .dimension = Dimension::count,
       .min = 0,
       .max = 1e18,
       .above_min = true},
      {.path = "training.precision",
       .kind = FieldKind::choice,
       .help = "Number format of the matrix multiplications.",
       .example = "bf16",
       .default_text = "bf16",
       .choices = choices_of<Precision>()},
  };
}

std::vector<Field> optimizer_fields() {
  return {
      {.path = "training.optimizer",
       .kind = FieldKind::choice,
       .help = "Update rule; decides the optimizer states kept per parameter.",
       .example = "adamw",
       .default_text = "adamw",
       .choices = choices_of<OptimizerKind>()},
      {.path = "training.optimizer_state",
       .kind = FieldKind::group,
       .help = "Bytes per parameter of what the optimizer keeps; less than 4 B is a "
               "precision-aware optimizer."},
      {.path = "training.optimizer_state.master",
       .kind = FieldKind::quantity,
       .help = "The weights that the update is applied to.",
       .example = "4 B",
       .default_text = "4 B",
       .dimension = Dimension::bytes,
       .min = 0,
       .max = 8},
      {.path = "training.optimizer_state.first_moment",
       .kind = FieldKind::quantity,
       .help = "Running mean of the gradients.",
       .example = "4 B",
       .default_text = "4 B",
       .dimension = Dimension::bytes,
       .min = 0,
       .max = 8},
      {.path = "training.optimizer_state.second_moment",
       .kind = FieldKind::quantity,
       .help = "Running mean of the squared gradients.",
       .example = "4 B",
       .default_text = "4 B",
       .dimension = Dimension::bytes,
       .min = 0,
       .max = 8},
  };
}

std::vector<Field> training_detail_fields() {
  return {
      {.path = "training.moe_imbalance",
       .kind = FieldKind::number,
       .help = "Tokens that the busiest expert rank gets, over the mean; 1 is forced balance; left "
               "out, as the stack's rule says.",
       .example = "1.2",
       .min = 1,
       .max = 1000},
      {.path = "training.whole_tensor_shards",
       .kind = FieldKind::boolean,
       .help = "Optimizer shards are whole tensors, as layer-wise Muon needs them.",
       .example = "true",
       .default_text = "false"},
      {.path = "training.bf16_end_layers",
       .kind = FieldKind::integer,
       .help = "With fp8: layers that stay in bf16, half of them at either end of the model.",
       .example = "1",
       .default_text = "0",
       .min = 0,
       .max = 1000000},
      {.path = "training.fp8_scaling",
       .kind = FieldKind::choice,
       .help = "With fp8: what of an operand shares a scale, all of it or a row.",
       .example = "row",
       .default_text = "tensor",
       .choices = choices_of<Fp8Scaling>()},
      {.path = "training.router_fp32",
       .kind = FieldKind::boolean,
       .help = "The router of a mixture of experts computes in fp32.",
       .example = "true",
       .default_text = "false"},
      {.path = "training.grouped_experts",
       .kind = FieldKind::boolean,
       .help = "The experts of one GPU run as one grouped matrix multiplication.",
       .example = "true",
       .default_text = "true"},
      {.path = "training.hidden_dropout",
       .kind = FieldKind::number,
       .help =
           "Dropout probability after attention and MLP; any above zero keeps a mask in memory.",
       .example = "0.1",
       .default_text = "0",
       .min = 0,
       .max = 1},
      {.path = "training.attention_dropout",
       .kind = FieldKind::number,
       .help = "Dropout probability on attention scores; any above zero keeps a mask where "
               "attention is unfused.",
       .example = "0.1",
       .default_text = "0",
       .min = 0,
       .max = 1},
      {.path = "training.vocabulary_multiple",
       .kind = FieldKind::integer,
       .help = "The vocabulary is padded to a multiple of this times parallel.tensor, as "
               "Megatron's --make-vocab-size-divisible-by does; 1 for no padding beyond tensor.",
       .example = "128",
       .default_text = "128",
       .min = 1,
       .max = 8192},
  };
}

std::vector<Field> communication_fields() {
  return {
      {.path = "communication", .kind = FieldKind::group, .help = "How GPUs exchange data."},
      {.path = "communication.backend",
       .kind = FieldKind::choice,
       .help = "Collective library.",
       .example = "nccl",
       .default_text = "nccl",
       .choices = choices_of<Backend>()},
      {.path = "communication.transport",
       .kind = FieldKind::choice,
       .help = "How data leaves a host: straight from GPU memory, through host memory by RDMA, or "
               "by TCP. Left out: what the fabric preset was measured with.",
       .example = "gpudirect-rdma",
       .choices = choices_of<Transport>()},
      {.path = "communication.overlap",
       .kind = FieldKind::group,
       .help = "Which traffic runs beside compute instead of after it."},
      {.path = "communication.overlap.gradients",
       .kind = FieldKind::boolean,
       .help = "Gradient reduction runs beside the backward pass.",
       .example = "true",
       .default_text = "true"},
      {.path = "communication.overlap.parameters",
       .kind = FieldKind::boolean,
       .help = "Gathering of sharded parameters runs beside the forward pass.",
       .example = "true",
       .default_text = "true"},
      {.path = "communication.overlap.tensor",
       .kind = FieldKind::boolean,
       .help = "Tensor-parallel exchanges run beside the matrix multiplications they belong to.",
       .example = "false",
       .default_text = "false"},
      {.path = "communication.overlap.pipeline",
       .kind = FieldKind::boolean,
       .help = "Activations travel between stages beside compute.",
       .example = "true",
       .default_text = "true"},
      {.path = "communication.overlap.experts",
       .kind = FieldKind::boolean,
       .help = "All-to-alls of experts run beside the kernels of another micro-batch.",
       .example = "true",
       .default_text = "false"},
      {.path = "communication.bucket",
       .kind = FieldKind::quantity,
       .help = "Gradients that are collected before one reduction starts.",
       .example = "25 MiB",
       .default_text = "25 MiB",
       .dimension = Dimension::bytes,
       .min = 0,
       .max = 1e13,
       .above_min = true},
      {.path = "communication.expert_dispatch",
       .kind = FieldKind::choice,
       .help = "What of a token crosses to another host: one copy, or one per expert there.",
       .example = "every-copy",
       .default_text = "once-per-host",
       .choices = choices_of<ExpertDispatch>()},
      {.path = "communication.gradient_dtype",
       .kind = FieldKind::choice,
       .help = "Number format in which gradients are reduced.",
       .example = "fp32",
       .default_text = "fp32",
       .choices = {"fp32", "fp16", "bf16"}},
  };
}

std::vector<Field> budget_fields() {
  return {
      {.path = "budget",
       .kind = FieldKind::list,
       .help = "Limits that `foretrain check` compares the forecast with."},
      {.path = "budget[].metric",
       .help = "A number of the forecast's JSON, by its dotted path.",
       .example = "step.time_s",
       .required = true},
      {.path = "budget[].max",
       .kind = FieldKind::number,
       .help = "The largest value that passes.",
       .example = "4.2"},
      {.path = "budget[].min",
       .kind = FieldKind::number,
       .help = "The smallest value that passes.",
       .example = "0.4"},
  };
}

}  // namespace

const FieldTable& scenario_fields() {
  static const FieldTable table("Foretrain scenario, schema 1", [] {
    std::vector<Field> all;
    for (const std::vector<Field>& part :
         {head_fields(), cluster_fields(), training_fields(), optimizer_fields(),
          training_detail_fields(), plan_fields(), communication_fields(), operations_fields(),
          budget_fields(), simulation_fields()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }());
  return table;
}

}  // namespace foretrain
