// SPDX-License-Identifier: Apache-2.0
// Which exchanges of context ranks each kind of attention has; models/layers/README.md, "Context
// ranks".
#include "models/layers/context_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "models/layers/layer_description.hpp"

namespace foretrain {
namespace {

constexpr int overlapping = 4;  // the ratio whose keys reach back to the group before

/// "all-gather or all-to-all": those that all kinds of the model have; empty: none.
std::string common_exchanges(const std::vector<ContextKind>& kinds) {
  std::string names;
  for (const auto& [exchange, name] : EnumNames<ContextExchange>::names) {
    const bool all = std::ranges::all_of(
        kinds, [&, wanted = exchange](ContextKind kind) { return exchanges(kind, wanted); });
    if (all) names += (names.empty() ? "" : " or ") + std::string(name);
  }
  return names;
}

std::vector<ContextKind> kinds_of(const Job& job) {
  const LayerCounts counts = layer_counts(job.model, job.training.sequence);
  std::vector<ContextKind> kinds;
  for (const LayerType& type : layer_types) {
    if (counts[type_index(type)] == 0 || type.mixer != MixerKind::attention) continue;
    const LayerSizes sizes = job.model.sizes(type);
    if (sizes.heads > 0) kinds.push_back(context_kind(job.model, sizes, job.training.sequence));
  }
  return kinds;
}

}  // namespace

bool exchanges(ContextKind kind, ContextExchange exchange) {
  switch (kind) {
    case ContextKind::full:
      return true;
    case ContextKind::windowed:
      return exchange != ContextExchange::ring;
    case ContextKind::sinks:
      return exchange == ContextExchange::all_to_all;
    case ContextKind::indexed:
    case ContextKind::compressed:
      break;
  }
  return exchange == ContextExchange::all_gather;
}

ContextKind context_kind(const LlmShape& model, const LayerSizes& sizes, int sequence) {
  if (model.compression) return ContextKind::compressed;  // sinks and windows are its kernel's own
  if (sizes.index != IndexUse::none) return ContextKind::indexed;
  if (sizes.attention_sinks) return ContextKind::sinks;
  const bool cut = sizes.window > 0 && sizes.window < sequence;
  return cut ? ContextKind::windowed : ContextKind::full;
}

int borrowed_tokens(const LlmShape& model, const LayerSizes& sizes) {
  if (!model.compression) return 0;
  const int ratio = sizes.compressed;
  return std::max(sizes.window, ratio == overlapping ? 2 * ratio : ratio);
}

double last_rank_share(const LlmShape& model, int ranks) {
  return model.compression ? 2.0 - 1.0 / ranks : 1.0;
}

std::optional<Infeasible> refuse_context_exchange(const Job& job) {
  if (job.parallel.context == 1) return std::nullopt;
  const ContextExchange exchange = job.communication.context_exchange;
  const std::vector<ContextKind> kinds = kinds_of(job);
  const auto refused = std::ranges::find_if(
      kinds, [exchange](ContextKind kind) { return !exchanges(kind, exchange); });
  if (refused == kinds.end()) return std::nullopt;
  const std::string others = common_exchanges(kinds);
  return Infeasible{
      std::string(not_modelled_rule), "parallel.context",
      fmt::format("{} has {}, which no kernel computes over context ranks with exchange {}",
                  job.model.name, name_of(*refused), name_of(exchange)),
      (others.empty() ? "" : fmt::format("communication.context_exchange: {}, or ", others)) +
          "parallel.context: 1"};
}

std::optional<Infeasible> refuse_sinks(const Job& job) {
  const std::vector<LayerSizes>& special = job.model.special_layers;
  const bool some =
      std::ranges::any_of(special, [](const LayerSizes& sizes) { return sizes.attention_sinks; });
  if (!job.model.attention_sinks && !some) return std::nullopt;
  if (job.memory.attention == AttentionKind::flash &&
      job.attention_library() == AttentionLibrary::flash2)
    return Infeasible{std::string(not_modelled_rule), "memory.attention",
                      job.model.name +
                          " has attention with learned sinks, which FlashAttention-2 does not "
                          "compute",
                      "memory.attention: unfused"};
  return std::nullopt;
}

}  // namespace foretrain
