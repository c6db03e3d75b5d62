// SPDX-License-Identifier: Apache-2.0
#include "models/rules/plan_rules.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>

#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

struct Broken {
  std::string rule;
  std::string key;
  std::function<void(Job&)> change;
};

const std::vector<Broken> broken_plans{
    {"gpus", "parallel.data", [](Job& job) { job.parallel.data = 15; }},
    {"heads-divide-tensor", "parallel.tensor", [](Job& job) { job.parallel.tensor = 128; }},
    {"kv-heads-divide-tensor", "parallel.tensor",
     [](Job& job) {
       job.parallel.tensor = 16;
       job.parallel.framework = PlanFramework::lightning;
     }},
    {"ffn-divides-tensor", "parallel.tensor", [](Job& job) { job.model.ffn_hidden = 28670; }},
    {"hidden-divides-tensor", "parallel.tensor", [](Job& job) { job.model.hidden = 8190; }},
    {"sequence-needs-tensor", "parallel.sequence", [](Job& job) { job.parallel.tensor = 1; }},
    {"sequence-divides-tensor", "parallel.tensor", [](Job& job) { job.training.sequence = 4097; }},
    {"learned-positions", "training.sequence",
     [](Job& job) {
       job.model.position = PositionKind::learned;
       job.model.positions = job.training.sequence - 1;
     }},
    {"sequence-divides-context", "parallel.context", [](Job& job) { job.parallel.context = 3; }},
    {"order-keeps-stages", "parallel.order",
     [](Job& job) {
       job.parallel.order = stages_in_replica;
       job.model.moe.emplace().experts = 8;
       job.parallel.expert = 4;
     }},
    {"experts-needed", "parallel.expert", [](Job& job) { job.parallel.expert = 2; }},
    {"stages-without-layers", "parallel.pipeline", [](Job& job) { job.parallel.pipeline = 128; }},
    {"stage-layers-count", "parallel.stage_layers",
     [](Job& job) {
       job.parallel.stage_layers = {40, 40};
     }},
    {"stage-layers-sum", "parallel.stage_layers",
     [](Job& job) { job.parallel.stage_layers = {10, 10, 10, 10, 10, 10, 10, 11}; }},
    {"interleaved-has-virtual-stages", "parallel.virtual_stages",
     [](Job& job) { job.parallel.virtual_stages = 2; }},
    {"interleaving-needs-pipeline", "parallel.schedule",
     [](Job& job) {
       job.parallel.pipeline = 1;
       job.parallel.schedule = ScheduleKind::interleaved;
     }},
    {"batch-divides", "training.global_batch", [](Job& job) { job.training.global_batch = 1000; }},
    {"interleaved-microbatches", "training.global_batch",
     [](Job& job) {
       job.parallel.schedule = ScheduleKind::interleaved;
       job.parallel.virtual_stages = 5;
       job.training.global_batch = 16 * 20;
     }},
    {"zb-v-has-two-chunks", "parallel.virtual_stages",
     [](Job& job) { job.parallel.schedule = ScheduleKind::zb_v; }},
    {"dualpipe-is-even", "parallel.pipeline",
     [](Job& job) {
       job.parallel.schedule = ScheduleKind::dualpipe;
       job.training.global_batch = 16 * 21;
     }},
    {"zero-group-needs-zero", "parallel.zero_group",
     [](Job& job) {
       job.parallel.zero = 0;
       job.parallel.zero_group = 4;
     }},
    {"zero-group-divides-data", "parallel.zero_group",
     [](Job& job) { job.parallel.zero_group = 5; }},
    {"transport-of-fabric", "communication.transport",
     [](Job& job) { job.communication.transport = Transport::tcp; }},
};

bool contains(const std::vector<Infeasible>& reasons, const std::string& rule,
              const std::string& key) {
  return std::any_of(reasons.begin(), reasons.end(), [&](const Infeasible& reason) {
    return reason.rule == rule && reason.key == key;
  });
}

}  // namespace

TEST_CASE("plan rules: the published plan is legal and modelled", "[models][rules]") {
  CHECK(broken_rules(test::llama2_70b_job()).empty());
  CHECK(not_modelled(test::llama2_70b_job()).empty());
}

TEST_CASE("plan rules: experts, latent attention and context parallelism have a step time",
          "[models][rules]") {
  Job job = test::llama2_70b_job();
  SECTION("context") { job.parallel.context = 2; }
  SECTION("experts") { job.model.moe = MoeShape{8, 2, 14336}; }
  SECTION("latent attention") { job.model.mla = MlaShape{1536, 512, 128, 64, 128}; }
  SECTION("fp8") {
    job.training.precision = Precision::fp8;
    job.cluster.host.device.peak[Precision::fp8] = 1978.9 * TFLOPS;
    job.device_profile.gemm[Precision::fp8] = {0.68, 400.0, 1.0, 1.0, 2.4 * us};
  }
  CHECK(not_modelled(job).empty());
}

TEST_CASE("plan rules: every rule catches its plan, says why and what would be right",
          "[models][rules]") {
  const std::size_t i = GENERATE(range(std::size_t{0}, std::size_t{23}));
  REQUIRE(broken_plans.size() == 23);
  const Broken& plan = broken_plans[i];
  Job job = test::llama2_70b_job();
  plan.change(job);
  const std::vector<Infeasible> reasons = broken_rules(job);
  CAPTURE(plan.rule);
  CHECK(contains(reasons, plan.rule, plan.key));
  for (const Infeasible& reason : reasons) {
    CHECK_FALSE(reason.message.empty());
    CHECK_FALSE(reason.remedy.empty());
  }
}

TEST_CASE("plan rules: experts are spread over ranks that a stage has", "[models][rules]") {
  Job job = test::llama2_70b_job();
  job.model.moe = MoeShape{8, 2, 14336};
  job.parallel.expert = 8;
  CHECK(broken_rules(job).empty());  // over 8 x 16 ranks, an expert's tensor group being 8
  job.model.moe->experts = 64;
  job.parallel.expert = 32;
  CHECK(contains(broken_rules(job), "experts-divide-ranks", "parallel.expert"));
}

TEST_CASE("plan rules: the message carries the numbers and the remedy legal values",
          "[models][rules]") {
  Job job = test::llama2_70b_job();
  job.parallel.tensor = 16;
  job.parallel.data = 8;
  job.parallel.framework = PlanFramework::lightning;
  const std::vector<Infeasible> reasons = broken_rules(job);
  REQUIRE(reasons.size() == 2);  // Lightning has no pipeline either
  CHECK(reasons[1].message ==
        "key-value heads 8 are not divisible by parallel.tensor 16, and Lightning does not share "
        "heads between ranks");
  CHECK(reasons[1].remedy == "parallel.tensor: 1, 2, 4 or 8");
}

TEST_CASE("plan rules: what has no step time yet is refused by name", "[models][rules]") {
  Job job = test::llama2_70b_job();
  SECTION("unfused attention over context ranks") {
    job.parallel.context = 2;
    job.memory.attention = AttentionKind::unfused;
  }
  SECTION("offload") { job.memory.offload = OffloadKind::optimizer_and_parameters; }
  SECTION("Muon over cut weights") {
    job.training.optimizer = OptimizerKind::muon;
    job.parallel.zero = 2;
    job.parallel.pipeline = 1;
  }
  SECTION("fp8 without a kernel profile") { job.training.precision = Precision::fp8; }
  SECTION("FlashAttention-3 on Ampere") {
    job.cluster.host.device.architecture = Architecture::ampere;
    job.memory.attention_library = AttentionLibrary::flash3;
  }
  SECTION("gloo") { job.communication.backend = Backend::gloo; }
  SECTION("experts under tensor without sequence parallelism") {
    job.model.moe = MoeShape{8, 2, 14336};
    job.parallel.sequence = false;
  }
  const std::vector<Infeasible> reasons = not_modelled(job);
  REQUIRE(reasons.size() == 1);
  CHECK(reasons[0].rule == not_modelled_rule);
  CHECK_FALSE(reasons[0].key.empty());
  CHECK_FALSE(reasons[0].remedy.empty());
}
