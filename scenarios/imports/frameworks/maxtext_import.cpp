// SPDX-License-Identifier: Apache-2.0
// Keys and defaults: AI-Hypercomputer/maxtext, src/maxtext/configs/base.yml, read in November 2026.
#include "models/base/ranges.hpp"
#include "scenarios/imports/frameworks/importers.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "scenarios/catalog/catalog.hpp"
#include "scenarios/catalog/catalog_listing.hpp"
#include "scenarios/imports/frameworks/dialect.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/frameworks/tree_reader.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

struct MaxtextModel {
  std::string_view name, model;
};

/// Models whose names differ from the catalog's.
constexpr auto maxtext_models = std::to_array<MaxtextModel>({{"deepseek3-671b", "deepseek-v3"},
                                                             {"deepseek2-16b", "deepseek-v2-lite"},
                                                             {"kimi-k2-1t", "kimi-k2"}});

/// Blocks that are Llama's with what the keys say: head norms, biases, experts, latent attention.
constexpr auto known_blocks = std::to_array<std::string_view>(
    {"llama2", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe", "deepseek"});

/// Keys that state a shape.
constexpr auto shape_keys = std::to_array<const char*>({"base_emb_dim",
                                                        "base_num_query_heads",
                                                        "base_num_kv_heads",
                                                        "base_mlp_dim",
                                                        "base_num_decoder_layers",
                                                        "head_dim",
                                                        "vocab_size",
                                                        "num_experts",
                                                        "num_experts_per_tok",
                                                        "base_moe_mlp_dim",
                                                        "first_num_dense_layers",
                                                        "shared_experts",
                                                        "decoder_block",
                                                        "mlp_activations",
                                                        "logits_via_embedding",
                                                        "use_qk_norm",
                                                        "attention_bias",
                                                        "attention_type",
                                                        "q_lora_rank",
                                                        "kv_lora_rank",
                                                        "qk_nope_head_dim",
                                                        "qk_rope_head_dim",
                                                        "v_head_dim"});

/// The sizes of base.yml.
LlmShape base_shape() {
  LlmShape shape;
  shape.name = "maxtext";
  shape.layers = shape.heads = shape.kv_heads = 16;
  shape.hidden = 2048;
  shape.head_dim = 128;
  shape.ffn_hidden = 7168;
  shape.vocabulary = 32'000;
  shape.gated_mlp = true;
  return shape;
}

/// Axes of the mesh that have no counterpart here on JAX.
constexpr auto refused_axes = std::to_array<std::string_view>(
    {"autoregressive", "context", "context_autoregressive", "expert", "fsdp_transpose", "pipeline",
     "sequence", "tensor_sequence", "tensor_transpose"});

/// Reads one configuration into a plan.
class MaxtextReader {
 public:
  MaxtextReader(TreeReader& in, const PlanImportOptions& options, ImportedPlan& plan)
      : in_{in}, options_{options}, plan_{plan}, job_{plan.job} {}

  void read(int host_gpus) {
    read_dialect(*dialect_of(Framework::maxtext, options_.catalogs), in_, job_);
    read_model();
    read_axes(host_gpus);
    read_batch();
    read_hardware();
    read_memory();
    choose_stack(plan_, "jax", "MaxText and PaxML on JAX, as measured in 2024 and 2025");
    in_.harmless(Framework::maxtext);
  }

 private:
  void read_model() {
    const std::string said = in_.text({"model_name"});
    plan_.model = options_.model;
    for (const MaxtextModel& known : maxtext_models)
      if (plan_.model.empty() && known.name == said) plan_.model = known.model;
    LoadOptions load;
    load.catalogs = options_.catalogs;
    for (const CatalogEntry& entry : catalog_entries("models", load))
      if (plan_.model.empty() && entry.name == said) plan_.model = entry.name;
    if (states_shape()) return read_shape(said);
    if (plan_.model.empty())
      in_.refuse("model_name", (said.empty() ? std::string("is missing")
                                             : in_quotes(said) + " is no model of the catalog") +
                                   "; give --model NAME, or the path of a model or config.json");
  }

  /// Whether sizes are there that a model by name, or the user's, does not already say.
  bool states_shape() {
    bool stated = false;
    for (const char* key : shape_keys) stated = in_.take(key) != nullptr || stated;
    return stated && options_.model.empty();
  }

  /// The catalog's model with the sizes that are stated, or base.yml's with them.
  void read_shape(const std::string& said) {
    LlmShape shape = base_shape();
    if (!plan_.model.empty()) {
      Diagnostics ignored;
      std::vector<SourceFile> files;
      std::vector<ResolvedValue> values;
      CatalogContext context{options_.catalogs, ".", ignored, files, values};
      if (const auto known = load_model({plan_.model, "model", {}}, context)) shape = *known;
      shape.name += "-resized";
      shape.title.clear();
      shape.published_parameters = 0;
    } else if (!said.empty() && said != "default") {
      return in_.refuse("model_name", in_quotes(said) +
                                          " is no model of the catalog, so sizes that are not "
                                          "stated are unknown; give --model");
    }
    plan_.model.clear();
    const auto put = [&](const char* key, int& size) {
      size = in_.integer({key}, 0, 100'000'000).value_or(size);
    };
    put("base_emb_dim", shape.hidden);
    put("base_num_query_heads", shape.heads);
    put("base_num_kv_heads", shape.kv_heads);
    put("base_mlp_dim", shape.ffn_hidden);
    put("base_num_decoder_layers", shape.layers);
    put("head_dim", shape.head_dim);
    put("vocab_size", shape.vocabulary);
    shape.tied_embeddings = in_.truth({"logits_via_embedding"}, shape.tied_embeddings);
    shape.qk_norm = in_.truth({"use_qk_norm"}, shape.qk_norm);
    shape.qkv_bias = in_.truth({"attention_bias"}, shape.qkv_bias);
    if (const YamlNode* const parts = in_.take("mlp_activations"))
      shape.gated_mlp = parts->items.size() > 1;
    const std::string block = in_.text({"decoder_block"}, "llama2");
    if (!contains(known_blocks, block))
      in_.refuse("decoder_block", in_quotes(block) + " is not modelled with sizes of its own");
    read_experts(shape);
    read_latent(shape);
    job_.model = shape;
  }

  void read_experts(LlmShape& shape) {
    const int count = in_.integer({"num_experts"}, 1, 100'000).value_or(shape.moe ? 2 : 1);
    if (count == 1) return shape.moe.reset();
    const bool named = shape.moe.has_value();
    MoeShape moe = shape.moe.value_or(MoeShape{});
    moe.experts = in_.integer({"num_experts"}, 1, 100'000).value_or(moe.experts);
    moe.top_k = in_.integer({"num_experts_per_tok"}, 1, 1000).value_or(named ? moe.top_k : 1);
    moe.expert_ffn_hidden = in_.integer({"base_moe_mlp_dim"}, 1, 1'000'000)
                                .value_or(named ? moe.expert_ffn_hidden : shape.ffn_hidden);
    moe.first_dense_layers =
        in_.integer({"first_num_dense_layers"}, 0, 10'000).value_or(moe.first_dense_layers);
    moe.router_bias = in_.truth({"routed_bias"}, moe.router_bias);
    if (const auto shared = in_.integer({"shared_experts"}, 0, 1000))
      moe.shared_ffn_hidden = *shared * moe.expert_ffn_hidden;
    shape.moe = moe;
  }

  void read_latent(LlmShape& shape) {
    const std::string kind = in_.text({"attention_type"}, shape.mla ? "mla" : "global");
    if (kind == "global") return shape.mla.reset();
    if (kind != "mla") return in_.refuse("attention_type", in_quotes(kind) + " is not modelled");
    MlaShape mla = shape.mla.value_or(MlaShape{0, 512, 128, 64, 128});
    mla.q_lora_rank = in_.integer({"q_lora_rank"}, 0, 100'000).value_or(mla.q_lora_rank);
    mla.kv_lora_rank = in_.integer({"kv_lora_rank"}, 1, 100'000).value_or(mla.kv_lora_rank);
    mla.qk_nope_head_dim =
        in_.integer({"qk_nope_head_dim"}, 1, 10'000).value_or(mla.qk_nope_head_dim);
    mla.qk_rope_head_dim =
        in_.integer({"qk_rope_head_dim"}, 1, 10'000).value_or(mla.qk_rope_head_dim);
    mla.v_head_dim = in_.integer({"v_head_dim"}, 1, 10'000).value_or(mla.v_head_dim);
    shape.mla = mla;
    shape.head_dim = mla.qk_nope_head_dim + mla.qk_rope_head_dim;
  }

  /// An axis over slices and within one; -1 takes what is left, which only the GPUs tell.
  std::optional<int> axis(const std::string& name, int usual_slices, int usual_inside) {
    const std::string slices = "dcn_" + name + "_parallelism";
    const std::string inside = "ici_" + name + "_parallelism";
    const int outer = in_.integer({slices}, -1, 1'000'000).value_or(usual_slices);
    const int inner = in_.integer({inside}, -1, 1'000'000).value_or(usual_inside);
    if (outer == 0 || inner == 0)
      in_.refuse(outer == 0 ? slices : inside, "is 0; -1 takes what other axes leave");
    if (outer < 1 || inner < 1) return std::nullopt;
    return static_cast<int>(std::min(1LL * outer * inner, 1'000'000LL));
  }

  void read_axes(int host_gpus) {
    for (const std::string_view name : refused_axes)
      if (axis(std::string(name), 1, 1).value_or(2) > 1)
        in_.refuse("ici_" + std::string(name) + "_parallelism",
                   "is an axis that is not modelled on JAX: data, fsdp and tensor are");
    Parallel& parallel = job_.parallel;
    const auto tensor = axis("tensor", 1, 1);
    if (!tensor) in_.refuse("ici_tensor_parallelism", "must be a number here, not -1");
    parallel.tensor = std::clamp(tensor.value_or(1), 1, 1024);
    const auto copies = axis("data", -1, 1);
    const auto shards = axis("fsdp", 1, -1);
    const int replicas = copies.value_or(1);
    LaunchSize size;
    const double ranks = 1.0 * replicas * shards.value_or(1) * parallel.tensor;
    if (copies && shards && ranks <= 1e6) size.gpus = static_cast<int>(ranks);
    const int gpus = gpus_for(size, parallel.tensor, host_gpus, options_, plan_.notes);
    parallel.data = std::max(1, gpus / parallel.tensor);
    // Of two axes that are left open, GPUs without slices give all of them to fsdp.
    const int inside =
        shards ? std::min(*shards, parallel.data) : parallel.data / std::max(1, replicas);
    if (inside < 1 || parallel.data % inside != 0)
      return in_.refuse("ici_fsdp_parallelism",
                        fmt::format("{} does not divide {} ranks", inside, parallel.data));
    parallel.zero = inside > 1 ? 3 : 0;
    if (inside > 1 && inside < parallel.data) parallel.zero_group = inside;
  }

  void read_batch() {
    Training& training = job_.training;
    const auto each = in_.number({"per_device_batch_size"});
    const double rows = each.value_or(12.0) * job_.parallel.tensor;
    if (!(rows >= 1.0 && rows <= 100'000.0) || rows != static_cast<int>(rows))
      return in_.refuse("per_device_batch_size",
                        "does not give a whole number of sequences to every replica");
    training.micro_batch = static_cast<int>(rows);
    const int gathered = in_.integer({"gradient_accumulation_steps"}, 1, 100'000).value_or(1);
    const auto steps = in_.integer({"steps"}, -1, 2'000'000'000);
    set_batch("per_device_batch_size", gathered, steps, in_, job_);
  }

  void read_hardware() {
    const std::string hardware = in_.text({"hardware"}, "tpu");
    if (hardware == "tpu")
      plan_.notes.assumed.emplace_back("GPUs, though hardware is tpu, the default");
    else if (!hardware.starts_with("gpu"))
      in_.refuse("hardware", in_quotes(hardware) + " is not modelled: gpu is");
  }

  void read_memory() {
    Recompute& recompute = job_.memory.recompute;
    const std::string policy = in_.text({"remat_policy"}, "full");
    if (policy == "full") {
      recompute.kind = RecomputeKind::full;
    } else if (policy == "minimal" || policy == "minimal_with_context") {
      plan_.notes.assumed.push_back(fmt::format(
          "remat_policy {} keeps the results of GEMMs; what lies between them is kept as well here",
          policy));
    } else {
      in_.refuse("remat_policy", in_quotes(policy) +
                                     " is not modelled: full, minimal and "
                                     "minimal_with_context are");
    }
    const std::string attention = in_.text({"attention"}, "autoselected");
    if (attention == "dot_product") job_.memory.attention = AttentionKind::unfused;
  }

  TreeReader& in_;
  const PlanImportOptions& options_;
  ImportedPlan& plan_;
  Job& job_;
};

}  // namespace

ImportedScenario import_maxtext(const ImportSource& source, const PlanImportOptions& options) {
  Diagnostics diagnostics;
  const Mark top{std::make_shared<const std::string>(source.name), 1, 1};
  if (!check_encoding(source.text, top, diagnostics)) diagnostics.throw_if_any();
  std::string text = source.text;
  const std::vector<std::string> overrides = split_overrides(text);
  YamlNode root = empty_map(top);
  if (text.find_first_not_of(" \t\r\n") != std::string::npos) {
    auto parsed = parse_yaml(text, source.name, YamlLimits{}, diagnostics);
    if (parsed && !parsed->is_map())
      diagnostics.add(parsed->mark, "", "must be a YAML map, or overrides key=value");
    diagnostics.throw_if_any();
    root = std::move(*parsed);
  }
  for (const std::string& word : overrides) put_override(root, word, root.mark);
  const auto per_host = host_gpus(options, diagnostics);
  diagnostics.throw_if_any();
  TreeReader in(root, diagnostics, options.left_out);
  ImportedPlan plan;
  plan.job.name = std::filesystem::path(source.name).stem().string();
  MaxtextReader(in, options, plan).read(*per_host);
  in.finish(options, plan.notes);
  return finish_import(std::move(plan), source, options, diagnostics);
}

}  // namespace foretrain
