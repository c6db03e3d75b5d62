// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "planner/cli/commands.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

struct GuiOptions {
  std::string scenario;
  std::string theme;
};

/// The desktop program beside this one; empty where there is none.
std::filesystem::path sibling() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  auto program = self.parent_path() / "foretrain-gui";
  return std::filesystem::exists(program, error) ? program : std::filesystem::path{};
}

/// Becomes the desktop program; comes back only with an error.
int start(const GuiOptions& options) {
  const std::filesystem::path beside = sibling();
  std::string program = beside.empty() ? "foretrain-gui" : beside.string();
  std::string theme = "--theme";
  std::string value = options.theme;
  std::string scenario = options.scenario;
  std::vector<char*> arguments{program.data()};
  if (!value.empty()) arguments.insert(arguments.end(), {theme.data(), value.data()});
  if (!scenario.empty()) arguments.push_back(scenario.data());
  arguments.push_back(nullptr);
  execvp(program.c_str(), arguments.data());
  if (errno == ENOENT)
    throw UsageError(
        "foretrain-gui is neither beside this program nor in PATH; ./dev gui builds it, or CMake "
        "with FORETRAIN_BUILD_GUI=ON (Debian: qt6-base-dev, libqt6opengl6-dev, qt6-charts-dev)");
  throw std::runtime_error("cannot start " + program + ": " + std::strerror(errno));
}

}  // namespace

Command add_gui_command(CLI::App& program) {
  const auto options = std::make_shared<GuiOptions>();
  CLI::App* app = program.add_subcommand("gui", "Open the desktop program");
  app->add_option("scenario", options->scenario, "Scenario file; by default the 70B example")
      ->type_name("SCENARIO");
  app->add_option("--theme", options->theme, "light or dark; by default as last time")
      ->type_name("NAME");
  app->footer(
      "Examples:\n"
      "  foretrain gui\n"
      "  foretrain gui run.yaml\n"
      "It is the program foretrain-gui, which also draws without a display:\n"
      "  foretrain-gui --render gantt.png --view gantt run.yaml\n"
      "Exit codes: those of foretrain-gui; 2 where it was not built or finds no display.");
  return {app, [options] { return start(*options); }};
}

}  // namespace foretrain
