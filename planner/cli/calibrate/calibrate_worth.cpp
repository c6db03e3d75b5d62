// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "calibration/fit/fold_cache.hpp"
#include "planner/cli/answer_output.hpp"
#include "planner/cli/calibrate_commands.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/own_runs/own_worth.hpp"

namespace foretrain {
namespace {

struct WorthOptions {
  std::vector<std::string> sources;
  std::vector<int> fitted;
  int draws = OwnDrawsOptions{}.draws;
  std::string cache;
  AnswerOutput output;
  OwnFolders folders;
};

int run_worth(const WorthOptions& options) {
  OwnWorthRequest request;
  request.catalogs = own_roots(options.folders);
  request.sources = options.sources;
  if (!options.fitted.empty()) request.draws.fitted = options.fitted;
  request.draws.draws = options.draws;
  request.draws.stop = &Interruption::noted();
  request.cache = options.cache.empty() ? usual_fold_cache() : std::filesystem::path(options.cache);
  if (isatty(STDERR_FILENO) == 1)
    request.progress = [](const std::string& source, std::size_t done, std::size_t of) {
      std::cerr << fmt::format("\r\033[Kfit {} of {}: without {}{}", done + 1, of, source,
                               done + 1 == of ? "\n" : "")
                << std::flush;
    };
  const Interruption interruption;
  const OwnWorth worth = own_worth(request);
  const int delivered =
      deliver_answer(options.output, {"worth of own runs", [&] { return own_worth_json(worth); }},
                     [&] { return own_worth_answer(worth); });
  return worth.stopped ? Interruption::exit_code() : delivered;
}

}  // namespace

CommandRow calibrate_worth_command() {
  const auto options = std::make_shared<WorthOptions>();
  CommandRow command{
      "worth", "What a few runs of one's own are worth, on published runs left out of the fit"};
  command.option("--source", options->sources, "NAME", "Sources of published runs (default: all)");
  command.option("--own", options->fitted, "N", "Numbers of own runs (default: 1, 2, 3 and 5)",
                 {.range = {{1, 100}}});
  command.option("--draws", options->draws, "N", "Random choices of own runs, of each number",
                 {.shows_default = true, .range = {{1, 10000}}});
  command.option("--cache", options->cache, "DIR",
                 "Folder that keeps the fits without a source, as that of validate --leave-out");
  add_answer_output(command, options->output, "schema own-worth/1");
  add_folder_options(command, options->folders);
  command.texts = {.examples = {"foretrain calibrate worth",
                                "foretrain calibrate worth --source yafsdp --own 3 --draws 200"},
                   .exits = {{exit_interrupted}}};
  command.run = [options] { return run_worth(*options); };
  return command;
}

}  // namespace foretrain
