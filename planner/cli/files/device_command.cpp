// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "models/base/ranges.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/text/quoting.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/catalog/device_text.hpp"
#include "scenarios/fields/field_table.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

/// The command line of `device new`, as written.
struct DeviceOptions {
  DeviceTextRequest device;
  std::vector<std::string> peak;
  std::string memory;
  std::string memory_bandwidth;
  std::string nvlink;
  std::string tdp;
  std::string out;
  OwnFolders folders;
  bool json = false;
};

/// A quantity of an option. @throws UsageError
template <class Unit>
Unit value_of(const std::string& option, const std::string& text, Dimension dimension) {
  const Parsed<double> parsed = parse_quantity(text, dimension);
  if (!parsed.value) throw UsageError(option + ": " + parsed.error);
  return Unit{*parsed.value};
}

/// "bf16=2.5 PFLOP/s"; a bare number is in FLOP/s.
void add_peak(const std::string& text, std::map<Precision, FlopPerSecond>& peak) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (equals == std::string::npos)
    throw UsageError("--peak " + in_quotes(text) + " is not FORMAT=RATE, as in bf16=2.5e15");
  const auto precision = from_name<Precision>(name);
  if (!precision) refuse_value("--peak", name, choices_of<Precision>());
  const std::string rate = text.substr(equals + 1);
  const Parsed<double> bare = parse_number(rate);
  peak[*precision] = bare.value
                         ? FlopPerSecond{*bare.value}
                         : value_of<FlopPerSecond>("--peak " + name, rate, Dimension::flop_rate);
}

void read_peaks(const std::vector<std::string>& texts, std::map<Precision, FlopPerSecond>& peak) {
  for (const std::string& text : texts) add_peak(text, peak);
}

/// The options as values, those that were given.
void read_options(DeviceOptions& options) {
  DeviceTextRequest& device = options.device;
  read_peaks(options.peak, device.peak);
  const auto read = [](const char* option, const std::string& text, Dimension dimension,
                       auto& value) {
    using Unit = typename std::remove_reference_t<decltype(value)>::value_type;
    if (!text.empty()) value = value_of<Unit>(option, text, dimension);
  };
  read("--memory", options.memory, Dimension::bytes, device.memory);
  read("--memory-bandwidth", options.memory_bandwidth, Dimension::bandwidth,
       device.memory_bandwidth);
  read("--nvlink", options.nvlink, Dimension::bandwidth, device.scale_up);
  read("--tdp", options.tdp, Dimension::power, device.power_limit);
}

void check_device(const std::string& name, const LoadOptions& load) {
  std::vector<std::string> names;
  for (const CatalogEntry& entry : catalog_entries("devices", load)) names.push_back(entry.name);
  if (contains(names, name)) return;
  throw UsageError("no catalog has the device " + in_quotes(name) +
                   " (foretrain show devices lists them)" + nearest_hint(name, names));
}

/// Asks for what the options leave open.
void ask_device(DeviceOptions& options, const LoadOptions& load) {
  DeviceTextRequest& device = options.device;
  const auto ask_value = [](const char* question, const char* option, Dimension dimension,
                            auto& value) {
    using Unit = typename std::remove_reference_t<decltype(value)>::value_type;
    if (!value)
      ask(question, "",
          [&](const std::string& text) { value = value_of<Unit>(option, text, dimension); });
  };
  write_diagnostic("From the datasheet; rates are dense, and links of one direction.");
  if (device.like.empty())
    ask("Measured device that it is like (foretrain show devices)", "",
        [&](const std::string& text) {
          check_device(text, load);
          device.like = text;
        });
  if (device.peak.empty())
    ask("Peak rates, such as bf16=2.5e15 fp8=5e15", "", [&](const std::string& text) {
      std::map<Precision, FlopPerSecond> peak;
      for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
        at = text.find_first_not_of(' ', at);
        end = std::min(text.find(' ', at), text.size());
        add_peak(text.substr(at, end - at), peak);
      }
      if (peak.empty()) throw UsageError("one rate at least, bf16 or fp16");
      device.peak = peak;
    });
  ask_value("Memory, such as 288 GB", "--memory", Dimension::bytes, device.memory);
  ask_value("Memory bandwidth, such as 8 TB/s", "--memory-bandwidth", Dimension::bandwidth,
            device.memory_bandwidth);
  ask_value("NVLink of one GPU, one direction, such as 900 GB/s", "--nvlink", Dimension::bandwidth,
            device.scale_up);
  ask_value("Board power, such as 1400 W", "--tdp", Dimension::power, device.power_limit);
  if (device.name.empty() && options.out.empty())
    ask("Name", "my-" + device.like, [&](const std::string& text) {
      if (!is_entry_name(text))
        throw UsageError(in_quotes(text) + " is not lower-case letters, digits, - and .");
      device.name = text;
    });
}

/// The file that is written, which is named as the device. @throws UsageError
fs::path file_of(DeviceOptions& options) {
  std::string& name = options.device.name;
  if (options.out.empty()) {
    if (name.empty()) name = "my-" + options.device.like;
    return name + ".yaml";
  }
  fs::path file = options.out;
  if (file.extension() != ".yaml")
    throw UsageError("--out " + in_quotes(options.out) + ": a device is a file NAME.yaml");
  if (name.empty()) name = file.stem().string();
  if (name != file.stem().string())
    throw UsageError(fmt::format("--out {}: the file of the device {} is named {}.yaml",
                                 in_quotes(options.out), in_quotes(name), name));
  return file;
}

/// Commands that work as they stand, from the folder that this one ran in.
std::vector<std::string> next_commands(const fs::path& file, const DeviceOptions& options) {
  std::string catalogs = " --catalog " + shell_word(file.string());
  for (const std::string& word : options.folders.arguments()) catalogs += " " + shell_word(word);
  const std::string& name = options.device.name;
  return {"foretrain show devices " + name + catalogs,
          fmt::format("foretrain init run-{0}.yaml --model llama3-8b --host {0} --hosts 1{1}", name,
                      catalogs),
          fmt::format("foretrain simulate run-{}.yaml{}", name, catalogs)};
}

int device_new(DeviceOptions options) {
  ScenarioOptions folders;
  folders.folders = options.folders;
  const LoadOptions load = load_options(folders);
  read_options(options);
  if (can_ask()) ask_device(options, load);
  const fs::path file = file_of(options);
  DeviceTextRequest& device = options.device;
  device.date = fmt::format(
      "{:%Y-%m-%d}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  if (device.source.empty()) device.source = "datasheet, as told to foretrain device new";
  refuse_to_replace(file);
  const DeviceText made = device_catalog_text(device, load);
  write_file(file, made.text, FileUse::to_edit);
  const auto next = next_commands(file, options);
  if (options.json)
    return deliver(nlohmann::ordered_json{{"file", file.string()},
                                          {"device", device.name},
                                          {"host", device.name},
                                          {"like", device.like},
                                          {"trust", name_of(Trust::extrapolated)},
                                          {"assumed", made.assumed},
                                          {"next", next}}
                       .dump(2) +
                   "\n");
  for (const std::string& sentence : made.assumed) write_diagnostic("assumed  " + sentence);
  write_diagnostic(fmt::format(
      "Written to {}: device and host {}. Its forecasts are extrapolated from {}, and their bands "
      "wider. Next:",
      file.string(), device.name, device.like));
  for (const std::string& line : next) write_diagnostic("  " + line);
  return exit_ok;
}

void add_datasheet_options(CommandRow& command, DeviceOptions& options) {
  command.option("--peak", options.peak, "FORMAT=RATE",
                 "Dense matrix rate by format, bf16=2.5e15 or bf16=2500TFLOP/s (may be repeated); "
                 "formats that are left out get the relative's in proportion",
                 {.repeated = true});
  command.option("--memory", options.memory, "SIZE", "Memory as sold: 288GB");
  command.option("--memory-bandwidth", options.memory_bandwidth, "RATE",
                 "Rate of the memory: 8TB/s");
  command.option("--nvlink", options.nvlink, "RATE",
                 "All scale-up links of one GPU together, one direction: 900GB/s");
  command.option("--tdp", options.tdp, "POWER", "Board power: 1400W");
  command.option("--multiprocessors", options.device.multiprocessors, "N",
                 "Streaming multiprocessors (default: the relative's)", {.range = {{1, 1024}}});
}

void add_host_options(CommandRow& command, DeviceTextRequest& device) {
  command.option("--host-like", device.host, "HOST",
                 "Host that its own is like (default: the usual one of the relative)");
  command.option("--gpus", device.gpus, "N", "GPUs of its host", {.range = {{1, 1024}}});
  command.option("--nics", device.nics, "N", "NICs of its host", {.range = {{1, 1024}}});
  command.option(
      "--domain", device.domain, "N",
      "GPUs that one NVSwitch fabric joins, over all its hosts (default: as --host-like)",
      {.range = {{1, 65536}}});
}

}  // namespace

CommandRow device_command() {
  const auto options = std::make_shared<DeviceOptions>();
  CommandRow command{"new", "Write a device and its host from a datasheet and a measured relative"};
  command.option("--like", options->device.like, "DEVICE",
                 "Measured device whose kernels it is expected to run (foretrain show devices)");
  add_datasheet_options(command, *options);
  add_host_options(command, options->device);
  command.option("--name", options->device.name, "NAME",
                 "Name of the device and its host (default: that of --out, or my-DEVICE)");
  command.option("--title", options->device.title, "TEXT",
                 "What reports call it (default: its name)");
  command.option("--source", options->device.source, "TEXT",
                 "Where the values are from, for the file");
  command.option("--out", options->out, "FILE", "File to write (default: NAME.yaml)",
                 {.writes = FileUse::to_edit});
  command.flag("--json", options->json, "Print file, names, assumptions and next commands as JSON");
  add_folder_options(command, options->folders);
  command.texts = {
      .notes =
          "On a terminal, what the options leave open is asked for. Elsewhere --like, --peak, "
          "--memory,\n"
          "--memory-bandwidth, --nvlink and --tdp are needed.",
      .examples =
          {"foretrain device new",
           "foretrain device new --like b200 --peak bf16=2.5e15 --memory 288GB",
           "    --memory-bandwidth 8TB/s --nvlink 900GB/s --tdp 1400W --name my-gpu",
           "foretrain init --catalog my-gpu.yaml --host my-gpu --hosts 2 --model llama3-8b"},
      .exits = {{exit_ok, "written"}}};
  command.run = [options] { return device_new(*options); };
  CommandRow device{"device", "Describe a GPU that was not measured"};
  device.commands = {std::move(command)};
  return device;
}

}  // namespace foretrain
