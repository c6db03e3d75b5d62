// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fields/scenario_fields.hpp"

#include <vector>

#include "models/inputs/job.hpp"
#include "scenarios/fields/model_keys.hpp"
#include "scenarios/fields/scenario_fields_machine.hpp"
#include "scenarios/fields/scenario_fields_operations.hpp"
#include "scenarios/fields/scenario_fields_plan.hpp"
#include "scenarios/fields/training_keys.hpp"

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
       .help = "What of a token crosses to another host: one copy, or one per expert there; fused: "
               "one copy per host and per rank, sorted as it is sent (HybridEP).",
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
         {head_fields(), cluster_fields(), training_keys().fields(), plan_fields(),
          communication_fields(), operations_fields(), budget_fields(), simulation_fields()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }());
  return table;
}

}  // namespace foretrain
