// SPDX-License-Identifier: Apache-2.0
// No key of a plan is lost on the way out: it changes the text, is listed, or refuses the export.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>

#include "models/forecast/closed_form.hpp"
#include "planner/exchange/exports.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/sections/scenario_fields.hpp"
#include "scenarios/sections/scenario_text.hpp"

namespace foretrain {
namespace {

struct Start {
  ExportKind kind;
  std::vector<std::string> settings;
};

std::vector<Start> starts() {
  const std::string dense = "parallel={zero: 1}";
  const std::string experts = "model=qwen3-30b-a3b";
  return {
      {ExportKind::megatron, {dense}},
      {ExportKind::megatron, {experts, "parallel={tensor: 2, sequence: true, expert: 2, zero: 1}"}},
      {ExportKind::megatron,
       {"parallel={pipeline: 2, virtual_stages: 2, zero: 1, schedule: "
        "interleaved}"}},
      {ExportKind::megatron_bridge, {dense}},
      {ExportKind::megatron_bridge,
       {experts, "parallel={tensor: 2, sequence: true, expert: 2, zero: 1}"}},
      {ExportKind::torchtitan, {"parallel={zero: 3}"}},
      {ExportKind::torchtitan,
       {"parallel={zero: 3}", "training.precision=fp8", "training.fp8_scaling=current"}},
      {ExportKind::nanotron, {dense}},
      {ExportKind::deepspeed, {dense}},
      {ExportKind::deepspeed, {dense, "memory.offload=optimizer"}}};
}

Scenario loaded(std::vector<std::string> settings, const std::string& more) {
  LoadOptions options;
  options.overrides = std::move(settings);
  if (!more.empty()) options.overrides.push_back(more);
  return load_scenario(
      std::filesystem::path(FORETRAIN_SOURCE_DIR) / "scenarios" / "llama3-8b-8xh100.yaml", options);
}

/// What an export says, or that it is refused.
std::string said(ExportKind kind, const Scenario& scenario) {
  try {
    const Exported exported = export_scenario(kind, scenario, nullptr);
    std::string text = exported.text;
    for (const std::string& sentence : exported.left_out) text += "\n# " + sentence;
    return text;
  } catch (const UsageError& error) {
    return std::string("refused: ") + error.what();
  }
}

/// Whether a forecast tells two plans apart.
bool matters(const Job& plain, const Job& other) {
  const auto a = closed_form(plain);
  const auto b = closed_form(other);
  if (!b.memory) return false;  // no legal plan
  if (a.step.has_value() != b.step.has_value() || a.memory.has_value() != b.memory.has_value())
    return true;
  const bool slower = a.step && a.step->time != b.step->time;
  return slower || (a.memory && a.memory->peak != b.memory->peak);
}

bool is_plan(const std::string& path) {
  for (const char* group : {"training.", "fine_tuning.", "parallel.", "memory.", "communication."})
    if (path.starts_with(group)) return true;
  return false;
}

std::vector<std::string> values_of(const Field& field) {
  switch (field.kind) {
    case FieldKind::boolean:
      return {"true", "false"};
    case FieldKind::choice:
      return field.choices;
    case FieldKind::group:
      return {};
    case FieldKind::integer:
      return {field.example, "2"};
    default:
      return {field.example};
  }
}

}  // namespace

TEST_CASE("no key of a plan is lost in an export", "[planner][export]") {
  for (const Start& start : starts()) {
    const Scenario plain = loaded(start.settings, "");
    const std::string base = said(start.kind, plain);
    const std::string plan = scenario_text({plain.job, "", {}});
    CAPTURE(name_of(start.kind), start.settings);
    REQUIRE_FALSE(base.starts_with("refused"));
    for (const Field& field : scenario_fields().fields()) {
      if (!is_plan(field.path)) continue;
      for (const std::string& value : values_of(field)) {
        std::optional<Scenario> other;
        try {
          other = loaded(start.settings, field.path + "=" + value);
        } catch (const ScenarioError&) {
          continue;  // it means nothing here
        }
        if (scenario_text({other->job, "", {}}) == plan || !matters(plain.job, other->job))
          continue;
        CAPTURE(field.path, value);
        CHECK(said(start.kind, *other) != base);
      }
    }
  }
}

}  // namespace foretrain
