// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "planner/cli/commands.hpp"
#include "planner/cli/help/doctor_checks.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/version.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

struct DoctorOptions {
  bool json = false;
};

bool core_works(const std::vector<Finding>& findings) {
  return std::ranges::none_of(findings, [](const Finding& finding) {
    return finding.part == Part::core && finding.state == State::broken;
  });
}

/// Parts that this build could have and has not, by name.
std::vector<std::string> left_out(const std::vector<Finding>& findings) {
  std::vector<std::string> names;
  for (const Finding& finding : findings)
    if (finding.optional_build && finding.state == State::absent) names.push_back(finding.name);
  return names;
}

Tone tone_of(State state) {
  switch (state) {
    case State::ok:
      return Tone::good;
    case State::absent:
      return Tone::dim;
    case State::broken:
      return Tone::bad;
  }
  return Tone::plain;
}

std::string doctor_text(const std::vector<Finding>& findings, const TextStyle& style) {
  std::string text;
  std::optional<Part> part;
  for (const Finding& finding : findings) {
    if (part != finding.part) {
      text += (part ? "\n" : "") + toned(heading_of(finding.part), Tone::strong, style) + "\n";
      part = finding.part;
    }
    const std::string head =
        "  " + toned(pad_right(name_of(finding.state), 8), tone_of(finding.state), style) +
        pad_right(finding.name, 17);
    text += hanging(head, finding.detail, style);
    if (!finding.help.empty()) text += hanging(std::string(27, ' '), finding.help, style);
  }
  const std::vector<std::string> absent = left_out(findings);
  if (!absent.empty())
    text += "\n" + hanging("", "Left out of this installation: " + joined(absent) + ".", style);
  return text + "\n" +
         (core_works(findings) ? "Forecasts work; what is absent is optional.\n"
                               : "Forecasts do not work: see what is broken under Core.\n");
}

std::string doctor_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings)
    list.push_back({{"part", name_of(finding.part)},
                    {"name", finding.name},
                    {"state", name_of(finding.state)},
                    {"detail", finding.detail},
                    {"help", finding.help}});
  const nlohmann::ordered_json tree{{"schema", "doctor/1"},
                                    {"foretrain_version", version},
                                    {"core_works", core_works(findings)},
                                    {"left_out", left_out(findings)},
                                    {"findings", std::move(list)}};
  return tree.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int doctor(const DoctorOptions& options) {
  const std::vector<Finding> findings = examine();
  const int delivered =
      deliver(options.json ? doctor_json(findings) : doctor_text(findings, output_style()));
  if (delivered != exit_ok) return delivered;
  return core_works(findings) ? exit_ok : exit_internal;
}

}  // namespace

CommandRow doctor_command() {
  const auto options = std::make_shared<DoctorOptions>();
  CommandRow command{
      "doctor", "Show what of this installation works, what is missing, and what that disables"};
  command.flag("--json", options->json, "Print JSON, schema doctor/1");
  command.texts = {
      .notes =
          "Core is what every forecast needs; all else is optional, and a missing one is not an "
          "error.",
      .examples = {"foretrain doctor",
                   "foretrain doctor --json | jq '.findings[] | select(.state == \"broken\")'"},
      .exits = {{exit_ok, "the core works"}, {exit_internal, "it does not"}}};
  command.run = [options] { return doctor(*options); };
  return command;
}

}  // namespace foretrain
