// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/help/doctor_checks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "planner/cli/help/program_build.hpp"
#include "planner/exchange/execution_trace.hpp"
#include "planner/forecast/report.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/catalog.hpp"
#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "sim/flows/plug_in_file.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

/// Every part of a forecast in a few lines, on the catalog's default host.
std::string small_scenario() {
  const DefaultMachine machine = default_machine();
  return fmt::format(
      "schema: 1\nname: doctor\nmodel: llama3-8b\n"
      "cluster: {{host: {}, hosts: 2, fabric: {{kind: rail-optimized, preset: {}}}}}\n"
      "training: {{sequence: 8192, global_batch: 128, tokens: 100 B}}\n"
      "parallel: {{tensor: 2, sequence: true, pipeline: 2, zero: 1}}\n",
      machine.host, machine.fabric);
}

Finding program_finding() {
  std::string build = program_build();
  const std::size_t blank = build.rfind(' ');
  if (build.size() > blank + 13) build.resize(blank + 13);
  return {Part::core, State::ok, "foretrain", build + ", compiled by gcc " __VERSION__, ""};
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Built-in files that cannot be used: each is refused by its own name alone.
std::vector<Finding> broken_files() {
  std::vector<Finding> findings;
  for (const auto& [kind, name] : EnumNames<CatalogKind>::names) {
    try {
      for (const BrokenEntry& entry : catalog_listing(std::string(name)).broken)
        findings.push_back(
            {Part::optional, State::broken, "catalog file", entry.problems.front().text(),
             fmt::format("{} of {} is refused until it is mended", entry.name, name)});
    } catch (const ScenarioError&) {
      return {};  // the data as a whole cannot be read, which is told under Core
    }
  }
  return findings;
}

/// The built-in data, and how many entries of it can be read.
Finding data_finding() {
  try {
    Diagnostics diagnostics;
    const std::vector<fs::path> roots = catalog_roots({}, diagnostics);
    diagnostics.throw_if_any();
    std::string counts;
    for (const CatalogKind kind : {CatalogKind::models, CatalogKind::devices, CatalogKind::hosts,
                                   CatalogKind::fabrics, CatalogKind::stacks}) {
      const std::string name(name_of(kind));
      counts +=
          fmt::format("{}{} {}", counts.empty() ? "" : ", ", catalog_entries(name).size(), name);
    }
    return {Part::core, State::ok, "data", roots.back().string() + ": " + counts, ""};
  } catch (const std::exception& error) {
    return {Part::core, State::broken, "data", first_line(error.what()),
            "set FORETRAIN_DATA_DIR to the folder that holds models/catalog, or install again"};
  }
}

/// A small forecast by both quick engines; its parts must add up to its step.
Finding forecast_finding() {
  try {
    const Scenario scenario = load_scenario_text(small_scenario(), "doctor", fs::current_path());
    std::string detail;
    for (const EngineKind engine : {EngineKind::closed_form, EngineKind::path}) {
      const Prediction p = evaluate(scenario, AttentionFlops::full, engine).prediction;
      if (!p.step) throw UsageError("the forecast of a small scenario has no step");
      const Seconds total = p.step->breakdown.total();
      if (total < 0.999999 * p.step->time || 1.000001 * p.step->time < total)
        throw UsageError("the parts of a step do not add up to it");
      detail += fmt::format("{}{} {}", detail.empty() ? "a small step: " : ", ", name_of(engine),
                            seconds_text(p.step->time));
    }
    return {Part::core, State::ok, "forecast", detail, ""};
  } catch (const std::exception& error) {
    return {Part::core, State::broken, "forecast", first_line(error.what()), ""};
  }
}

Finding measured_finding() {
  Diagnostics diagnostics;
  const std::vector<fs::path> roots = catalog_roots({}, diagnostics);
  const fs::path folder = roots.back() / "calibration" / "measured";
  std::error_code error;
  if (fs::is_regular_file(folder / "runs.yaml", error))
    return {Part::optional, State::ok, "measured records", folder.string(), ""};
  return {Part::optional, State::absent, "measured records", "not in " + folder.string(),
          "without them foretrain validate needs --runs, --memory or --collectives"};
}

Finding plug_in_finding(Part part, const std::string& name, const std::string& file,
                        std::string (*version_of)(const fs::path&, std::string&),
                        const std::string& without) {
  const fs::path path = plug_in_file(file);
  if (path.empty()) return {part, State::absent, name, "no " + file, without};
  std::string problem;
  const std::string found = version_of(path, problem);
  if (!problem.empty()) return {part, State::broken, name, problem, without};
  return {part, State::ok, name, found + ", " + path.string(), ""};
}

/// A program beside this one or on the PATH.
std::optional<fs::path> find_program(const std::string& name) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error && ::access((self.parent_path() / name).c_str(), X_OK) == 0)
    return self.parent_path() / name;
  const char* list = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): one thread
  std::string folders = list == nullptr ? "" : list;
  while (!folders.empty()) {
    const std::size_t colon = folders.find(':');
    const fs::path candidate = fs::path(folders.substr(0, colon)) / name;
    if (::access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate, error))
      return candidate;
    folders = colon == std::string::npos ? "" : folders.substr(colon + 1);
  }
  return std::nullopt;
}

Finding program_part(Part part, const std::string& title, const std::vector<std::string>& names,
                     const std::string& without) {
  for (const std::string& name : names)
    if (const auto path = find_program(name)) return {part, State::ok, title, path->string(), ""};
  return {part, State::absent, title, "no " + names.front() + " beside the program or on the PATH",
          without};
}

Finding folder_finding(const std::string& name, const fs::path& folder, const std::string& use) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return {Part::places, State::broken, name, folder.string() + " is not a folder", use};
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return {Part::places, State::broken, name, folder.string() + " cannot be written to", use};
  const fs::space_info space = fs::space(folder, error);
  std::string detail = folder.string();
  if (!error) detail += ", " + bytes_text(Bytes{static_cast<double>(space.available)}) + " free";
  return {Part::places, State::ok, name, detail, ""};
}

void add_places(std::vector<Finding>& findings) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (error)
    findings.push_back({Part::places, State::broken, "this folder", error.message(), ""});
  else
    findings.push_back(folder_finding("this folder", here, "results need another folder: --out"));
  const fs::path temporary = fs::temp_directory_path(error);
  if (error)
    findings.push_back({Part::places, State::broken, "temporary files", error.message(),
                        "set TMPDIR to a folder that can be written to"});
  else
    findings.push_back(folder_finding("temporary files", temporary, "set TMPDIR to another one"));
}

}  // namespace

std::string heading_of(Part part) {
  switch (part) {
    case Part::core:
      return "Core";
    case Part::engine:
      return "Event engine";
    case Part::optional:
      return "Optional parts";
    case Part::gpu:
      return "GPUs of this machine (for calibration only; forecasts need none)";
    case Part::places:
      return "Places to write to";
  }
  return "";
}

namespace {

/// Chakra is linked into the program, or left out of it.
Finding chakra_finding() {
  if (knows_chakra())
    return {Part::optional, State::ok, "Chakra traces", "built with protobuf", ""};
  return {Part::optional, State::absent, "Chakra traces", "built without protobuf",
          "without them export chakra and replay are not available; for them, install "
          "libprotobuf-dev and protobuf-compiler and build again"};
}

Finding mpi_finding() {
  return plug_in_finding(Part::optional, "MPI", "foretrain_mpi.so", mpi_version,
                         "without it sweeps do not run under mpirun, --shard does; for it, install "
                         "libopenmpi-dev and openmpi-bin and build again, or the package "
                         "foretrain-mpi");
}

Finding desktop_finding() {
  return program_part(Part::optional, "desktop program", {"foretrain-gui"},
                      "the command line does all that it does; for it, install Qt 6.4 "
                      "(qt6-base-dev, libqt6opengl6-dev, qt6-charts-dev, qt6-svg-dev) and build "
                      "again, or the package foretrain-gui");
}

}  // namespace

std::vector<Finding> examine() {
  std::vector<Finding> findings{program_finding(), data_finding(), forecast_finding()};
  findings.push_back(plug_in_finding(
      Part::engine, "SimGrid", "foretrain_simgrid.so", simgrid_version,
      "without it --engine event, collective and plan --on-fabric are not available"));
  for (Finding& finding : findings) finding.optional_build = finding.part == Part::engine;
  for (Finding finding : {chakra_finding(), mpi_finding(), desktop_finding()}) {
    finding.optional_build = true;
    findings.push_back(std::move(finding));
  }
  findings.push_back(program_part(Part::optional, "browser",
                                  {"chromium", "google-chrome", "firefox"},
                                  "report --html needs one to be read or printed, here or "
                                  "elsewhere"));
  findings.push_back(measured_finding());
  for (Finding& finding : broken_files()) findings.push_back(std::move(finding));
  for (Finding& finding : gpu_findings()) findings.push_back(std::move(finding));
  findings.push_back(program_part(Part::gpu, "CUDA compiler", {"nvcc"},
                                  "the benchmarks of calibration/harness are built with it"));
  add_places(findings);
  return findings;
}

}  // namespace foretrain
