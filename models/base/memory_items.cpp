// SPDX-License-Identifier: Apache-2.0
#include "models/base/memory_items.hpp"

#include "models/base/require.hpp"

namespace foretrain {
namespace {

using Item = MemoryItem;
using Category = MemoryCategory;

constexpr std::array<MemoryItemInfo, memory_items> infos{{
    {Item::dense_weights, Category::weights, "layer weights",
     "parameters of attention, norms, dense MLPs, routers and shared experts"},
    {Item::expert_weights, Category::weights, "expert weights",
     "routed experts that this rank holds"},
    {Item::embedding_weights, Category::weights, "embedding weights",
     "token and learned position tables"},
    {Item::output_weights, Category::weights, "output layer weights",
     "the projection to the vocabulary (a copy of the embedding where they are tied) and final "
     "norm"},
    {Item::fp8_weight_copies, Category::weights, "FP8 weight copies",
     "Transformer Engine caches every linear weight and its transpose in FP8"},
    {Item::reference_weights, Category::weights, "reference model",
     "frozen weights of the model that preferences are compared with"},
    {Item::unpacked_weights, Category::weights, "unpacked weights",
     "16-bit copy of the matrix in use, of weights that rest packed"},
    {Item::gathered_weights, Category::weights, "gathered weights",
     "full layers that sharded data parallelism gathers before it uses them"},
    {Item::dense_gradients, Category::gradients, "gradient buffer",
     "one gradient per parameter outside the experts"},
    {Item::expert_gradients, Category::gradients, "expert gradient buffer",
     "one gradient per expert parameter of this rank"},
    {Item::main_gradients, Category::gradients, "fp32 main gradients",
     "gradients cast to fp32 for the optimizer; they stay until the next zero_grad"},
    {Item::unsharded_gradients, Category::gradients, "unsharded gradients",
     "16-bit gradients of whole layers before their reduction"},
    {Item::output_weight_gradient, Category::gradients, "output weight gradient",
     "16-bit gradient of the vocabulary projection before it is accumulated"},
    {Item::replica_gradients, Category::gradients, "gradients of the replica",
     "one per parameter until the sum over all replicas is on GPU 0 (torch.nn.DataParallel)"},
    {Item::dense_optimizer, Category::optimizer, "optimizer states",
     "fp32 master weights and moments outside the experts"},
    {Item::expert_optimizer, Category::optimizer, "expert optimizer states",
     "fp32 master weights and moments of the experts"},
    {Item::step_copies, Category::optimizer, "optimizer copies",
     "a copy of a moment while the optimizer steps (PyTorch's foreach kernels)"},
    {Item::norms, Category::activations, "norm inputs and outputs",
     "backward of the norms needs inputs and statistics, the next projection its input"},
    {Item::qkv, Category::activations, "queries, keys and values", "inputs of the attention"},
    {Item::attention_scores, Category::activations, "attention scores",
     "softmax output, dropout mask and result; only the log-sum-exp with flash attention"},
    {Item::attention_output, Category::activations, "attention output",
     "input of the attention's output projection"},
    {Item::dropout_masks, Category::activations, "dropout masks", "one byte per element"},
    {Item::mlp, Category::activations, "MLP",
     "input and output of the activation function, dense and shared experts"},
    {Item::mixer, Category::activations, "state-space mixers",
     "projections, inputs of the scan and its outputs"},
    {Item::moe_dispatch, Category::activations, "MoE routing and dispatch",
     "router, permuted tokens and combined outputs"},
    {Item::experts, Category::activations, "routed experts",
     "input and output of the experts' activation function"},
    {Item::layer_inputs, Category::activations, "checkpointed layer inputs",
     "what full recomputation keeps of every layer"},
    {Item::recomputed_layer, Category::activations, "recomputed layers",
     "activations of the layers that are being recomputed"},
    {Item::mtp_layers, Category::activations, "multi-token prediction",
     "activations of the extra prediction modules and their losses"},
    {Item::vision_tower, Category::activations, "vision tower",
     "what its layers and projectors keep where they are trained"},
    {Item::model_ends, Category::activations, "ends of the model",
     "embedding dropout, final norm, token arrays"},
    {Item::loss, Category::activations, "logits and softmax",
     "logits and the fp32 softmax that the loss keeps"},
    {Item::loss_gradient, Category::activations, "logit gradients",
     "gradient of the logits while the output layer goes backward"},
    {Item::layer_transient, Category::buffers, "backward temporaries",
     "gradients inside the layer that goes backward"},
    {Item::offload_window, Category::buffers, "offload window",
     "one layer's tensors on their way to or from host memory"},
    {Item::postponed_gradients, Category::buffers, "postponed weight gradients",
     "inputs and output gradients of linear layers whose weight gradient is computed later"},
    {Item::cublas_workspaces, Category::buffers, "cuBLAS workspaces",
     "PyTorch gives every thread's handle its own"},
    {Item::te_workspaces, Category::buffers, "Transformer Engine workspaces",
     "cuBLAS workspaces of its own, one per stream"},
    {Item::dummy_gradients, Category::buffers, "dummy weight gradients",
     "one 16-bit tensor per distinct weight shape, handed to autograd when gradients are "
     "accumulated in place"},
    {Item::score_buffer, Category::buffers, "attention score buffer",
     "global memory buffer of unfused attention"},
    {Item::gather_buffer, Category::buffers, "sequence gather buffer",
     "full input of a projection under sequence parallelism"},
    {Item::boundary_tensors, Category::buffers, "pipeline boundary tensors",
     "sent and received activations that linger"},
    {Item::attention_mask, Category::buffers, "attention mask",
     "made by the data loader, a byte per pair of tokens"},
    {Item::context_buffers, Category::buffers, "context exchange buffers",
     "keys and values of other ranks that wait for their stream"},
    {Item::reduce_buffers, Category::buffers, "gradient reduction buffers",
     "fp32 copies of the gradients that are being reduced"},
    {Item::graph_buffers, Category::buffers, "CUDA graph buffers",
     "inputs and outputs of captured passes and their gradients, at fixed addresses"},
    {Item::communicators, Category::communication, "NCCL communicators",
     "channel buffers of every process group, outside the allocator"},
    {Item::context, Category::context, "CUDA context",
     "driver state and loaded kernels, outside the allocator"},
    {Item::graph_pools, Category::buffers, "CUDA graph pools",
     "what captured passes save keeps its place while nothing is in it"},
    {Item::fragmentation, Category::fragmentation, "allocator cache",
     "reserved by PyTorch's allocator but not allocated"},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (static_cast<std::size_t>(infos[i].item) != i) return false;
  return true;
}
static_assert(in_order(), "one line per item, in the order of the enumeration");

}  // namespace

const MemoryItemInfo& memory_item_info(MemoryItem item) {
  FORETRAIN_REQUIRE(item >= MemoryItem::dense_weights && item < MemoryItem::count);
  return infos[static_cast<std::size_t>(item)];
}

std::string_view memory_category_name(MemoryCategory category) {
  constexpr std::array<std::string_view, memory_categories> names{
      "weights", "gradients",     "optimizer", "activations",
      "buffers", "communication", "context",   "fragmentation"};
  FORETRAIN_REQUIRE(category >= MemoryCategory::weights &&
                    category <= MemoryCategory::fragmentation);
  return names[static_cast<std::size_t>(category)];
}

}  // namespace foretrain
