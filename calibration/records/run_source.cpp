// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/run_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "calibration/records/internal/run_source_keys.hpp"
#include "calibration/records/internal/words.hpp"
#include "calibration/records/measured_data.hpp"
#include "scenarios/imports/megatron/megatron_arguments.hpp"

namespace foretrain {
namespace {

constexpr const char* unknown_recompute = "unknown";

/// Whether any of these is in the text, or there are none.
bool any(const std::vector<std::string>& parts, const std::string& text) {
  return parts.empty() ||
         std::ranges::any_of(parts, [&](const std::string& part) { return has_part(text, part); });
}

/// One line of `variants`: a condition that is absent holds.
struct Variant {
  std::vector<std::string> families, id, source, gpu, zero, attention, attention_is, precision;
  bool experts = false;
  bool recompute_unstated = false;
  bool compile_unstated = false;
  std::optional<bool> compiled{};
  std::optional<std::string> stack{};
  std::optional<Overlap> overlap{};
  std::optional<bool> memory{};
  std::optional<AssumedRecompute> recompute{};
  std::optional<ExpertDispatch> expert_dispatch{};
  std::optional<FusedKernels> fused_kernels{};
  std::optional<CudaGraphs> cuda_graphs{};
  std::string no_memory{};
  std::optional<std::string> site{};
  std::optional<bool> engine_loss{}, chunked_loss{}, wide_base{}, eight_bit_weights{},
      fused_permutation{}, narrow_optimizer{}, router_fp32{};
  std::optional<bool> fused_gradients{};
  std::optional<FitScope> fitted{};
  std::string refused{};
  std::optional<FineTuning> fine_tuning{};
  std::optional<Objective> objective{};
  std::optional<AttentionLibrary> attention_library{};
  std::optional<Seconds> start{};
  std::string model{}, routing{};
  std::optional<int> micro_batch{};

  [[nodiscard]] bool holds(const RunRecord& record) const {
    const std::string kernel = lower(record.attention_kernel);
    return std::ranges::count(families, record.family()) > 0 && any(id, record.id) &&
           any(source, record.source) && any(gpu, record.gpu) && any(zero, record.zero) &&
           any(attention, kernel) && any(precision, lower(record.precision)) &&
           (attention_is.empty() || std::ranges::count(attention_is, kernel) > 0) &&
           (!experts || record.moe || record.expert.value_or(1) > 1) &&
           (!recompute_unstated || record.recompute.empty()) &&
           (!compile_unstated || !record.compiled) && (!compiled || record.compiled == compiled);
  }

  void change(RunSource& of) const {
    of.stack = stack.value_or(of.stack);
    of.overlap = overlap.value_or(of.overlap);
    of.memory = memory.value_or(of.memory);
    of.recompute = recompute.value_or(of.recompute);
    if (expert_dispatch) of.expert_dispatch = expert_dispatch;
    if (fused_kernels) of.fused_kernels = fused_kernels;
    if (cuda_graphs) of.cuda_graphs = cuda_graphs;
    if (!no_memory.empty()) of.no_memory = no_memory;
    of.site = site.value_or(of.site);
    of.engine_loss = engine_loss.value_or(of.engine_loss);
    of.chunked_loss = chunked_loss.value_or(of.chunked_loss);
    of.wide_base = wide_base.value_or(of.wide_base);
    of.eight_bit_weights = eight_bit_weights.value_or(of.eight_bit_weights);
    of.fused_permutation = fused_permutation.value_or(of.fused_permutation);
    of.narrow_optimizer = narrow_optimizer.value_or(of.narrow_optimizer);
    of.router_fp32 = router_fp32.value_or(of.router_fp32);
    of.fused_gradients = fused_gradients.value_or(of.fused_gradients);
    of.fitted = fitted.value_or(of.fitted);
    if (!refused.empty()) of.refused = refused;
    if (fine_tuning) of.fine_tuning = fine_tuning;
    of.objective = objective.value_or(of.objective);
    of.attention_library = attention_library.value_or(of.attention_library);
    of.start = start.value_or(of.start);
    if (!model.empty()) of.model = model;
    if (!routing.empty()) of.routing = routing;
    if (micro_batch) of.micro_batch = micro_batch;
  }
};

/// One line of `years`; conditions that are absent hold.
struct SourceYear {
  int year;
  std::vector<std::string> families, id, source;

  [[nodiscard]] bool holds(const RunRecord& record) const {
    return std::ranges::count(families, record.family()) > 0 && any(id, record.id) &&
           any(source, record.source);
  }
};

struct RunSources {
  std::map<std::string, RunSource> families;
  std::vector<SourceYear> years;
  std::vector<Variant> variants;
  std::vector<std::vector<std::string>> products;
};

std::optional<Overlap> overlap_in(const FieldValues& values, const std::string& path) {
  const FieldValue* const listed = values.find(path);
  if (listed == nullptr) return std::nullopt;
  const auto has = [&](const char* name) { return std::ranges::count(listed->texts, name) > 0; };
  return Overlap{has("gradients"), has("parameters"), has("tensor"), has("pipeline"),
                 has("experts")};
}

/// What is taken to be recomputed, and why; nothing where the variant does not say.
std::optional<AssumedRecompute> recompute_in(const FieldValues& values, const std::string& at,
                                             Diagnostics& diagnostics) {
  if (!values.has(at + "recompute")) return std::nullopt;
  const std::string& text = values.text(at + "recompute");
  if (text == unknown_recompute) return AssumedRecompute{};
  if (!values.has(at + "assumed")) {
    diagnostics.add(values.where(at + "recompute"), at + "assumed",
                    "says why that is assumed; write it, or recompute: unknown");
    return std::nullopt;
  }
  return AssumedRecompute{text, values.text(at + "assumed")};
}

/// Parts by Megatron-Core's names.
std::optional<CudaGraphs> graphs_in(const FieldValues& values, const std::string& path) {
  const FieldValue* const listed = values.find(path);
  if (listed == nullptr) return std::nullopt;
  CudaGraphs graphs;
  for (const std::string& name : listed->texts)
    if (const auto part = megatron_graph_part(name)) graphs.add(*part);
  return graphs;
}

/// Kernels by name, and those of libraries.
std::optional<FusedKernels> kernels_in(const FieldValues& values, const std::string& path) {
  const FieldValue* const listed = values.find(path);
  if (listed == nullptr) return std::nullopt;
  FusedKernels kernels;
  for (const std::string& name : listed->texts) {
    if (const auto kernel = from_name<FusedKernel>(name)) kernels.add(*kernel);
    for (const KernelLibrary& library : kernel_libraries)
      if (library.name == name) kernels.add(library.kernels);
  }
  return kernels;
}

std::vector<std::string> texts_in(const FieldValues& values, const std::string& path) {
  const FieldValue* const value = values.find(path);
  return value == nullptr ? std::vector<std::string>{} : value->texts;
}

/// What is trained; nothing where the variant does not say.
std::optional<FineTuning> fine_tuning_in(const FieldValues& values, const std::string& at) {
  if (!values.has(at + "adapter")) return std::nullopt;
  FineTuning tuning;
  tuning.adapter = values.choice<AdapterKind>(at + "adapter");
  if (values.has(at + "rank")) tuning.rank = values.integer(at + "rank");
  if (values.has(at + "adapter_dropout"))
    tuning.dropout = values.optional_number(at + "adapter_dropout").value_or(0.0);
  if (const FieldValue* const listed = values.find(at + "targets")) {
    tuning.targets = {};
    for (const std::string& name : listed->texts)
      if (const auto target = from_name<AdapterTarget>(name)) tuning.targets.add(*target);
  }
  return tuning;
}

SourceYear year_in(const FieldValues& values, const std::string& at) {
  return {values.integer(at + "year"), texts_in(values, at + "of"), texts_in(values, at + "id"),
          texts_in(values, at + "source")};
}

Variant variant_in(const FieldValues& values, const std::string& at, Diagnostics& diagnostics) {
  const auto texts = [&](const char* key) { return texts_in(values, at + key); };
  const auto is = [&](const char* key) { return values.has(at + key) && values.boolean(at + key); };
  Variant variant{.families = texts("of"),
                  .id = texts("id"),
                  .source = texts("source"),
                  .gpu = texts("gpu"),
                  .zero = texts("zero"),
                  .attention = texts("attention"),
                  .attention_is = texts("attention_is"),
                  .precision = texts("precision"),
                  .experts = is("experts"),
                  .recompute_unstated = is("recompute_unstated"),
                  .compile_unstated = is("compile_unstated"),
                  .overlap = overlap_in(values, at + "overlap"),
                  .recompute = recompute_in(values, at, diagnostics),
                  .fused_kernels = kernels_in(values, at + "fused_kernels"),
                  .cuda_graphs = graphs_in(values, at + "cuda_graphs")};
  if (values.has(at + "compiled")) variant.compiled = values.boolean(at + "compiled");
  if (values.has(at + "stack")) variant.stack = values.text(at + "stack");
  if (values.has(at + "memory")) variant.memory = values.boolean(at + "memory");
  if (values.has(at + "expert_dispatch"))
    variant.expert_dispatch = values.choice<ExpertDispatch>(at + "expert_dispatch");
  if (values.has(at + "site")) variant.site = values.text(at + "site");
  const auto flag = [&](const char* key, std::optional<bool>& value) {
    if (values.has(at + key)) value = values.boolean(at + key);
  };
  flag("engine_loss", variant.engine_loss);
  flag("chunked_loss", variant.chunked_loss);
  flag("wide_base", variant.wide_base);
  flag("eight_bit_weights", variant.eight_bit_weights);
  flag("fused_permutation", variant.fused_permutation);
  flag("narrow_optimizer", variant.narrow_optimizer);
  flag("router_fp32", variant.router_fp32);
  flag("fused_gradients", variant.fused_gradients);
  if (values.has(at + "fitted")) variant.fitted = values.choice<FitScope>(at + "fitted");
  if (values.has(at + "refused")) variant.refused = values.text(at + "refused");
  variant.fine_tuning = fine_tuning_in(values, at);
  if (values.has(at + "objective")) variant.objective = values.choice<Objective>(at + "objective");
  if (values.has(at + "attention_library"))
    variant.attention_library = values.choice<AttentionLibrary>(at + "attention_library");
  variant.start = values.optional_quantity<Seconds>(at + "start");
  if (values.has(at + "model")) variant.model = values.text(at + "model");
  if (values.has(at + "routing")) variant.routing = values.text(at + "routing");
  if (values.has(at + "micro_batch")) variant.micro_batch = values.integer(at + "micro_batch");
  if (values.has(at + "no_memory")) variant.no_memory = values.text(at + "no_memory");
  return variant;
}

RunSources sources_in(const FieldValues& values, Diagnostics& diagnostics) {
  RunSources sources;
  for (int i = 0; i < values.list_size("sources"); ++i) {
    const std::string at = fmt::format("sources[{}].", i);
    RunSource source;
    source.known = true;
    if (values.has(at + "stack")) source.stack = values.text(at + "stack");
    source.site = values.text(at + "site");
    source.overlap = overlap_in(values, at + "overlap").value_or(source.overlap);
    source.half_gradients = values.boolean(at + "half_gradients");
    source.start = values.optional_quantity<Seconds>(at + "start").value_or(Seconds{});
    source.sequence = values.boolean(at + "sequence");
    source.unfused = values.boolean(at + "unfused");
    source.memory = values.boolean(at + "memory");
    source.layer_chunks = values.boolean(at + "layer_chunks");
    source.layers_by_work = values.boolean(at + "layers_by_work");
    if (values.has(at + "balanced_experts"))
      source.balanced_experts = values.text(at + "balanced_experts");
    source.fused_gradients = values.boolean(at + "fused_gradients");
    if (values.has(at + "heads")) source.heads = values.integer(at + "heads");
    if (values.has(at + "gpu")) source.gpu = values.text(at + "gpu");
    const std::string& family = values.text(at + "family");
    if (!sources.families.emplace(family, std::move(source)).second)
      diagnostics.add(values.where(at + "family"), at + "family",
                      in_quotes(family) + " is there already");
  }
  const auto check_families = [&](const std::vector<std::string>& families, const std::string& at) {
    for (const std::string& family : families)
      if (sources.families.count(family) == 0)
        diagnostics.add(values.where(at + "of"), at + "of",
                        "there is no source " + in_quotes(family));
  };
  for (int i = 0; i < values.list_size("variants"); ++i) {
    const std::string at = fmt::format("variants[{}].", i);
    sources.variants.push_back(variant_in(values, at, diagnostics));
    check_families(sources.variants.back().families, at);
  }
  for (int i = 0; i < values.list_size("years"); ++i) {
    const std::string at = fmt::format("years[{}].", i);
    sources.years.push_back(year_in(values, at));
    check_families(sources.years.back().families, at);
  }
  for (int i = 0; i < values.list_size("gemms"); ++i)
    sources.products.push_back(values.at(fmt::format("gemms[{}].tables", i)).texts);
  return sources;
}

RunSources read_run_sources() {
  Diagnostics diagnostics;
  RunSources sources =
      sources_in(read_measured_data("sources.yaml", run_source_fields(), diagnostics), diagnostics);
  diagnostics.throw_if_any();
  return sources;
}

const RunSources& run_sources() {
  static const RunSources sources = read_run_sources();
  return sources;
}

struct FrameworkWord {
  std::string_view word;
  std::string_view stack;
};

// The first word that is there counts: names of frameworks before those of what they are made of.
constexpr auto framework_words = std::to_array<FrameworkWord>({
    {"torchtitan", "fsdp2"},
    {"torchtune", "fsdp2"},
    {"automodel", "automodel"},
    {"nanotron", "nanotron"},
    {"internevo", "internevo"},
    {"internlm", "internevo"},
    {"llm-foundry", "composer"},
    {"llm foundry", "composer"},
    {"composer", "composer"},
    {"mosaic", "composer"},
    {"paddle", "paddle"},
    {"maxtext", "jax"},
    {"levanter", "jax"},
    {"paxml", "jax"},
    {"jax", "jax"},
    {"nemo", "nemo"},
    {"megatron-deepspeed", "megatron-deepspeed"},
    {"gpt-neox", "megatron-deepspeed"},
    {"colossal", "megatron-deepspeed"},
    {"megatron", "megatron-core"},
    {"deepspeed", "fsdp2"},
    {"olmo", "fsdp2-compile"},
    {"prime-rl", "fsdp2-compile"},
    {"fsdp", "fsdp2"},
    {"litgpt", "fsdp2"},
    {"hugging", "hf-trainer"},
    {"hf-trainer", "hf-trainer"},
    {"transformers", "hf-trainer"},
    {"llama-factory", "hf-trainer"},
    {"llamafactory", "hf-trainer"},
    {"axolotl", "hf-trainer"},
    {"unsloth", "hf-trainer"},
    {"peft", "hf-trainer"},
    {"nanogpt", "fsdp2-compile"},
    {"torch", "fsdp2"},
});
constexpr std::string_view usual_stack = "megatron-core";
/// Who fine-tunes and says no more does it as most people do.
constexpr std::string_view usual_tuning = "hf-trainer";

}  // namespace

const std::vector<std::vector<std::string>>& product_tables() { return run_sources().products; }

RunSource run_source(const RunRecord& record) {
  const RunSources& sources = run_sources();
  RunSource source;
  if (const auto found = sources.families.find(record.family()); found != sources.families.end())
    source = found->second;
  for (const Variant& variant : sources.variants)
    if (variant.holds(record)) variant.change(source);
  for (const SourceYear& line : sources.years)
    if (line.holds(record)) source.year = line.year;
  if (!record.stack.empty()) source.stack = record.stack;
  if (!record.site.empty()) source.site = record.site;
  // Constants were fitted where rings alone were modelled; these runs check them.
  if (record.context.value_or(1) > 1 && record.context_exchange() != ContextExchange::ring)
    source.fitted = FitScope::none;
  source.kin = source.stack.empty();
  if (!source.kin) return source;
  source.stack = nearest_stack(record);
  source.fitted = FitScope::none;
  return source;
}

std::string nearest_stack(const RunRecord& record) {
  const std::string words = lower(record.id + " " + record.source + " " + record.notes);
  for (const FrameworkWord& line : framework_words)
    if (words.find(line.word) != std::string::npos) {
      const bool compiled = line.stack == "fsdp2" && record.compiled.value_or(false);
      return compiled ? "fsdp2-compile" : std::string(line.stack);
    }
  const bool tunes = record.fine_tuning || record.task == "finetune" || record.task == "lora";
  return std::string(tunes ? usual_tuning : usual_stack);
}

}  // namespace foretrain
