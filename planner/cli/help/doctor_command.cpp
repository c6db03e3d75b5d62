// SPDX-License-Identifier: Apache-2.0

#include <dlfcn.h>
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <map>
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

namespace {

/// A library for as long as it is asked. It is not unloaded: MPI and SimGrid do not take that well.
class Library {
 public:
  explicit Library(const char* file) : handle_{::dlopen(file, RTLD_NOW | RTLD_LOCAL)} {}

  [[nodiscard]] bool loaded() const { return handle_ != nullptr; }
  [[nodiscard]] static std::string why() {
    const char* text = ::dlerror();  // NOLINT(concurrency-mt-unsafe): one thread
    return text == nullptr ? "unknown" : text;
  }

  template <class Function>
  [[nodiscard]] Function* find(const char* name) const {
    return loaded() ? reinterpret_cast<Function*>(::dlsym(handle_, name)) : nullptr;
  }

 private:
  void* handle_;
};

using nvml_device = struct nvml_device_st*;

std::string driver_version(const Library& nvml) {
  std::array<char, 96> text{};
  const auto tell_version = nvml.find<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
  if (tell_version == nullptr || tell_version(text.data(), text.size()) != 0)
    return "driver unknown";
  return std::string("driver ") + text.data();
}

/// "8 x NVIDIA H100 80GB HBM3".
std::string devices(const Library& nvml) {
  const auto count_of = nvml.find<int(unsigned*)>("nvmlDeviceGetCount_v2");
  const auto device_of = nvml.find<int(unsigned, nvml_device*)>("nvmlDeviceGetHandleByIndex_v2");
  const auto name_of_device = nvml.find<int(nvml_device, char*, unsigned)>("nvmlDeviceGetName");
  unsigned count = 0;
  if (count_of == nullptr || count_of(&count) != 0) return "devices unknown";
  std::map<std::string, int> names;
  for (unsigned i = 0; i < count; ++i) {
    nvml_device device = nullptr;
    std::array<char, 96> name{};
    const bool known = device_of != nullptr && name_of_device != nullptr &&
                       device_of(i, &device) == 0 &&
                       name_of_device(device, name.data(), name.size()) == 0;
    ++names[known ? name.data() : "device without a name"];
  }
  std::string text;
  for (const auto& [name, times] : names)
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", times, name);
  return text.empty() ? "no device" : text;
}

Finding driver_finding() {
  const Library nvml("libnvidia-ml.so.1");
  const std::string without = "calibrate on a machine with GPUs; its records are read anywhere";
  if (!nvml.loaded())
    return {Part::gpu, State::absent, "NVIDIA driver", "no libnvidia-ml.so.1", without};
  const auto start = nvml.find<int()>("nvmlInit_v2");
  const int code = start == nullptr ? -1 : start();
  if (code != 0)
    return {Part::gpu, State::broken, "NVIDIA driver",
            fmt::format("the management library does not start (code {})", code), without};
  Finding finding{Part::gpu, State::ok, "NVIDIA driver",
                  driver_version(nvml) + ", " + devices(nvml), ""};
  if (const auto stop = nvml.find<int()>("nvmlShutdown")) static_cast<void>(stop());
  return finding;
}

Finding nccl_finding() {
  const Library nccl("libnccl.so.2");
  const auto tell_version = nccl.find<int(int*)>("ncclGetVersion");
  int number = 0;
  if (tell_version == nullptr || tell_version(&number) != 0)
    return {Part::gpu, State::absent, "NCCL", "no libnccl.so.2",
            "calibration/harness measures collectives with it"};
  // 2.9 and later: major * 10000 + minor * 100 + patch.
  const int base = number >= 10000 ? 10000 : 1000;
  return {Part::gpu, State::ok, "NCCL",
          fmt::format("{}.{}.{}", number / base, number % base / 100, number % 100), ""};
}

}  // namespace

std::string simgrid_version(const std::filesystem::path& plug_in, std::string& problem) {
  const Library library(plug_in.c_str());
  if (!library.loaded()) {
    problem = "cannot load it: " + Library::why();
    return "";
  }
  const auto tell_version = library.find<void(int*, int*, int*)>("sg_version_get");
  if (tell_version == nullptr) {
    problem = plug_in.string() + " comes without SimGrid";
    return "";
  }
  int major = 0;
  int minor = 0;
  int patch = 0;
  tell_version(&major, &minor, &patch);
  return fmt::format("{}.{}", major, minor);
}

std::string mpi_version(const std::filesystem::path& plug_in, std::string& problem) {
  const Library library(plug_in.c_str());
  if (!library.loaded()) {
    problem = "cannot load it: " + Library::why();
    return "";
  }
  const auto tell_version = library.find<int(char*, int*)>("MPI_Get_library_version");
  std::array<char, 8192> text{};
  int length = 0;
  if (tell_version == nullptr || tell_version(text.data(), &length) != 0) {
    problem = plug_in.string() + " comes without MPI";
    return "";
  }
  std::string words = text.data();
  words.resize(std::min(words.find_first_of(",\n"), words.size()));
  return words;
}

std::vector<Finding> gpu_findings() { return {driver_finding(), nccl_finding()}; }

}  // namespace foretrain
