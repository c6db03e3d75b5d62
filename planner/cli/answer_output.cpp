// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/answer_output.hpp"

#include "planner/cli/command.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/page/answer_page.hpp"

namespace foretrain {
TextStyle AnswerOutput::style() const { return out.empty() ? output_style() : TextStyle{}; }

void add_page_output(CommandRow& command, AnswerOutput& output) {
  command.option("--html", output.html, "FILE", "Write a page, too, in one file; - prints it",
                 {.writes = FileUse::report});
  // Forms that have no head, and a question with an answer of another kind.
  command.flag("--brief", output.brief, "Print the answer alone; with --json, schema head/1",
               {.refuses = {"--csv", "--markdown", "--neighbour"}});
}

void add_answer_forms(CommandRow& command, AnswerOutput& output, const std::string& json,
                      const std::string& csv) {
  command.flag("--json", output.json, "Print JSON, " + json);
  command.flag("--markdown", output.markdown, "Print Markdown", {.excludes = {"--json"}});
  if (!csv.empty())
    command.flag("--csv", output.csv, "Print CSV, " + csv, {.excludes = {"--json", "--markdown"}});
  add_page_output(command, output);
}

void add_answer_output(CommandRow& command, AnswerOutput& output, const std::string& json,
                       const std::string& csv) {
  add_answer_forms(command, output, json, csv);
  add_report_output(command, output.out);
}

int deliver_answer(const AnswerOutput& output, const AnswerForms& forms,
                   const std::function<Answer()>& make) {
  const bool in_words = !output.json && !output.csv;
  const Answer answer =
      in_words || output.brief || (!output.html.empty() && !forms.page) ? make() : Answer{};
  if (!output.html.empty()) {
    const std::string page = forms.page ? forms.page() : answer_page(answer, forms.kind);
    if (output.html == "-") return deliver(page, output.out);
    write_file(output.html, page);
  }
  if (output.brief)
    return deliver(output.json ? head_json(answer.head) : head_text(answer.head, output.style()),
                   output.out);
  return deliver(output.json            ? forms.json()
                 : output.csv           ? forms.csv()
                 : output.markdown      ? answer_markdown(answer)
                 : !forms.words.empty() ? forms.words
                                        : answer_text(answer, output.style()),
                 output.out);
}

}  // namespace foretrain
