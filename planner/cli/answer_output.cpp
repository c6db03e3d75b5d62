// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/answer_output.hpp"

#include "planner/cli/command.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/page/answer_page.hpp"

namespace foretrain {
TextStyle AnswerOutput::style() const { return out.empty() ? output_style() : TextStyle{}; }

void add_page_output(CLI::App& app, AnswerOutput& output) {
  app.add_option("--html", output.html, "Write a page, too, in one file; - prints it")
      ->type_name("FILE");
  guard_outputs(app, FileUse::report, {"--html"});
  app.add_flag("--brief", output.brief, "Print the answer alone; with --json, schema head/1");
}

void add_answer_forms(CLI::App& app, AnswerOutput& output, const std::string& json,
                      const std::string& csv) {
  auto* const as_json = app.add_flag("--json", output.json, "Print JSON, " + json);
  auto* const as_markdown =
      app.add_flag("--markdown", output.markdown, "Print Markdown")->excludes(as_json);
  if (!csv.empty())
    app.add_flag("--csv", output.csv, "Print CSV, " + csv)
        ->excludes(as_json)
        ->excludes(as_markdown);
  add_page_output(app, output);
  // Forms that have no head, and questions with an answer of another kind; some are added later.
  app.parse_complete_callback([&app] {
    if (app.count("--brief") == 0) return;
    for (const char* const other : {"--csv", "--markdown", "--neighbour"})
      if (const CLI::Option* option = app.get_option_no_throw(other);
          option != nullptr && option->count() > 0)
        throw CLI::ExcludesError("--brief", other);
  });
}

void add_answer_output(CLI::App& app, AnswerOutput& output, const std::string& json,
                       std::initializer_list<const char*> files, const std::string& csv) {
  add_answer_forms(app, output, json, csv);
  add_report_output(app, output.out, files);
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
