// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/ask/cluster_run.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "planner/cli/interruption.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/cluster/cluster_hosts.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

constexpr std::size_t most_sizes = 64;
constexpr int most_hosts = 1'000'000;
/// Several numbers of hosts are simulated, each with less than one alone.
constexpr std::int64_t effort_of_each = 60'000'000;

/// "24,28..40+4" as numbers. @throws UsageError
std::vector<int> host_numbers(const std::string& text) {
  std::vector<int> numbers;
  std::string rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string part = rest.substr(0, comma);
    const auto range = number_range(part);
    const auto one = whole_number(part);
    if (!range && !one)
      throw UsageError("--hosts: " + in_quotes(part) +
                       " is not a number of hosts or a range such as 24..40+4");
    const auto values =
        range ? numbers_of(*range, "--hosts", most_sizes) : std::vector<std::int64_t>{*one};
    for (const std::int64_t value : values) {
      if (value < 1 || value > most_hosts)
        throw UsageError("--hosts: " + std::to_string(value) + " is not between 1 and " +
                         std::to_string(most_hosts));
      numbers.push_back(static_cast<int>(value));
    }
    if (comma == std::string::npos) break;
    rest.erase(0, comma + 1);
  }
  if (numbers.size() > most_sizes)
    throw UsageError("--hosts has more than " + std::to_string(most_sizes) + " numbers");
  return numbers;
}

HostsStudy studied_hosts(const ClusterRunOptions& options, const ClusterFile& file,
                         const FileWithHosts& file_with) {
  const Interruption guard;
  QueueStudyOptions wanted = queue_study_options(options, file);
  wanted.most_effort = effort_of_each;
  if (!options.hosts.empty()) return study_hosts(host_numbers(options.hosts), file_with, wanted);
  const char* const where = options.wait.empty() ? "--deadlines" : "--wait";
  const QueueGoal goal = options.wait.empty() ? deadlines_goal(where, options.deadlines)
                                              : wait_goal(where, options.wait);
  check_goal(where, goal, file);
  return fewest_hosts(file, goal, file_with, wanted);
}

}  // namespace

ClusterFile read_cluster(const ScenarioOptions& options) {
  if (options.file == "-")
    return load_cluster_text(read_standard_input(), "<stdin>", std::filesystem::current_path(),
                             load_options(options));
  return load_cluster(options.file, load_options(options));
}

QueueStudyOptions queue_study_options(const ClusterRunOptions& options, const ClusterFile& file) {
  QueueStudyOptions wanted;
  wanted.replications = options.replications.value_or(file.replications);
  wanted.threads = options.threads;
  wanted.stop = &Interruption::noted();
  return wanted;
}

int show_hosts(const ClusterRunOptions& options) {
  if (options.scenario.file == "-")
    throw UsageError("other numbers of hosts need a file: standard input is read once");
  const ClusterFile file = read_cluster(options.scenario);
  const FileWithHosts file_with = [&options](int hosts) {
    ScenarioOptions other = options.scenario;
    other.overrides.push_back("cluster.hosts=" + std::to_string(hosts));
    return read_cluster(other);
  };
  const HostsStudy study = studied_hosts(options, file, file_with);
  const int delivered = deliver_answer(
      options.output, {"queue of a cluster", [&] { return hosts_study_json(study); }},
      [&] { return hosts_answer(study); });
  if (delivered != exit_ok) return delivered;
  if (study.stopped) return Interruption::exit_code();
  return study.goal && !study.fewest ? int{exit_infeasible} : int{exit_ok};
}

}  // namespace foretrain
