// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/cluster/internal/cluster_reading.hpp"
#include "planner/forecast/report.hpp"
#include "scenarios/yaml/confinement.hpp"

namespace foretrain::internal {
namespace {

/// The forecast of a run as the duration of a job.
void take_run(const ClusterReading& reading, const std::string& path, const Report& report,
              QueueClass& jobs) {
  const RunForecast& run = report.prediction.run;
  const std::string at = path + ".scenario";
  const std::string name = in_quotes(jobs.name);
  if (!run.ideal) {
    reading.report(at, "the duration is unknown: the scenario gives no training.tokens");
    return;
  }
  const bool fails_here = reading.file.queue.failures.every > Seconds{};
  if (run.expected && fails_here) {
    reading.report(at,
                   "its operations and cluster.failures would both count interruptions; leave "
                   "cluster.failures out, or the scenario's operations");
    return;
  }
  jobs.duration = {DurationKind::fixed, run.expected.value_or(*run.ideal)};
  jobs.productive = run.expected ? *run.ideal / *run.expected : 1.0;
  if (!run.expected && !fails_here)
    reading.file.notes.push_back(
        fmt::format("Goodput of class {} is unknown (foretrain goodput says what is missing): its "
                    "jobs run without interruptions.",
                    name));
}

}  // namespace

std::filesystem::path named_file(const ClusterReading& reading, const std::string& path) {
  const std::string& written = reading.values.text(path);
  auto target = canonical_of(reading.folder / written);
  const std::string refused =
      path_refusal(written, target, roots_of(reading.folder, reading.options), "read");
  if (refused.empty()) return target;
  reading.report(path, refused);
  return {};
}

void read_scenario_class(const ClusterReading& reading, const std::string& path, QueueClass& jobs) {
  const std::string key = path + ".scenario";
  if (!reading.has(key)) return;
  const auto file = named_file(reading, key);
  if (file.empty()) return;
  const std::string& written = reading.values.text(key);
  if (!std::filesystem::is_regular_file(file)) {
    reading.report(key, in_quotes(written) + ": no such file");
    return;
  }
  LoadOptions options = reading.options;
  options.overrides.clear();
  if (reading.has(path + ".hosts"))
    options.overrides.push_back(
        fmt::format("cluster.hosts={}", reading.values.integer(path + ".hosts")));
  try {
    const Scenario scenario = load_scenario((reading.folder / written).lexically_normal(), options);
    const Cluster& cluster = scenario.job.cluster;
    if (!reading.file.host.name.empty() && cluster.host.name != reading.file.host.name)
      reading.report(key,
                     fmt::format("it runs on {}, and this cluster has {}; set its cluster.host",
                                 in_quotes(cluster.host.name), in_quotes(reading.file.host.name)));
    jobs.sizes = {{cluster.hosts, 1.0}};
    const Report report = evaluate(scenario);
    reading.file.files.insert(reading.file.files.end(), scenario.files.begin(),
                              scenario.files.end());
    if (report.prediction.feasible())
      take_run(reading, path, report, jobs);
    else
      reading.report(key, "its plan does not run: foretrain simulate says why");
  } catch (const ScenarioError& error) {
    for (const Diagnostic& found : error.diagnostics()) reading.diagnostics.add(found);
  }
}

}  // namespace foretrain::internal
