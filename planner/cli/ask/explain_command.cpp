// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "planner/cli/answer_output.hpp"
#include "planner/cli/ask/event_simulation.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/source_options.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/explain/claim.hpp"
#include "planner/explain/explain.hpp"
#include "planner/step/step_losses.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

struct ExplainOptions {
  SourceOptions source;
  std::string quantity;
  std::optional<std::string> claim;
  std::string link;
  EngineKind engine = EngineKind::closed_form;
  AttentionFlops flops = AttentionFlops::full;
  AnswerOutput output;
};

int explain_claim(const Report& report, const ExplainOptions& options, AttentionFlops convention) {
  const ClaimCheck check = check_claim(report, parse_claim(*options.claim), convention);
  const int delivered =
      deliver_answer(options.output, {"claim", [&] { return claim_json(check); }}, [&] {
        Answer answer = claim_answer(check);
        if (const std::string source = source_words(options.source); !source.empty())
          answer.head.next = "foretrain explain " + source + " step";
        return answer;
      });
  if (delivered != exit_ok) return delivered;
  return check.verdict == ClaimVerdict::impossible ? exit_budget : exit_ok;
}

/// Where no scenario file is needed, the first word is the quantity.
ExplainOptions with_quantity(ExplainOptions options) {
  if (options.source.imports() && options.quantity.empty())
    options.quantity.swap(options.source.scenario.file);
  return options;
}

/// On the fabric, whatever engine is asked for; until Ctrl-C.
int explain_links(const ExplainOptions& options, AttentionFlops convention) {
  LinkQuestion question;
  question.name = options.link;
  const EventSimulation simulation =
      simulate_links(read_scenario(options.source), convention, std::move(question));
  const EventReport& event = simulation.event;
  if (simulation.interrupted) {
    (void)deliver(stopped_text(event, *simulation.interrupted, output_style()), options.output.out);
    return Interruption::exit_code();
  }
  if (!event.run) {
    for (const Infeasible& reason : event.report.prediction.reasons)
      write_diagnostic("infeasible: " + reason.message +
                       (reason.remedy.empty() ? "" : " (" + reason.remedy + ")"));
    return exit_infeasible;
  }
  return deliver_answer(options.output, {"links", [&] { return link_causes_json(event); }},
                        [&] { return link_causes_answer(event, source_words(options.source)); });
}

int run_explain(const ExplainOptions& options) {
  if (options.claim && !options.quantity.empty())
    throw UsageError("explain takes a QUANTITY or --claim, not both");
  const auto convention = options.flops;
  if (!options.link.empty() && options.quantity != "link")
    throw UsageError(
        "--link is about the quantity link: foretrain explain SCENARIO link --link NAME");
  if (options.quantity == "link") return explain_links(options, convention);
  const auto forecast =
      report_by(read_scenario(options.source, options.claim ? Purpose::training : Purpose::any),
                convention, options.engine);
  if (!forecast) return Interruption::exit_code();
  const Report& report = forecast->report;
  if (options.claim) return explain_claim(report, options, convention);
  const std::string source = source_words(options.source);
  const bool runs = report.study ? report.study->reasons.empty() : report.prediction.feasible();
  const auto deliver_and_tell = [&](const AnswerForms& forms, const auto& answer) {
    const int delivered = deliver_answer(options.output, forms, answer);
    return delivered != exit_ok || runs ? delivered : int{exit_infeasible};
  };
  if (options.quantity.empty())
    return deliver_and_tell({"quantities", [&] { return quantities_json(report); }},
                            [&] { return quantities_answer(report, source); });
  if (options.quantity == "step" && (report.prediction.step || report.prediction.if_it_fit)) {
    const StepLosses losses = step_losses(report);
    return deliver_and_tell({"step", [&] { return step_losses_json(losses); }},
                            [&] { return step_losses_answer(report, losses, source); });
  }
  const ExplainAnswer answer = explain(report, options.quantity);
  return deliver_and_tell({"quantity", [&] { return explain_json(answer); }},
                          [&] { return explain_answer(answer, source); });
}

}  // namespace

CommandRow explain_command() {
  const auto options = std::make_shared<ExplainOptions>();
  CommandRow command{"explain", "Show where a number comes from, or check a claim"};
  add_source_options(command, options->source);
  command.option(
      "quantity", options->quantity, "QUANTITY",
      "step (where the MFU goes), link (what fills the busiest links of the fabric), mfu, "
      "memory, flops, run, a path of the JSON, or a scenario key");
  command.option("--link", options->link, "NAME",
                 "With link: this one, by its name in simulate --engine event --full");
  command.option("--claim", options->claim, "TEXT",
                 "A sentence to check: \"2 T tokens on 1024 H100 in 7 days\"");
  command.option("--engine", options->engine, "NAME", "How to compute: closed-form, path or event");
  command.option("--flops", options->flops, "NAME",
                 "Attention scores in model FLOPs: full or causal");
  add_answer_output(command, options->output,
                    "schemas explanation/1, step-losses/1, link-causes/1, claim/1");
  add_scenario_options(command, options->source.scenario);
  command.texts = {
      .examples = {"foretrain explain run.yaml                 list the quantities",
                   "foretrain explain run.yaml step            where the MFU goes, in words",
                   "foretrain explain run.yaml link            what fills the busiest links, by "
                   "the event engine",
                   "foretrain explain run.yaml mfu",
                   "foretrain explain run.yaml memory.stages.0.activations_bytes",
                   "foretrain explain run.yaml --claim \"2 T tokens on 1024 H100 in 7 days\"",
                   "foretrain explain --megatron pretrain_gpt.sh step"},
      .exits = {{exit_infeasible}, {exit_budget, "the claim is impossible"}}};
  command.run = [options] { return run_explain(with_quantity(*options)); };
  return command;
}

}  // namespace foretrain
