// SPDX-License-Identifier: Apache-2.0
// What scenarios/basics/README.md claims of its scenarios, each against the one it is told beside.
// Their numbers are held by the baselines beside them (`foretrain check scenarios/basics`).
#include <catch2/catch.hpp>

#include <filesystem>
#include <set>
#include <string>

#include "models/collectives/registry.hpp"
#include "models/forecast/closed_form.hpp"
#include "planner/network/collective_table.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "sim/step/event_forecast.hpp"
#include "topologies/fabrics/clos.hpp"

using namespace foretrain;
namespace fs = std::filesystem;

namespace {

const fs::path folder = fs::path{FORETRAIN_SOURCE_DIR} / "scenarios/basics";

Prediction forecast_of(const std::string& name, std::vector<std::string> overrides = {}) {
  const Scenario scenario = load_scenario(folder / (name + ".yaml"), {std::move(overrides), {}});
  Prediction prediction = closed_form(scenario.job);
  for (const Infeasible& reason : prediction.reasons) FAIL(name << ": " << reason.message);
  REQUIRE(prediction.step);
  REQUIRE(prediction.memory);
  return prediction;
}

double step(const Prediction& prediction) { return prediction.step->time.value(); }
double data(const Prediction& prediction) { return prediction.step->breakdown.data.value(); }

Seconds all_reduce(const char* algorithm, Bytes size) {
  MachineWish wish;
  wish.scenario = load_scenario(folder / "transport-gpudirect.yaml");
  CollectiveRequest request;
  request.machine = collective_machine(wish);
  request.sizes = {size};
  request.groups = parse_groups({wish.scenario->job.cluster.hosts, 8, 8, 1, ""});
  request.wish.scheme = find_scheme(algorithm);
  const auto result = collective_table(request);
  REQUIRE(std::holds_alternative<CollectiveTable>(result));
  return std::get<CollectiveTable>(result).rows.front().time;
}

}  // namespace

TEST_CASE("basics: sharding everything trades memory for traffic", "[golden][basics]") {
  const Prediction ddp = forecast_of("one-host-ddp");
  const Prediction fsdp = forecast_of("one-host-fsdp");
  // 16 bytes per parameter of fp32 states, of which an eighth stays: more than half of the memory.
  CHECK(fsdp.memory->peak < 0.5 * ddp.memory->peak);
  CHECK(data(fsdp) > 10.0 * data(ddp));
  CHECK(step(fsdp) > step(ddp));
}

TEST_CASE("basics: one process for all GPUs is slower than a process for each",
          "[golden][basics]") {
  const Prediction ddp = forecast_of("replicas-ddp");
  const Prediction fsdp = forecast_of("replicas-fsdp");
  const Prediction outputs = forecast_of("replicas-dp");
  const Prediction loss = forecast_of("replicas-dp-loss");
  // As measured on two TITAN RTX with NVLink: 110 s with DP, 101 s with DDP (Hugging Face
  // Transformers documentation v4.49, "Efficient Training on Multiple GPUs"). The direction only.
  CHECK(step(loss) > step(ddp));
  CHECK(step(outputs) > step(loss));
  CHECK(step(outputs) > step(fsdp));
  CHECK(data(loss) > 10.0 * data(ddp));
  // GPU 0 is the heaviest, and heavier than a GPU of DDP; sharding needs least.
  REQUIRE(outputs.memory->replica);
  CHECK(outputs.memory->peak > 1.5 * outputs.memory->replica->peak);
  CHECK(loss.memory->peak > loss.memory->replica->peak);
  CHECK(outputs.memory->peak > ddp.memory->peak);
  CHECK(fsdp.memory->peak < ddp.memory->peak);
}

TEST_CASE("basics: GPT-2 on two GPUs of one host, as Hugging Face ran it", "[golden][basics]") {
  // gpt2, four sequences of 1,024 tokens on each of two GPUs with NVLink, one pass per step.
  const std::vector<std::string> run{"model=gpt2-small", "training.sequence=1024",
                                     "training.micro_batch=4", "training.global_batch=32"};
  Job job = load_scenario(folder / "replicas-dp.yaml", {run, {}}).job;
  job.cluster.host.gpus = job.parallel.data = 2;
  job.training.global_batch = 8;
  const Prediction dp = closed_form(job);
  job.parallel.processes = ProcessKind::per_gpu;
  const Prediction ddp = closed_form(job);
  REQUIRE(dp.step);
  REQUIRE(ddp.step);
  CHECK(step(dp) > step(ddp));
}

TEST_CASE("basics: the event engine refuses one process, whose traffic never leaves the host",
          "[golden][basics]") {
  const Scenario scenario = load_scenario(folder / "replicas-dp.yaml");
  const auto fabric = build_fabric(fabric_spec(scenario.job.cluster));
  REQUIRE(std::holds_alternative<Fabric>(fabric));
  const EventForecast forecast = event_forecast(scenario.job, std::get<Fabric>(fabric));
  REQUIRE(forecast.prediction.reasons.size() == 1);
  CHECK(forecast.prediction.reasons[0].key == "parallel.processes");
  CHECK_FALSE(forecast.prediction.step);
}

TEST_CASE("basics: gloo sums gradients with cores, NCCL with GPUs and NICs", "[golden][basics]") {
  const Prediction nccl = forecast_of("ddp-nccl");
  const Prediction gloo = forecast_of("ddp-gloo");
  CHECK(data(gloo) > 10.0 * data(nccl));
  // No communicator on the GPU.
  CHECK(gloo.memory->peak < nccl.memory->peak);
  CHECK(gloo.collectives.trust == Trust::extrapolated);
  // The upper end of NCCL's is what eight GPUs without NVLink may take.
  CHECK(gloo.step->time / gloo.step->low > nccl.step->time / nccl.step->low);
}

TEST_CASE("basics: the event engine refuses gloo, whose sockets are not its links",
          "[golden][basics]") {
  const Scenario scenario = load_scenario(folder / "ddp-gloo.yaml");
  const auto fabric = build_fabric(fabric_spec(scenario.job.cluster));
  REQUIRE(std::holds_alternative<Fabric>(fabric));
  const EventForecast forecast = event_forecast(scenario.job, std::get<Fabric>(fabric));
  REQUIRE(forecast.prediction.reasons.size() == 1);
  CHECK(forecast.prediction.reasons[0].key == "communication.backend");
  CHECK_FALSE(forecast.prediction.step);
}

TEST_CASE("basics: buckets can be too small and too large", "[golden][basics]") {
  // As PyTorch's DDP was found to behave (Li et al., VLDB 2020, arXiv 2006.15704, section 5): calls
  // cost latency at one end, and nothing overlaps at the other.
  const double usual = step(forecast_of("ddp-nccl"));
  CHECK(step(forecast_of("bucket-1mib")) > 1.02 * usual);
  CHECK(step(forecast_of("bucket-1gib")) > 1.05 * usual);
  for (const char* size : {"10 MiB", "50 MiB"}) {
    CAPTURE(size);
    const double time =
        step(forecast_of("ddp-nccl", {std::string("communication.bucket=") + size}));
    CHECK(time < step(forecast_of("bucket-1mib")));
    CHECK(time < step(forecast_of("bucket-1gib")));
  }
}

TEST_CASE("basics: sixteen micro-batches share one reduction", "[golden][basics]") {
  const Prediction once = forecast_of("ddp-nccl");
  const Prediction sixteen = forecast_of("accumulate");
  CHECK(data(sixteen) == Approx(data(once)).epsilon(0.01));
  CHECK(sixteen.efficiency->tokens_per_s > 2.0 * once.efficiency->tokens_per_s);
}

TEST_CASE("basics: host memory halves what PCIe leaves, sockets cost more", "[golden][basics]") {
  const double direct = data(forecast_of("transport-gpudirect"));
  const double bounced = data(forecast_of("transport-rdma"));
  const double sockets = data(forecast_of("transport-tcp"));
  CHECK(bounced > 1.5 * direct);
  CHECK(sockets > bounced);
}

TEST_CASE("basics: trees for small messages, rings for large ones", "[golden][basics]") {
  CHECK(all_reduce("tree", 64.0 * KiB) < all_reduce("ring", 64.0 * KiB));
  CHECK(all_reduce("ring", 4.0 * GiB) < all_reduce("tree", 4.0 * GiB));
}

TEST_CASE("basics: a step is as long as its input, or as itself", "[golden][basics]") {
  const Prediction few = forecast_of("loader-too-few");
  // 64 sequences of 2048 tokens, eight workers at 4,000 tokens a second.
  CHECK(step(few) == Approx(64.0 * 2048 / (8 * 4000.0)));
  CHECK(few.step->breakdown.input > Seconds{1.0});
  CHECK(step(forecast_of("loader-enough")) == Approx(step(forecast_of("one-host-ddp"))));
}

TEST_CASE("basics: checkpoints cost something, rare ones more", "[golden][basics]") {
  const auto goodput = [](const char* name) { return *forecast_of(name).run.goodput; };
  CHECK(goodput("checkpoint-async") > goodput("checkpoint-sync"));
  CHECK(goodput("checkpoint-sync") > goodput("checkpoint-rare") + 0.2);
}

TEST_CASE("basics: every scenario has a baseline, and every baseline a scenario",
          "[golden][basics]") {
  for (const fs::path& where : {folder, folder.parent_path()}) {
    std::set<std::string> scenarios;
    std::set<std::string> baselines;
    for (const auto& entry : fs::directory_iterator(where)) {
      const std::string file = entry.path().filename().string();
      const auto end = file.find(".baseline.json");
      if (entry.path().extension() == ".yaml") scenarios.insert(entry.path().stem().string());
      if (end != std::string::npos) baselines.insert(file.substr(0, end));
    }
    CHECK(baselines == scenarios);
  }
}
