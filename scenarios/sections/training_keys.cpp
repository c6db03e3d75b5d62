// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/sections.hpp"

#include <algorithm>
#include <utility>

namespace foretrain {

template <>
struct KeyValue<CudaGraphs> : NamedSet<CudaGraphs, GraphPart> {};

namespace {

using keys::always;
using keys::bind;
using keys::only_where;
using keys::with_default;

KeyRows batch_keys() {
  return {
      {{.path = "training",
        .kind = FieldKind::group,
        .help = "What one optimizer step does. A scenario that only serves has `serving` in its "
                "place.",
        .required = true,
        .unless = "serving"}},
      always({.path = "training.sequence",
              .help = "Tokens in one training sequence.",
              .example = "4096",
              .required = true,
              .min = 1,
              .max = 100000000},
             &Training::sequence),
      always({.path = "training.micro_batch",
              .help = "Sequences that one GPU passes through its layers at a time.",
              .example = "1",
              .min = 1,
              .max = 1000000},
             &Training::micro_batch),
      always({.path = "training.global_batch",
              .help = "Sequences of one optimizer step, over all replicas.",
              .example = "1024",
              .required = true,
              .min = 1,
              .max = 1000000000},
             &Training::global_batch),
      bind({.path = "training.tokens",
            .kind = FieldKind::quantity,
            .help = "Tokens of the whole run; without it there is no time-to-train and no cost "
                    "of the run.",
            .example = "2 T",
            .dimension = Dimension::count,
            .min = 1,
            .max = 1e18},
           &Training::tokens),
      with_default({.path = "training.precision",
                    .help = "Number format of the matrix multiplications.",
                    .example = "bf16"},
                   &Training::precision),
      with_default({.path = "training.optimizer",
                    .help = "Update rule; decides the optimizer states kept per parameter.",
                    .example = "adamw"},
                   &Training::optimizer),
      with_default({.path = "training.newton_schulz_steps",
                    .help = "Of Muon: iterations that orthogonalise a matrix.",
                    .example = "5",
                    .min = 1,
                    .max = 100},
                   &Training::newton_schulz_steps),
  };
}

bool projects(const Training& training) { return training.projection.projects(); }

KeyRows update_keys() {
  return {
      with_default({.path = "training.optimizer_in_backward",
                    .help = "Every weight is updated as soon as the backward pass has made its "
                            "gradient, which is then freed (torchtune's optimizer_in_bwd, "
                            "layer-wise GaLore); lomo and adalomo know no other way. With one "
                            "micro-batch per step.",
                    .example = "true"},
                   &Training::optimizer_in_backward),
      {{.path = "training.gradient_projection",
        .kind = FieldKind::group,
        .help = "Moments of matrices in a space of low rank; left out, in that of the weights."}},
      with_default({.path = "training.gradient_projection.kind",
                    .help = "galore: onto the first singular vectors of a gradient, the update "
                            "projected back (GaLore); apollo: onto random vectors, the gradient "
                            "scaled by what comes out (APOLLO).",
                    .example = "galore"},
                   &Training::projection, &GradientProjection::kind),
      only_where<Training, projects>(
          with_default({.path = "training.gradient_projection.rank",
                        .help = "Vectors that gradients are projected onto.",
                        .example = "128",
                        .min = 1,
                        .max = 65536},
                       &Training::projection, &GradientProjection::rank)),
      only_where<Training, projects>(
          with_default({.path = "training.gradient_projection.gap",
                        .help = "Steps from one choice of them to the next "
                                "(update_proj_gap).",
                        .example = "200",
                        .min = 1,
                        .max = 1000000},
                       &Training::projection, &GradientProjection::gap)),
      only_where<Training, projects>(
          bind({.path = "training.gradient_projection.parts",
                .help = "Whose matrices: of attention, mlp and experts; left out, all.",
                .example = "[attention, mlp]"},
               &Training::projection, &GradientProjection::parts)),
  };
}

KeyRows state_keys() {
  const auto state = [](const char* path, const char* help) {
    return Field{.path = path,
                 .kind = FieldKind::quantity,
                 .help = help,
                 .example = "4 B",
                 .dimension = Dimension::bytes,
                 .min = 0,
                 .max = 8};
  };
  return {
      with_default(
          {.path = "training.master_weights",
           .help =
               "What updates are applied to: weights in fp32, as masters or as shards; or none, "
               "the 16-bit weights themselves, whose gradients and moments have 16 bits, too (a "
               "model that was loaded in bf16 and is trained so).",
           .example = "none"},
          &Training::master_weights),
      {{.path = "training.optimizer_state",
        .kind = FieldKind::group,
        .help = "Bytes per parameter of what the optimizer keeps; less than 4 B is a "
                "precision-aware optimizer."}},
      with_default(
          state("training.optimizer_state.master", "The weights that the update is applied to."),
          &Training::master_bytes),
      bind(state("training.optimizer_state.first_moment",
                 "Running mean of the gradients; left out, 4 B, or 2 B without master weights."),
           &Training::first_moment_bytes),
      bind(state("training.optimizer_state.second_moment",
                 "Running mean of the squared gradients; left out, as the first."),
           &Training::second_moment_bytes),
      with_default({.path = "training.optimizer_state.decoupled_gradients",
                    .help = "The optimizer reads gradients in the type that they are kept in, "
                            "without an fp32 copy in its step (Megatron-Core's "
                            "--use-precision-aware-optimizer).",
                    .example = "true"},
                   &Training::decoupled_gradients),
  };
}

/// Kernels by name, or libraries of them.
struct KernelsOrLibraries : KeyValue<FusedKernels> {
  static std::vector<std::string> choices() {
    std::vector<std::string> names = choices_of<FusedKernel>();
    for (const KernelLibrary& library : kernel_libraries) names.emplace_back(library.name);
    return names;
  }
  static FusedKernels read(const FieldValue& value) {
    FusedKernels kernels = KeyValue<FusedKernels>::read(value);
    for (const KernelLibrary& library : kernel_libraries)
      if (std::find(value.texts.begin(), value.texts.end(), library.name) != value.texts.end())
        kernels.add(library.kernels);
    return kernels;
  }
};
constexpr ValueOps kernels_or_libraries = make_value_ops<FusedKernels, KernelsOrLibraries>();

KeyRow kernels_key() {
  KeySlot slot = slot_of<Training>(&Training::fused_kernels);
  slot.ops = &kernels_or_libraries;
  return keys::bound(
      {.path = "training.fused_kernels",
       .help =
           "What one kernel does in place of several of the framework's own: norm, rope, swiglu "
           "(activation, gate and product), loss (cross entropy in place), linear-loss (the "
           "output projection with the loss, in chunks), lora (sums and dropout of adapters), "
           "optimizer; or libraries of them, as they are by default: liger (norm, rope, swiglu, "
           "linear-loss), unsloth (norm, rope, swiglu, linear-loss, lora), fast-lora (norm, rope, "
           "loss, lora), apex (norm, optimizer).",
       .example = "[liger]"},
      slot);
}

KeyRows expert_keys() {
  return {
      bind({.path = "training.moe_imbalance",
            .help = "Tokens that the busiest expert rank gets, over the mean; 1 is forced "
                    "balance; left out, as training.moe_routing says.",
            .example = "1.2",
            .min = 1,
            .max = 1000},
           &Training::moe_imbalance),
      {{.path = "training.moe_routing",
        .kind = FieldKind::group,
        .help = "How a router's choices spread over the experts of a layer; the busiest rank of "
                "experts follows for every layout."}},
      with_default({.path = "training.moe_routing.spread",
                    .help = "forced: evenly; dirichlet, zipf: by one number; as published of "
                            "routers with an auxiliary loss (aux-loss), with a bias per expert "
                            "(aux-loss-free), or of a run without forced balance (natural); stack: "
                            "as the stack's rule for memory says.",
                    .example = "natural"},
                   &Training::moe_routing, &ExpertRouting::spread),
      bind({.path = "training.moe_routing.concentration",
            .help = "Of dirichlet, per expert: popularity has a variance of about one over "
                    "this, in squared means.",
            .example = "4",
            .min = 0.01,
            .max = 1e6},
           &Training::moe_routing, &ExpertRouting::concentration),
      bind({.path = "training.moe_routing.exponent",
            .help = "Of zipf: popularity of the r-th expert falls as r to minus this.",
            .example = "0.3",
            .min = 0,
            .max = 5,
            .above_min = true},
           &Training::moe_routing, &ExpertRouting::exponent),
      bind({.path = "training.moe_capacity",
            .help = "Most tokens that an expert takes, over the mean; those beyond it are "
                    "dropped. Left out, none is.",
            .example = "1.25",
            .min = 0,
            .max = 1000,
            .above_min = true},
           &Training::moe_capacity),
  };
}

KeyRows format_keys() {
  return {
      with_default({.path = "training.whole_tensor_shards",
                    .help = "Optimizer shards are whole tensors, as layer-wise Muon needs them.",
                    .example = "true"},
                   &Training::whole_tensor_shards),
      with_default(
          {.path = "training.bf16_end_layers",
           .help = "With fp8, fp8-block, mxfp8 and nvfp4: layers that stay in bf16, half of "
                   "them at either end of the model.",
           .example = "1",
           .min = 0,
           .max = 1000000},
          &Training::bf16_end_layers),
      with_default(
          {.path = "training.fp8_scaling",
           .help = "With fp8: what of an operand shares a scale, all of it, with the scale of "
                   "steps before (tensor) or of its own values (current), or a row.",
           .example = "row"},
          &Training::fp8_scaling),
      with_default({.path = "training.fp8_attention",
                    .help = "Fused attention multiplies in 8 bits (Transformer Engine's FP8 dot "
                            "product attention); with fp8 precisions.",
                    .example = "true"},
                   &Training::fp8_attention),
      with_default({.path = "training.router_fp32",
                    .help = "The router of a mixture of experts computes in fp32.",
                    .example = "true"},
                   &Training::router_fp32),
      with_default({.path = "training.grouped_experts",
                    .help = "The experts of one GPU run as one grouped matrix multiplication.",
                    .example = "true"},
                   &Training::grouped_experts),
      bind({.path = "training.cuda_graphs",
            .help = "What is launched as captured CUDA graphs: parts of layers, or whole steps "
                    "(full-iteration). Megatron-Core's --cuda-graph-impl and --cuda-graph-scope.",
            .example = "[attention, moe-router]"},
           &Training::cuda_graphs),
      kernels_key(),
  };
}

KeyRows sample_keys() {
  const auto number = [](const char* path, const char* help, double least,
                         double Samples::*member) {
    return bind({.path = path,
                 .help = help,
                 .example = "512",
                 .min = least,
                 .max = 1e8,
                 .above_min = least == 0.0},
                &Training::samples, member);
  };
  return {
      {{.path = "training.samples",
        .kind = FieldKind::group,
        .help = "What rows of training.sequence tokens are made of: samples of different lengths, "
                "those above it cut off; left out, every row is one sample of that length."}},
      with_default({.path = "training.samples.layout",
                    .help = "packed: one sample after another until a row is full, each attending "
                            "to itself alone; padded: to the longest of a micro-batch; fixed: to "
                            "training.sequence.",
                    .example = "packed"},
                   &Training::samples, &Samples::layout),
      number("training.samples.mean", "Tokens of a sample on average (log-normal).", 1,
             &Samples::mean),
      number("training.samples.deviation", "Standard deviation of that.", 0, &Samples::deviation),
      bind({.path = "training.samples.lengths",
            .help = "Equally likely lengths in tokens, in place of mean and deviation: deciles "
                    "of a data set, or a draw from it.",
            .example = "[180, 350, 620, 1400]",
            .min = 1,
            .max = 100000000},
           &Training::samples, &Samples::lengths),
  };
}

KeyRows stated_image_keys() {
  return {
      {{.path = "training.images",
        .kind = FieldKind::group,
        .help = "Images in the sequences; left out, text alone, and a vision tower of the model is "
                "neither held nor computed."}},
      bind({.path = "training.images.per_sequence",
            .help = "Images of a sequence on average. Their tokens are among the "
                    "training.sequence tokens.",
            .example = "4",
            .min = 0,
            .max = 1000000,
            .above_min = true},
           &Training::images, &Images::per_sequence),
      bind({.path = "training.images.tokens",
            .help = "Tokens of the language model for one image: its patches over "
                    "vision.merge squared; left out, vision.tokens of the model.",
            .example = "256",
            .min = 1,
            .max = 1000000},
           &Training::images, &Images::tokens),
  };
}

KeyRows extra_layer_keys() {
  const auto dropout = [](const char* path, const char* help, double Training::*member) {
    return with_default({.path = path, .help = help, .example = "0.1", .min = 0, .max = 1}, member);
  };
  return {
      dropout("training.hidden_dropout",
              "Dropout probability after attention and MLP; any above zero keeps a mask in memory.",
              &Training::hidden_dropout),
      dropout("training.attention_dropout",
              "Dropout probability on attention scores; any above zero keeps a mask where "
              "attention is unfused.",
              &Training::attention_dropout),
      with_default({.path = "training.vocabulary_multiple",
                    .help = "The vocabulary is padded to a multiple of this times parallel.tensor, "
                            "as Megatron's --make-vocab-size-divisible-by does; 1 for no padding "
                            "beyond tensor.",
                    .example = "128",
                    .min = 1,
                    .max = 8192},
                   &Training::vocabulary_multiple),
  };
}

}  // namespace

const BoundTable<Training>& training_keys() {
  static const BoundTable<Training> table(
      "training",
      joined_rows({batch_keys(), update_keys(), state_keys(), expert_keys(), format_keys(),
                   sample_keys(), stated_image_keys(), extra_layer_keys()}));
  return table;
}

}  // namespace foretrain
