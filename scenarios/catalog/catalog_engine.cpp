// SPDX-License-Identifier: Apache-2.0
// A new constant of an inference engine is a member of its struct in models/ and one line here.
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/catalog/catalog_profiles.hpp"
#include "scenarios/catalog/internal/profile_keys.hpp"

namespace foretrain {
namespace {

using keys::bind;
using keys::constant;
using keys::unbound;
using profile_keys::group;

template <class V>
KeyRow time_key(const char* name, const char* help, V EngineTimes::*member) {
  return constant(std::string("times.") + name, help, &EngineProfile::times, member);
}

KeyRows engine_time_keys() {
  using T = EngineTimes;
  return {
      unbound(group("times", "Time constants.")),
      time_key("step", "Between two steps: what the host does not hide.", &T::step),
      time_key("per_sequence", "The same for each sequence that a step gives a token.",
               &T::per_sequence),
      time_key("per_request", "From a request's arrival to its first step, beyond the wait.",
               &T::per_request),
      time_key(
          "first_kernel",
          "Until a prompt's first token is out, beyond its steps, for each kernel of the model.",
          &T::first_kernel),
      time_key("kernel", "Start and end of a kernel inside a CUDA graph.", &T::kernel),
      time_key("launch", "What the host takes to launch a kernel outside of graphs.", &T::launch),
      time_key("memory", "Share of the datasheet bandwidth at which weights are read.", &T::memory),
      time_key("cache", "The same of keys and values in blocks.", &T::cache),
      time_key("unpacked", "Rate of GEMMs whose weights are unpacked to 16 bits on the way.",
               &T::unpacked),
      time_key("compute", "GEMMs against the device's rate under load.", &T::compute),
      time_key("attention", "Attention of prompts against the device's newest kernel.",
               &T::attention),
      time_key("experts", "Experts' grouped GEMMs against other GEMMs.", &T::experts),
      time_key("fused_experts", "The same where experts multiply in 4 bits, in fused kernels.",
               &T::fused_experts),
      time_key("hopper_experts", "The same of experts in fewer than 16 bits on Hopper and before.",
               &T::hopper_experts),
      time_key("expert_memory", "As memory, of the routed experts' weights.", &T::expert_memory),
      time_key("expert_start",
               "Of a layer with routed experts, whatever its rows, beyond its GEMMs.",
               &T::expert_start),
      time_key("fused_expert_start", "The same where experts multiply in 4 bits.",
               &T::fused_expert_start),
      time_key("quantise", "Bringing a product's rows to fewer bits, whatever their number.",
               &T::quantise),
      time_key("routing", "Shape of the gamma distribution of experts' popularity.", &T::routing),
      time_key("exchange", "Start of an all-reduce in one shot, beyond a kernel's.", &T::exchange),
      time_key("dispatch",
               "Start of a dispatch of decoded rows to experts on other ranks, or of a combine.",
               &T::dispatch),
      time_key("dispatch_prompts", "The same of a step with prompts.", &T::dispatch_prompts),
      time_key("exchange_share", "Share of the link's rate that exchanges of steps reach.",
               &T::exchange_share),
      time_key("burst", "How much clients that started together stay together.", &T::burst),
  };
}

template <class V>
KeyRow rule_key(const char* name, const char* help, V EngineRules::*member) {
  return constant(std::string("rules.") + name, help, &EngineProfile::rules, member);
}

KeyRows engine_rule_keys() {
  using R = EngineRules;
  return {
      unbound(group("rules", "Memory and batches.")),
      rule_key("memory_share", "Of the device's memory that the engine takes.", &R::memory_share),
      rule_key("share_of_free", "memory_share is of what weights leave free, for the cache alone.",
               &R::share_of_free),
      rule_key("runtime", "CUDA context, communicators, workspaces.", &R::runtime),
      rule_key("graphs", "Captured CUDA graphs.", &R::graphs),
      rule_key("block_tokens", "Tokens of a block of the cache.", &R::block_tokens),
      rule_key("token_budget", "Tokens of a step at most.", &R::token_budget),
      rule_key("sequences", "Sequences of a step at most.", &R::sequences),
      rule_key("reserves_output", "A request starts only where the cache of its whole answer fits.",
               &R::reserves_output),
      rule_key("mixed_steps", "Chunks of prompts run beside decoding.", &R::mixed_steps),
      rule_key("padded_rows",
               "Rows that every expert in blocks of 8 bits has at least on Hopper; 0: no such.",
               &R::padded_rows),
      rule_key("padded_experts",
               "Experts of a layer of the models that this was measured on; others have the rows "
               "that reach them, in a band that holds both; 0: any model on any device.",
               &R::padded_experts),
      rule_key("padded_width", "Width of each of these experts.", &R::padded_width),
      bind({.path = "rules.padded_device", .help = "Their device.", .example = "h200"},
           &EngineProfile::rules, &R::padded_device),
  };
}

KeyRows engine_band_keys() {
  KeyRows keys{unbound(group("band", "Measured over predicted, of records that were left out."))};
  const auto add = [&](const std::string& name, ResidualBand EngineProfile::*member) {
    keys.push_back(
        unbound(member == &EngineProfile::stranger
                    ? profile_keys::optional_group(
                          "band." + name, "As tpot, of kinds of models on devices without records.")
                    : group("band." + name, "Of this quantity.")));
    keys.push_back(
        constant("band." + name + ".low", "10th percentile.", member, &ResidualBand::low));
    keys.push_back(
        constant("band." + name + ".high", "90th percentile.", member, &ResidualBand::high));
  };
  add("ttft", &EngineProfile::ttft);
  add("tpot", &EngineProfile::tpot);
  add("throughput", &EngineProfile::throughput);
  add("stranger", &EngineProfile::stranger);
  return keys;
}

}  // namespace

const BoundTable<EngineProfile>& engine_table() {
  static const BoundTable<EngineProfile> table(
      "Engine profiles",
      joined_rows({head_keys(true), provenance_keys(&EngineProfile::provenance), engine_time_keys(),
                   engine_rule_keys(), engine_band_keys(), deviation_keys()}));
  return table;
}

std::optional<EngineProfile> read_engine(const CatalogFile& file, const std::string& prefix,
                                         CatalogContext& context) {
  auto item = read_item(file, engine_table(), prefix, context);
  if (!item) return std::nullopt;
  item->value.name = file.name;
  if (file.own) item->value.provenance.own_file = file.shown;
  return std::move(item->value);
}

}  // namespace foretrain
