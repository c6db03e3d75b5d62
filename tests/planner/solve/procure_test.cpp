// SPDX-License-Identifier: Apache-2.0
#include "planner/solve/procure.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

#include "models/forecast/closed_form.hpp"

using namespace foretrain;

namespace {

Scenario named(const std::string& name, const std::string& model, const std::string& host,
               const std::string& fabric, const std::string& price) {
  return load_scenario_text("schema: 1\nname: " + name + "\nmodel: " + model +
                                "\ncluster: {host: " + host +
                                ", hosts: 4, fabric: {kind: single-switch, preset: " + fabric +
                                "}}\n"
                                "training: {sequence: 4096, micro_batch: 1, global_batch: 64, "
                                "tokens: 100 B}\n"
                                "parallel: {tensor: 8, sequence: true, pipeline: 2, zero: 1}\n"
                                "operations: {price: " +
                                price + "}\nstack: megatron-core\n",
                            name + ".yaml", std::filesystem::current_path());
}

std::vector<Scenario> clusters() {
  return {named("old", "llama2-7b", "dgx-a100", "ib-hdr", "1 USD/GPU-hour"),
          named("new", "llama2-7b", "dgx-h100", "ib-ndr", "9 USD/GPU-hour")};
}

std::vector<Scenario> workloads() {
  return {named("7b", "llama2-7b", "dgx-h100", "ib-ndr", "5 USD/GPU-hour"),
          named("13b", "llama2-13b", "dgx-h100", "ib-ndr", "5 USD/GPU-hour")};
}

}  // namespace

TEST_CASE("procure: a cell is the forecast of the workload on that machine", "[planner][procure]") {
  const Procurement result = procure(clusters(), workloads());
  REQUIRE(result.clusters.size() == 2);
  REQUIRE(result.clusters[0].cells.size() == 2);
  // On the machine that it names, a workload is what simulate says.
  const Scenario own = named("13b", "llama2-13b", "dgx-h100", "ib-ndr", "9 USD/GPU-hour");
  const Prediction forecast = closed_form(own.job);
  const ProcureCell& cell = result.clusters[1].cells[1];
  CHECK(cell.step == forecast.step->time);
  CHECK(cell.price_usd.value() == Approx(forecast.cost.price->value()));
  const Scenario elsewhere = named("13b", "llama2-13b", "dgx-a100", "ib-hdr", "1 USD/GPU-hour");
  CHECK(result.clusters[0].cells[1].step == closed_form(elsewhere.job).step->time);
}

TEST_CASE("procure: totals sum the workloads, the ranking follows what is asked",
          "[planner][procure]") {
  const Procurement by_time = procure(clusters(), workloads());
  for (const ProcureCluster& cluster : by_time.clusters) {
    CHECK(cluster.run->value() ==
          Approx(cluster.cells[0].run->value() + cluster.cells[1].run->value()));
    CHECK(*cluster.price_usd == Approx(*cluster.cells[0].price_usd + *cluster.cells[1].price_usd));
  }
  CHECK(by_time.ranking == std::vector<std::size_t>{1, 0});  // H100 is faster
  ProcureOptions options;
  options.by = RankBy::cost;
  CHECK(procure(clusters(), workloads(), options).ranking == std::vector<std::size_t>{0, 1});
}

TEST_CASE("procure: the best plan of a cell is no slower than the workload's",
          "[planner][procure]") {
  const Procurement given = procure(clusters(), workloads());
  ProcureOptions options;
  options.search = true;
  const Procurement best = procure(clusters(), workloads(), options);
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t w = 0; w < 2; ++w) {
      const ProcureCell& cell = best.clusters[c].cells[w];
      CHECK(cell.step * (static_cast<double>(cell.asked_batch) / cell.batch) <=
            given.clusters[c].cells[w].step);
      CHECK_FALSE(best.clusters[c].cells[w].settings.empty());
    }
}

TEST_CASE("procure: the batch moves a little to what a machine divides, and says so",
          "[planner][procure]") {
  // 36 GPUs do not divide 64 sequences; of 63 they divide more.
  std::vector<Scenario> candidates{
      named("rack-old", "llama2-7b", "dgx-h100", "ib-ndr", "4 USD/GPU-hour"),
      named("rack-new", "llama2-7b", "dgx-gb200", "ib-ndr", "6 USD/GPU-hour")};
  candidates[1].job.cluster.hosts = 9;
  Scenario work = named("7b", "llama2-7b", "dgx-h100", "ib-ndr", "5 USD/GPU-hour");
  work.job.training.global_batch = 1000;
  ProcureOptions options;
  options.search = true;
  options.by = RankBy::cost;
  const Procurement result = procure(candidates, {work}, options);
  const ProcureCell& moved = result.clusters[1].cells[0];
  CHECK(moved.asked_batch == 1000);
  CHECK(moved.batch != 1000);
  CHECK(std::abs(moved.batch - 1000) <= 50);
  const Procurement fitting = [&] {
    work.job.training.global_batch = 1008;
    return procure(candidates, {work}, options);
  }();
  // Whatever file the batch came from, an offer costs the same.
  CHECK(*result.clusters[1].price_usd == Approx(*fitting.clusters[1].price_usd).epsilon(0.02));
  CHECK(offer_names(result) == std::vector<std::string>{"old", "new"});
  const double turns = *break_even(result.clusters[1], result.clusters[0]);
  candidates[1].job.operations.price_per_gpu = DollarsPerSecond{turns / 3600.0};
  work.job.training.global_batch = 1000;
  const Procurement even = procure(candidates, {work}, options);
  CHECK(*even.clusters[1].price_usd == Approx(*even.clusters[0].price_usd));
  CHECK(answer_text(procure_answer(result)).find("break-even") != std::string::npos);
}

TEST_CASE("procure: what does not run says why, and its cluster comes last", "[planner][procure]") {
  auto candidates = clusters();
  candidates[1].job.cluster.host.device.usable_memory = 1.0 * GiB;
  const Procurement result = procure(candidates, workloads());
  CHECK_FALSE(result.clusters[1].cells[0].why.empty());
  CHECK_FALSE(result.clusters[1].run);
  CHECK(result.ranking.back() == 1);
  const auto json = nlohmann::json::parse(procure_json(result));
  CHECK(json.at("clusters").at(1).at("workloads").at(0).at("feasible") == false);
  CHECK(json.at("clusters").at(1).at("price_usd").is_null());
}

TEST_CASE("procure: formats, prices and engines that are not compared stand beside the ranking",
          "[planner][procure]") {
  std::vector<Scenario> candidates = clusters();
  candidates.push_back(named("newest", "llama2-7b", "dgx-b200", "ib-ndr", "12 USD/GPU-hour"));
  candidates.back().job.operations.price_per_gpu.reset();
  candidates.back().job.device_profile.gemm.erase(Precision::fp8);
  const Procurement result = procure(candidates, workloads());
  const auto says = [&](const std::string& subject, const std::string& part) {
    return std::count_if(
        result.not_compared.begin(), result.not_compared.end(), [&](const NotCompared& item) {
          return item.subject == subject && item.what.find(part) != std::string::npos;
        });
  };
  CHECK(says("newest", "in fp8, 2 times bf16 by its datasheet: no kernel rates") == 1);
  CHECK(says("newest", "in nvfp4, 4 times bf16 by its datasheet: not asked for") == 1);
  CHECK(says("newest", "in mxfp8") == 0);  // as fast as fp8
  CHECK(says("newest", "what it costs") == 1);
  CHECK(says("new", "not asked for (training.precision: fp8)") == 1);
  CHECK(says("new", "what it costs") == 0);
  CHECK(says("old", "fp8") == 0);  // an A100 has none
  CHECK(says("engine closed-form", "contention") == 1);
  const std::string text = answer_text(procure_answer(result));
  CHECK(text.find("Not compared\n") != std::string::npos);
  const auto json = nlohmann::json::parse(procure_json(result));
  CHECK(json.at("not_compared").size() == result.not_compared.size());
}

TEST_CASE("procure: text keeps its width, CSV has a row per cell", "[planner][procure]") {
  const Procurement result = procure(clusters(), workloads());
  const std::string text = answer_text(procure_answer(result));
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    CHECK(end - start <= 80);
    start = end + 1;
  }
  const std::string csv = procure_csv(result);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 5);
  CHECK(nlohmann::json::parse(procure_json(result)).at("schema") == "procure/1");
}

TEST_CASE("procure: the head's figures are those of the ranking", "[planner][procure]") {
  ProcureOptions options;
  options.by = RankBy::time;
  for (const HeadFigure& figure :
       procure_answer(procure(clusters(), workloads(), options)).head.figures)
    CHECK(figure.value.ends_with(" days"));
  options.by = RankBy::cost;
  for (const HeadFigure& figure :
       procure_answer(procure(clusters(), workloads(), options)).head.figures)
    CHECK(figure.value.starts_with("$"));
  // One alone is ahead of nobody.
  const auto alone = procure_answer(procure({clusters().front()}, workloads(), options));
  CHECK(alone.head.sentence.find("alone runs all workloads") != std::string::npos);
}

TEST_CASE("procure: prices and energies are ranges, and overlap is said of every cluster",
          "[planner][procure]") {
  ProcureOptions options;
  options.by = RankBy::cost;
  auto candidates = clusters();
  candidates.push_back(named("same", "llama2-7b", "dgx-a100", "ib-hdr", "1.05 USD/GPU-hour"));
  const Procurement result = procure(candidates, workloads(), options);
  for (const ProcureCluster& cluster : result.clusters) {
    REQUIRE(cluster.price_band);
    CHECK(cluster.price_band->low < *cluster.price_usd);
    CHECK(cluster.price_band->high > *cluster.price_usd);
    CHECK(cluster.price_band->middle == Approx(*cluster.price_usd));
    REQUIRE(cluster.energy_kwh);
    CHECK(cluster.energy_kwh->low < cluster.energy_kwh->high);
  }
  // 5 % apart are within the band, several times apart are not.
  const auto overlap = ties_with_first(result, ProcureMeasure::price);
  REQUIRE(overlap);
  CHECK(*overlap == std::vector<std::size_t>{2});
  const std::string text = answer_text(procure_answer(result));
  CHECK(text.find("The first and same are a tie.") != std::string::npos);
  CHECK(text.find("energy in kWh, cooling where") != std::string::npos);
  const auto json = nlohmann::json::parse(procure_json(result));
  CHECK(json.at("overlap_with_first") == nlohmann::json::array({"same"}));
  CHECK(json.at("clusters").at(0).at("price_low_usd") <
        json.at("clusters").at(0).at("price_high_usd"));
}

TEST_CASE("procure: by energy, GPUs of more power are not ranked by their hours",
          "[planner][procure]") {
  ProcureOptions options;
  options.by = RankBy::energy;
  auto candidates = clusters();
  // As fast as the first, at ten times its power.
  candidates[1] = candidates[0];
  candidates[1].job.name = "hungry";
  candidates[1].job.operations.power.gpu_busy =
      10.0 * candidates[0].job.cluster.host.device.power_limit;
  const Procurement result = procure(candidates, workloads(), options);
  CHECK(result.ranking == std::vector<std::size_t>{0, 1});
  CHECK(measure_of(result) == ProcureMeasure::energy);
  CHECK(result.clusters[1].energy_kwh->low > result.clusters[0].energy_kwh->high);
}
