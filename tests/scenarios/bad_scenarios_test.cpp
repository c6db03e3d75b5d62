// SPDX-License-Identifier: Apache-2.0
// Every file of tests/bad_scenarios is refused with exactly the messages that stand beside it.
// FORETRAIN_UPDATE_GOLDEN=1 rewrites those; review the difference as a user would read it.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "scenarios/resolve/scenario.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

const fs::path bad_folder = fs::path(FORETRAIN_SOURCE_DIR) / "tests" / "bad_scenarios";

std::vector<fs::path> bad_scenarios() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(bad_folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// Lines "# --set ..." of a scenario are its flags.
LoadOptions flags_of(const std::string& text) {
  const std::string start = "# --set ";
  LoadOptions options;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind(start, 0) == 0) options.overrides.push_back(line.substr(start.size()));
  return options;
}

/// Adding a catalog entry must not change any expectation, so lists of catalog names are left out
/// here (catalog_test.cpp checks them), and so is the folder that this tree lies in.
std::string portable(std::string messages) {
  const std::string place = bad_folder.generic_string() + "/";
  for (auto at = messages.find(place); at != std::string::npos; at = messages.find(place, at))
    messages.erase(at, place.size());
  const std::string list = " Known: ";
  for (auto at = messages.find(list); at != std::string::npos; at = messages.find(list, at + 1)) {
    const auto start = at + list.size();
    messages.replace(start, messages.find('\n', at) - start, "(the catalog)");
  }
  return messages;
}

std::string messages_of(const fs::path& file) {
  const std::string text = test::contents(file);
  try {
    (void)load_scenario_text(text, file.filename().string(), bad_folder, flags_of(text));
  } catch (const ScenarioError& error) {
    return portable(std::string(error.what()) + "\n");
  }
  return "accepted\n";
}

TEST_CASE("bad scenarios: every message is pinned, with line and column", "[scenarios][error]") {
  const char* update = std::getenv("FORETRAIN_UPDATE_GOLDEN");
  const auto files = bad_scenarios();
  CHECK(files.size() >= 45);
  for (const fs::path& file : files) {
    const std::string messages = messages_of(file);
    fs::path expected = file;
    expected.replace_extension(".expected");
    if (update) std::ofstream(expected, std::ios::binary) << messages;
    INFO(file.filename().string());
    CHECK(messages == test::contents(expected));
    CHECK(messages != "accepted\n");
  }
}

TEST_CASE("bad scenarios: every expectation belongs to a scenario", "[scenarios][error]") {
  for (const auto& entry : fs::directory_iterator(bad_folder)) {
    if (entry.path().extension() != ".expected") continue;
    INFO(entry.path().filename().string());
    fs::path scenario = entry.path();
    CHECK(fs::exists(scenario.replace_extension(".yaml")));
  }
}

}  // namespace
}  // namespace foretrain
