// SPDX-License-Identifier: Apache-2.0
// What is exported to a fine-tuning framework is read back as the same plan.
#include <catch2/catch.hpp>

#include "models/base/ranges.hpp"
#include "planner/exchange/exports.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/sections/scenario_text.hpp"

namespace foretrain {
namespace {

PlanImportOptions eight_gpus(int gpus) {
  PlanImportOptions options;
  options.name = "run";
  options.host = "dgx-h100";
  options.gpus = gpus;
  options.model = "llama3-8b";
  return options;
}

struct Side {
  ExportKind kind;
  Framework framework;
  const char* file = "run.yaml";
};

constexpr Side sides[]{{ExportKind::transformers, Framework::transformers},
                       {ExportKind::axolotl, Framework::axolotl},
                       {ExportKind::llamafactory, Framework::llamafactory},
                       {ExportKind::swift, Framework::swift, "run.sh"}};

/// A fine-tuning plan, changed by settings of a scenario.
Scenario plan_of(const std::vector<std::string>& settings, int gpus,
                 const std::string& adapter = "lora_r: 16\n") {
  const auto imported = import_framework(Framework::transformers,
                                         std::string() +
                                             "model_name_or_path: meta-llama/Meta-Llama-3-8B\n"
                                             "max_length: 2048\nper_device_train_batch_size: 2\n"
                                             "gradient_accumulation_steps: 4\nbf16: true\n"
                                             "gradient_checkpointing: true\nmax_steps: 100\n"
                                             "optim: adamw_torch\npacking: true\n" +
                                             adapter,
                                         "run.yaml", eight_gpus(gpus));
  LoadOptions options;
  options.overrides = settings;
  return load_scenario_text(imported.text, "run.yaml", ".", options);
}

/// The plan as text, without which framework runs it.
std::string tuning_plan_text(Job job) {
  job.parallel.framework = PlanFramework::any;
  return scenario_text({job, "", {}});
}

struct TuningTrip {
  std::vector<std::string> settings;
  int gpus = 8;
};

const std::string all_linear = "fine_tuning.targets=[query, key, value, projection, gate, up, fc2]";

}  // namespace

TEST_CASE("plans go to fine-tuning frameworks and back", "[planner][export]") {
  const std::vector<TuningTrip> trips{
      {{}},
      {{}, 1},
      {{"fine_tuning.rank=64", "fine_tuning.dropout=0.1"}},
      {{all_linear, "fine_tuning.adapter=dora"}},
      {{all_linear, "fine_tuning.frozen_format=nf4-double", "training.optimizer=adam8bit"}, 2},
      {{"fine_tuning.frozen_format=nf4"}, 1},
      {{"fine_tuning.frozen_format=int8"}, 1},
      {{"training.fused_kernels=[liger]"}},
      {{"training.precision=fp16", "memory.recompute=none"}},
      {{"parallel.zero=3"}},
      {{"parallel.zero=2", "training.sequence=8192", "training.micro_batch=1"}},
      {{"fine_tuning.trained=[embedding, output]"}},
      {{"memory.attention=unfused"}},
      {{"stack=fsdp2-compile"}},
      {{"fine_tuning.objective=preference", "fine_tuning.reference=without-adapters"}}};
  for (const TuningTrip& trip : trips) {
    const Scenario plan = plan_of(trip.settings, trip.gpus);
    for (const Side& side : sides) {
      CAPTURE(name_of(side.kind), trip.settings);
      const Exported exported = export_scenario(side.kind, plan, nullptr);
      CAPTURE(exported.text);
      const auto back =
          import_framework(side.framework, exported.text, side.file, eight_gpus(trip.gpus));
      CHECK(tuning_plan_text(back.scenario.job) == tuning_plan_text(plan.job));
    }
  }
}

TEST_CASE("full fine-tuning goes to its frameworks and back", "[planner][export]") {
  const auto trip = [](const Side& side, const std::vector<std::string>& settings) {
    const Scenario plan = plan_of(settings, 8, "");
    CAPTURE(name_of(side.kind), settings);
    const Exported exported = export_scenario(side.kind, plan, nullptr);
    CAPTURE(exported.text);
    const auto back = import_framework(side.framework, exported.text, side.file, eight_gpus(8));
    CHECK(tuning_plan_text(back.scenario.job) == tuning_plan_text(plan.job));
  };
  for (const Side& side : sides) trip(side, {"parallel.zero=3"});
  for (const Side& side : {sides[0], sides[2]}) trip(side, {});
  const std::vector<std::string> narrow{"training.master_weights=none",
                                        "communication.gradient_dtype=bf16"};
  for (const Side& side : sides) trip(side, narrow);
}

TEST_CASE("a plan of Unsloth goes to its frameworks and back", "[planner][export]") {
  const Scenario plan = plan_of({all_linear, "fine_tuning.frozen_format=nf4-double",
                                 "training.fused_kernels=[unsloth]", "memory.offloaded_layers=32"},
                                1);
  const Side script{ExportKind::unsloth, Framework::transformers, "run.py"};
  for (const Side& side : {sides[1], sides[2], script}) {
    const Exported exported = export_scenario(side.kind, plan, nullptr);
    CAPTURE(exported.text);
    const auto back = import_framework(side.framework, exported.text, side.file, eight_gpus(1));
    CHECK(tuning_plan_text(back.scenario.job) == tuning_plan_text(plan.job));
  }
  CHECK_THROWS_WITH(export_scenario(ExportKind::transformers, plan, nullptr),
                    Catch::Contains("foretrain export axolotl, or llamafactory"));
  // Offloaded checkpoints alone have a key everywhere.
  const Scenario away = plan_of({"memory.offloaded_layers=32"}, 1);
  for (const Side& side : sides) {
    if (side.kind == ExportKind::swift) continue;
    const Exported exported = export_scenario(side.kind, away, nullptr);
    CAPTURE(exported.text);
    const auto back = import_framework(side.framework, exported.text, side.file, eight_gpus(1));
    CHECK(tuning_plan_text(back.scenario.job) == tuning_plan_text(away.job));
  }
  CHECK_THROWS_WITH(export_scenario(ExportKind::swift, away, nullptr),
                    Catch::Contains("memory.offloaded_layers"));
}

TEST_CASE("a script of Unsloth says what Unsloth has", "[planner][export]") {
  const std::vector<std::string> unsloth{"training.fused_kernels=[unsloth]",
                                         "memory.offloaded_layers=32"};
  const std::vector<TuningTrip> trips{
      {{}},
      {{all_linear, "fine_tuning.rank=64", "fine_tuning.dropout=0.1"}},
      {{"fine_tuning.frozen_format=nf4-double", "training.optimizer=adam8bit"}},
      {{"fine_tuning.frozen_format=int8", "training.precision=fp16"}},
      {{"training.sequence=8192", "training.micro_batch=1"}},
      {{"fine_tuning.adapter=none", "training.master_weights=none",
        "communication.gradient_dtype=bf16"}}};
  for (TuningTrip trip : trips) {
    trip.settings.insert(trip.settings.end(), unsloth.begin(), unsloth.end());
    const bool whole = contains(trip.settings, "fine_tuning.adapter=none");
    if (whole) trip.settings.erase(trip.settings.begin());
    const Scenario plan = plan_of(trip.settings, 1, whole ? "" : "lora_r: 16\n");
    const Exported exported = export_scenario(ExportKind::unsloth, plan, nullptr);
    CAPTURE(exported.text);
    const auto back =
        import_framework(Framework::transformers, exported.text, "run.py", eight_gpus(1));
    CHECK(tuning_plan_text(back.scenario.job) == tuning_plan_text(plan.job));
  }
  for (const std::vector<std::string>& other :
       {std::vector<std::string>{}, {"training.fused_kernels=[liger]"}, {"parallel.zero=3"}})
    CHECK_THROWS_AS(
        export_scenario(ExportKind::unsloth, plan_of(other, other.empty() ? 1 : 8), nullptr),
        UsageError);
}

TEST_CASE("exports name the model as its hub does", "[planner][export]") {
  const Scenario plan = plan_of({}, 8);
  CHECK_THAT(export_scenario(ExportKind::axolotl, plan, nullptr).text,
             Catch::Contains("\nbase_model: meta-llama/Meta-Llama-3-8B\n"));
  const Scenario unknown = plan_of({"model=gpt3-1.3b", "fine_tuning.targets=[qkv]"}, 8);
  CHECK_THAT(export_scenario(ExportKind::transformers, unknown, nullptr).text,
             Catch::Contains("\nmodel_name_or_path: gpt3-1.3b\n"));
}

TEST_CASE("what a fine-tuning configuration cannot say is refused by key", "[planner][export]") {
  for (const Side& side : sides) {
    CAPTURE(name_of(side.kind));
    for (const char* setting :
         {"parallel.zero=1", "memory.recompute=selective", "training.moe_imbalance=1.2",
          "memory.offload=optimizer", "communication.overlap.gradients=false"})
      CHECK_THROWS_AS(export_scenario(side.kind, plan_of({setting}, 8), nullptr), UsageError);
  }
}

TEST_CASE("accelerate's launch is read back beside the arguments", "[planner][export]") {
  const Scenario plan = plan_of({"parallel.zero=3"}, 8);
  const Exported launch = export_scenario(ExportKind::accelerate, plan, nullptr);
  const Exported arguments = export_scenario(ExportKind::transformers, plan_of({}, 8), nullptr);
  PlanImportOptions options = eight_gpus(8);
  options.gpus.reset();
  options.beside = {{"accelerate.yaml", launch.text}};
  const auto back = import_framework(Framework::transformers, arguments.text, "run.yaml", options);
  CHECK(tuning_plan_text(back.scenario.job) == tuning_plan_text(plan.job));
}

}  // namespace foretrain
