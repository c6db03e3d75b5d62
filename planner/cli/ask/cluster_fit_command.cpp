// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/commands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "planner/cli/answer_output.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/cluster/cluster_file.hpp"
#include "planner/cluster/workload_fit.hpp"
#include "planner/text/quoting.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

struct ClusterFitOptions {
  std::string log;
  ScenarioOptions scenario;  ///< its folders alone
  WorkloadFitRequest request;
  std::optional<int> per_host;
  std::vector<std::string> by;
  std::string out;
  AnswerOutput output;  ///< its file is that of the model
};

/// The queue by the model, which has to be written first.
std::string next_of(const ClusterFitOptions& options) {
  if (!options.out.empty()) return shell_words({"foretrain", "cluster", options.out});
  std::vector<std::string> words{"foretrain", "cluster", "fit",
                                 options.log, "--host",  options.request.host};
  const auto add = [&](const char* name, const std::optional<int>& value) {
    if (value) words.insert(words.end(), {name, std::to_string(*value)});
  };
  add("--hosts", options.request.hosts);
  add("--processors-per-host", options.per_host);
  if (options.request.most_classes != WorkloadFitRequest{}.most_classes)
    add("--classes", options.request.most_classes);
  if (!options.by.empty())
    words.insert(words.end(), {"--by", fmt::format("{}", fmt::join(options.by, ","))});
  for (const std::string& word : options.scenario.folders.arguments()) words.push_back(word);
  words.insert(words.end(), {"--out", "fitted.yaml"});
  return shell_words(words);
}

int fit_cluster(const ClusterFitOptions& options) {
  WorkloadFitRequest request = options.request;
  request.source = std::filesystem::path(options.log).filename().string();
  request.name = std::filesystem::path(options.log).stem().string();
  if (!options.by.empty()) {
    request.by.emplace();
    for (const std::string& name : options.by)
      if (name != "none") request.by->push_back(option_value<ClassBy>("--by", name));
    if (options.by.size() > 1 && request.by->size() < options.by.size())
      throw UsageError("--by none stands alone");
  }
  Diagnostics diagnostics;
  const LoggedJobs log = read_job_log(options.log, options.log, options.per_host, diagnostics);
  diagnostics.throw_if_any();
  const WorkloadFit fit = fit_workload(log, request);
  // What is written can be run: this reads it, with the host from the catalogs.
  const std::string file = workload_yaml(fit);
  (void)load_cluster_text(file, "the model of " + request.source, std::filesystem::current_path(),
                          load_options(options.scenario));
  if (!options.out.empty()) {
    write_file(options.out, file, FileUse::to_edit);
    write_diagnostic("wrote " + options.out);
  }
  return deliver_answer(options.output,
                        {"workload of a log", [&] { return workload_fit_json(fit); }}, [&] {
                          Answer answer = workload_fit_answer(fit);
                          answer.head.next = next_of(options);
                          return answer;
                        });
}

}  // namespace

CommandRow cluster_fit_command() {
  const auto options = std::make_shared<ClusterFitOptions>();
  CommandRow command{"fit", "Fit a workload model, a cluster file, to a log of jobs"};
  command.option("log", options->log, "FILE",
                 "What sacct -X -P prints, CSV, or Standard Workload Format (.swf)",
                 {.required = true});
  command.option("--host", options->request.host, "HOST",
                 "Host of the catalog that the cluster has", {.required = true});
  command.option("--hosts", options->request.hosts, "N",
                 "Hosts of the cluster; by default the most that the log has in use at a time",
                 {.range = {{1, 1000000}}});
  command.option("--by", options->by, "LIST",
                 "What tells classes of jobs apart, of team, queue, size, none; by default size, "
                 "and team or queue where the log has a few",
                 {.separator = ','});
  command.option("--classes", options->request.most_classes, "N",
                 "Most classes; those with the least host time become one", {.range = {{2, 200}}});
  command.option("--processors-per-host", options->per_host, "N",
                 "Of a .swf file: processors that count as one host", {.range = {{1, 1000000}}});
  command.option("-o,--out", options->out, "FILE",
                 "Write the model, for `foretrain cluster`, to a file",
                 {.writes = FileUse::to_edit});
  command.flag("--json", options->output.json,
               "Print JSON, schema cluster-fit/1, with the model in it");
  command.flag("--markdown", options->output.markdown, "Print Markdown",
               {.excludes = {"--json", "--brief"}});
  add_page_output(command, options->output);
  add_folder_options(command, options->scenario.folders);
  command.texts = {
      .examples =
          {"foretrain cluster fit jobs.txt --host dgx-h100 --out fitted.yaml",
           "foretrain cluster fit jobs.csv --host dgx-h100 --hosts 32 --by team,size --json",
           "foretrain cluster fit log.swf --processors-per-host 8 --host dgx-h100",
           "foretrain cluster fitted.yaml --set policy.order=fair-share"},
      .exits = {{exit_ok, "fitted"}}};
  command.run = [options] { return fit_cluster(*options); };
  return command;
}

}  // namespace foretrain
