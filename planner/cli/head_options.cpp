// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/head_options.hpp"

namespace foretrain {

std::string brief_answer(const AnswerHead& head, bool json, const TextStyle& style) {
  return json ? head_json(head) : head_text(head, style);
}

void add_brief_option(CLI::App& app, bool& brief) {
  app.add_flag("--brief", brief, "Print the answer alone; with --json, schema head/1");
}

void add_head_options(CLI::App& app, HeadOptions& options) {
  add_brief_option(app, options.brief);
  app.add_flag("--full", options.full, "Print everything, not just what fits on a screen")
      ->excludes("--brief");
}

}  // namespace foretrain
