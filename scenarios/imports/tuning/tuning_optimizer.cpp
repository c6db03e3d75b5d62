// SPDX-License-Identifier: Apache-2.0
// Optimizers of fine-tuning frameworks: names of transformers' `optim` (trainer_optimizer.py) and
// Axolotl's, GaLore and APOLLO of LLaMA-Factory and ms-swift.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "scenarios/imports/frameworks/adapter_targets.hpp"
#include "scenarios/imports/tuning/internal/tuning_reader.hpp"

namespace foretrain::tuning {
namespace {

constexpr double four_bits = 0.5 + 4.0 / 128.0;   // torchao: a scale of 32 bits per 128
constexpr double eight_bits = 1.0 + 4.0 / 256.0;  // bitsandbytes: one per 256
constexpr double bnb_bytes = 4.0;                 // bitsandbytes: 32 bits whatever the weights have

/// How an optimizer goes through weights.
enum class Kernels {
  foreach,  ///< as PyTorch does it for all weights of a kind
  fused,    ///< one kernel for all that it does to a weight
  kahan     ///< with what rounding lost of 16-bit weights (optimi)
};

struct NamedOptimizer {
  std::string_view name;
  OptimizerKind kind = OptimizerKind::adamw;
  double moment = 0.0;  ///< bytes of each moment per parameter; 0: as weights have it
  Kernels kernels = Kernels::foreach;
  ProjectionKind projection = ProjectionKind::none;
};

using Rule = OptimizerKind;
constexpr auto named_optimizers = std::to_array<NamedOptimizer>({
    {"adamw_torch", Rule::adamw},
    {"adamw", Rule::adamw},
    {"adamw_hf", Rule::adamw},
    {"adamw_torch_xla", Rule::adamw},
    {"adopt_adamw", Rule::adamw},
    {"adamw_torch_fused", Rule::adamw, 0.0, Kernels::fused},
    {"adamw_apex_fused", Rule::adamw, 0.0, Kernels::fused},
    {"paged_adamw", Rule::adamw, bnb_bytes, Kernels::fused},
    {"paged_adamw_32bit", Rule::adamw, bnb_bytes, Kernels::fused},
    {"optimi_adamw", Rule::adamw, 0.0, Kernels::kahan},
    {"stable_adamw", Rule::adamw, 0.0, Kernels::kahan},
    {"adamw_bnb_8bit", Rule::adam8bit},
    {"adamw_8bit", Rule::adam8bit},
    {"adamw_torch_8bit", Rule::adam8bit},
    {"paged_adamw_8bit", Rule::adam8bit},
    {"ao_adamw_8bit", Rule::adam8bit},
    {"ao_adamw_fp8", Rule::adam8bit},
    {"adamw_torch_4bit", Rule::adamw, four_bits, Kernels::fused},
    {"ao_adamw_4bit", Rule::adamw, four_bits, Kernels::fused},
    {"sgd", Rule::sgd},
    {"muon", Rule::muon},
    {"adafactor", Rule::adafactor},
    {"rmsprop", Rule::rmsprop},
    {"rmsprop_bnb", Rule::rmsprop, bnb_bytes},
    {"rmsprop_bnb_32bit", Rule::rmsprop, bnb_bytes},
    {"rmsprop_bnb_8bit", Rule::rmsprop, eight_bits},
    {"adagrad", Rule::adagrad},
    {"lion_32bit", Rule::lion, bnb_bytes},
    {"paged_lion_32bit", Rule::lion, bnb_bytes},
    {"lion_8bit", Rule::lion, eight_bits},
    {"paged_lion_8bit", Rule::lion, eight_bits},
    {"ademamix", Rule::ademamix, bnb_bytes},
    {"paged_ademamix_32bit", Rule::ademamix, bnb_bytes},
    {"ademamix_8bit", Rule::ademamix, eight_bits},
    {"paged_ademamix_8bit", Rule::ademamix, eight_bits},
    {"schedule_free_adamw", Rule::schedule_free},
    {"schedule_free_radam", Rule::schedule_free},
    {"schedule_free_sgd", Rule::schedule_free_sgd},
    {"grokadamw", Rule::grokadamw},
    {"lomo", Rule::lomo},
    {"adalomo", Rule::adalomo},
    {"galore_adamw", Rule::adamw, 0.0, Kernels::foreach, ProjectionKind::galore},
    {"galore_adamw_8bit", Rule::adam8bit, 0.0, Kernels::foreach, ProjectionKind::galore},
    {"galore_adafactor", Rule::adafactor, 0.0, Kernels::foreach, ProjectionKind::galore},
    {"apollo_adamw", Rule::adamw, 0.0, Kernels::foreach, ProjectionKind::apollo},
});

constexpr std::string_view layerwise = "_layerwise";
constexpr std::string_view paged = "paged_";

using Target = AdapterTarget;

const Keys target_keys{"optim_target_modules"};

/// GaLore's and APOLLO's keys in LLaMA-Factory and ms-swift.
struct ProjectionKeys {
  std::string_view on;
  ProjectionKind kind;
  Keys rank, gap, targets, type, in_backward;
};

const std::array<ProjectionKeys, 2>& projection_keys() {
  static const std::array<ProjectionKeys, 2> keys{
      {{"use_galore",
        ProjectionKind::galore,
        {"galore_rank"},
        {"galore_update_interval", "galore_update_proj_gap"},
        {"galore_target", "galore_target_modules"},
        {"galore_proj_type"},
        {"galore_layerwise", "galore_optim_per_parameter"}},
       {"use_apollo",
        ProjectionKind::apollo,
        {"apollo_rank"},
        {"apollo_update_interval"},
        {"apollo_target"},
        {"apollo_proj_type"},
        {"apollo_layerwise"}}}};
  return keys;
}

/// As GaLore takes names: a part of a path, or a pattern for all of it.
bool is_named(const std::string& word, const LinearModule& module) {
  if (word == "all-linear" || word == "all_linear" || word == "all") return module.linear;
  if (module.path.find(word) != std::string::npos) return true;
  // Of patterns those alone that begin and end with anything: ".*.attn.*".
  std::string inner = word;
  for (const std::string_view end : {".*", ".", "*"}) {
    if (inner.starts_with(end)) inner.erase(0, end.size());
    if (inner.ends_with(end)) inner.erase(inner.size() - end.size());
  }
  return !inner.empty() && module.path.find(inner) != std::string::npos;
}

const EnumSet<AdapterTarget> mlp_targets{AdapterTarget::fc1, AdapterTarget::gate, AdapterTarget::up,
                                         AdapterTarget::fc2};

/// A matrix by its fused name and by those of its pieces, of which `all` has some.
void add_other_names(AdapterTarget fused, std::initializer_list<AdapterTarget> pieces,
                     const EnumSet<AdapterTarget>& all, EnumSet<AdapterTarget>& found) {
  if (found.has(fused)) found.add(EnumSet<AdapterTarget>(pieces));
  if (std::ranges::all_of(pieces,
                          [&](AdapterTarget piece) { return found.has(piece) || !all.has(piece); }))
    found.add(fused);
}

/// Whether `found` has all targets of a part (true), none (false) or some of them (nothing).
std::optional<bool> whole_part(const EnumSet<AdapterTarget>& found,
                               const EnumSet<AdapterTarget>& all, bool mlp) {
  int there = 0;
  int taken = 0;
  for (const auto& [target, name] : EnumNames<AdapterTarget>::names) {
    if (!all.has(target) || mlp_targets.has(target) != mlp) continue;
    if (target == AdapterTarget::router || target == AdapterTarget::shared_gate) continue;
    ++there;
    taken += found.has(target) ? 1 : 0;
  }
  if (taken == 0) return false;
  return taken == there ? std::optional(true) : std::nullopt;
}

}  // namespace

std::string_view optimizer_name(const Training& training, OffloadKind offload) {
  const bool fused = training.fused_kernels.has(FusedKernel::optimizer);
  const double first = training.first_moment_bytes.value_or(0.0);
  const double second = training.second_moment_bytes.value_or(0.0);
  const auto is_said = [&](const NamedOptimizer& row) {
    const bool kernels =
        training.optimizer != Rule::adamw || (row.kernels == Kernels::fused) == fused;
    return row.kind == training.optimizer && row.projection == ProjectionKind::none && kernels &&
           row.kernels != Kernels::kahan &&
           row.name.starts_with(paged) == (offload == OffloadKind::paged) && first == row.moment &&
           second == row.moment;
  };
  const auto* const row = std::ranges::find_if(named_optimizers, is_said);
  return row == named_optimizers.end() ? std::string_view() : row->name;
}

void TuningReader::read_optimizer() {
  std::string name = in_.text(keys_.optimizer, "adamw_torch");
  Training& training = job_.training;
  const bool in_backward = name.ends_with(layerwise);
  if (in_backward) name.resize(name.size() - layerwise.size());
  const auto row = std::ranges::find_if(
      named_optimizers, [&](const NamedOptimizer& each) { return each.name == name; });
  if (row == named_optimizers.end() || (in_backward && row->projection == ProjectionKind::none)) {
    refuse(keys_.optimizer, in_quotes(in_.text(keys_.optimizer)) + " is not modelled");
    return;
  }
  training.optimizer = row->kind;
  training.optimizer_in_backward = in_backward;
  if (row->moment > 0.0) training.first_moment_bytes = training.second_moment_bytes = row->moment;
  if (row->kernels == Kernels::fused) training.fused_kernels.add(FusedKernel::optimizer);
  if (name.starts_with(paged)) job_.memory.offload = OffloadKind::paged;
  kahan_ = row->kernels == Kernels::kahan;
  if (in_.truth({"adafactor"}, false)) training.optimizer = OptimizerKind::adafactor;
  if (in_.truth({"use_muon"}, false)) training.optimizer = OptimizerKind::muon;
  if (in_.truth({"use_adam_mini"}, false)) {
    training.second_moment_bytes = 0.0;
    assume("Adam-mini keeps one moment per parameter and takes as long as AdamW");
  }
  refuse_if_on({"use_badam"}, "is not modelled");
  if (framework_ == Framework::swift) read_plugged_optimizer();
  read_projection(row->projection);
  read_factory_projection();
}

/// ms-swift's plug-ins (swift/optimizers/mapping.py); LoRA+ has other rates alone.
void TuningReader::read_plugged_optimizer() {
  const std::string name = in_.text({"optimizer"}, "default");
  if (name == "muon")
    job_.training.optimizer = OptimizerKind::muon;
  else if (name != "default" && name != "lorap" && name != "galore")
    in_.refuse("optimizer", in_quotes(name) + " is not modelled: default, galore, lorap, muon");
}

/// One of "rank=64, update_proj_gap=100", or of the same as a group.
std::string TuningReader::optimizer_argument(const char* name) {
  const std::string key = fmt::format("optim_args.{}", name);
  if (const YamlNode* const node = in_.take(key)) return lower_case(node->text);
  for (const std::string& word : words_of({"optim_args"}))
    if (word.starts_with(std::string(name) + "=")) return word.substr(word.find('=') + 1);
  return {};
}

void TuningReader::read_projection(ProjectionKind kind) {
  GradientProjection& projection = job_.training.projection;
  projection.kind = kind;
  if (kind == ProjectionKind::none) {
    if (!words_of(target_keys).empty())
      refuse(target_keys, "names matrices for an optimizer that treats all alike");
    return;
  }
  const auto number = [&](const char* name, int usual) {
    const std::string text = optimizer_argument(name);
    if (text.empty()) return usual;
    const bool digits =
        text.size() <= 6 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    const int value = digits ? std::stoi(text) : 0;
    if (value < 1)
      in_.refuse("optim_args", fmt::format("{}={} is no whole number above zero", name, text));
    return std::max(1, value);
  };
  projection.rank = number("rank", projection.rank);
  projection.gap = number("update_proj_gap", projection.gap);
  const std::string type = optimizer_argument("proj_type");
  const std::string drawn = optimizer_argument("proj");
  if (!type.empty() && type != "std")
    in_.refuse("optim_args", fmt::format("proj_type={} is not modelled: std", type));
  if (!drawn.empty() && drawn != "random")
    in_.refuse("optim_args", fmt::format("proj={} is not modelled: random", drawn));
  read_projected(target_keys);
}

void TuningReader::read_factory_projection() {
  GradientProjection& projection = job_.training.projection;
  const bool swift = framework_ == Framework::swift;
  for (const ProjectionKeys& keys : projection_keys()) {
    if (!in_.truth({keys.on}, false)) continue;
    projection.kind = keys.kind;
    projection.rank = in_.integer(keys.rank, 1, 65536).value_or(swift ? 128 : 16);
    projection.gap = in_.integer(keys.gap, 1, 1'000'000).value_or(swift ? 50 : 200);
    job_.training.optimizer_in_backward = in_.truth(keys.in_backward, false);
    if (const std::string type = in_.text(keys.type, "std"); type != "std")
      refuse(keys.type, in_quotes(type) + " is not modelled: std");
    if (const std::string drawn = in_.text({"apollo_proj"}, "random"); drawn != "random")
      in_.refuse("apollo_proj", in_quotes(drawn) + " is not modelled: random");
    for (const char* key : {"galore_quantization", "galore_with_embedding"})
      refuse_if_on({key}, "is not modelled");
    read_projected(keys.targets);
  }
}

/// Whole parts of the layers alone.
void TuningReader::read_projected(const Keys& keys) {
  GradientProjection& projection = job_.training.projection;
  const std::vector<std::string> words = words_of(keys);
  const LlmShape* const model = shape();
  if (words.empty() && framework_ == Framework::transformers)
    refuse(keys, "is missing: the Trainer asks for the matrices whose gradients are projected");
  if (words.empty() || model == nullptr) return;
  const auto any = [&](const LinearModule& module) {
    return std::ranges::any_of(words,
                               [&](const std::string& word) { return is_named(word, module); });
  };
  const FoundTargets found = found_targets(*model, any);
  const FoundTargets all = found_targets(*model, [](const LinearModule&) { return true; });
  EnumSet<AdapterTarget> targets = found.targets;
  add_other_names(Target::qkv, {Target::query, Target::key, Target::value}, all.targets, targets);
  add_other_names(Target::fc1, {Target::gate, Target::up}, all.targets, targets);
  const auto attention = whole_part(targets, all.targets, false);
  const auto mlp = whole_part(targets, all.targets, true);
  if (!attention || !mlp)
    return refuse(keys,
                  "names some matrices of attention, or of MLPs, and not others: not "
                  "modelled");
  if (!*attention && !*mlp) return refuse(keys, "names no matrix of attention or MLPs");
  projection.parts = {};
  if (*attention) projection.parts.add(ModelPart::attention);
  if (*mlp) projection.parts.add(EnumSet<ModelPart>{ModelPart::mlp, ModelPart::experts});
}

}  // namespace foretrain::tuning
