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

CommandRow gui_command() {
  const auto options = std::make_shared<GuiOptions>();
  CommandRow command{"gui", "Open the desktop program"};
  command.option("scenario", options->scenario, "SCENARIO",
                 "Scenario file; by default the 70B example");
  command.option("--theme", options->theme, "NAME", "light or dark; by default as last time");
  command.texts = {
      .notes =
          "Starts foretrain-gui, which also draws without a display; the exit code is its own.",
      .examples = {"foretrain gui", "foretrain gui run.yaml",
                   "foretrain-gui --render gantt.png --view gantt run.yaml"},
      .exits = {{exit_usage, "it was not built, or finds no display"}}};
  command.run = [options] { return start(*options); };
  return command;
}

}  // namespace foretrain
