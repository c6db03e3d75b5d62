// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>

#include "planner/answer/value_csv.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/text/text_layout.hpp"
#include "tests/planner/fixtures.hpp"

using namespace foretrain;

namespace {

/// A small RFC 4180 reader: rows of fields.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows{{""}};
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"')
        rows.back().back() += c;
      else if (i + 1 < text.size() && text[i + 1] == '"')
        rows.back().back() += text[++i];
      else
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      rows.back().emplace_back();
    } else if (c == '\n') {
      rows.push_back({""});
    } else if (c != '\r') {
      rows.back().back() += c;
    }
  }
  rows.pop_back();  // after the last line end
  return rows;
}

std::string field(const std::vector<std::vector<std::string>>& rows, const std::string& column,
                  std::size_t row = 1) {
  const auto found = std::find(rows[0].begin(), rows[0].end(), column);
  REQUIRE(found != rows[0].end());
  return rows[row][static_cast<std::size_t>(found - rows[0].begin())];
}

}  // namespace

TEST_CASE("CSV quotes commas, quotes and line ends and nothing else", "[planner][csv]") {
  CHECK(csv_field("plain text") == "plain text");
  CHECK(csv_field("a,b") == "\"a,b\"");
  CHECK(csv_field("say \"hi\"") == "\"say \"\"hi\"\"\"");
  CHECK(csv_field("two\nlines") == "\"two\nlines\"");
  CHECK(csv_field("").empty());
}

TEST_CASE("CSV: no cell is a formula, and numbers stay numbers", "[planner][csv]") {
  CHECK(csv_field("=HYPERLINK(1)") == "'=HYPERLINK(1)");
  CHECK(csv_field("+cmd|' /C calc'!A0") == "'+cmd|' /C calc'!A0");
  CHECK(csv_field("-2+3,4") == "\"'-2+3,4\"");
  CHECK(csv_field("@SUM(A1)") == "'@SUM(A1)");
  CHECK(csv_field("\t=1") == "'\t=1");
  CHECK(csv_field("-1.5e-3") == "-1.5e-3");
  CHECK(csv_field("+4") == "+4");
  CHECK(csv_field("a=b") == "a=b");
}

TEST_CASE("CSV has one header and one row per forecast, all of one length", "[planner][csv]") {
  Report odd = fixtures::fitting();
  odd.scenario.job.name = "a \"name\", with\r\neverything";
  const auto rows = read_csv(report_csv({odd, fixtures::out_of_memory(), fixtures::illegal()}));
  REQUIRE(rows.size() == 4);
  for (const auto& row : rows) CHECK(row.size() == rows[0].size());
  CHECK(field(rows, "name").starts_with("a \"name\", with"));
  CHECK(field(rows, "gpus") == "1024");
  CHECK(field(rows, "memory_capacity_bytes") == "85899345920");
  CHECK(std::stod(field(rows, "step_time_s")) == odd.prediction.step->time.value());
  CHECK(field(rows, "warnings") == "outside-calibration");
  CHECK(field(rows, "step_time_s", 2).empty());
  CHECK(field(rows, "feasible", 2) == "false");
  CHECK(field(rows, "reasons", 3) == "kv-heads-divide-tensor;gpus-match");
}

TEST_CASE("Markdown cells cannot break their table", "[planner][markdown]") {
  CHECK(markdown_cell("a|b") == "a\\|b");
  CHECK(markdown_cell("two\nlines") == "two lines");
  CHECK(markdown_cell("<img src=x> & <!--") == "&lt;img src=x> &amp; &lt;!--");
  Report report = fixtures::fitting();
  report.scenario.job.model.title = "pipe | model";
  std::istringstream in(report_markdown(report));
  std::size_t cells = 0;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("|")) {
      cells = 0;
      continue;
    }
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i)
      if (line[i] == '|' && (i == 0 || line[i - 1] != '\\')) ++bars;
    INFO(line);
    CHECK((cells == 0 || bars == cells));
    cells = bars;
  }
}

TEST_CASE("Markdown tells why a plan cannot run", "[planner][markdown]") {
  const std::string text = report_markdown(fixtures::illegal());
  CHECK(text.find("NOT A LEGAL PLAN") != std::string::npos);
  CHECK(text.find("kv-heads-divide-tensor") != std::string::npos);
}
