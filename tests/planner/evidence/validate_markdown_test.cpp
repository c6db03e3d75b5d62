// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <filesystem>
#include <sstream>
#include <string>

#include "planner/evidence/validate.hpp"
#include "planner/text/usage_error.hpp"

using namespace foretrain;

namespace {

/// Columns of a table row; an escaped bar is text.
int columns(const std::string& row) {
  int bars = 0;
  for (std::size_t i = 0; i < row.size(); ++i)
    bars += row[i] == '|' && (i == 0 || row[i - 1] != '\\') ? 1 : 0;
  return bars - 1;
}

RecordCheck check_of(const std::string& id, const std::string& quantity, double measured,
                     double predicted) {
  RecordCheck check;
  check.id = id;
  check.source = "own";
  check.quantity = quantity;
  check.measured = measured;
  check.predicted = check.low = check.high = predicted;
  check.at_half_peak = 1.5 * measured;
  return check;
}

std::size_t compared(const ValidateRequest& request) {
  std::size_t found = 0;
  for (const RecordCheck& check : validate(request).records) found += check.skipped ? 0U : 1U;
  return found;
}

}  // namespace

TEST_CASE("Markdown of the shipped runs: every table has rows of one width",
          "[planner][validate]") {
  const Validation validation = validate(
      {.memory = "", .runs = "", .vtrain = std::nullopt, .sources = {"zb", "dgxc", "aws"}});
  const std::string text = answer_markdown(validation_answer(validation, {true}));
  std::istringstream lines(text);
  std::string line;
  int width = 0;
  int tables = 0;
  while (std::getline(lines, line)) {
    if (!line.starts_with('|')) {
      width = 0;
      continue;
    }
    tables += width == 0 ? 1 : 0;
    if (width == 0) width = columns(line);
    CAPTURE(line);
    CHECK(columns(line) == width);
    CHECK(line.ends_with('|'));
  }
  CHECK(tables == 7);  // head, files, steps, reasons, memory, fits, worst
  CHECK(text.find("#### Skipped") != std::string::npos);
  CHECK(answer_markdown(validation_answer(validation, {})).find("Skipped") == std::string::npos);
}

TEST_CASE("Markdown tells bias, MAPE, band, order, the guess of 50 % MFU and the worst record",
          "[planner][validate]") {
  Validation validation;
  validation.files = {"own.yaml"};
  RecordCheck step = check_of("own-1", "step_time_s", 2.0, 2.5);
  step.group = "dense bf16/fp16";
  step.high = 3.0;
  step.low = 1.0;
  validation.records.push_back(step);
  step.id = "own|2";
  step.predicted = 1.8;
  step.low = step.high = 1.8;
  validation.records.push_back(step);
  validation.records.push_back(check_of("own-1", "fits", 0.0, 1.0));
  validation.records.push_back(check_of("own-2", "fits", 1.0, 0.0));
  validation.records.push_back(check_of("own-3", "fits", 0.0, 1.0));
  validation.records.push_back(check_of("own-4", "fits", 1.0, 1.0));
  validation.records.push_back(check_of("own-5", "mem_max", 100.0, 99.0));
  validation.records.push_back(check_of("own-6", "mem_device", 1.0, 1.0));
  skip(validation.records.back(), "because");
  validation.summary = summarize(validation.records);
  const std::string text = answer_markdown(validation_answer(validation, {true}));
  CAPTURE(text);
  for (const char* line :
       {"| Measured | own.yaml |\n",
        "| own | 2 | 0 | +7.5 | 17.5 | 17.5 | 23.5 | 50 | - | 50.0 | 0.0 | 0 |\n",
        "| own | step_time_s | +25.00 | own-1 |\n",
        "| own | mem_max | 1 | 0 | -1.00 | 1.00 | 1.00 | 1.00 | -1.00 |\n",
        "| own | mem_device | 0 | 1 | - | - | - | - | - |\n", "| own | 4 | 0 | 25.00 | 2 | 1 |\n",
        "- own-6 (mem_device): because\n"})
    CHECK(text.find(line) != std::string::npos);
}

TEST_CASE("measured steps are judged by the bands of their forecasts, all together by own profiles",
          "[planner][validate]") {
  Validation validation;
  for (const char* id : {"own-1", "own-2"}) {
    RecordCheck step = check_of(id, "step_time_s", 2.2, 2.0);
    step.low = 1.8;
    step.high = 2.4;
    step.stack_low = 0.95;
    step.stack_high = 1.05;
    validation.records.push_back(step);
  }
  validation.summary = summarize(validation.records);
  RecordsCheck check = check_records(validation, false);
  CHECK(check.steps == 2);
  CHECK(check.outside.empty());
  CHECK(validation_answer(validation, {.check = check}).head.verdict == Verdict::safe);
  check = check_records(validation, true);
  REQUIRE(check.outside.size() == 1);
  CHECK(check.outside.front().starts_with("all 2 runs together: 10 % slower"));
  CHECK(validation_answer(validation, {.check = check}).head.verdict == Verdict::no);
}

TEST_CASE("measured memory is judged by its band as steps are", "[planner][validate]") {
  Validation validation;
  RecordCheck step = check_of("own-1", "step_time_s", 2.0, 2.0);
  step.low = 1.8;
  step.high = 2.4;
  RecordCheck memory = check_of("own-1", "mem_max", 44.3e9, 60.7e9);  // 37 % too much forecast
  memory.low = 54e9;
  memory.high = 67e9;
  validation.records = {step, memory};
  validation.summary = summarize(validation.records);
  const RecordsCheck check = check_records(validation, false);
  CHECK(check.steps == 1);
  CHECK(check.memory == 1);
  REQUIRE(check.outside.size() == 1);
  CHECK(check.outside.front().find("less than the forecast expects") != std::string::npos);
  CHECK(validation_answer(validation, {.check = check}).head.verdict == Verdict::no);
}

TEST_CASE("grades of confidence divide the runs", "[planner][validate]") {
  ValidateRequest request{.runs = ""};
  request.only = ValidateOnly::time;
  request.sources = {"sc21"};
  const std::size_t all = compared(request);
  std::size_t sum = 0;
  for (const char* grade : {"A", "B", "C", "D"}) {
    request.confidence = {grade};
    try {
      sum += compared(request);
    } catch (const UsageError& error) {
      CHECK(std::string(error.what()).find("the sources and the confidence") != std::string::npos);
    }
  }
  CHECK(sum == all);
  request.confidence = {"A", "B", "C", "D"};
  CHECK(compared(request) == all);
  request.confidence = {"C"};
  CHECK(compared(request) > 0);
  CHECK(compared(request) < all);
}

TEST_CASE("a grade that no record has is refused, as are memory records, which have none",
          "[planner][validate]") {
  // The tables of vtrain are of grade A, all of them.
  CHECK_THROWS_WITH(validate({.vtrain = std::vector<std::filesystem::path>{}, .confidence = {"B"}}),
                    Catch::Contains("no record of the confidence"));
  CHECK_THROWS_AS(validate({.memory = "", .confidence = {"A"}}), std::logic_error);
}
