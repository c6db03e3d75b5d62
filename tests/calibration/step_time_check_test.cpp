// SPDX-License-Identifier: Apache-2.0
// The closed form against three published families whose configuration is complete: SC21 tables
// (arXiv 2104.04473), Korthikanti et al. (arXiv 2205.05198) and the BF16 recipes of DGX Cloud
// benchmarking. Fails when the error grows; the figures are in calibration/README.md.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "calibration/run_record.hpp"
#include "models/flops.hpp"
#include "models/plan_rules.hpp"
#include "models/stage_layout.hpp"
#include "models/step_time.hpp"
#include "scenarios/scenario.hpp"

namespace foretrain {
namespace {

std::vector<RunRecord> records() {
  std::ifstream stream(FORETRAIN_SOURCE_DIR "/calibration/measured/runs.yaml");
  REQUIRE(stream.good());
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  Diagnostics diagnostics;
  const auto document = parse_yaml(text, "runs.yaml", run_record_limits(), diagnostics);
  REQUIRE(document.has_value());
  return read_run_records(*document, "runs.yaml", diagnostics);
}

/// Machine, stack and site of a family: those of a committed scenario.
std::optional<Job> machine_of(const RunRecord& record) {
  static const std::map<std::string, Job> machines = [] {
    const auto load = [](const char* name) {
      return load_scenario(std::string(FORETRAIN_SOURCE_DIR "/scenarios/") + name).job;
    };
    const Job selene = load("gpt3-175b-1024xa100.yaml");
    return std::map<std::string, Job>{
        {"sc21", selene}, {"kort", selene}, {"dgxc", load("llama2-70b-1024xh100.yaml")}};
  }();
  const auto found = machines.find(record.family());
  if (found == machines.end() || record.gpus.value_or(0) < 8) return std::nullopt;
  Job job = found->second;
  job.cluster.hosts = *record.gpus / job.cluster.host.gpus;
  return job;
}

bool set_model(const RunRecord& record, LlmShape& model) {
  if (!record.layers || !record.hidden || !record.heads || !record.ffn_hidden ||
      !record.vocabulary || record.moe)
    return false;
  model.layers = *record.layers;
  model.hidden = *record.hidden;
  model.heads = *record.heads;
  model.kv_heads = record.kv_heads.value_or(model.heads);
  model.head_dim = record.head_dim.value_or(model.hidden / model.heads);
  model.ffn_hidden = *record.ffn_hidden;
  model.gated_mlp = record.gated_mlp.value_or(false);
  model.vocabulary = *record.vocabulary;
  model.tied_embeddings = record.tied_embeddings.value_or(false);
  return true;
}

std::optional<Job> job_of(const RunRecord& record) {
  std::optional<Job> job = machine_of(record);
  const bool half = record.precision == "bf16" || record.precision == "fp16";
  if (!job || !half || record.confidence > "B" || record.out_of_memory) return std::nullopt;
  if (!set_model(record, job->model) || !record.tensor || !record.pipeline || !record.data ||
      !record.micro_batch || !record.global_batch || !record.sequence)
    return std::nullopt;
  Parallel& plan = job->parallel;
  plan.tensor = *record.tensor;
  plan.sequence = record.sequence_parallel.value_or(false) && plan.tensor > 1;
  plan.context = record.context.value_or(1);
  plan.pipeline = *record.pipeline;
  plan.virtual_stages = record.virtual_stages.value_or(1);
  plan.schedule = plan.virtual_stages > 1 ? ScheduleKind::interleaved : ScheduleKind::one_f_one_b;
  plan.data = *record.data;
  plan.zero = record.zero == "3" ? 3 : record.distributed_optimizer.value_or(false) ? 1 : 0;
  job->training.micro_batch = *record.micro_batch;
  job->training.global_batch = *record.global_batch;
  job->training.sequence = *record.sequence;
  job->memory.recompute.kind =
      from_name<RecomputeKind>(record.recompute).value_or(RecomputeKind::none);
  const bool dgxc = record.family() == "dgxc";
  job->communication.gradient_dtype = dgxc ? Precision::bf16 : Precision::fp16;
  const bool overlapped = dgxc || record.notes.find("DDP=torch") != std::string::npos;
  job->communication.overlap = {overlapped, dgxc, dgxc && plan.tensor > 1, true};
  if (!broken_rules(*job).empty() || !not_modelled(*job).empty()) return std::nullopt;
  if (plan.zero > 1) return std::nullopt;  // another framework, see validate
  return job;
}

std::optional<double> measured_seconds(const RunRecord& record, const Job& job) {
  if (record.iteration_s) return record.iteration_s;
  const double tokens = static_cast<double>(job.training.global_batch) * job.training.sequence;
  if (record.tokens_per_s_per_gpu)
    return tokens / (*record.tokens_per_s_per_gpu * job.cluster.gpus());
  const auto convention = from_name<FlopsConvention>(record.flops_convention);
  if (!record.tflops_per_gpu || !convention) return std::nullopt;
  const Flop one = convention_flops_per_sequence(job.model, job.training.sequence,
                                                 job.model.vocabulary, *convention);
  return one.value() * job.training.global_batch /
         (*record.tflops_per_gpu * 1e12 * job.cluster.gpus());
}

std::map<std::string, std::vector<double>> errors_by_family() {
  std::map<std::string, std::vector<double>> errors;
  for (const RunRecord& record : records()) {
    const std::optional<Job> job = job_of(record);
    if (!job) continue;
    const std::optional<double> measured = measured_seconds(record, *job);
    if (!measured) continue;
    const StepForecast step = step_time(*job, stage_layout(job->model, job->parallel));
    errors[record.family()].push_back(step.time.value() / *measured - 1.0);
  }
  return errors;
}

double median_of_sizes(std::vector<double> errors) {
  for (double& error : errors) error = std::abs(error);
  std::sort(errors.begin(), errors.end());
  return errors[errors.size() / 2];
}

double mean_of_sizes(const std::vector<double>& errors) {
  double sum = 0.0;
  for (const double error : errors) sum += std::abs(error);
  return sum / static_cast<double>(errors.size());
}

}  // namespace

TEST_CASE("step time: within a few percent of SC21, Korthikanti and DGXC runs",
          "[calibration][validation]") {
  struct Bound {
    std::string family;
    std::size_t count;
    double median, mean;
  };
  const auto errors = errors_by_family();
  for (const Bound& bound : {Bound{"sc21", 16, 0.035, 0.035}, Bound{"kort", 5, 0.03, 0.03},
                             Bound{"dgxc", 13, 0.035, 0.04}}) {
    const auto found = errors.find(bound.family);
    REQUIRE(found != errors.end());
    CAPTURE(bound.family, found->second);
    CHECK(found->second.size() >= bound.count);
    CHECK(median_of_sizes(found->second) <= bound.median);
    CHECK(mean_of_sizes(found->second) <= bound.mean);
  }
}

}  // namespace foretrain
