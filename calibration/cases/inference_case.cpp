// SPDX-License-Identifier: Apache-2.0
#include "calibration/cases/inference_case.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "calibration/cases/internal/record_parts.hpp"
#include "calibration/records/internal/words.hpp"
#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/catalog/model_names.hpp"

namespace foretrain {
namespace {

/// InferenceX and its like send ten requests per client, all clients at once.
constexpr double usual_requests_per_client = 10.0;

/// GPUs that engines cut one layer's heads over in practice: those of one host.
constexpr int widest_tensor = 8;

std::string catalog_word(std::string name) {
  name = lower(std::move(name));
  std::ranges::replace(name, ' ', '-');
  return name;
}

bool same_shape(const LlmShape& known, const InferenceRecord::Model& said) {
  const auto same = [](int value, const std::optional<int>& word) {
    return !word || value == *word;
  };
  return same(known.layers, said.layers) && same(known.hidden, said.hidden) &&
         same(known.heads, said.heads) && same(known.vocabulary, said.vocabulary) &&
         (!said.layers || known.moe.has_value() == said.moe.has_value());
}

/// The catalog's model of that name, where the record's shape is that one's: it knows windows,
/// norms and mixers.
const LlmShape* known_model(const InferenceRecord::Model& said, const RunCatalog& catalog) {
  std::string name = catalog_word(said.name);
  for (const std::string_view format : {"-fp8", "-nvfp4", "-awq"})
    if (name.ends_with(format)) name.resize(name.size() - format.size());
  auto named = catalog.models.find(name);
  if (named == catalog.models.end()) named = catalog.models.find(hub_model(name, {}).name);
  if (named != catalog.models.end() && same_shape(named->second, said)) return &named->second;
  return nullptr;
}

bool complete(const InferenceRecord::Model& said) {
  const bool rows = said.moe ? said.moe->expert_ffn.has_value() : said.ffn_hidden.has_value();
  return said.layers && said.hidden && said.heads && said.vocabulary && rows &&
         (said.mla || said.kv_heads);
}

MoeShape experts_of(const InferenceRecord::Model::Moe& said) {
  MoeShape moe;
  moe.experts = said.experts.value_or(0);
  moe.top_k = said.top_k.value_or(1);
  moe.expert_ffn_hidden = said.expert_ffn.value_or(0);
  moe.shared_ffn_hidden = said.shared_ffn.value_or(said.shared.value_or(0) * moe.expert_ffn_hidden);
  moe.first_dense_layers = said.first_dense.value_or(0);
  moe.every = said.every.value_or(1);
  return moe;
}

LlmShape described_model(const InferenceRecord::Model& said) {
  LlmShape model;
  model.name = catalog_word(said.name);
  model.title = said.name;
  model.layers = *said.layers;
  model.hidden = *said.hidden;
  model.heads = *said.heads;
  model.kv_heads = said.kv_heads.value_or(*said.heads);
  model.head_dim = said.head_dim.value_or(*said.hidden / *said.heads);
  model.ffn_hidden = said.ffn_hidden.value_or(0);
  model.vocabulary = *said.vocabulary;
  model.gated_mlp = said.gated_mlp.value_or(true);
  if (said.moe) model.moe = experts_of(*said.moe);
  if (said.mla)
    model.mla = MlaShape{said.mla->q_lora.value_or(0), said.mla->kv_lora.value_or(0),
                         said.mla->qk_nope.value_or(0), said.mla->qk_rope.value_or(0),
                         said.mla->v_head.value_or(0)};
  return model;
}

LlmShape model_of_record(const InferenceRecord& record, const RunCatalog& catalog) {
  if (const LlmShape* const known = known_model(record.model, catalog)) return *known;
  if (!complete(record.model)) throw Skip{"the model's shape is not stated"};
  const std::string& note = record.model.attention_note;
  if (has_part(note, "linear attention") || has_part(note, "hybrid"))
    throw Skip{"the shape of its linear attention is not stated"};
  if (has_part(note, "sliding window")) throw Skip{"the catalog does not know its windows"};
  return described_model(record.model);
}

std::optional<WeightFormat> format_of(const std::string& word) {
  if (word == "bf16" || word == "fp16") return WeightFormat::bf16;
  if (word == "fp8") return WeightFormat::fp8;
  if (word == "fp8_block") return WeightFormat::fp8_block;
  if (word == "mxfp4") return WeightFormat::mxfp4;
  if (word == "nvfp4" || word == "fp4") return WeightFormat::nvfp4;
  if (word == "int4" || word == "int4_wo" || word == "int4_awq" || word == "awq" || word == "gptq")
    return WeightFormat::int4;
  return std::nullopt;
}

/// Which weights published checkpoints of a format quantise: MXFP4 and int4 of mixtures the experts
/// alone, NVFP4 of latent attention everything but attention.
ServingPrecision precision_of(const InferenceRecord& record, const LlmShape& model, bool hopper,
                              std::vector<std::string>& assumptions) {
  // What a checkpoint's name does not say to be fewer is 16 bits.
  if (record.weights.empty()) assumptions.emplace_back("weights in bf16");
  const std::optional<WeightFormat> weights =
      format_of(record.weights.empty() ? "bf16" : record.weights);
  if (!weights) throw Skip{"weights in " + record.weights + " are not modelled"};
  WeightFormat format = *weights;
  if (format == WeightFormat::fp8 && record.experts == "fp8_block")
    format = WeightFormat::fp8_block;
  // Published in MXFP4 alone: tables of TensorRT-LLM call it what Hopper makes of it.
  if (format == WeightFormat::fp8 && has_part(model.name, "gpt-oss")) {
    format = WeightFormat::mxfp4;
    assumptions.emplace_back("experts in MXFP4");
  }
  ServingPrecision bits{format, format, format, CacheFormat::bf16};
  const bool experts_alone =
      model.moe && (format == WeightFormat::mxfp4 || format == WeightFormat::int4);
  if (experts_alone) bits.attention = bits.linear = WeightFormat::bf16;
  if (model.mla && format == WeightFormat::nvfp4) bits.attention = WeightFormat::bf16;
  if (!record.cache.empty()) {
    bits.cache = record.cache == "fp8" ? CacheFormat::fp8 : CacheFormat::bf16;
    return bits;
  }
  // TensorRT-LLM takes the cache's format from quantised checkpoints, which say fp8; those in NVFP4
  // say so to every engine. Those in MXFP4 and of Llama 4 say nothing, which Hopper takes for 16
  // bits.
  const bool silent = format == WeightFormat::mxfp4 || model.name.starts_with("llama-4");
  const bool sixteen = format == WeightFormat::bf16 || (silent && hopper);
  const bool eight = format == WeightFormat::nvfp4 ||
                     (!sixteen && engine_of_record(record.engine) == "tensorrt-llm");
  if (eight) bits.cache = CacheFormat::fp8;
  assumptions.emplace_back(eight ? "cache in fp8" : "cache in bf16");
  return bits;
}

ServingLayout layout_of(const InferenceRecord& record, const LlmShape& model,
                        std::vector<std::string>& assumptions) {
  const InferenceRecord::Parallel& said = record.parallel;
  if (said.disaggregated)
    throw Skip{
        "prefill and decode on separate GPUs: the ratio of requests between them needs the "
        "event model"};
  const bool alone = record.gpus == 1;
  if ((!said.tensor && !alone) || !said.pipeline) throw Skip{"the layout is not stated"};
  ServingLayout layout;
  layout.tensor = said.tensor.value_or(1);
  layout.pipeline = *said.pipeline;
  layout.attention_data = said.attention_data.value_or(1);
  layout.expert = said.expert.value_or(1);
  layout.replicas = said.data.value_or(1);
  // SGLang's and TensorRT-LLM's attention-data groups are of the tensor ranks of a command line,
  // not beside them: eight of each on eight GPUs, and as many replicas, are eight ranks.
  if (record.gpus && layout.tensor > 1 && layout.tensor == layout.attention_data &&
      layout.tensor == *record.gpus) {
    layout.tensor = 1;
    layout.replicas = 1;
    assumptions.emplace_back("ranks counted once");
  }
  // Sources that list expert and expert-tensor sizes of one group of ranks, which the collection
  // multiplied: eight ranks of each are eight ranks. The same figures stand there with both
  // readings.
  const int ranks = layout.stage();
  const int groups = layout.expert * said.expert_tensor.value_or(1);
  bool once = false;
  if (layout.expert > 1 && said.expert_tensor == layout.expert && groups == ranks) {
    if (layout.tensor > 1)
      layout.tensor = layout.expert;
    else
      layout.attention_data = layout.expert;
    once = true;
  }
  // The same of attention-data groups: four of four ranks and 16 experts' ranks are four ranks.
  if (layout.tensor > 1 && layout.attention_data == layout.tensor && layout.expert == ranks &&
      said.expert_tensor == 1) {
    layout.expert = layout.attention_data;
    layout.tensor = 1;
    once = true;
  }
  if (once) assumptions.emplace_back("ranks counted once");
  // Collections write the GPUs of several workers as one tensor group where they are not told
  // apart.
  if (layout.tensor > widest_tensor)
    throw Skip{"a tensor group of " + std::to_string(layout.tensor) +
               " GPUs: the source tells their sum, not the layout"};
  // Engines cut experts as the rest where their command line says nothing.
  if (model.moe && !said.expert) assumptions.emplace_back("experts cut as the rest");
  if (model.moe && said.expert && said.expert_tensor && !once &&
      layout.expert * *said.expert_tensor != layout.stage())
    throw Skip{"ranks of experts and of attention contradict each other"};
  return layout;
}

/// TensorRT-LLM's tables do not say how experts are cut; the recipe that they show for mixtures
/// copies attention and spreads experts. Where that does not fit, experts alone are spread, or all
/// is cut.
std::vector<ServingLayout> layouts_of(const InferenceRecord& record, const LlmShape& model,
                                      std::vector<std::string>& assumptions) {
  const ServingLayout layout = layout_of(record, model, assumptions);
  const InferenceRecord::Parallel& said = record.parallel;
  const bool tuned = engine_of_record(record.engine) == "tensorrt-llm";
  const int ranks = layout.tensor;
  if (!model.moe || said.expert || said.attention_data || !tuned || ranks == 1) return {layout};
  assumptions.back() = "attention copied and experts spread, as the table's recipe has it";
  ServingLayout spread = layout;
  spread.expert = ranks;
  ServingLayout copied = spread;
  copied.tensor = 1;
  copied.attention_data = ranks;
  return {copied, spread, layout};
}

Cluster cluster_of(const InferenceRecord& record, int gpus, const RunCatalog& catalog,
                   std::vector<std::string>& assumptions) {
  std::string gpu = record.gpu;
  if (gpu == "A100") {
    gpu += " 80GB SXM";
    assumptions.emplace_back("A100 with 80 GB on SXM");
  }
  std::string device = device_of_record(gpu, catalog);
  if (device.empty()) {
    std::ranges::replace(gpu, ' ', '-');
    device = device_of_record(gpu, catalog);
  }
  if (device.empty() || catalog.device_profiles.count(device) == 0)
    throw Skip{"no device " + record.gpu};
  const auto usual = catalog.usual_hosts.find(device);
  const Host* host = nullptr;
  if (usual != catalog.usual_hosts.end()) host = &catalog.hosts.at(usual->second);
  for (const auto& [name, any] : catalog.hosts)
    if (host == nullptr && any.device.name == device) host = &any;
  if (host == nullptr) throw Skip{"no host with " + record.gpu};
  Cluster cluster;
  cluster.host = *host;
  cluster.hosts = (gpus + host->gpus - 1) / host->gpus;
  const auto fabric = catalog.fabrics.find(default_machine().fabric);
  if (fabric != catalog.fabrics.end()) {
    cluster.network.preset = fabric->first;
    cluster.network.nic_link = host->nic;
    cluster.network.step_latency = fabric->second.step_latency;
  }
  return cluster;
}

/// The number behind the words: "batch size 4", "max_num_tokens 1151".
std::optional<int> number_in_notes(const std::string& notes, std::string_view words) {
  const std::size_t found = notes.find(words);
  if (found == std::string::npos) return std::nullopt;
  int number = 0;
  const char* const end = notes.data() + notes.size();
  const auto [rest, failure] = std::from_chars(notes.data() + found + words.size(), end, number);
  if (failure != std::errc() || number < 1) return std::nullopt;
  return number;
}

/// Records of a release whose own figures say that something was otherwise than is stated: the
/// first that fits names it. calibration/docs/inference.md, "Refused".
struct UnstatedBuild {
  std::string_view engine;
  std::string_view version;
  std::string_view model;    ///< that the record's name begins with
  std::string_view source;   ///< that it begins with; empty: any
  std::string_view weights;  ///< their format; empty: any
  const char* why;
};
constexpr const char* unflagged_drafts =
    "multi-token prediction, not flagged, with an acceptance that is not stated";
constexpr const char* other_clients =
    "the time per token does not move with the clients: how many ran at once is not stated";
constexpr UnstatedBuild unstated_builds[]{
    // Beside the release before, at the same layouts and loads, half the time per token and no less
    // to the first.
    {"tensorrt-llm", "1.2.0rc6.post3", "DeepSeek", "", "", unflagged_drafts},
    // Beside DeepSeek-V3 of this release, two thirds; less the longer the answer.
    {"tensorrt-llm", "1.1.0rc2.post2", "DeepSeek-R1", "ai-dynamo/aiconfigurator", "fp8",
     unflagged_drafts},
    // 85 to 92 ms for 40 to 224 clients, 47 to 60 ms for 160 to 384, 21 ms for 448.
    {"tensorrt-llm", "1.3.0rc1", "", "", "", other_clients},
    {"tensorrt-llm", "1.3.0rc5", "", "", "", other_clients},
    // 112 prompts of 1,000 tokens in each 1.2 s are 1.5 PFLOP/s, 64 of 2,000 are 1.9.
    {"vllm", "0.12.0", "Llama-3.1-8B", "ai-dynamo/aiconfigurator", "",
     "the clients' prompts would take longer than all that was measured: some were cached"},
    // A cached token costs a layer 26 ns whatever else runs, a hundred times what reading it takes.
    {"sglang", "0.5.6.post2", "Kimi-K2.5", "", "",
     "a release older than the model: its build and kernels are not stated"}};

void refuse_unstated(const InferenceRecord& record) {
  const bool noted = has_part(record.notes, "speculative decoding (MTP) was on") ||
                     number_in_notes(record.notes, "MTP ");
  if (record.workload.speculative || noted)
    throw Skip{"speculative decoding with an acceptance that is not stated"};
  for (const UnstatedBuild& build : unstated_builds)
    if (engine_of_record(record.engine) == build.engine && record.engine_version == build.version &&
        record.model.name.starts_with(build.model) && record.source.starts_with(build.source) &&
        (build.weights.empty() || record.weights == build.weights))
      throw Skip{build.why};
}

/// Where requests that are no mere prompts wait longer than they decode, seats are fewer than
/// clients, and no source states them.
void refuse_queues(const InferenceRecord& record) {
  constexpr double mere_prompt = 10.0;  // input tokens per output token
  const InferenceRecord::Workload& load = record.workload;
  const bool noted = has_part(record.notes, "the running batch is below the stated concurrency");
  const bool measured =
      record.ttft_s && record.tpot_s &&
      *load.input<mere_prompt* * load.output&& * record.ttft_s> * load.output * *record.tpot_s;
  if (noted || measured) throw Skip{"requests queue for seats: how many run at once is not stated"};
}

/// Limits of a step that the source states stand before the engine's.
EngineRules rules_of(const InferenceRecord& record, EngineRules rules) {
  for (const std::string_view words : {"max_num_tokens ", "max-num-batched-tokens "})
    if (const auto tokens = number_in_notes(record.notes, words)) rules.token_budget = *tokens;
  if (const auto seats = number_in_notes(record.notes, "max_batch_size ")) rules.sequences = *seats;
  return rules;
}

/// Mean lengths of generated requests are those that were asked for, but for requests that ended
/// early; of logged conversations they are any number.
bool generated_lengths(double mean) {
  constexpr double early = 0.003;
  const double power = std::exp2(std::round(std::log2(mean)));
  const double hundreds = 100.0 * std::round(mean / 100.0);
  return std::abs(mean - power) <= early * mean || std::abs(mean - hundreds) <= early * mean;
}

LengthSpread spread_of(const InferenceRecord& record) {
  const InferenceRecord::Workload& load = record.workload;
  if (has_part(load.data, "sharegpt")) return LengthSpread::exponential;
  if (!generated_lengths(*load.output)) return LengthSpread::even;
  return has_part(record.notes, "random lengths around") ? LengthSpread::narrow
                                                         : LengthSpread::none;
}

void load_of_record(const InferenceRecord& record, InferenceCase& made) {
  const InferenceRecord::Workload& load = record.workload;
  if (!load.input || !load.output) throw Skip{"input or output lengths are not stated"};
  refuse_unstated(record);
  refuse_queues(record);
  made.lengths = {*load.input, *load.output, 0.0, spread_of(record)};
  std::optional<double> clients = load.concurrency;
  // Of a section's title: as many requests at a time.
  if (!clients) clients = number_in_notes(record.notes, "batch size ");
  if (clients) {
    made.closed = ClosedLoad{*clients, usual_requests_per_client};
    if (load.requests)
      made.closed->requests_per_client = *load.requests / *clients;
    else
      made.assumptions.emplace_back("ten requests per client");
    made.closed->median_first_token = record.median_ttft;
    return;
  }
  if (load.request_rate) throw Skip{"arrivals at random need the event model"};
  if (!load.all_at_once && !load.requests) throw Skip{"the load is not stated"};
  if (!generated_lengths(*load.input))
    throw Skip{
        "all requests at once, of unlike lengths: the longest answers decide, and only means are "
        "stated"};
  made.requests = load.requests.value_or(0.0);
}

/// Leaves the case with the first of the layouts that fits.
void take_layout(const std::vector<ServingLayout>& layouts, InferenceCase& made) {
  std::string why;
  for (const ServingLayout& layout : layouts) {
    made.deployment.layout = layout;
    const std::vector<Infeasible> reasons = deployment_reasons(made.deployment);
    if (reasons.empty()) return;
    if (why.empty()) why = reasons.front().message;
  }
  throw Skip{why};
}

InferenceCase made_case(const InferenceRecord& record, const RunCatalog& catalog) {
  if (record.kind != "inference") throw Skip{"a step of post-training, which no serving is"};
  InferenceCase made;
  load_of_record(record, made);
  Deployment& deployment = made.deployment;
  deployment.model = model_of_record(record, catalog);
  if (deployment.model.mla && has_part(record.notes, "Triton attention backend"))
    throw Skip{"attention over latents by Triton's kernels, whose rate is not known"};
  const auto layouts = layouts_of(record, deployment.model, made.assumptions);
  made.layout_stated = layouts.size() == 1;
  deployment.layout = layouts.front();
  deployment.cluster = cluster_of(record, deployment.layout.gpus() * deployment.layout.replicas,
                                  catalog, made.assumptions);
  const bool hopper = deployment.cluster.host.device.architecture == Architecture::hopper;
  deployment.precision = precision_of(record, deployment.model, hopper, made.assumptions);
  deployment.kernels = catalog.device_profiles.at(deployment.cluster.host.device.name);
  deployment.site = catalog.sites.at("default");
  const auto engine = catalog.engines.find(engine_of_record(record.engine));
  deployment.engine =
      catalog.engines.at(engine == catalog.engines.end() ? "generic" : engine->first);
  deployment.engine.rules = rules_of(record, deployment.engine.rules);
  take_layout(layouts, made);
  return made;
}

}  // namespace

LlmShape recorded_model(const InferenceRecord& record, const RunCatalog& catalog) {
  return model_of_record(record, catalog);
}

Cluster recorded_cluster(const InferenceRecord& record, int gpus, const RunCatalog& catalog,
                         std::vector<std::string>& assumptions) {
  return cluster_of(record, gpus, catalog, assumptions);
}

std::string engine_of_record(const std::string& engine) {
  std::string word = lower(engine);
  if (word == "trtllm" || word == "tensorrt-llm") return "tensorrt-llm";
  if (word == "vllm" || word == "sglang") return word;
  return "generic";
}

SteadyLoad ReadyCase::load() const {
  return closed_ ? serving_.closed_loop(*closed_) : serving_.offline(requests_);
}

SteadyLoad ReadyCase::load(const EngineTimes& times) const {
  ReadyCase other = *this;
  other.serving_ = serving_.with(times);
  return other.load();
}

SteadyLoad steady_load(const InferenceCase& asked) { return ReadyCase{asked}.load(); }

InferenceQuestion inference_case(const InferenceRecord& record, const RunCatalog& catalog) {
  InferenceQuestion question;
  try {
    question.asked = made_case(record, catalog);
  } catch (const Skip& skip) {
    question.why = skip.why;
  }
  return question;
}

}  // namespace foretrain
