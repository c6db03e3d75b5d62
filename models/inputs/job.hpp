// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/quantity.hpp"
#include "models/inputs/cluster.hpp"
#include "models/inputs/expert_routing.hpp"
#include "models/inputs/fine_tuning.hpp"
#include "models/inputs/fused_kernels.hpp"
#include "models/inputs/llm.hpp"
#include "models/inputs/operations.hpp"
#include "models/inputs/profile.hpp"
#include "models/inputs/rank_order.hpp"
#include "models/inputs/schedule_kind.hpp"
#include "models/inputs/simulation.hpp"

namespace foretrain {

/// The program that runs a plan, where it cannot run all plans of the stack whose kernels it uses.
enum class PlanFramework {
  any,
  transformers,
  accelerate,
  axolotl,
  llamafactory,
  torchtune,
  lightning,
  horovod
};
FORETRAIN_ENUM_NAMES(PlanFramework, {PlanFramework::any, "any"},
                     {PlanFramework::transformers, "transformers"},
                     {PlanFramework::accelerate, "accelerate"}, {PlanFramework::axolotl, "axolotl"},
                     {PlanFramework::llamafactory, "llamafactory"},
                     {PlanFramework::torchtune, "torchtune"},
                     {PlanFramework::lightning, "lightning"}, {PlanFramework::horovod, "horovod"});

/// Which ways to split a model a framework has, beside replicas and their shards.
struct PlanFrameworkTraits {
  PlanFramework framework = PlanFramework::any;
  std::string_view title;
  bool tensor = false;
  bool context = false;
  bool pipeline = false;
  bool expert = false;
};

inline constexpr std::array plan_frameworks{
    PlanFrameworkTraits{PlanFramework::any, "any framework", true, true, true, true},
    PlanFrameworkTraits{PlanFramework::transformers, "the Hugging Face Trainer"},
    PlanFrameworkTraits{PlanFramework::accelerate, "accelerate's ParallelismConfig", true, true},
    PlanFrameworkTraits{PlanFramework::axolotl, "Axolotl", true, true},
    PlanFrameworkTraits{PlanFramework::llamafactory, "LLaMA-Factory"},
    PlanFrameworkTraits{PlanFramework::torchtune, "torchtune", true},
    PlanFrameworkTraits{PlanFramework::lightning, "Lightning", true},
    PlanFrameworkTraits{PlanFramework::horovod, "Horovod"}};

[[nodiscard]] constexpr const PlanFrameworkTraits& traits_of(PlanFramework framework) {
  for (const PlanFrameworkTraits& traits : plan_frameworks)
    if (traits.framework == framework) return traits;
  return plan_frameworks.front();
}

/// Update rules; what each keeps: models/data/optimizer_update.cpp.
enum class OptimizerKind {
  adamw,
  adam8bit,
  sgd,
  muon,
  adafactor,
  lion,
  rmsprop,
  adagrad,
  schedule_free,
  schedule_free_sgd,
  ademamix,
  adan,
  grokadamw,
  lomo,
  adalomo
};
FORETRAIN_ENUM_NAMES(OptimizerKind, {OptimizerKind::adamw, "adamw"},
                     {OptimizerKind::adam8bit, "adam8bit"}, {OptimizerKind::sgd, "sgd"},
                     {OptimizerKind::muon, "muon"}, {OptimizerKind::adafactor, "adafactor"},
                     {OptimizerKind::lion, "lion"}, {OptimizerKind::rmsprop, "rmsprop"},
                     {OptimizerKind::adagrad, "adagrad"},
                     {OptimizerKind::schedule_free, "schedule-free"},
                     {OptimizerKind::schedule_free_sgd, "schedule-free-sgd"},
                     {OptimizerKind::ademamix, "ademamix"}, {OptimizerKind::adan, "adan"},
                     {OptimizerKind::grokadamw, "grokadamw"}, {OptimizerKind::lomo, "lomo"},
                     {OptimizerKind::adalomo, "adalomo"});

/// What updates are applied to: weights in 32 bits, as masters beside 16-bit ones or as shards that
/// are cast where they are gathered; or the 16-bit weights that layers compute with, whose
/// gradients and moments then have their type (a model that was loaded and is trained in bf16 or
/// fp16).
enum class MasterWeights { fp32, none };
FORETRAIN_ENUM_NAMES(MasterWeights, {MasterWeights::fp32, "fp32"}, {MasterWeights::none, "none"});

/// Who drives the GPUs of a host: a process each (DistributedDataParallel, FSDP), or one process
/// with a thread for each of them (torch.nn.DataParallel).
enum class ProcessKind { per_gpu, per_host };
FORETRAIN_ENUM_NAMES(ProcessKind, {ProcessKind::per_gpu, "per-gpu"},
                     {ProcessKind::per_host, "per-host"});

/// What torch.nn.DataParallel brings from its replicas to GPU 0: the logits, where the loss is
/// outside the wrapped module, or a loss of each.
enum class GatherKind { outputs, loss };
FORETRAIN_ENUM_NAMES(GatherKind, {GatherKind::outputs, "outputs"}, {GatherKind::loss, "loss"});

/// Where embedding and output layer live in a pipeline: on its ends, or split over all stages
/// (vocabulary parallelism, arXiv 2411.05288: one or two synchronisations per micro-batch, or
/// interlaced as tensor parallelism).
enum class VocabularyKind { ends, split, split_two_syncs, interlaced };
FORETRAIN_ENUM_NAMES(VocabularyKind, {VocabularyKind::ends, "ends"},
                     {VocabularyKind::split, "split"},
                     {VocabularyKind::split_two_syncs, "split-two-syncs"},
                     {VocabularyKind::interlaced, "interlaced"});

/// Unknown is for reports alone, which forecast the range (possible_plans.hpp); no plan has it.
enum class RecomputeKind { none, selective, full, unknown };
FORETRAIN_ENUM_NAMES(RecomputeKind, {RecomputeKind::none, "none"},
                     {RecomputeKind::selective, "selective"}, {RecomputeKind::full, "full"},
                     {RecomputeKind::unknown, "unknown"});

/// Megatron's two ways to recompute whole layers: `uniform` keeps the input of every group of
/// `layers` layers; `block` recomputes the first `layers` layers of a stage only.
enum class RecomputeMethod { uniform, block };
FORETRAIN_ENUM_NAMES(RecomputeMethod, {RecomputeMethod::uniform, "uniform"},
                     {RecomputeMethod::block, "block"});

enum class AttentionKind { flash, unfused };
FORETRAIN_ENUM_NAMES(AttentionKind, {AttentionKind::flash, "flash"},
                     {AttentionKind::unfused, "unfused"});

/// paged: states of the optimizer that the GPU updates and the driver moves to the host as far as
/// they have no room (bitsandbytes).
enum class OffloadKind { none, optimizer, optimizer_and_parameters, paged };
FORETRAIN_ENUM_NAMES(OffloadKind, {OffloadKind::none, "none"},
                     {OffloadKind::optimizer, "optimizer"},
                     {OffloadKind::optimizer_and_parameters, "optimizer+parameters"},
                     {OffloadKind::paged, "paged"});
/// Whether the host's processors update what it keeps.
[[nodiscard]] constexpr bool host_updates(OffloadKind kind) {
  return kind == OffloadKind::optimizer || kind == OffloadKind::optimizer_and_parameters;
}

enum class Backend { nccl, gloo, mpi };
FORETRAIN_ENUM_NAMES(Backend, {Backend::nccl, "nccl"}, {Backend::gloo, "gloo"},
                     {Backend::mpi, "mpi"});

/// What of an fp8 operand shares a scale, and where that comes from: the whole operand with the
/// scale of steps before (delayed) or of its own values (current), or a row with its own.
enum class Fp8Scaling { tensor, current, row };
FORETRAIN_ENUM_NAMES(Fp8Scaling, {Fp8Scaling::tensor, "tensor"}, {Fp8Scaling::current, "current"},
                     {Fp8Scaling::row, "row"});

/// How ranks of a context group see each other's keys and values: blocks go round a ring beside the
/// attention of the one before, all are gathered first, or heads are exchanged for the sequence.
enum class ContextExchange { ring, all_gather, all_to_all };
FORETRAIN_ENUM_NAMES(ContextExchange, {ContextExchange::ring, "ring"},
                     {ContextExchange::all_gather, "all-gather"},
                     {ContextExchange::all_to_all, "all-to-all"});

/// Parts of the passes that the processor launches as captured CUDA graphs, by Megatron-Core's
/// scopes: attention with its norm, Mamba mixers with theirs, the MLP of dense layers, all of a
/// mixture of experts, its router with the norm before it and the shared experts, the sorting of
/// routed rows, or whole steps from the first forward pass to the last backward pass.
enum class GraphPart { attention, mlp, moe, moe_router, moe_preprocess, full_iteration, mamba };
FORETRAIN_ENUM_NAMES(GraphPart, {GraphPart::attention, "attention"}, {GraphPart::mlp, "mlp"},
                     {GraphPart::moe, "moe"}, {GraphPart::moe_router, "moe-router"},
                     {GraphPart::moe_preprocess, "moe-preprocess"},
                     {GraphPart::full_iteration, "full-iteration"}, {GraphPart::mamba, "mamba"});

/// A set of those.
struct CudaGraphs {
  unsigned parts = 0;  ///< a bit each

  [[nodiscard]] bool has(GraphPart part) const { return (parts & bit(part)) != 0; }
  void add(GraphPart part) { parts |= bit(part); }
  [[nodiscard]] bool any() const { return parts != 0; }
  friend bool operator==(const CudaGraphs&, const CudaGraphs&) = default;

 private:
  static constexpr unsigned bit(GraphPart part) { return 1U << static_cast<unsigned>(part); }
};

/// Images in the sequences of a job, whose tokens are among Training::sequence.
struct Images {
  double per_sequence = 0.0;  ///< on average; 0: text alone, no tower is held or computed
  int tokens = 0;             ///< of an image; 0: as many as VisionShape::tokens

  [[nodiscard]] bool any() const { return per_sequence > 0.0; }
  friend bool operator==(const Images&, const Images&) = default;
};

struct Training {
  int sequence = 0;              ///< tokens per sequence
  int micro_batch = 1;           ///< sequences per GPU pass
  int global_batch = 0;          ///< sequences per optimizer step
  std::optional<double> tokens;  ///< of the whole run
  Precision precision = Precision::bf16;
  OptimizerKind optimizer = OptimizerKind::adamw;
  int newton_schulz_steps = 5;  ///< of Muon
  GradientProjection projection;
  /// Every weight is updated where the backward pass has made its gradient, which is then freed.
  bool optimizer_in_backward = false;
  double hidden_dropout = 0.0;  ///< probability; only zero or not matters to memory
  double attention_dropout = 0.0;
  MasterWeights master_weights = MasterWeights::fp32;
  double master_bytes = 4.0;  ///< precision-aware optimizer: per parameter; 4 is fp32
  std::optional<double> first_moment_bytes = std::nullopt;  ///< nothing: in the weights' type
  std::optional<double> second_moment_bytes = std::nullopt;
  /// The optimizer reads 16-bit gradients as they are, without an fp32 copy in its step.
  bool decoupled_gradients = false;
  /// Tokens of the busiest expert rank over the mean; 1: forced balance; 0: as `moe_routing` says.
  double moe_imbalance = 0.0;
  ExpertRouting moe_routing;
  double moe_capacity = 0.0;  ///< most tokens of an expert over the mean, the rest dropped; 0: all
  bool whole_tensor_shards = false;  ///< optimizer shards are whole tensors (layer-wise Muon)
  Fp8Scaling fp8_scaling = Fp8Scaling::tensor;
  int bf16_end_layers = 0;      ///< quantised training: layers at both ends that stay in bf16
  bool fp8_attention = false;   ///< fused attention multiplies in 8 bits
  bool router_fp32 = false;     ///< MoE router computed in fp32
  bool grouped_experts = true;  ///< experts of a rank as one grouped matrix multiplication
  CudaGraphs cuda_graphs;
  FusedKernels fused_kernels;     ///< beside those that the stack has anyway
  int vocabulary_multiple = 128;  ///< the vocabulary is padded to a multiple of this times tensor
  Samples samples;                ///< what rows are made of; by default one sample each
  Images images;

  /// Whether weights, gradients and moments all have 16 bits.
  [[nodiscard]] bool narrow_weights() const {
    return master_weights == MasterWeights::none && precision != Precision::fp32 &&
           precision != Precision::tf32;
  }
  /// Whether one kernel makes the loss and the gradient of the logits, with their projection or
  /// not.
  [[nodiscard]] bool fuses_loss() const {
    return fused_kernels.has(FusedKernel::loss) || fused_kernels.has(FusedKernel::linear_loss);
  }
  /// Whether no gradient outlives the update of its weight: LOMO and AdaLomo know no other way.
  [[nodiscard]] bool steps_in_backward() const {
    return optimizer_in_backward || optimizer == OptimizerKind::lomo ||
           optimizer == OptimizerKind::adalomo;
  }
  [[nodiscard]] double usual_moment() const { return narrow_weights() ? 2.0 : 4.0; }
  [[nodiscard]] double first_moment() const { return first_moment_bytes.value_or(usual_moment()); }
  [[nodiscard]] double second_moment() const {
    return second_moment_bytes.value_or(usual_moment());
  }
};

struct Parallel {
  int tensor = 1;
  bool sequence = false;  ///< Megatron sequence parallelism
  int context = 1;
  int pipeline = 1;
  int virtual_stages = 1;  ///< chunks per stage
  ScheduleKind schedule = default_schedule;
  int microbatch_group = 0;  ///< interleaving: passes per chunk in a row; 0: pipeline
  int expert = 1;
  int expert_tensor = 0;  ///< tensor parallelism of the experts; 0: tensor
  int data = 1;
  RankOrder order = data_in_stage;
  int zero = 0;        ///< 0: replicated; 1: optimizer; 2: + gradients; 3: + weights
  int zero_group = 0;  ///< replicas that a set of shards is spread over; 0: all of them
  VocabularyKind vocabulary = VocabularyKind::ends;
  std::vector<int> stage_layers;  ///< layers per stage when given; empty: see StageLayout
  /// That holds the prediction modules, from 0 on; nothing: the one with the loss.
  std::optional<int> prediction_stage;
  ProcessKind processes = ProcessKind::per_gpu;
  PlanFramework framework = PlanFramework::any;
  GatherKind gather = GatherKind::outputs;  ///< with processes per_host only

  /// torch.nn.DataParallel over several GPUs; of one it calls the module itself.
  [[nodiscard]] bool single_process() const {
    return processes == ProcessKind::per_host && data > 1;
  }

  [[nodiscard]] int gpus() const { return tensor * context * pipeline * data; }
  [[nodiscard]] int expert_tensor_size() const {
    return expert_tensor > 0 ? expert_tensor : tensor;
  }
};

/// Parts of a layer that are recomputed (selective) or offloaded one by one.
/// Names as in Megatron-Core's recompute and offload module lists.
struct LayerModules {
  bool core_attention = false;
  bool attention_norm = false;  ///< output of the norm before attention
  bool mlp_norm = false;
  bool qkv_linear = false;            ///< input of the query/key/value projection
  bool attention_projection = false;  ///< input of the output projection
  bool mla_up_projection = false;
  bool activation = false;  ///< MLP or expert activation function ("moe_act")
  bool expert_fc1 = false;  ///< input of the experts
  bool mlp = false;         ///< the whole dense MLP
  bool moe = false;         ///< the whole mixture of experts
  bool shared_experts = false;

  friend bool operator==(const LayerModules&, const LayerModules&) = default;
};

struct Recompute {
  RecomputeKind kind = RecomputeKind::none;
  RecomputeMethod method = RecomputeMethod::uniform;
  int layers = 1;  ///< meaning depends on the method
  /// What `selective` recomputes.
  LayerModules modules{.core_attention = true};
  /// Selective by operator (PyTorch): every second matrix multiplication and the attention are
  /// kept, everything else is made again.
  bool every_second_matmul = false;
  bool distribute_saved = false;  ///< checkpointed inputs are split over the tensor ranks
};

struct MemoryOptions {
  Recompute recompute;
  AttentionKind attention = AttentionKind::flash;
  AttentionLibrary attention_library = AttentionLibrary::stack;  ///< of flash attention
  OffloadKind offload = OffloadKind::none;
  double offload_share = 1.0;       ///< of the optimizer states that `offload` moves
  LayerModules activation_offload;  ///< saved tensors that wait in host memory
  int offloaded_layers = 0;         ///< layers of a stage whose saved tensors all wait there
  bool fused_norm = false;          ///< a norm kernel where the stack's default is plain torch
  bool fused_activation = true;     ///< gate and product of a gated MLP in one kernel
  bool fused_softmax = true;        ///< unfused attention: scaled masked softmax in one kernel
  bool fused_loss = false;          ///< the stack's fused cross-entropy instead of its default
  bool fused_loss_engine = false;   ///< with fused_loss: Transformer Engine's kernel, in place
  bool fused_permutation = false;   ///< routed rows are sorted and put back by kernels of their own
  bool fused_gradient_accumulation = true;
  bool deterministic = false;          ///< larger cuBLAS workspaces (CUBLAS_WORKSPACE_CONFIG)
  bool attention_mask = false;         ///< the data loader makes a full mask, a byte per score
  bool fp8_parameters = false;         ///< linear weights are kept as their products need them only
  bool fp8_activation_inputs = false;  ///< inputs of the activation function are kept in 8 bits
  /// Micro-batches whose gradient of the output layer waits for the pipeline to drain; 0: none.
  int deferred_outputs = 0;
};

struct Overlap {
  bool gradients = true;
  bool parameters = true;
  bool tensor = false;
  bool pipeline = true;
  bool experts = false;  ///< all-to-alls run beside kernels of another micro-batch
};

struct Communication {
  Backend backend = Backend::nccl;
  Transport transport = Transport::gpudirect_rdma;
  Overlap overlap;
  Bytes bucket = 25.0 * MiB;
  Precision gradient_dtype = Precision::fp32;
  ExpertDispatch expert_dispatch = ExpertDispatch::once_per_host;
  /// Multiprocessors that its kernels take; nothing: as many as it takes by default.
  std::optional<int> expert_multiprocessors;
  ContextExchange context_exchange = ContextExchange::ring;
  /// Stage boundaries carry 1/tensor of an activation and gather it on the other side; absent: as
  /// the stack does.
  std::optional<bool> scatter_gather;
};

/// One line of a scenario's budget: `metric` is a dotted path into the prediction JSON.
struct BudgetLine {
  std::string metric;
  std::optional<double> max;
  std::optional<double> min;
  int line = 0;            ///< in the scenario file, for messages
  std::string max_text{};  ///< where they have a unit, which the metric decides: "45 days"
  std::string min_text{};
};

/// What was measured of a run with these very settings; zero: it was not.
struct RunMeasurements {
  Seconds step;               ///< mean or median
  double tokens_per_s = 0.0;  ///< of all GPUs
  Bytes allocated;            ///< most of any GPU, in tensors
  Bytes reserved;             ///< the same with what the allocator keeps
  Bytes device;               ///< the same with what no allocator counts

  friend bool operator==(const RunMeasurements&, const RunMeasurements&) = default;
};

/// A fully resolved question: everything that an evaluator may look at, and nothing else.
struct Job {
  std::string name;
  LlmShape model;
  Cluster cluster;
  Training training;
  FineTuning fine_tuning;
  Parallel parallel;
  MemoryOptions memory;
  Communication communication;
  Operations operations;
  Simulation simulation;
  std::vector<BudgetLine> budget;
  RunMeasurements measured;  ///< reports show it beside the forecast; no forecast reads it
  DeviceProfile device_profile;
  StackProfile stack;
  SiteProfile site;
  /// Of the framework's release and its libraries; nothing: any year of the runs that the stack was
  /// fitted on.
  std::optional<int> software_year;

  /// A vision tower is held and computed.
  [[nodiscard]] bool has_tower() const { return model.vision && training.images.any(); }
  /// Tokens of an image. @pre the model has a tower
  [[nodiscard]] int image_tokens() const {
    return training.images.tokens > 0 ? training.images.tokens : model.vision->tokens;
  }
  /// Whether 32-bit weights and partitions of gradients lie with an optimizer in host memory, and
  /// 16-bit weights alone stay (DeepSpeed, `runtime/zero/stage_1_and_2.py` and `stage3.py`).
  [[nodiscard]] bool offloads_masters() const {
    return memory.offload == OffloadKind::optimizer && memory.offload_share == 1.0 &&
           stack.memory.offloads_gradients && parallel.zero >= 2;
  }
  /// Whether weights rest in 32 bits and layers compute with a gathered copy in 16 (FSDP).
  [[nodiscard]] bool rests_wide() const {
    return stack.memory.compute_weight_bytes > 0.0 && !offloads_masters();
  }
  /// Whether shards of weights rest in host memory and come to the GPU for every pass.
  [[nodiscard]] bool offloads_parameters() const {
    return memory.offload == OffloadKind::optimizer_and_parameters && parallel.zero >= 3;
  }
  /// Whose fused attention the plan runs, never `stack`.
  [[nodiscard]] AttentionLibrary attention_library() const {
    if (memory.attention_library != AttentionLibrary::stack) return memory.attention_library;
    const bool newer = cluster.host.device.architecture > Architecture::hopper;
    const bool second = stack.times.flash2 && !(newer && stack.times.flash2_to_hopper);
    return second ? AttentionLibrary::flash2 : AttentionLibrary::vendor;
  }
  /// Vocabulary as allocated: padded to vocabulary_multiple * tensor.
  [[nodiscard]] int vocabulary() const {
    return padded_vocabulary(model.vocabulary, training.vocabulary_multiple * parallel.tensor);
  }
  /// Micro-batches of one data-parallel replica per step.
  /// @pre the plan is legal (see plan_rules.hpp), so the division is exact.
  [[nodiscard]] int microbatches() const {
    return training.global_batch / (training.micro_batch * parallel.data);
  }
};

}  // namespace foretrain
