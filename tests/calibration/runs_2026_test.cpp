// SPDX-License-Identifier: Apache-2.0
// measured/runs_2026.yaml: which of the runs of 2025 and 2026 are priced, and what their fields
// say.
#include <algorithm>
#include <catch2/catch.hpp>

#include "calibration/cases/step_case.hpp"
#include "calibration/records/run_job.hpp"
#include "calibration/validate/validations.hpp"
#include "tests/calibration/measured_records.hpp"

namespace foretrain {
namespace {

const RunRecord& newest_run(const std::string& id) {
  const auto found = std::find_if(newest_runs().begin(), newest_runs().end(),
                                  [&](const RunRecord& record) { return record.id == id; });
  INFO(id);
  REQUIRE(found != newest_runs().end());
  return *found;
}

Job newest_job(const std::string& id) {
  const RunJob mapped = run_job(newest_run(id), shipped_catalog());
  INFO(mapped.why);
  REQUIRE(mapped.job.has_value());
  return *mapped.job;
}

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE(
    "runs of 2026: nine pretraining runs in ten are refused for their format alone, if at all",
    "[calibration][records]") {
  int pretraining = 0;
  int otherwise = 0;  // refused for something else than a format and its kernels
  std::string reasons;
  for (const RunRecord& record : newest_runs()) {
    if (record.task != "pretrain") continue;
    ++pretraining;
    const RecordCheck check = check_run_steps({record}, shipped_catalog()).front();
    if (!check.skipped || says(check.why, "precision '") || says(check.why, "kernel profile"))
      continue;
    ++otherwise;
    reasons += check.id + ": " + check.why + "\n";
  }
  CAPTURE(reasons);
  CHECK(pretraining == 139);
  CHECK(otherwise == 1);  // it contradicts itself
}

TEST_CASE("runs of 2026: what software was told to do stands in fields, not in notes",
          "[calibration][records]") {
  const auto count = [](auto has) {
    return std::count_if(newest_runs().begin(), newest_runs().end(), has);
  };
  CHECK(count([](const RunRecord& r) { return r.cuda_graphs.has_value(); }) == 42);
  CHECK(count([](const RunRecord& r) { return r.balanced_experts.has_value(); }) == 67);
  CHECK(count([](const RunRecord& r) { return !r.dispatcher.empty(); }) == 32);
  CHECK(count([](const RunRecord& r) { return r.eight_bit_weights.has_value(); }) == 7);
  CHECK(count([](const RunRecord& r) { return r.offloaded_layers.has_value(); }) == 6);
  CHECK(count([](const RunRecord& r) { return r.overlap_experts.has_value(); }) == 8);
  CHECK(count([](const RunRecord& r) { return r.pipeline_layout.has_value(); }) == 3);
  for (const RunRecord& record : newest_runs()) {
    if (record.task != "pretrain") continue;
    CAPTURE(record.id);
    for (const char* word : {"cuda graph", "CUDA graph", "CUDA_GRAPH", "PARAM_GATHER",
                             "COMM_OVERLAP", "force-balanced", "pp_layout", "cpu offloading"})
      CHECK_FALSE(says(record.notes, word));
  }
}

TEST_CASE("runs of 2026: fields become jobs", "[calibration][records]") {
  const Job oss = newest_job("mbridge-26.04-gptoss120b-pretrain-64-gb300-bf16");
  CHECK(oss.model.window == 128);
  CHECK(oss.model.full_attention_every == 2);
  CHECK(oss.training.moe_imbalance == 1.0);
  CHECK(oss.training.cuda_graphs.has(GraphPart::moe_router));
  CHECK(oss.memory.fused_loss_engine);
  CHECK(oss.site.name == "default");
  const Job hybrid = newest_job("mbridge-26.04-gptoss120b-pretrain-64-gb200-bf16");
  CHECK(hybrid.communication.expert_dispatch == ExpertDispatch::fused);
  CHECK(hybrid.communication.overlap.experts);
  CHECK(hybrid.memory.recompute.modules.activation);
  const Job deepseek = newest_job("mbridge-25.11-deepseekv3-pretrain-256-gb300-bf16");
  CHECK(deepseek.memory.recompute.modules.mla_up_projection);
  const Job nano = newest_job("mbridge-26.04-nemotron3nano-pretrain-8-gb300-mxfp8");
  CHECK(nano.model.layer_pattern.size() == 52);
  CHECK(nano.training.moe_imbalance == 1.0);
  CHECK(nano.training.cuda_graphs.has(GraphPart::mamba));
  CHECK(nano.communication.expert_dispatch == ExpertDispatch::fused);
  const Job mlperf = newest_job("mlperf-v5.0-llama31-405b-ibm-carina-ngpu512-ngc25.04-nemo");
  CHECK(mlperf.memory.fp8_parameters);
  CHECK(mlperf.training.cuda_graphs.has(GraphPart::full_iteration));
}

TEST_CASE("runs of 2026: no stack is fitted on them, and runs that ran fit where activations stay",
          "[calibration][records]") {
  for (const StepRun& run : step_runs(newest_runs(), shipped_catalog()))
    if (run.job) CHECK(run.fitted != FitScope::all);
  // Weights in eight bits alone: a false out-of-memory without them.
  for (const char* id : {"mbridge-26.04-llama31405b-pretrain-256-gb200-fp8",
                         "mbridge-26.02-llama31405b-pretrain-256-gb200-fp8",
                         "mbridge-26.04-gptoss120b-pretrain-64-b200-bf16"}) {
    const auto checks = check_run_memory({newest_run(id)}, shipped_catalog());
    REQUIRE(checks.size() == 1);
    CAPTURE(id, checks.front().load);
    CHECK(checks.front().predicted == 1.0);
  }
}

}  // namespace foretrain
