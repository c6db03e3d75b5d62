// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/internal/prediction_tree.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "planner/forecast/internal/prediction_section.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

template <class Quantity>
Json quantity_or_null(const std::optional<Quantity>& value) {
  return value ? number_or_null(value->value()) : Json(nullptr);
}

/// The text of a resolved value as the type it denotes; units and names stay text.
Json typed(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  const char* end = text.data() + text.size();
  const std::size_t digits = text.starts_with('-') ? 1 : 0;
  const bool padded = text.size() > digits + 1 && text[digits] == '0' && text[digits + 1] != '.';
  const bool numeric = text.size() > digits && text[digits] >= '0' && text[digits] <= '9';
  if (!numeric || padded) return text;
  std::int64_t whole = 0;
  if (const auto read = std::from_chars(text.data(), end, whole);
      read.ec == std::errc{} && read.ptr == end)
    return whole;
  double real = 0.0;
  if (const auto read = std::from_chars(text.data(), end, real);
      read.ec == std::errc{} && read.ptr == end && std::isfinite(real))
    return number_or_null(real);
  return text;
}

/// Names are text even where one consists of digits.
bool is_text_key(std::string_view path) {
  return path == "name" || path == "model" || path.ends_with(".name") || path.ends_with(".title") ||
         path == "site" || path == "stack" || path.ends_with(".source");
}

void insert(Json& tree, std::string_view path, Json value) {
  Json* node = &tree;
  while (true) {
    const std::size_t dot = path.find('.');
    if (!node->is_object()) *node = Json{{"name", *node}};
    Json& child = (*node)[std::string(path.substr(0, dot))];
    if (dot == std::string_view::npos) {
      if (child.is_object() && !child.empty()) {
        child["name"] = std::move(value);
      } else {
        child = std::move(value);
      }
      return;
    }
    if (child.is_null()) child = Json::object();
    node = &child;
    path.remove_prefix(dot + 1);
  }
}

Json reasons_tree(const std::vector<Infeasible>& reasons) {
  Json result = Json::array();
  for (const Infeasible& reason : reasons)
    result.push_back({{"rule", reason.rule},
                      {"key", reason.key},
                      {"message", reason.message},
                      {"remedy", reason.remedy}});
  return result;
}

Json stage_tree(const StageMemory& stage) {
  Json result{{"stage", stage.stage}};
  for (const auto& [name, size] : memory_parts(stage))
    result[std::string(name)] = number_or_null(size.value());
  result["allocated_bytes"] = number_or_null(stage.allocated.value());
  result["peak_bytes"] = number_or_null(stage.peak.value());
  return result;
}

Json memory_tree(const MemoryForecast& memory) {
  Json stages = Json::array();
  for (const StageMemory& stage : memory.stages) stages.push_back(stage_tree(stage));
  Json tree{{"capacity_bytes", number_or_null(memory.capacity.value())},
            {"usable_bytes", number_or_null(memory.usable.value())},
            {"peak_bytes", number_or_null(memory.peak.value())},
            {"peak_stage", memory.peak_stage},
            {"stages", std::move(stages)}};
  if (!memory.replica) return tree;
  tree["heaviest_rank"] = 0;
  tree["other_ranks_peak_bytes"] = number_or_null(memory.replica->peak.value());
  return tree;
}

Json step_tree(const StepForecast& step) {
  Json breakdown = Json::object();
  for (const auto& [name, time] : breakdown_parts(step.breakdown))
    breakdown[std::string(name)] = number_or_null(time.value());
  return {{"time_s", number_or_null(step.time.value())},
          {"low_s", number_or_null(step.low.value())},
          {"high_s", number_or_null(step.high.value())},
          {"breakdown", std::move(breakdown)}};
}

Json flops_tree(const FlopsForecast& flops) {
  return {{"model_per_step", number_or_null(flops.model_per_step.value())},
          {"hardware_per_step", number_or_null(flops.hardware_per_step.value())},
          {"peak_per_gpu_per_s", number_or_null(flops.peak_per_gpu.value())},
          {"convention", flops.convention}};
}

Json split_tree(const std::optional<RunSplit>& split) {
  Json result = Json::object();
  for (const auto& [name, time] : run_parts(split.value_or(RunSplit{})))
    result[std::string(name)] = split ? number_or_null(time.value()) : Json(nullptr);
  return result;
}

Json run_tree(const RunForecast& run) {
  return {{"tokens", number_or_null(run.tokens)},
          {"steps", number_or_null(run.steps)},
          {"ideal_s", quantity_or_null(run.ideal)},
          {"expected_s", quantity_or_null(run.expected)},
          {"goodput", number_or_null(run.goodput)},
          {"p10_s", quantity_or_null(run.p10)},
          {"p90_s", quantity_or_null(run.p90)},
          {"p50_s", quantity_or_null(run.p50)},
          {"scheduling_goodput", number_or_null(run.scheduling)},
          {"runtime_goodput", number_or_null(run.runtime)},
          {"interruptions", number_or_null(run.interruptions)},
          {"between_interruptions_s", quantity_or_null(run.between)},
          {"checkpoint_bytes", number_or_null(run.checkpoint.value())},
          {"checkpoint_every_s", quantity_or_null(run.checkpoint_every)},
          {"checkpoint_stall_s", quantity_or_null(run.checkpoint_stall)},
          {"meets_deadline", number_or_null(run.meets_deadline)},
          {"split", split_tree(run.split)}};
}

Json in_kwh(const std::optional<Joules>& energy) {
  return number_or_null(energy ? std::optional(energy->in(kWh)) : std::nullopt);
}

Json cost_tree(const CostForecast& cost) {
  const CostParts& parts = cost.parts;
  return {{"gpu_hours", number_or_null(cost.gpu_hours)},
          {"usd", quantity_or_null(cost.price)},
          {"energy_kwh", in_kwh(cost.energy)},
          {"co2_kg", number_or_null(cost.co2_kg)},
          {"step_kwh", in_kwh(cost.step_energy)},
          {"power_w", quantity_or_null(cost.power)},
          {"gpu_hours_low", number_or_null(cost.low.gpu_hours)},
          {"gpu_hours_high", number_or_null(cost.high.gpu_hours)},
          {"price_low_usd", quantity_or_null(cost.low.price)},
          {"price_high_usd", quantity_or_null(cost.high.price)},
          {"energy_low_kwh", in_kwh(cost.low.energy)},
          {"energy_high_kwh", in_kwh(cost.high.energy)},
          {"co2_low_kg", number_or_null(cost.low.co2_kg)},
          {"co2_high_kg", number_or_null(cost.high.co2_kg)},
          {"parts",
           {{"rent_usd", quantity_or_null(parts.rent)},
            {"machine_usd", quantity_or_null(parts.machine)},
            {"network_usd", quantity_or_null(parts.network)},
            {"storage_usd", quantity_or_null(parts.storage)},
            {"staff_usd", quantity_or_null(parts.staff)},
            {"electricity_usd", quantity_or_null(parts.electricity)}}}};
}

Json links_tree(const std::vector<LinkUse>& links) {
  Json result = Json::array();
  for (const LinkUse& link : links)
    result.push_back({{"name", link.name},
                      {"bytes", number_or_null(link.bytes.value())},
                      {"utilisation", number_or_null(link.utilisation)}});
  return result;
}

Json provenance_tree(const Provenance& provenance) {
  const auto error = provenance.error < 0.0 ? std::nullopt : std::optional(provenance.error);
  return {{"source", provenance.source}, {"error", number_or_null(error)}};
}

Json software_tree(const SoftwareYears& years) {
  const auto year = [](const std::optional<int>& of) { return of ? Json(*of) : Json(nullptr); };
  return {{"first_year", year(years.first)},
          {"last_year", year(years.last)},
          {"asked_year", year(years.asked)}};
}

Json warnings_tree(const std::vector<Warning>& warnings) {
  Json result = Json::array();
  for (const Warning& warning : warnings)
    result.push_back({{"id", warning.id}, {"message", warning.message}});
  return result;
}

/// With profiles of the user's own that stand before the shipped ones, where there are any.
Json all_provenance_tree(const Prediction& p) {
  Json tree{{"device", provenance_tree(p.device)},
            {"kernels", provenance_tree(p.kernels)},
            {"collectives", provenance_tree(p.collectives)},
            {"stack", provenance_tree(p.stack)},
            {"software", software_tree(p.software)}};
  Json own = Json::array();
  for (const Provenance* profile : {&p.kernels, &p.collectives, &p.stack})
    if (!profile->own_file.empty()) own.push_back(profile->own_file);
  if (!own.empty()) tree["own_profiles"] = std::move(own);
  return tree;
}

template <double Efficiency::*member>
Json efficiency_of(const Prediction& p) {
  return p.efficiency ? number_or_null((*p.efficiency).*member) : Json(nullptr);
}

/// A key of the JSON and where it comes from.
struct Section {
  std::string_view name;
  Json (*tree)(const Prediction&);
};

/// What the JSON says of the forecast, in order; before it come schema, version and scenario.
constexpr std::array<Section, 16> sections{{
    {"engine", [](const Prediction& p) { return Json(name_of(p.engine)); }},
    {"feasible", [](const Prediction& p) { return Json(p.feasible()); }},
    {"reasons", [](const Prediction& p) { return reasons_tree(p.reasons); }},
    {"memory",
     [](const Prediction& p) { return p.memory ? memory_tree(*p.memory) : Json(nullptr); }},
    {"step", [](const Prediction& p) { return p.step ? step_tree(*p.step) : Json(nullptr); }},
    {"flops", [](const Prediction& p) { return p.flops ? flops_tree(*p.flops) : Json(nullptr); }},
    {"mfu", efficiency_of<&Efficiency::mfu>},
    {"hfu", efficiency_of<&Efficiency::hfu>},
    {"tokens_per_s", efficiency_of<&Efficiency::tokens_per_s>},
    {"tokens_per_s_per_gpu", efficiency_of<&Efficiency::tokens_per_s_per_gpu>},
    {"model_tflops_per_gpu", efficiency_of<&Efficiency::model_tflops_per_gpu>},
    {"run", [](const Prediction& p) { return run_tree(p.run); }},
    {"cost", [](const Prediction& p) { return cost_tree(p.cost); }},
    {"links", [](const Prediction& p) { return links_tree(p.links); }},
    {"warnings", [](const Prediction& p) { return warnings_tree(p.warnings); }},
    {"provenance", all_provenance_tree},
}};

Json tree_of(const Report& report, const Prediction& p) {
  Json tree{{"schema", "prediction/1"},
            {"foretrain_version", version},
            {"scenario", scenario_tree(report.scenario)}};
  for (const Section& section : sections) tree[std::string(section.name)] = section.tree(p);
  return tree;
}

void collect_leaves(const Json& node, const std::string& path, std::vector<std::string>& found) {
  if (!node.is_structured()) {
    found.push_back(path);
    return;
  }
  std::size_t at = 0;
  for (auto item = node.begin(); item != node.end(); ++item, ++at) {
    const std::string key = node.is_object() ? item.key() : std::to_string(at);
    collect_leaves(*item, path.empty() ? key : fmt::format("{}.{}", path, key), found);
  }
}

}  // namespace

Json number_or_null(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  constexpr double exact = 9007199254740992.0;  // 2^53
  if (std::abs(*value) < exact && *value == std::trunc(*value))
    return static_cast<std::int64_t>(*value);
  return *value;
}

std::vector<std::pair<std::string_view, Seconds>> breakdown_parts(const TimeBreakdown& b) {
  return {{"compute_s", b.compute}, {"recompute_s", b.recompute}, {"tensor_s", b.tensor},
          {"context_s", b.context}, {"expert_s", b.expert},       {"pipeline_s", b.pipeline},
          {"bubble_s", b.bubble},   {"data_s", b.data},           {"optimizer_s", b.optimizer},
          {"input_s", b.input},     {"launch_s", b.launch},       {"imbalance_s", b.imbalance}};
}

std::vector<std::pair<std::string_view, Seconds>> run_parts(const RunSplit& s) {
  return {{"steps_s", s.steps},
          {"evaluation_s", s.evaluation},
          {"checkpoints_s", s.checkpoints},
          {"slow_s", s.slow},
          {"lost_s", s.lost},
          {"detection_s", s.detection},
          {"restart_s", s.restart},
          {"planned_s", s.planned},
          {"waiting_s", s.waiting}};
}

std::vector<std::pair<std::string_view, Bytes>> memory_parts(const StageMemory& stage) {
  return {{"weights_bytes", stage.weights},     {"gradients_bytes", stage.gradients},
          {"optimizer_bytes", stage.optimizer}, {"activations_bytes", stage.activations},
          {"buffers_bytes", stage.buffers},     {"communication_bytes", stage.communication},
          {"context_bytes", stage.context},     {"fragmentation_bytes", stage.fragmentation}};
}

Json scenario_tree(const Scenario& scenario) {
  Json tree = Json::object();
  for (const ResolvedValue& value : scenario.values)
    insert(tree, value.path, is_text_key(value.path) ? Json(value.value) : typed(value.value));
  return tree;
}

Json prediction_tree(const Report& report) {
  return tree_of(report, as_if_it_fit(report.prediction));
}

std::optional<Json> prediction_section(const Prediction& prediction, std::string_view name) {
  for (const Section& section : sections)
    if (section.name == name) return section.tree(as_if_it_fit(prediction));
  return std::nullopt;
}

Json known_tree(const Report& report) { return tree_of(report, report.prediction); }

const Json* find_path(const Json& tree, std::string_view path) {
  const Json* node = &tree;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view key = path.substr(0, dot);
    if (node->is_object()) {
      const auto found = node->find(std::string(key));
      if (found == node->end()) return nullptr;
      node = &*found;
    } else if (node->is_array()) {
      std::size_t at = 0;
      const auto read = std::from_chars(key.data(), key.data() + key.size(), at);
      if (read.ec != std::errc{} || read.ptr != key.data() + key.size() || at >= node->size())
        return nullptr;
      node = &(*node)[at];
    } else {
      return nullptr;
    }
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  return node;
}

std::vector<std::string> leaf_paths(const Json& tree) {
  std::vector<std::string> result;
  collect_leaves(tree, "", result);
  return result;
}

std::vector<std::string> number_paths(const Json& tree) {
  Report full;
  full.prediction.memory = MemoryForecast{};
  full.prediction.memory->stages.emplace_back();
  full.prediction.step = StepForecast{};
  full.prediction.flops = FlopsForecast{};
  std::vector<std::string> result;
  const auto add = [&](const Json& source) {
    for (const std::string& path : leaf_paths(source)) {
      const Json* value = find_path(source, path);
      const bool group =
          path == "memory" || path == "step" || path == "flops";  // null where absent
      const bool about = path.starts_with("scenario") || path.starts_with("provenance") ||
                         path.starts_with("warnings.") || path.starts_with("reasons.");
      if (group || about || (!value->is_number() && !value->is_null())) continue;
      if (std::find(result.begin(), result.end(), path) == result.end()) result.push_back(path);
    }
  };
  add(tree);
  add(prediction_tree(full));
  return result;
}

std::string dump(const Json& tree) {
  return tree.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace foretrain
