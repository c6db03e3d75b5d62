// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/head_options.hpp"

namespace foretrain {

std::string brief_answer(const AnswerHead& head, bool json, const TextStyle& style) {
  return json ? head_json(head) : head_text(head, style);
}

void add_brief_option(CLI::App& app, bool& brief) {
  app.add_flag("--brief", brief, "Print the answer alone; with --json, schema head/1");
  // Other forms and questions, which have no head; some are added after this one.
  app.parse_complete_callback([&app] {
    if (app.count("--brief") == 0) return;
    for (const char* const other : {"--csv", "--markdown", "--fewest", "--pareto", "--serve",
                                    "--neighbour", "--hosts", "--wait", "--deadlines"})
      if (const CLI::Option* option = app.get_option_no_throw(other);
          option != nullptr && option->count() > 0)
        throw CLI::ExcludesError("--brief", other);
  });
}

void add_head_options(CLI::App& app, HeadOptions& options) {
  add_brief_option(app, options.brief);
  app.add_flag("--full", options.full, "Print everything, not just what fits on a screen")
      ->excludes("--brief");
}

}  // namespace foretrain
