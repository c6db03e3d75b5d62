// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/profile_fit.hpp"
#include "calibration/fit/constant_list.hpp"

#include <Eigen/Dense>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>

#include "calibration/fit/constant_list.hpp"
#include "calibration/fit/internal/robust_fit.hpp"
#include "calibration/fit/profile_text.hpp"
#include "calibration/records/csv_table.hpp"
#include "scenarios/catalog/catalog_profiles.hpp"
#include "tests/calibration/measured_records.hpp"

namespace foretrain {
namespace {

std::string source_file(const std::string& below) {
  std::ifstream stream(std::string(FORETRAIN_SOURCE_DIR) + "/calibration/" + below);
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>(stream), {}};
}

FitPlan shipped_plan() {
  RunCatalog catalog = shipped_catalog();
  Diagnostics diagnostics;
  const auto plan =
      read_fit_plan(source_file("fits/steps.yaml"), "steps.yaml", catalog, diagnostics);
  diagnostics.throw_if_any();
  REQUIRE(plan.has_value());
  return *plan;
}

std::vector<StepRun> all_runs() { return step_runs(all_shipped_runs(), shipped_catalog()); }

std::vector<StepRun> runs_of(const std::vector<std::string>& families) {
  std::vector<RunRecord> records;
  for (const RunRecord& record : shipped_runs())
    for (const std::string& family : families)
      if (record.family() == family) records.push_back(record);
  return step_runs(records, shipped_catalog());
}

/// Messages of a plan with these lines under `constants`.
std::string messages(const std::string& constants) {
  RunCatalog catalog = shipped_catalog();
  Diagnostics diagnostics;
  const std::string text =
      "schema: 1\ntitle: t\nnoise: 0.04\ntail: 1\nrows: 40\n"
      "grades: {A: 1, B: 1, C: 0.5, D: 0.25}\nband_rows: 5\nband_width: 0.08\n"
      "parts: []\nconstants:\n" +
      constants;
  const auto plan = read_fit_plan(text, "p.yaml", catalog, diagnostics);
  CHECK(plan.has_value() == diagnostics.empty());
  std::string all;
  for (const Diagnostic& item : diagnostics.sorted()) all += item.text() + "\n";
  return all;
}

/// Planes through residuals at half a span to either side.
std::function<const ResidualPlanes&(const Eigen::VectorXd&, const Eigen::VectorXd&, bool)>
planes_of(const std::function<Eigen::VectorXd(const Eigen::VectorXd&)>& residuals) {
  auto planes = std::make_shared<ResidualPlanes>();
  return [planes, residuals](const Eigen::VectorXd& x, const Eigen::VectorXd& spans,
                             bool) -> const ResidualPlanes& {
    planes->values = residuals(x);
    planes->slopes = Eigen::MatrixXd::Zero(planes->values.size(), x.size());
    for (Eigen::Index j = 0; j < x.size(); ++j) {
      const Eigen::VectorXd side = 0.5 * spans[j] * Eigen::VectorXd::Unit(x.size(), j);
      planes->slopes.col(j) = (residuals(x + side) - residuals(x - side)) / spans[j];
    }
    return *planes;
  };
}

/// One variable with a prior of 1 +- 1 and rows that a function gives.
RobustProblem one_variable(
    const std::function<Eigen::VectorXd(const Eigen::VectorXd&)>& residuals) {
  RobustProblem problem;
  problem.residuals = residuals;
  problem.planes = planes_of(residuals);
  problem.weights = Eigen::VectorXd::Ones(residuals(Eigen::VectorXd::Zero(1)).size());
  problem.scale = 100.0;
  problem.prior_rows = Eigen::MatrixXd::Identity(1, 1);
  problem.prior_values = Eigen::VectorXd::Ones(1);
  problem.low = Eigen::VectorXd::Constant(1, -10.0);
  problem.high = Eigen::VectorXd::Constant(1, 10.0);
  return problem;
}

/// A straight line through points, y = x0 + x1 t, one of them an outlier.
RobustProblem line_problem() {
  const Eigen::VectorXd at = Eigen::VectorXd::LinSpaced(9, 0.0, 8.0);
  Eigen::VectorXd values = (1.0 + 0.5 * at.array()).matrix();
  values[8] += 40.0;
  RobustProblem problem;
  static Eigen::MatrixXd rows;
  rows = Eigen::MatrixXd::Ones(9, 2);
  rows.col(1) = at;
  problem.residuals = [values](const Eigen::VectorXd& x) {
    return Eigen::VectorXd(rows * x - values);
  };
  problem.planes = planes_of(problem.residuals);
  problem.weights = Eigen::VectorXd::Ones(9);
  problem.scale = 0.1;
  problem.prior_rows = 1e-3 * Eigen::MatrixXd::Identity(2, 2);
  problem.prior_values = Eigen::VectorXd::Zero(2);
  problem.low = Eigen::VectorXd::Constant(2, -10.0);
  problem.high = Eigen::VectorXd::Constant(2, 10.0);
  return problem;
}

}  // namespace

TEST_CASE("robust fit: an outlier does not bend a line", "[calibration][fit]") {
  const RobustSolution solution = robust_fit(line_problem(), Eigen::VectorXd::Zero(2), {});
  CHECK(solution.converged);
  CHECK(solution.x[0] == Approx(1.0).margin(0.03));
  CHECK(solution.x[1] == Approx(0.5).margin(0.03));
}

TEST_CASE("robust fit: a bound holds, and the rest is the best beside it", "[calibration][fit]") {
  RobustProblem problem = line_problem();
  problem.weights[8] = 0.0;
  problem.low[0] = 2.0;
  const RobustSolution solution = robust_fit(problem, Eigen::VectorXd::Constant(2, 3.0), {});
  CHECK(solution.converged);
  CHECK(solution.x[0] == 2.0);
  CHECK(solution.x[1] < 0.5);
}

TEST_CASE("robust fit: deviations are those of least squares", "[calibration][fit]") {
  RobustProblem problem = line_problem();
  problem.weights[8] = 0.0;
  problem.scale = 1e6;  // a plain square
  const RobustSolution solution = robust_fit(problem, Eigen::VectorXd::Zero(2), {});
  // Of a line through t = 0..7 with unit noise: variances 15/36 and 1/42.
  CHECK(solution.deviations[0] == Approx(std::sqrt(15.0 / 36.0)).epsilon(1e-4));
  CHECK(solution.deviations[1] == Approx(std::sqrt(1.0 / 42.0)).epsilon(1e-4));
}

TEST_CASE("robust fit: where two paths meet, every start ends at the same place",
          "[calibration][fit]") {
  // The row wants the least of 20 max(x, -x / 2), its kink at 0; the prior's 1 is weaker.
  const auto problem = one_variable([](const Eigen::VectorXd& x) {
    return Eigen::VectorXd::Constant(1, 20.0 * std::max(x[0], -x[0] / 2.0) + 1.0);
  });
  const RobustSolution above = robust_fit(problem, Eigen::VectorXd::Constant(1, 5.0), {});
  const RobustSolution below = robust_fit(problem, Eigen::VectorXd::Constant(1, -5.0), {});
  CHECK(above.converged);
  CHECK(below.converged);
  CHECK(above.x[0] == Approx(below.x[0]).margin(0.02 * above.deviations[0]));
  CHECK(std::abs(above.x[0]) < 0.25 * above.deviations[0]);
}

TEST_CASE("robust fit: a jump does not hold the others up", "[calibration][fit]") {
  // Steps of 0.005 at every tenth: derivatives see none or an endless slope. Least squares of the
  // line through them: x = (4.05 * 8.0025 + 1) / (4.05^2 + 1).
  const auto problem = one_variable([](const Eigen::VectorXd& x) {
    return Eigen::VectorXd::Constant(1, 4.0 * (x[0] - 2.0) + 0.005 * std::floor(10.0 * x[0]));
  });
  const RobustSolution solution = robust_fit(problem, Eigen::VectorXd::Zero(1), {});
  CHECK(solution.converged);
  CHECK(solution.x[0] == Approx(1.92).margin(0.1 * solution.deviations[0]));
}

TEST_CASE("robust fit: without records a variable is its prior", "[calibration][fit]") {
  RobustProblem problem = line_problem();
  problem.weights.setZero();
  problem.prior_rows = Eigen::MatrixXd::Identity(2, 2);
  problem.prior_values << 3.0, -2.0;
  const RobustSolution solution = robust_fit(problem, Eigen::VectorXd::Zero(2), {});
  CHECK(solution.x[0] == Approx(3.0));
  CHECK(solution.x[1] == Approx(-2.0));
}

TEST_CASE("fit plan: errors name the place and what is wrong", "[calibration][fit][error]") {
  CHECK(messages("  - {of: [stack/jax], keys: [times.head], prior: 1, width: 0.1}\n").empty());
  CHECK(messages("  - {of: [stack/jax], keys: [times.hed], prior: 1, width: 0.1}\n") ==
        "p.yaml:11:5: constants[0]: stack/jax has no constant 'times.hed'\n");
  CHECK(messages("  - {of: [stack/none], keys: [times.head], prior: 1, width: 0.1}\n") ==
        "p.yaml:11:5: constants[0]: stack/none has no constant 'times.head'\n");
  CHECK(messages("  - {of: [jax], keys: [times.head], prior: 1, width: 0.1}\n")
            .find("is not of the form stack/NAME") != std::string::npos);
  CHECK(messages("  - {of: [stack/jax], keys: [times.head], width: 0.1}\n")
            .find("needs either prior or like") != std::string::npos);
  CHECK(messages("  - {of: [site/selene], keys: [wait], prior: 5, width: 0.1}\n")
            .find("constants[0].prior") != std::string::npos);  // a time has a unit
  CHECK(messages("  - {of: [stack/jax], keys: [times.head], prior: 1, width: 0.1}\n"
                 "  - {of: [stack/jax], keys: [times.head], prior: 1, width: 0.1}\n")
            .find("is free already") != std::string::npos);
  CHECK(messages("  - {of: [stack/jax], keys: [times.head], like: stack/fsdp2, width: 0.1}\n"
                 "  - {of: [stack/fsdp2], keys: [times.head], like: stack/jax, width: 0.1}\n")
            .find("circle") != std::string::npos);
}

TEST_CASE("profile text: values change, comments and spelling stay", "[calibration][fit]") {
  const std::string text =
      "name: x\ntimes:\n  head: 1.5  # of the loss\n  launch: 0.8 ms\nacross: {share: 1, wait: "
      "5 us}\n";
  const auto edited = edit_profile(text, {{"times.head", "1.25"},
                                          {"times.launch", "800 us"},
                                          {"across.wait", "7 us"},
                                          {"times.jitter", "0.1"}});
  REQUIRE(edited.has_value());
  CHECK(*edited ==
        "name: x\ntimes:\n  head: 1.25  # of the loss\n  launch: 0.8 ms\n  jitter: 0.1\n"
        "across: {share: 1, wait: 7 us}\n");
  CHECK_FALSE(edit_profile(text, {{"name.new", "1"}}).has_value());
}

TEST_CASE("profile text: what is missing is added to its map, before the deviations",
          "[calibration][fit]") {
  const std::string text =
      "name: x\ntimes:\n  head: 1.5  # of the loss\n\n# Sites.\nacross: {share: 1}\n"
      "deviations:\n  times.head: 0.1\n";
  const auto edited = edit_profile(text, {{"times.jitter", "0.1"},
                                          {"across.wait", "5 us"},
                                          {"gemm.bf16.sustained", "0.8"},
                                          {"gemm.bf16.launch", "2 us"}});
  REQUIRE(edited.has_value());
  CHECK(*edited ==
        "name: x\ntimes:\n  head: 1.5  # of the loss\n  jitter: 0.1\n\n# Sites.\n"
        "across: {share: 1, wait: 5 us}\ngemm:\n  bf16:\n    sustained: 0.8\n    launch: 2 us\n"
        "deviations:\n  times.head: 0.1\n");
}

TEST_CASE("profile text: what a file says stands over its relative, but keys that are its own",
          "[calibration][fit]") {
  const FieldTable& table = stack_table().fields();
  const SaidValues relative = said_values(
      "name: base\nprovenance: {error: 0.1}\nband_low: 0.9\ntimes:\n  head: 1.5\n"
      "  jitter: 0.2\ndeviations:\n  times.head: 0.1\n  times.jitter: 0.3\n",
      table, {});
  const SaidValues said = said_values("name: x\nlike: base\ntimes: {head: 2}\n", table, relative);
  CHECK(said.at("times.head").text == "2");
  CHECK(said.at("times.head").deviation == 0.0);  // the relative's is of another value
  CHECK(said.at("times.jitter").deviation == 0.3);
  CHECK(said.at("band_low").text == "0.9");
  CHECK(said.at("name").text == "x");
  CHECK_FALSE(said.contains("provenance.error"));
}

TEST_CASE("profile text: deviations stand at the end and are replaced as a whole",
          "[calibration][fit]") {
  const std::string text = "name: x\ntimes:\n  head: 1.5\n";
  const auto first = with_deviations(text, {{"times.head", 0.0371}, {"times.gone", 0.5}});
  REQUIRE(first.has_value());
  const auto second = with_deviations(*first, {{"times.head", 0.04}});
  REQUIRE(second.has_value());
  CHECK(second->starts_with(text + "deviations:"));
  CHECK(second->ends_with("  times.head: 0.04\n"));
  CHECK(second->find("gone") == std::string::npos);
  CHECK(profile_deviations(*first).at("times.head") == 0.037);
  CHECK(profile_deviations(text).empty());
  CHECK(profile_scalar(text, "times.head") == "1.5");
  CHECK_FALSE(profile_scalar(text, "times.tail").has_value());
  CHECK_FALSE(with_deviations("deviations: {a: 1}\nname: x\n", {}).has_value());
  CHECK(with_deviations(*second, {}) == text);
}

// Else a fit would move a profile whose records it does not hold against it.
TEST_CASE("no shipped profile inherits a constant that the fit moves in its relative alone",
          "[calibration][fit]") {
  const FitPlan plan = shipped_plan();
  int inherited = 0;
  for (const ProfileLayer layer : {ProfileLayer::device, ProfileLayer::stack, ProfileLayer::site}) {
    const std::filesystem::path folder = std::filesystem::path(FORETRAIN_SOURCE_DIR) /
                                         "calibration/profiles" / std::string(name_of(layer));
    std::map<std::string, std::string> texts;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::ifstream in(entry.path());
      texts[entry.path().stem().string()] = {std::istreambuf_iterator<char>(in), {}};
    }
    const auto is_free = [&](const std::string& name, const std::string& key) {
      for (std::size_t i = 0; i < plan.constants.size(); ++i)
        for (const ProfileRef& profile : plan.constants[i].profiles)
          for (const std::string& free : plan.constants[i].keys)
            if (profile == ProfileRef{layer, name} && free == key) return static_cast<int>(i);
      return -1;
    };
    for (const auto& [name, text] : texts) {
      const auto like = profile_scalar(text, "like");
      if (!like) continue;
      for (const std::string& key : constant_keys(layer)) {
        if (profile_scalar(text, key)) continue;
        CAPTURE(name, *like, key);
        CHECK(is_free(name, key) == is_free(*like, key));
        if (is_free(name, key) >= 0) ++inherited;
      }
    }
  }
  CHECK(inherited > 50);
}

TEST_CASE("fitted constants are written in three digits and a unit of their size",
          "[calibration][fit]") {
  FitConstant wait;
  wait.keys = {"wait"};
  wait.profiles = {{ProfileLayer::site, "selene"}};
  CHECK(fitted_text(wait, 1.2345e-3) == "1.23 ms");
  CHECK(fitted_text(wait, 27.4e-3) == "27.4 ms");
  FitConstant head;
  head.keys = {"times.head"};
  head.profiles = {{ProfileLayer::stack, "jax"}};
  CHECK(fitted_text(head, 0.099951) == "0.1");
}

TEST_CASE("constants: every free number is listed with its prior, its records and a meaning",
          "[calibration][fit][constants]") {
  const FitPlan plan = shipped_plan();
  Diagnostics diagnostics;
  const auto lines =
      read_constants_csv(source_file("fits/constants.csv"), "constants.csv", diagnostics);
  diagnostics.throw_if_any();
  CHECK(constants_csv(lines) == source_file("fits/constants.csv"));
  CHECK(plan.constants.size() < 159);
  std::map<std::string, ConstantLine> free;
  for (const ConstantLine& line : lines)
    if (line.fitted_to == "steps" && line.as.empty()) free[line.profile + " " + line.key] = line;
  CHECK(free.size() == plan.constants.size());
  for (const FitConstant& constant : plan.constants) {
    const std::string name = constant.profiles.front().text() + " " + constant.keys.front();
    CAPTURE(name);
    REQUIRE(free.count(name) == 1);
    CHECK(free[name].from == constant.from);
    CHECK_FALSE(constant.from.empty());
    CHECK(free[name].width >= constant.width * 0.99);  // wider by its relative's, if any
    if (!constant.like) CHECK(free[name].prior == fitted_text(constant, constant.prior));
  }
}

TEST_CASE("constants: what the shipped profiles say is inside every bound",
          "[calibration][fit][constants]") {
  RunCatalog catalog = shipped_catalog();
  for (const FitConstant& constant : shipped_plan().constants)
    for (const ProfileRef& profile : constant.profiles)
      for (const std::string& key : constant.keys) {
        CAPTURE(profile.text(), key);
        const double value = constant_of(profile, key, catalog)->get();
        CHECK(value > constant.low * 1.0001);
        CHECK(value < constant.high * 0.9999);
      }
}

TEST_CASE("constants: evidence is by share, and counts the records that matter",
          "[calibration][fit][constants]") {
  const ConstantEvidence evidence =
      evidence_of({3.0, 6.0, 0.5, 0.5, 0.0}, {{"b-1", "b", "old", 64, 2023, "two"},
                                              {"a-1", "a", "new", 8, {}, "one"},
                                              {"b-2", "b", "old", 512, 2025, "two"},
                                              {"c-1", "c", "old", 1, 2020, "two"},
                                              {"c-2", "c", "old", 1, 2020, "two"}});
  CHECK(evidence.records == 2);
  CHECK(evidence.record == "a-1");
  CHECK(evidence.reach == ConstantReach{{"new", "old"}, {"one", "two"}, 8, 64, 2023, 2023});
  REQUIRE(evidence.sources.size() == 3);
  CHECK(evidence.sources[0] == std::pair<std::string, double>{"a", 0.6});
  CHECK(evidence.sources[1].first == "b");
  CHECK(evidence.sources[1].second == Approx(0.35));
  CHECK(evidence_of({0.0}, {{"a-1", "a", "old"}}).records == 0);
}

TEST_CASE("constants: what is used on more than it was measured on is told apart",
          "[calibration][fit][constants]") {
  ConstantReach told;
  told.add({"a-1", "a", "old", 64, 2023, "one"});
  told.add({"a-2", "a", "new", 8});
  CHECK(told == ConstantReach{{"new", "old"}, {"one"}, 8, 64, 2023, 2023});
  ConstantReach used = told;
  CHECK_FALSE(beyond(told, used, true).any());
  used.add({"b-1", "b", "old", 128, 2023, "one"});
  CHECK_FALSE(beyond(told, used, true).any());
  ConstantReach other;
  other.add({"b-2", "b", "newest", 129, 2026, "two"});
  used.add(other);
  const ReachBeyond farther = beyond(told, used, true);
  CHECK(farther.devices == std::vector<std::string>{"newest"});
  CHECK(farther.stacks == std::vector<std::string>{"two"});
  CHECK(farther.gpus == 129);
  CHECK_FALSE(farther.first_year);
  CHECK(farther.last_year == 2026);
  CHECK_FALSE(beyond(told, used, false).gpus);
}

TEST_CASE("constants: the table names records that ship, and refuses spans that are none",
          "[calibration][fit][constants]") {
  std::map<std::string, FitScope> runs;
  for (const StepRun& run : all_runs()) runs[run.check.id] = run.fitted;
  Diagnostics diagnostics;
  const std::string text = source_file("fits/constants.csv");
  int kept_out = 0;
  for (const ConstantLine& line : read_constants_csv(text, "constants.csv", diagnostics)) {
    CAPTURE(line.profile, line.key, line.record, line.kept_out);
    CHECK(line.record.empty() == (line.records == 0));
    CHECK(line.reach.least_gpus.has_value() == (line.records > 0));
    if (line.fitted_to != "steps") continue;
    if (line.records > 0) {
      REQUIRE(runs.count(line.record) == 1);
      CHECK(runs[line.record] != FitScope::none);
    }
    if (line.kept_out.empty()) continue;
    REQUIRE(runs.count(line.kept_out) == 1);
    CHECK(runs[line.kept_out] != FitScope::all);
    ++kept_out;
  }
  CHECK(diagnostics.empty());
  CHECK(kept_out > 20);
  std::string broken = text.substr(0, text.find('\n') + 1);
  broken += "stack/a,b,,1,\"c\",0.1,2,\"d 100\",steps,\"e\",64-8,,\"\",\"d-1\",\"\"\n";
  CHECK(read_constants_csv(broken, "constants.csv", diagnostics).empty());
  CHECK(diagnostics.count() == 1);
}

// tests/calibration/CMakeLists.txt runs this once more without FMA and AVX2, as other processors
// do.
TEST_CASE("fit: the shipped profiles are what the shipped records give",
          "[calibration][fit][validation][processor]") {
  const ProfileFit fit = fit_profiles(shipped_plan(), all_runs(), shipped_catalog());
  CHECK(fit.converged);
  CHECK(fit.constants.size() > 130);
  for (const FittedConstant& fitted : fit.constants) {
    CAPTURE(fitted.constant.text(), fitted.before, fitted.text, fitted.deviation);
    CHECK(fitted.moved() < same_fit);
    CHECK_FALSE(fitted.at_bound);
    CHECK(fitted.deviation > 0.0);
  }
  const RunCatalog& catalog = shipped_catalog();
  for (const FittedBand& band : fit.bands) {
    CAPTURE(band.stack);
    CHECK(catalog.stacks.at(band.stack).band_low == Approx(band.low).margin(0.004));
    CHECK(catalog.stacks.at(band.stack).band_high == Approx(band.high).margin(0.004));
    CHECK(catalog.stacks.at(band.stack).provenance.error == Approx(band.error).margin(0.004));
  }
}

TEST_CASE("fit: another start ends at the same constants", "[calibration][fit]") {
  const FitPlan plan = shipped_plan();
  const std::vector<StepRun> runs = runs_of({"sc21", "kort", "zb"});
  const ProfileFit first = fit_profiles(plan, runs, shipped_catalog());
  const ProfileFit second = fit_profiles(plan, runs, shipped_catalog(), {1});
  CHECK(first.converged);
  CHECK(second.converged);
  CHECK(first.objective == Approx(second.objective).epsilon(1e-4));
  for (std::size_t i = 0; i < first.constants.size(); ++i) {
    const FittedConstant& fitted = first.constants[i];
    CAPTURE(fitted.constant.text(), fitted.text, second.constants[i].text);
    CHECK(std::abs(std::log(second.constants[i].after / fitted.after)) <
          same_fit * fitted.deviation);
  }
}

}  // namespace foretrain
