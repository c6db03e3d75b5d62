// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/common/json_line.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include <catch2/catch.hpp>

namespace foretrain::harness {

TEST_CASE("a line is read back as it was written", "[harness]") {
  const std::string text = "quote \" backslash \\ tab \t bell \a";
  const std::string line = JsonLine{}
                               .text("text", text)
                               .number("number", 0.1)
                               .number("infinite", std::numeric_limits<double>::infinity())
                               .whole("whole", -9007199254740993LL)
                               .truth("truth", true)
                               .missing("missing")
                               .str();
  CHECK(line.find('\n') == std::string::npos);
  const nlohmann::json read = nlohmann::json::parse(line);
  CHECK(read["text"] == text);
  CHECK(read["number"] == 0.1);
  CHECK(read["infinite"].is_null());
  CHECK(read["whole"] == -9007199254740993LL);
  CHECK(read["truth"] == true);
  CHECK(read["missing"].is_null());
  CHECK(nlohmann::json::parse(JsonLine{}.str()).empty());
}

}  // namespace foretrain::harness
