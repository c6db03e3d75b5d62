// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <memory>

#include "planner/cli/commands.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/exchange/trace_replay.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

struct ReplayOptions {
  ScenarioOptions scenario;
  std::string pattern;
  bool recorded = false;
  bool json = false;
  std::string out;
};

constexpr std::size_t most_file_bytes = std::size_t{1} << 30U;
constexpr int most_ranks = 65536;

/// Files of ranks 0, 1, ... as long as there are any.
ExecutionTrace read_traces(const std::string& pattern) {
  ExecutionTrace trace;
  std::size_t nodes = 0;
  for (int rank = 0; rank < most_ranks; ++rank) {
    const std::string file = rank_file(pattern, rank);
    std::error_code error;
    if (rank > 0 && !std::filesystem::exists(file, error)) break;
    Diagnostics diagnostics;
    const auto bytes = read_text_file(file, file, most_file_bytes, diagnostics);
    diagnostics.throw_if_any();
    trace.ranks.push_back(read_chakra(*bytes, file, trace.notes));
    nodes += trace.ranks.back().nodes.size();
    if (nodes > most_trace_nodes)
      throw UsageError("the traces have more than " + std::to_string(most_trace_nodes) + " nodes");
  }
  std::ranges::sort(trace.notes);
  trace.notes.erase(std::unique(trace.notes.begin(), trace.notes.end()), trace.notes.end());
  return trace;
}

int replay(const ReplayOptions& options) {
  const Scenario scenario = read_scenario(options.scenario);
  const auto result =
      replay_trace(scenario, read_traces(options.pattern), {.recorded = options.recorded});
  if (const auto* refused = std::get_if<Infeasible>(&result)) {
    write_diagnostic("infeasible: " + refused->message);
    return exit_infeasible;
  }
  const auto& played = std::get<TraceReplay>(result);
  return deliver(
      options.json ? trace_replay_json(played) : trace_replay_text(played, output_style()),
      options.out);
}

}  // namespace

CommandRow replay_command() {
  const auto options = std::make_shared<ReplayOptions>();
  CommandRow command{"replay",
                     "Replay an execution trace (MLCommons Chakra) on the fabric of a scenario"};
  add_scenario_argument(command, options->scenario);
  command.option("--chakra", options->pattern, "PATTERN", "Trace files, with %d for the rank",
                 {.required = true});
  command.flag("--recorded", options->recorded,
               "Communication takes the recorded time instead of being priced");
  command.flag("--json", options->json, "Print JSON, schema replay/1");
  command.option("-o,--out", options->out, "FILE", "Write to a file instead of standard output",
                 {.writes = FileUse::report});
  add_scenario_options(command, options->scenario);
  command.texts = {
      .notes = "Only machine, placement, routing and cost model of the scenario are looked at.",
      .examples = {"foretrain export chakra run.yaml -o 'trace.%d.et'",
                   "foretrain replay run.yaml --chakra 'trace.%d.et'"},
      .exits = {{exit_infeasible, "the trace does not fit on the fabric"}}};
  command.run = [options] { return replay(*options); };
  return command;
}

}  // namespace foretrain
