// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "calibration/records/internal/run_source_keys.hpp"
#include "models/inputs/job.hpp"
#include "scenarios/imports/frameworks/dialect.hpp"
#include "scenarios/imports/megatron/megatron_arguments.hpp"

namespace foretrain {
namespace {
namespace source_keys {

Field text(std::string path, std::string help, std::string example, bool required = false) {
  return {.path = std::move(path),
          .help = std::move(help),
          .example = std::move(example),
          .required = required};
}

Field texts(std::string path, std::string help, std::string example, bool required = false) {
  Field field = text(std::move(path), std::move(help), std::move(example), required);
  field.kind = FieldKind::text_list;
  return field;
}

Field flag(std::string path, std::string help, std::string absent) {
  return {.path = std::move(path),
          .kind = FieldKind::boolean,
          .help = std::move(help),
          .example = "true",
          .default_text = std::move(absent)};
}

Field overlap(std::string path, bool required) {
  return {.path = std::move(path),
          .kind = FieldKind::choice_list,
          .help = "Communication that runs beside compute.",
          .example = "[gradients, pipeline]",
          .required = required,
          .choices = {"gradients", "parameters", "tensor", "pipeline", "experts"}};
}

Field list(std::string path, std::string help) {
  return {.path = std::move(path), .kind = FieldKind::list, .help = std::move(help)};
}

Field whole(std::string path, std::string help, std::string example) {
  return {.path = std::move(path),
          .kind = FieldKind::integer,
          .help = std::move(help),
          .example = std::move(example),
          .min = 1};
}

Field start_of(std::string path) {
  return {.path = std::move(path),
          .kind = FieldKind::quantity,
          .help = "What the start of a run adds to the mean of its steps that records state.",
          .example = "80 ms",
          .dimension = Dimension::time,
          .min = 0};
}

/// What is the same for all records of a family.
std::vector<Field> sources() {
  return {
      list("sources", "One family of records each."),
      text("sources[].family", "Text before the first dash of its records' ids.", "dgxc", true),
      text("sources[].stack", "Stack profile; left out, no profile describes it.", "nemo"),
      text("sources[].site", "Site profile.", "dgx-h100-ndr", true),
      overlap("sources[].overlap", true),
      flag("sources[].half_gradients", "16-bit gradient traffic in bf16 training, too.", "false"),
      start_of("sources[].start"),
      flag("sources[].sequence", "Sequence parallelism in tensor groups.", "false"),
      flag("sources[].unfused", "Attention as separate kernels.", "false"),
      flag("sources[].memory", "The memory rules of the profile are those of the framework.",
           "true"),
      flag("sources[].layer_chunks", "Pipelines interleave one layer per chunk.", "false"),
      flag("sources[].layers_by_work", "Layers are assigned to stages by their work.", "false"),
      text("sources[].balanced_experts",
           "Routing is balanced, in the words in which reports list the assumption.",
           "forced balanced routing"),
      flag("sources[].fused_gradients", "Weight gradients are added up inside the GEMM.", "true"),
      whole("sources[].heads", "Attention heads of models that state none.", "64"),
      text("sources[].gpu", "GPU of tables without such a column.", "A100-SXM4-80GB")};
}

/// Conditions of a variant; one that is absent holds.
std::vector<Field> conditions() {
  return {texts("variants[].of", "Families.", "[aa]", true),
          texts("variants[].id", "Any of these in the record's id.", "[-zero3-]"),
          texts("variants[].source", "Any of these in its source.", "[-megatron/]"),
          texts("variants[].gpu", "Any of these in its GPU.", "[GB200, GB300]"),
          texts("variants[].zero", "Any of these in its ZeRO stage.", "[\"3\"]"),
          texts("variants[].attention", "Any of these in its attention kernel, in lower case.",
                "[rms kernel]"),
          texts("variants[].attention_is", "Its attention kernel is one of these.", "[torch]"),
          texts("variants[].precision", "Any of these in its precision, in lower case.", "[fp8]"),
          flag("variants[].experts", "It is a mixture of experts.", ""),
          flag("variants[].compiled", "It says that it was compiled, or that it was not.", ""),
          flag("variants[].compile_unstated", "It does not say whether it was compiled.", ""),
          flag("variants[].recompute_unstated", "It does not say what is recomputed.", "")};
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names = choices_of<FusedKernel>();
  for (const KernelLibrary& library : kernel_libraries) names.emplace_back(library.name);
  return names;
}

std::vector<std::string> graph_names() {
  std::vector<std::string> names;
  for (const auto& [name, part] : megatron_dialect().term("graph_parts")->values)
    names.push_back(name);
  return names;
}

std::vector<Field> changes() {
  return {
      text("variants[].stack", "Stack profile.", "jax"),
      text("variants[].site", "Site profile.", "default"),
      overlap("variants[].overlap", false),
      flag("variants[].engine_loss", "The loss is Transformer Engine's, in place.", ""),
      flag("variants[].chunked_loss", "A fused loss is made with its projection, in chunks.", ""),
      flag("variants[].wide_base", "Frozen weights rest in 32 bits.", ""),
      flag("variants[].eight_bit_weights",
           "fp8 keeps weights in eight bits alone, where that is modelled.", ""),
      flag("variants[].fused_permutation",
           "Routed rows are sorted and put back by kernels of their own.", ""),
      flag("variants[].narrow_optimizer",
           "A precision-aware optimizer with 16-bit moments and gradients.", ""),
      flag("variants[].fused_gradients", "As of a source.", ""),
      {.path = "variants[].fitted",
       .kind = FieldKind::choice,
       .help = "Constants that are fitted on these runs; none: they are compared alone.",
       .example = "device",
       .choices = choices_of<FitScope>()},
      {.path = "variants[].objective",
       .kind = FieldKind::choice,
       .help = "What is learnt.",
       .example = "policy",
       .choices = choices_of<Objective>()},
      {.path = "variants[].attention_library",
       .kind = FieldKind::choice,
       .help = "Whose fused attention runs, where the record names no kernel.",
       .example = "cudnn",
       .choices = choices_of<AttentionLibrary>()},
      start_of("variants[].start"),
      flag("variants[].router_fp32", "Routers of experts compute in 32 bits.", ""),
      text("variants[].model",
           "Model of the catalog whose shape runs have that name it without its shape.",
           "nemotron3-nano-30b-a3b"),
      text("variants[].routing", "Routing is balanced: how reports say so.",
           "forced balanced routing, as its benchmarks set it"),
      whole("variants[].micro_batch", "Sequences of a micro-batch, where runs do not say.", "1"),
      flag("variants[].memory", "As of a source.", ""),
      text("variants[].no_memory", "Why its memory cannot be forecast.",
           "recomputation is not stated"),
      text("variants[].recompute",
           "What is recomputed where the record does not say, in the "
           "words of records; unknown: nothing is assumed.",
           "selective op"),
      text("variants[].assumed", "What that is, as reports list assumptions.",
           "the framework's default recomputation"),
      {.path = "variants[].expert_dispatch",
       .kind = FieldKind::choice,
       .help = "How tokens reach their experts.",
       .example = "every-copy",
       .choices = choices_of<ExpertDispatch>()},
      {.path = "variants[].fused_kernels",
       .kind = FieldKind::choice_list,
       .help = "Kernels in place of several, or libraries of them, as training.fused_kernels of a "
               "scenario, where the record names none.",
       .example = "[liger]",
       .choices = kernel_names()},
      {.path = "variants[].cuda_graphs",
       .kind = FieldKind::choice_list,
       .help = "What CUDA graphs capture, in Megatron-Core's words, where the record is silent.",
       .example = "[attn, moe_router]",
       .choices = graph_names()}};
}

std::vector<Field> fine_tuning_changes() {
  return {
      text("variants[].refused", "Why the runs cannot be forecast.", "the adapters are not stated"),
      {.path = "variants[].adapter",
       .kind = FieldKind::choice,
       .help = "Adapters that are trained in place of the model; none: all of it is.",
       .example = "lora",
       .choices = choices_of<AdapterKind>()},
      whole("variants[].rank", "Their rank.", "16"),
      {.path = "variants[].targets",
       .kind = FieldKind::choice_list,
       .help = "Linear layers that they stand beside.",
       .example = "[qkv, projection]",
       .choices = choices_of<AdapterTarget>()},
      {.path = "variants[].adapter_dropout",
       .kind = FieldKind::number,
       .help = "Dropout probability before them.",
       .example = "0.1",
       .min = 0,
       .max = 1}};
}

std::vector<Field> years() {
  Field year{.path = "years[].year",
             .kind = FieldKind::integer,
             .help = "Of the framework's release, else of the measurement.",
             .example = "2024",
             .required = true,
             .min = 2018};
  return {list("years", "When the software of runs was made, where their source tells."), year,
          texts("years[].of", "Families.", "[sc21]", true),
          texts("years[].id", "Any of these in the record's id.", "[-v4.0-]"),
          texts("years[].source", "Any of these in its source.", "[25.11]")};
}

/// Which tables the constants of matrix products are fitted to.
std::vector<Field> product_keys() {
  return {list("gemms", "Tables of GEMMs; of a device, the first that it is in."),
          texts("gemms[].tables", "Sources and operations that make up one.",
                "[aiconfigurator gemm]", true)};
}

}  // namespace source_keys
}  // namespace

const FieldTable& run_source_fields() {
  using namespace source_keys;  // NOLINT(google-build-using-namespace): names of this table alone
  static const FieldTable table("Sources of records", [] {
    std::vector<Field> fields{schema_field()};
    const auto add = [&](const std::vector<Field>& more) {
      fields.insert(fields.end(), more.begin(), more.end());
    };
    add(sources());
    add({list("variants", "Runs of a family that used something else.")});
    add(conditions());
    add(changes());
    add(fine_tuning_changes());
    add(years());
    add(product_keys());
    return fields;
  }());
  return table;
}

}  // namespace foretrain
