// SPDX-License-Identifier: Apache-2.0
#include "tests/planner/random_scenarios.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

namespace foretrain::fixtures {
namespace {

std::vector<std::string> names_of(const std::string& kind) {
  std::vector<std::string> names;
  for (const CatalogEntry& entry : catalog_entries(kind)) names.push_back(entry.name);
  return names;
}

/// What a scenario has to say about a host.
struct HostFacts {
  std::string preset;
  std::string precision;
  int gpus = 1;
  bool rails = false;
};

Scenario loaded(const std::string& text) {
  return load_scenario_text(text, "drawn.yaml", std::filesystem::current_path());
}

HostFacts facts_of(const std::string& name) {
  const Job job = loaded("schema: 1\nname: bare\nmodel: gpt2-small\ncluster: {host: " + name +
                         ", hosts: 1, fabric: {kind: single-switch, preset: tcp-10g}}\n"
                         "training: {sequence: 128, global_batch: 1, precision: fp32}\n")
                      .job;
  const Host& host = job.cluster.host;
  static const std::vector<std::string> presets = names_of("fabrics");
  const auto known = [](const std::string& preset) {
    return std::find(presets.begin(), presets.end(), preset) != presets.end();
  };
  HostFacts facts{host.nic.name, "bf16", host.gpus, host.nics >= host.gpus};
  if (!known(facts.preset)) facts.preset = facts.preset.substr(0, facts.preset.rfind('-'));
  if (!known(facts.preset)) facts.preset = "tcp-10g";
  if (!(host.device.peak_of(Precision::bf16) > FlopPerSecond{})) facts.precision = "fp16";
  return facts;
}

/// As many as the model has learned positions for.
int most_tokens(const std::string& model) {
  static std::map<std::string, int> known;
  const auto [place, fresh] = known.try_emplace(model, 1 << 20);
  if (!fresh) return place->second;
  const LlmShape shape = loaded("schema: 1\nname: bare\nmodel: " + model +
                                "\ncluster: {host: dgx-h100, hosts: 1, fabric: {kind: "
                                "single-switch, preset: ib-ndr}}\n"
                                "training: {sequence: 128, global_batch: 8}\n")
                             .job.model;
  if (shape.position == PositionKind::learned) place->second = shape.positions;
  return place->second;
}

const HostFacts& host_facts(const std::string& name) {
  static std::map<std::string, HostFacts> known;
  const auto [place, fresh] = known.try_emplace(name);
  if (fresh) place->second = facts_of(name);
  return place->second;
}

/// 1 to 4,096, powers of two more often than others.
int random_hosts(Dice& dice) {
  const int power = 1 << dice.below(13);
  if (power == 4096 || !dice.one_in(3)) return power;
  return power + static_cast<int>(dice.below(static_cast<std::size_t>(power)));
}

std::string operations_of(Dice& dice) {
  std::string text;
  if (dice.one_in(2)) text += "  price: 2.5 USD/GPU-hour\n";
  if (dice.one_in(12))
    text += fmt::format(
        "  mean_time_between_interruptions: {} h\n  restart: 15 min\n"
        "  checkpoint: {{every: 30 min, write_bandwidth: 20 GB/s, mode: async}}\n",
        dice.of<int>({1, 3, 12, 100}));
  if (dice.one_in(8))
    text += fmt::format("  data_loading: {{workers: 2, tokens_per_worker: {}}}\n",
                        dice.of<int>({2000, 50000, 1000000}));
  return text.empty() ? "" : "operations:\n" + text;
}

}  // namespace

std::uint64_t Dice::next() {
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31U);
}

std::size_t Dice::below(std::size_t count) { return static_cast<std::size_t>(next() % count); }

std::optional<Scenario> random_scenario(Dice& dice) {
  static const std::vector<std::string> models = names_of("models");
  static const std::vector<std::string> hosts = names_of("hosts");
  const std::string& host = dice.of(hosts);
  const HostFacts& facts = host_facts(host);
  const int count = random_hosts(dice);
  const int gpus = count * facts.gpus;
  const int batch = std::max(1, gpus * dice.of<int>({1, 1, 2, 4}) / 8);
  const int tensor = std::min(facts.gpus, dice.of<int>({1, 1, 2, 4, 8}));
  const std::string& model = dice.of(models);
  std::string text = fmt::format(
      "training: {{sequence: {}, micro_batch: 1, global_batch: {}, tokens: {}, precision: {}}}\n"
      "parallel: {{tensor: {}, sequence: {}, zero: {}}}\n",
      std::min(dice.of<int>({1024, 2048, 4096, 8192, 16384}), most_tokens(model)), batch,
      dice.of<std::string>({"20 B", "1 T", "15 T"}), facts.precision, tensor, tensor > 1,
      dice.of<int>({0, 1, 1, 1, 2, 3}));
  text += fmt::format("memory: {{attention: {}, recompute: {}}}\n",
                      dice.of<std::string>({"flash", "flash", "flash", "unfused"}),
                      dice.of<std::string>({"none", "selective", "full"}));
  if (dice.one_in(3))
    text += fmt::format("stack: {}\n", dice.of<std::string>({"megatron-core", "fsdp2", "nemo",
                                                             "deepspeed-zero3", "nanotron"}));
  text += operations_of(dice);
  // Large machines need a third tier of switches.
  const char* usual = count == 1 ? "single-switch" : facts.rails ? "rail-optimized" : "leaf-spine";
  for (const char* kind : {usual, "fat-tree"}) {
    try {
      return loaded(
          fmt::format("schema: 1\nname: drawn\nmodel: {}\ncluster: {{host: {}, hosts: {}, "
                      "fabric: {{kind: {}, preset: {}}}}}\n",
                      model, host, count, kind, facts.preset) +
          text);
    } catch (const ScenarioError&) {
      continue;
    }
  }
  return std::nullopt;
}

SearchSpace random_space(Dice& dice, const Job& job) {
  SearchSpace space = default_space(job);
  // The first value of an axis and others, drawn, in the order of the axis.
  const auto thin = [&](std::vector<int>& axis, std::size_t most) {
    while (axis.size() > most)
      axis.erase(axis.begin() + 1 + static_cast<std::ptrdiff_t>(dice.below(axis.size() - 1)));
  };
  // Few micro-batches on few stages: the longest path through a step is found four times a plan.
  const int most_stages = dice.one_in(8) ? 16 : 8;
  std::erase_if(space.pipeline, [&](int stages) { return stages > most_stages; });
  thin(space.tensor, 3);
  thin(space.pipeline, 3);
  thin(space.context, 2);
  thin(space.expert, 2);
  thin(space.virtual_stages, 2);
  thin(space.micro_batch, 2);
  if (dice.one_in(4)) space.zero = {static_cast<int>(dice.below(4))};
  if (dice.one_in(4))
    space.schedule = {dice.of<ScheduleKind>(
        {ScheduleKind::gpipe, ScheduleKind::zb_h1, ScheduleKind::zb_2p, ScheduleKind::dualpipe})};
  return space;
}

}  // namespace foretrain::fixtures
