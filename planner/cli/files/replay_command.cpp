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

Command add_replay_command(CLI::App& program) {
  const auto options = std::make_shared<ReplayOptions>();
  CLI::App* app = program.add_subcommand(
      "replay", "Replay an execution trace (MLCommons Chakra) on the fabric of a scenario");
  app->add_option("scenario", options->scenario.file, "Scenario file, or - for standard input")
      ->required()
      ->type_name("SCENARIO");
  app->add_option("--chakra", options->pattern, "Trace files, with %d for the rank")
      ->required()
      ->type_name("PATTERN");
  app->add_flag("--recorded", options->recorded,
                "Communication takes the recorded time instead of being priced");
  app->add_flag("--json", options->json, "Print JSON, schema replay/1");
  app->add_option("-o,--out", options->out, "Write to a file instead of standard output")
      ->type_name("FILE");
  guard_outputs(*app, FileUse::report, {"--out"});
  add_scenario_options(*app, options->scenario);
  app->footer(
      "Examples:\n"
      "  foretrain export chakra run.yaml -o 'trace.%d.et'\n"
      "  foretrain replay run.yaml --chakra 'trace.%d.et'\n"
      "Only machine, placement, routing and cost model of the scenario are looked at.\n"
      "Exit codes: 0 ok, 2 bad usage or input, 3 the trace does not fit on the fabric.");
  return {app, [options] { return replay(*options); }};
}

}  // namespace foretrain
