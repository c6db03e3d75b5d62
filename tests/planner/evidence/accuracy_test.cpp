// SPDX-License-Identifier: Apache-2.0
// Errors of sources left out of the fit: how they are summed up, written and read, and whether
// those that ship belong to the profiles that ship.
#include <catch2/catch.hpp>
#include <sstream>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "calibration/records/csv_table.hpp"
#include "planner/evidence/accuracy.hpp"
#include "planner/scene/scene.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

using Catch::Contains;

RecordCheck step(const char* source, const char* group, double predicted) {
  RecordCheck check;
  check.id = source;
  check.source = source;
  check.group = group;
  check.quantity = step_quantity;
  check.measured = 1.0;
  check.predicted = predicted;
  check.low = predicted * 0.95;
  check.high = predicted * 1.05;
  return check;
}

/// Three runs of "big" 20 % too slow, two of others 10 % too fast; one fp8 run.
LeftOut example() {
  LeftOutValidation validation;
  validation.records = {step("big", "dense", 1.2),   step("big", "dense", 1.2),
                        step("big", "dense", 1.2),   step("small", "dense", 0.9),
                        step("other", "dense", 0.9), step("other", "fp8", 1.02)};
  for (RecordCheck check : validation.records) {
    check.predicted = 1.0 + (check.predicted - 1.0) / 2.0;
    validation.fitted_records.push_back(std::move(check));
  }
  validation.folds = summarize(validation.records);
  validation.fitted = summarize(validation.fitted_records);
  LeftOutValidation years = validation;
  years.axis = FoldAxis::release;
  return {"steps.yaml", {std::move(validation), std::move(years)}};
}

const LeftOutError& line_of(const std::vector<LeftOutError>& lines, const char* label) {
  for (const LeftOutError& line : lines)
    if (line.axis == FoldAxis::source && left_out_label(line) == label) return line;
  FAIL(label);
  return lines.front();
}

TEST_CASE("accuracy: a total that one source dominates comes without it, too, and first",
          "[planner][accuracy]") {
  const auto lines = left_out_errors(example());
  const LeftOutError& rest = line_of(lines, "dense but big");
  CHECK(rest.runs == 2);
  CHECK(rest.mape == Approx(0.10));
  CHECK(rest.mape_fitted == Approx(0.05));
  CHECK(rest.in_band.value() == 0.0);
  const LeftOutError& all = line_of(lines, "all dense");
  CHECK(all.runs == 5);
  CHECK(all.mape == Approx((3 * 0.2 + 2 * 0.1) / 5.0));
  CHECK(&rest < &all);
  // A source that is the whole of its group dominates nothing.
  CHECK(line_of(lines, "all fp8").in_band.value() == 1.0);
}

TEST_CASE("accuracy: what is written is read back, unknown bands as unknown",
          "[planner][accuracy]") {
  auto lines = left_out_errors(example());
  lines.front().in_band.reset();
  const std::string text = left_out_csv(lines);
  const auto read = read_left_out(text, "left_out.csv");
  REQUIRE(read.size() == lines.size());
  CHECK(left_out_csv(read) == text);
  CHECK_FALSE(read.front().in_band);
  CHECK_THAT(answer_text(accuracy_answer(read, {{}, {"all"}})),
             Contains("dense but big") && !Contains("small") && Contains("P10 to P90") &&
                 Contains("sources left out of the fit") && Contains("years before"));
  CHECK_THAT(answer_text(accuracy_answer(read, {{FoldAxis::release}, {}})),
             Contains("small") && Contains("years before") && !Contains("sources left out"));
  CHECK_THROWS_AS(accuracy_answer(read, {{}, {"nothing"}}), UsageError);
  CHECK_THROWS_AS(accuracy_answer(read, {{FoldAxis::size}, {}}), UsageError);
}

TEST_CASE("accuracy: a damaged table is refused with its line", "[planner][accuracy]") {
  std::string text = left_out_csv(left_out_errors(example()));
  text.replace(text.find("big,dense,,3,"), 13, "big,dense,,x,");
  CHECK_THROWS_WITH(read_left_out(text, "left_out.csv"),
                    Contains("left_out.csv:2") && Contains("runs: 'x' is not a number"));
  CHECK_THROWS_WITH(read_left_out("source,runs\n", "left_out.csv"),
                    Contains("columns are missing"));
}

// tests/calibration/step_errors.csv follows the shipped profiles. Where this fails, the profiles
// moved: foretrain validate --leave-out all --csv --out calibration/fits/left_out.csv
TEST_CASE("accuracy: the left-out errors that ship are of the profiles that ship",
          "[planner][accuracy]") {
  const auto lines = shipped_left_out({});
  Diagnostics diagnostics;
  const std::filesystem::path file =
      std::filesystem::path(FORETRAIN_SOURCE_DIR) / "tests/calibration/step_errors.csv";
  const auto text = read_text_file(file, file.string(), 1 << 20, diagnostics);
  REQUIRE(text.has_value());
  const CsvTable fitted =
      read_csv(*text, "step_errors.csv", {"source", "group", "runs", "mape"}, diagnostics);
  diagnostics.throw_if_any();
  int compared = 0;
  for (const LeftOutError& line : lines) {
    for (const CsvRow& row : fitted.rows) {
      if (line.axis != FoldAxis::source || !line.without.empty() ||
          fitted.cell(row, "source") != line.source || fitted.cell(row, "group") != line.group)
        continue;
      CAPTURE(line.source, line.group);
      CHECK(std::stoi(fitted.cell(row, "runs")) == line.runs);
      CHECK(100.0 * line.mape_fitted == Approx(std::stod(fitted.cell(row, "mape"))).margin(0.25));
      ++compared;
    }
  }
  CHECK(compared > 20);
}

// foretrain validate --accuracy --figure calibration/figures/left_out.svg --force
TEST_CASE("accuracy: the picture that ships is of the errors that ship", "[planner][accuracy]") {
  const std::string svg = scene_svg(left_out_chart(shipped_left_out({}), picture_space({}, 980.0)));
  Diagnostics diagnostics;
  const std::filesystem::path file =
      std::filesystem::path(FORETRAIN_SOURCE_DIR) / "calibration/figures/left_out.svg";
  const auto shipped = read_text_file(file, file.string(), 1 << 20, diagnostics);
  diagnostics.throw_if_any();
  CHECK(shipped == svg);
  CHECK_THAT(svg, Contains("another source") && Contains("software of a later year"));
}

TEST_CASE("accuracy: a stack's chips stand below it, so that no row is wider than the screen",
          "[planner][accuracy]") {
  const std::string text =
      answer_text(accuracy_answer(shipped_left_out({}), {{FoldAxis::device}, {}}));
  CHECK_THAT(text, Contains("\n  megatron-core\n    on "));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
    CHECK_FALSE(line.starts_with("      "));  // a figure on a line of its own
  }
}

// Widths are fitted on these forecasts: foretrain validate --leave-out all --bands --band-table
// calibration/fits/bands.yaml, then --csv as above.
TEST_CASE("accuracy: bands that ship hold what they should along every axis",
          "[planner][accuracy][bands]") {
  int axes = 0;
  for (const LeftOutError& line : shipped_left_out({})) {
    if (!line.total() || !line.group.empty() || !line.in_band) continue;
    CAPTURE(name_of(line.axis), *line.in_band);
    CHECK(*line.in_band > 0.72);
    CHECK(*line.in_band < 0.92);
    ++axes;
  }
  CHECK(axes == 8);
}

}  // namespace
}  // namespace foretrain
