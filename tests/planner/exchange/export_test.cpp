// SPDX-License-Identifier: Apache-2.0
#include "planner/exchange/exports.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "models/forecast/closed_form.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/layers/parameters.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/sections/scenario_text.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

const fs::path source_root = FORETRAIN_SOURCE_DIR;

std::vector<fs::path> scenario_files() {
  std::vector<fs::path> files;
  for (const char* folder : {"scenarios", "scenarios/effects"})
    for (const auto& entry : fs::directory_iterator(source_root / folder))
      if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

Scenario changed(const std::string& file, const std::vector<std::string>& settings) {
  LoadOptions options;
  options.overrides = settings;
  return load_scenario(source_root / "scenarios" / file, options);
}

PlanImportOptions same_machine(const Job& job) {
  PlanImportOptions options;
  options.host = job.cluster.host.name;
  options.fabric = job.cluster.network.preset;
  options.name = job.name;
  options.model = job.model.name;
  return options;
}

/// The plan as one text, without what an export names as left out: machine, site, and where the
/// framework has its own, software, buckets and what it fixes.
std::string plan_text(Job job, const Job& like, ExportKind kind) {
  job.cluster.network.kind = like.cluster.network.kind;
  job.cluster.network.oversubscription = like.cluster.network.oversubscription;
  job.communication.transport = job.cluster.network.transport;
  job.model.name = like.model.name;  // Llama 3 and 3.1 have one shape; its numbers are compared
  job.site.name = "default";
  job.stack.name = "megatron-core";
  if (job.parallel.expert_tensor == job.parallel.tensor) job.parallel.expert_tensor = 0;
  job.parallel.stage_layers.clear();  // compared as layouts
  if (job.training.tokens) job.training.tokens = 1e9 * std::round(*job.training.tokens / 1e9);
  if (!like.training.tokens) job.training.tokens.reset();  // a recipe's
  const Overlap& overlap = like.communication.overlap;
  if (kind == ExportKind::megatron || kind == ExportKind::megatron_bridge) {
    job.communication.bucket = like.communication.bucket;
    if (like.communication.gradient_dtype == Precision::fp16)
      job.communication.gradient_dtype = Precision::fp16;
    if (like.parallel.zero == 0) job.communication.overlap.parameters = overlap.parameters;
    if (like.parallel.schedule != ScheduleKind::interleaved)
      job.communication.overlap.pipeline = overlap.pipeline;
    job.training.moe_imbalance = like.training.moe_imbalance;
  } else {
    job.communication.overlap = overlap;
    job.training.vocabulary_multiple = like.training.vocabulary_multiple;
    job.communication.bucket = like.communication.bucket;
  }
  return scenario_text({job, "", {}});
}

struct Trip {
  int same = 0;
  std::map<std::string, std::string> refused;
};

Trip round_trips(ExportKind kind, Framework framework) {
  Trip trip;
  for (const fs::path& file : scenario_files()) {
    INFO(file.string());
    const Scenario scenario = load_scenario(file);
    std::string text;
    try {
      text = export_scenario(kind, scenario, nullptr).text;
    } catch (const UsageError& error) {
      trip.refused[file.stem().string()] = error.what();
      continue;
    }
    CAPTURE(text);
    const Job& job = scenario.job;
    const Job back = import_framework(framework, text, "exported", same_machine(job)).scenario.job;
    CHECK(plan_text(back, job, kind) == plan_text(job, job, kind));
    const StageLayout a = stage_layout(job.model, job.parallel);
    const StageLayout b = stage_layout(back.model, back.parallel);
    if (kind != ExportKind::nanotron)
      for (int stage = 0; stage < a.stages(); ++stage) CHECK(a.layers(stage) == b.layers(stage));
    ++trip.same;
  }
  return trip;
}

}  // namespace

TEST_CASE("every example scenario survives the way to Megatron-LM and back", "[planner][export]") {
  Trip trip = round_trips(ExportKind::megatron, Framework::megatron);
  CAPTURE(trip.refused);
  CHECK(trip.refused.size() == 3);  // fine-tuning has no place among its arguments
  CHECK(trip.refused["llama3.1-70b-lora-8xh100"].find("fine_tuning") != std::string::npos);
  CHECK(trip.refused["llama3.1-8b-sft-8xh100"].find("training.samples") != std::string::npos);
  CHECK(trip.refused["qwen3-vl-4b-sft-8xh100"].find("training.images") != std::string::npos);
  CHECK(trip.same >= 16);
}

TEST_CASE("every example scenario survives the way to Megatron-Bridge and back",
          "[planner][export]") {
  Trip trip = round_trips(ExportKind::megatron_bridge, Framework::bridge);
  CAPTURE(trip.refused);
  CHECK(trip.refused.size() == 2);
  CHECK(trip.refused["llama3.1-8b-sft-8xh100"].find("training.samples") != std::string::npos);
  CHECK(trip.refused["qwen3-vl-4b-sft-8xh100"].find("training.images") != std::string::npos);
  CHECK(trip.same >= 17);
  // Recipes have these groups as an object, a name ("bf16_mixed") or not at all; a field of the
  // last two cannot be set.
  const std::string text =
      export_scenario(ExportKind::megatron_bridge, changed("llama3-8b-8xh100.yaml", {}), nullptr)
          .text;
  for (const char* group : {"comm_overlap", "mixed_precision"}) {
    CHECK(text.find(fmt::format("\n  {}.", group)) == std::string::npos);
    const auto gone = text.find(fmt::format("  {}=null\n  '+{}={{_target_: ", group, group));
    CHECK(gone != std::string::npos);
  }
}

namespace {

/// The keys of a text of options, YAML, TOML or JSON, each with the keys that it stands under.
std::vector<std::string> written_keys(const std::string& text) {
  std::vector<std::string> keys;
  std::vector<std::pair<std::size_t, std::string>> above;
  std::string section;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = line.find_first_not_of(' ');
    if (indent == std::string::npos || line[indent] == '#') continue;
    std::string rest = line.substr(indent);
    if (rest.starts_with("[") && rest.find('=') == std::string::npos) {
      section = rest;
      continue;
    }
    if (rest.starts_with("--") || rest.starts_with("#SBATCH")) {
      keys.push_back(rest.substr(0, rest.find_first_of(" =")));
      continue;
    }
    while (!above.empty() && above.back().first >= indent) above.pop_back();
    const std::size_t end = rest.find_first_of(":=");
    if (end == std::string::npos || rest.starts_with("- ")) continue;
    std::string path = section;
    for (const auto& [at, name] : above) path += name + ".";
    above.emplace_back(indent, rest.substr(0, end));
    keys.push_back(path + rest.substr(0, end));
  }
  return keys;
}

/// Scenarios of this repository, and one of every model of the catalog.
std::vector<Scenario> scenarios_of_all_models() {
  std::vector<Scenario> all;
  for (const fs::path& file : scenario_files()) all.push_back(load_scenario(file));
  for (const auto& entry : fs::directory_iterator(source_root / "models/catalog"))
    if (entry.path().extension() == ".yaml")
      all.push_back(changed("llama3-8b-8xh100.yaml",
                            {"model=" + entry.path().stem().string(), "parallel={zero: 1}"}));
  return all;
}

}  // namespace

TEST_CASE("no exporter writes a key twice", "[planner][export]") {
  int written = 0;
  for (const Scenario& scenario : scenarios_of_all_models()) {
    const Prediction prediction = closed_form(scenario.job);
    for (const auto& [kind, name] : EnumNames<ExportKind>::names) {
      if (starts_engine(kind)) continue;  // serving_export_test.cpp
      std::string text;
      try {
        text = export_scenario(kind, scenario, &prediction).text;
      } catch (const UsageError&) {
        continue;
      }
      CAPTURE(scenario.path, scenario.job.model.name, name, text);
      std::vector<std::string> keys = written_keys(text);
      CHECK(keys.size() > 3);
      std::sort(keys.begin(), keys.end());
      const auto twice = std::adjacent_find(keys.begin(), keys.end());
      CHECK((twice == keys.end() ? "" : *twice) == "");
      ++written;
    }
  }
  CHECK(written > 100);
}

TEST_CASE("the numbers of a model go with it to Megatron-LM and nanotron", "[planner][export]") {
  struct Case {
    const char* model;
    std::vector<std::string> words;
  };
  const std::vector<Case> cases{
      {"llama2-7b", {"--rotary-base 10000", "--norm-epsilon 1e-05"}},
      {"llama3-8b", {"--rotary-base 500000"}},
      {"llama3.1-8b", {"--rotary-base 500000", "--use-rope-scaling", "--rope-scaling-factor 8"}},
      {"llama3.2-1b", {"--rope-scaling-factor 32"}},
      {"qwen3-8b", {"--rotary-base 1000000", "--norm-epsilon 1e-06"}},
      {"mixtral-8x7b", {"--rotary-base 1000000"}},
      {"deepseek-v2-lite",
       {"--qk-layernorm", "--rope-type yarn", "--rotary-scaling-factor 40",
        "--original-max-position-embeddings 4096"}},
      {"nemotron4-15b", {"--rotary-percent 0.5"}},
      {"gpt-oss-20b", {"--enable-gpt-oss", "--rotary-base 150000"}}};
  for (const Case& one : cases) {
    CAPTURE(one.model);
    const Scenario scenario =
        changed("llama3-8b-8xh100.yaml", {std::string("model=") + one.model, "parallel={zero: 1}"});
    const Job& job = scenario.job;
    REQUIRE(job.model.numbers.norm_epsilon > 0.0);
    for (const auto& [kind, framework] : {std::pair{ExportKind::megatron, Framework::megatron},
                                          std::pair{ExportKind::nanotron, Framework::nanotron}}) {
      Exported exported;
      try {
        exported = export_scenario(kind, scenario, nullptr);
      } catch (const UsageError&) {
        REQUIRE(kind == ExportKind::nanotron);  // models that are not of Llama's form
        continue;
      }
      CAPTURE(exported.text);
      PlanImportOptions options = same_machine(job);
      options.find_model = false;
      const ModelNumbers back = import_framework(framework, exported.text, "exported", options)
                                    .scenario.job.model.numbers;
      const ModelNumbers& sent = job.model.numbers;
      CHECK(back.rope_theta == sent.rope_theta);
      CHECK(back.rope_share == sent.rope_share);
      CHECK(back.rope_scaling == sent.rope_scaling);
      CHECK(back.rope_factor == sent.rope_factor);
      CHECK(back.rope_positions == sent.rope_positions);
      CHECK(back.norm_epsilon == sent.norm_epsilon);
      if (kind != ExportKind::megatron) continue;
      for (const std::string& word : one.words)
        CHECK(exported.text.find(word) != std::string::npos);
    }
  }
}

TEST_CASE("exports list numbers of a model that nobody said", "[planner][export]") {
  const Scenario scenario =
      changed("llama3-8b-8xh100.yaml", {"model=mistral-7b", "parallel={zero: 1}"});
  for (const ExportKind kind : {ExportKind::megatron, ExportKind::nanotron}) {
    const std::string text = export_scenario(kind, scenario, nullptr).text;
    CHECK(text.find("# Not in this file: embedding.rope_theta") != std::string::npos);
    CHECK(text.find("# Not in this file: norm.epsilon") != std::string::npos);
  }
}

TEST_CASE("the numbers of a model decide no forecast", "[planner][export]") {
  Job job = changed("llama3-8b-8xh100.yaml", {}).job;
  const auto plain = closed_form(job);
  job.model.numbers = {.rope_theta = 123.0,
                       .rope_share = 0.5,
                       .rope_scaling = RopeScaling::yarn,
                       .rope_factor = 3.0,
                       .rope_positions = 77,
                       .norm_epsilon = 0.1};
  const auto other = closed_form(job);
  CHECK(other.step->time == plain.step->time);
  CHECK(other.memory->peak == plain.memory->peak);
}

TEST_CASE("a precision-aware optimizer survives the way to Megatron-LM", "[planner][export]") {
  const std::vector<std::vector<std::string>> plans{
      {"training.optimizer_state={master: 2 B, first_moment: 2 B, second_moment: 2 B, "
       "decoupled_gradients: true}"},
      {"training.optimizer_state={master: 2 B, first_moment: 1 B, second_moment: 2 B, "
       "decoupled_gradients: true}",
       "communication.gradient_dtype=bf16"}};
  for (const auto& settings : plans) {
    const Scenario scenario = changed("llama3-8b-8xh100.yaml", settings);
    const std::string text = export_scenario(ExportKind::megatron, scenario, nullptr).text;
    CAPTURE(text);
    const Job& job = scenario.job;
    const Job back =
        import_framework(Framework::megatron, text, "exported", same_machine(job)).scenario.job;
    CHECK(plan_text(back, job, ExportKind::megatron) == plan_text(job, job, ExportKind::megatron));
    for (const ExportKind kind : {ExportKind::torchtitan, ExportKind::nanotron})
      CHECK_THROWS_WITH(export_scenario(kind, scenario, nullptr),
                        Catch::Contains("training.optimizer_state"));
  }
}

TEST_CASE("hybrid models survive the way to Megatron-LM and back", "[planner][export]") {
  const std::string model = GENERATE("nemotron-h-8b", "nemotron3-nano-30b-a3b",
                                     "qwen3-next-80b-a3b", "deepseek-v3.2", "nemotron-nano-9b-v2");
  CAPTURE(model);
  const Scenario scenario =
      changed("llama3-8b-8xh100.yaml", {"model=" + model, "parallel={zero: 1}"});
  const std::string text = export_scenario(ExportKind::megatron, scenario, nullptr).text;
  CAPTURE(text);
  const Job& job = scenario.job;
  CHECK((text.find("pretrain_mamba.py") != std::string::npos) == !job.model.layer_pattern.empty());
  const Job back =
      import_framework(Framework::megatron, text, "exported", same_machine(job)).scenario.job;
  CHECK(plan_text(back, job, ExportKind::megatron) == plan_text(job, job, ExportKind::megatron));
  CHECK(parameters(back.model) == parameters(job.model));
  CHECK_THROWS_AS(export_scenario(ExportKind::nanotron, scenario, nullptr), UsageError);
}

TEST_CASE("the rank order survives the way to Megatron-LM, and others refuse what they cannot say",
          "[planner][export]") {
  const Scenario turned = changed("llama2-70b-1024xh100.yaml", {"parallel.order=tp-cp-ep-pp-dp"});
  REQUIRE(turned.job.parallel.order == stages_in_replica);
  CHECK(scenario_text({turned.job, "", {}}).find("  order: tp-cp-ep-pp-dp\n") != std::string::npos);
  for (const auto& [label, words] : question_lines(turned.job))
    if (label == "Plan") CHECK(words.ends_with(", rank order tp-cp-ep-pp-dp"));
  const std::string text = export_scenario(ExportKind::megatron, turned, nullptr).text;
  CHECK(text.find("use-tp-pp-dp-mapping") != std::string::npos);
  const Job back = import_framework(Framework::megatron, text, "exported", same_machine(turned.job))
                       .scenario.job;
  CHECK(back.parallel.order == stages_in_replica);
  for (const ExportKind kind :
       {ExportKind::deepspeed, ExportKind::torchtitan, ExportKind::nanotron})
    CHECK_THROWS_WITH(export_scenario(kind, turned, nullptr), Catch::Contains("parallel.order"));
}

TEST_CASE("the rank order decides which exchanges leave a host", "[planner][export]") {
  // Two hosts of eight: stages side by side keep activations inside, and spread replicas out.
  const std::vector<std::string> plan{
      "cluster.hosts=2", "cluster.fabric.kind=rail-optimized", "parallel.pipeline=2",
      "communication.overlap={gradients: false, parameters: false, pipeline: false}"};
  std::vector<std::string> turned = plan;
  turned.emplace_back("parallel.order=tp-cp-ep-pp-dp");
  const auto file = "llama3-8b-8xh100.yaml";
  const auto usual = closed_form(changed(file, plan).job).step->breakdown;
  const auto other = closed_form(changed(file, turned).job).step->breakdown;
  CHECK(other.pipeline < usual.pipeline);
  CHECK(other.data > usual.data);
}

TEST_CASE("plans survive the way to nanotron and back where it can say them", "[planner][export]") {
  const Trip trip = round_trips(ExportKind::nanotron, Framework::nanotron);
  CAPTURE(trip.refused);
  CHECK(trip.same >= 5);
  CHECK(trip.refused.at("gpt3-175b-1024xa100").find("models that are not of Llama's form") !=
        std::string::npos);
  CHECK(trip.refused.at("llama2-70b-1024xh100")
            .find("memory.recompute.granularity: selective (nanotron has none and full)") !=
        std::string::npos);
}

TEST_CASE("sharded plans survive the way to torchtitan and back", "[planner][export]") {
  const std::vector<std::vector<std::string>> plans{
      {"parallel.zero=3"},
      {"parallel.zero=3", "parallel.tensor=1", "parallel.sequence=false"},
      {"parallel.zero=0"},
      {"parallel.zero=3", "training.precision=fp8", "training.fp8_scaling=current",
       "memory.recompute={granularity: full}"},
      {"parallel.zero=2", "memory.recompute={granularity: selective, every_second_matmul: true}"},
      {"parallel.zero=2", "parallel.pipeline=2"},
      {"parallel.zero=3", "memory.recompute={granularity: full, method: block, layers: 16}"}};
  for (const auto& settings : plans) {
    CAPTURE(settings);
    const Scenario scenario = changed("llama3-8b-8xh100.yaml", settings);
    const Exported exported = export_torchtitan(scenario);
    CAPTURE(exported.text);
    const Job back = import_framework(Framework::torchtitan, exported.text, "exported",
                                      same_machine(scenario.job))
                         .scenario.job;
    CHECK(plan_text(back, scenario.job, ExportKind::torchtitan) ==
          plan_text(scenario.job, scenario.job, ExportKind::torchtitan));
  }
  CHECK_THROWS_WITH(export_torchtitan(changed("llama3-8b-8xh100.yaml", {})),
                    Catch::Contains("parallel.zero: 1"));
}

TEST_CASE("data-parallel plans survive the way to DeepSpeed and back", "[planner][export]") {
  for (const char* zero : {"parallel.zero=1", "parallel.zero=2", "parallel.zero=3"}) {
    CAPTURE(zero);
    const Scenario scenario = changed(
        "llama3-8b-8xh100.yaml",
        {zero, "parallel.tensor=1", "parallel.sequence=false", "communication.bucket=500 MB"});
    const Exported exported = export_deepspeed(scenario);
    PlanImportOptions options = same_machine(scenario.job);
    options.model = "llama3-8b";
    options.sequence = scenario.job.training.sequence;
    options.gpus = scenario.job.cluster.gpus();
    const Job back =
        import_framework(Framework::deepspeed, exported.text, "exported", options).scenario.job;
    CHECK(back.parallel.zero == scenario.job.parallel.zero);
    CHECK(back.parallel.data == scenario.job.parallel.data);
    CHECK(back.training.global_batch == scenario.job.training.global_batch);
    CHECK(back.training.micro_batch == scenario.job.training.micro_batch);
    CHECK(back.communication.bucket.value() == scenario.job.communication.bucket.value());
    CHECK(back.communication.gradient_dtype == scenario.job.communication.gradient_dtype);
  }
}

TEST_CASE("DeepSpeed's file has the share of the optimizer that is offloaded, and lists the rest",
          "[planner][export]") {
  const Scenario scenario = changed(
      "llama3-8b-8xh100.yaml", {"parallel.zero=3", "parallel.tensor=1", "parallel.sequence=false",
                                "memory.offload=optimizer", "memory.offload_share=0.5",
                                "memory.fused_loss=true", "training.hidden_dropout=0.1"});
  const Exported exported = export_deepspeed(scenario);
  PlanImportOptions options = same_machine(scenario.job);
  options.model = "llama3-8b";
  options.sequence = scenario.job.training.sequence;
  const Job back =
      import_framework(Framework::deepspeed, exported.text, "exported", options).scenario.job;
  CHECK(back.memory.offload == OffloadKind::optimizer);
  CHECK(back.memory.offload_share == 0.5);
  std::string listed;
  for (const std::string& sentence : exported.left_out) listed += sentence + "\n";
  CHECK(listed.find("memory.fused_loss: true") != std::string::npos);
  CHECK(listed.find("training.hidden_dropout") != std::string::npos);
}

TEST_CASE("sharded gradients under a pipeline are exported to torchtitan alone",
          "[planner][export]") {
  for (const char* zero : {"parallel.zero=2", "parallel.zero=3"}) {
    const Scenario scenario = changed("llama3-8b-8xh100.yaml", {zero, "parallel.pipeline=2"});
    const auto refusal = Catch::Contains("sharded gradients (parallel.zero 2 or 3) under");
    CHECK_THROWS_WITH(export_scenario(ExportKind::megatron, scenario, nullptr), refusal);
    CHECK_THROWS_WITH(export_deepspeed(scenario), refusal);
    CHECK_NOTHROW(export_torchtitan(scenario));
  }
}

TEST_CASE("what a launcher has no key for is said to be missing", "[planner][export]") {
  const Exported exported = export_torchtitan(
      changed("llama3-8b-8xh100.yaml", {"parallel.zero=2", "communication.transport=rdma",
                                        "communication.overlap.gradients=false"}));
  CHECK(exported.text.find("communication.transport: rdma") != std::string::npos);
  CHECK(exported.text.find(
            "communication.overlap.gradients: false, which torchtitan fixes to true") !=
        std::string::npos);
}

TEST_CASE("a Slurm script asks for the forecast's time, with its margin", "[planner][export]") {
  const Scenario scenario = changed("llama3-8b-8xh100.yaml", {});
  const Prediction prediction = closed_form(scenario.job);
  const Exported exported = export_sbatch(scenario, prediction);
  const StepForecast& step = *prediction.step;
  const double duration =
      prediction.run.ideal->value() * step.high.value() / step.time.value() / 3600.0;
  const auto limit = static_cast<long long>(std::ceil((duration * 3600.0 * 1.1 + 900.0) / 60.0));
  const std::string time = std::to_string(limit / 1440) + "-";
  CHECK(exported.text.find("#SBATCH --time=" + time) != std::string::npos);
  CHECK(exported.text.find("plus 10 %, plus 15 min to start") != std::string::npos);
  CHECK(exported.text.find("#SBATCH --nodes=1\n") != std::string::npos);
  // It imports like any other script.
  const Job back =
      import_framework(Framework::megatron, exported.text, "run.slurm", same_machine(scenario.job))
          .scenario.job;
  CHECK(plan_text(back, scenario.job, ExportKind::megatron) ==
        plan_text(scenario.job, scenario.job, ExportKind::megatron));
  const Scenario endless = load_scenario(source_root / "scenarios" / "effects" / "base.yaml");
  CHECK_THROWS_WITH(export_sbatch(endless, closed_form(endless.job)),
                    Catch::Contains("no training.tokens"));
}

TEST_CASE("a window survives the way to Megatron-LM and back, and nanotron has none",
          "[planner][export]") {
  Scenario scenario =
      changed("llama2-70b-1024xh100.yaml", {"model=mistral-7b-v0.1", "training.sequence=8192"});
  for (const int full_every : {0, 4}) {
    scenario.job.model.full_attention_every = full_every;
    const std::string text = export_scenario(ExportKind::megatron, scenario, nullptr).text;
    CHECK(text.find("4095,0") != std::string::npos);
    const Job back =
        import_framework(Framework::megatron, text, "exported", same_machine(scenario.job))
            .scenario.job;
    CHECK(back.model.window == 4096);
    CHECK(back.model.full_attention_every == full_every);
  }
  CHECK_THROWS_WITH(export_scenario(ExportKind::nanotron, scenario, nullptr),
                    Catch::Matchers::Contains("attention with a window"));
}

TEST_CASE("CUDA graphs survive the way to Megatron-LM and back, and others have none",
          "[planner][export]") {
  for (const char* parts : {"[attention, mlp]", "[full-iteration]"}) {
    const Scenario scenario =
        changed("llama3-8b-8xh100.yaml", {std::string("training.cuda_graphs=") + parts});
    const std::string text = export_scenario(ExportKind::megatron, scenario, nullptr).text;
    CAPTURE(text);
    const Job back =
        import_framework(Framework::megatron, text, "exported", same_machine(scenario.job))
            .scenario.job;
    CHECK(back.training.cuda_graphs == scenario.job.training.cuda_graphs);
    CHECK_THROWS_WITH(export_scenario(ExportKind::nanotron, scenario, nullptr),
                      Catch::Contains("training.cuda_graphs"));
  }
}

TEST_CASE("recipes of quantised training survive the way to Megatron-LM and back",
          "[planner][export]") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"training.precision=fp8", "fp8-format"},
      {"training={precision: fp8, fp8_scaling: current}", "tensorwise"},
      {"training.precision=fp8-block", "blockwise"},
      {"training.precision=mxfp8", "mxfp8"},
      {"training.precision=nvfp4", "e2m1"}};
  for (const auto& [setting, flag] : cases) {
    CAPTURE(setting);
    const Scenario scenario = changed("llama3-8b-8xh100.yaml", {"cluster.host=dgx-b200", setting});
    const std::string text = export_scenario(ExportKind::megatron, scenario, nullptr).text;
    CHECK(text.find(flag) != std::string::npos);
    const Training back =
        import_framework(Framework::megatron, text, "exported", same_machine(scenario.job))
            .scenario.job.training;
    CHECK(back.precision == scenario.job.training.precision);
    CHECK(back.fp8_scaling == scenario.job.training.fp8_scaling);
  }
  const Scenario narrow =
      changed("llama3-8b-8xh100.yaml", {"cluster.host=dgx-b200", "training.precision=mxfp8"});
  CHECK_THROWS_WITH(export_deepspeed(narrow), Catch::Contains("precision other than"));
  const auto refusal = Catch::Contains("training.precision: mxfp8");
  CHECK_THROWS_WITH(export_torchtitan(narrow), refusal);
  CHECK_THROWS_WITH(export_scenario(ExportKind::nanotron, narrow, nullptr), refusal);
}

TEST_CASE("no launch configuration says one process for all GPUs", "[planner][export]") {
  const Scenario scenario = changed("basics/replicas-dp.yaml", {"training.tokens=1 B"});
  const Prediction prediction = closed_form(scenario.job);
  for (const ExportKind kind : {ExportKind::megatron, ExportKind::deepspeed, ExportKind::torchtitan,
                                ExportKind::nanotron, ExportKind::sbatch})
    CHECK_THROWS_WITH(
        export_scenario(kind, scenario, &prediction),
        std::string(name_of(kind)) +
            " cannot represent: parallel.processes: per-host, one process for all GPUs "
            "(torch.nn.DataParallel); write per-gpu for a process per GPU");
  // A scenario can.
  const Scenario back =
      load_scenario_text(scenario_text({scenario.job, "llama3.2-1b", {}}), "back.yaml", ".", {});
  CHECK(back.job.parallel.processes == ProcessKind::per_host);
  CHECK(back.job.parallel.gather == GatherKind::outputs);
}

}  // namespace foretrain
