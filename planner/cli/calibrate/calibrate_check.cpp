// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "planner/cli/answer_output.hpp"
#include "planner/cli/calibrate_commands.hpp"
#include "planner/constants/measured_check.hpp"
#include "planner/text/shell_word.hpp"

namespace foretrain {
namespace {

struct CheckOptions {
  LogOptions logs;
  std::vector<std::string> profiles;
  OwnFolders folders;
  AnswerOutput output;
  bool skipped = false;
};

struct CompareOptions {
  std::string a;
  std::string b;
  OwnFolders folders;
  AnswerOutput output;
  bool all = false;
};

int run_check(const CheckOptions& options) {
  MeasuredCheckRequest request;
  request.logs = log_request(options.logs);
  request.catalogs = own_roots(options.folders);
  request.profiles = options.profiles;
  const MeasuredCheck check = check_measured(request);
  return deliver_answer(options.output, {"check", [&] { return measured_check_json(check); }}, [&] {
    Answer answer = measured_check_answer(check, options.skipped);
    if (!options.skipped && !answer.head.figures.empty() && options.logs.files.size() == 1)
      answer.head.next =
          "foretrain calibrate check " + shell_words({options.logs.files.front()}) + " --skipped";
    return answer;
  });
}

int run_compare(const CompareOptions& options) {
  const ProfileComparison comparison =
      compare_profiles(options.a, options.b, own_roots(options.folders));
  return deliver_answer(
      options.output,
      {"comparison of profiles", [&] { return profile_comparison_json(comparison); }},
      [&] { return profile_comparison_answer(comparison, options.all); });
}

}  // namespace

CommandRow calibrate_check_command() {
  const auto options = std::make_shared<CheckOptions>();
  CommandRow command{"check", "Predict measurements that were not fitted, and show the error"};
  command.option("records", options->logs.files, "FILE|DIR",
                 "Logs, records in the formats of `import`, or folders of those",
                 {.required = true});
  command.option("--profile", options->profiles, "PROFILE",
                 "Profile of a device, fabric, site or stack in place of the shipped one: a path, "
                 "or LAYER/NAME (may be repeated)",
                 {.repeated = true});
  add_log_options(command, options->logs);
  command.flag("--skipped", options->skipped, "Show why records were not predicted");
  add_answer_output(command, options->output, "predicted and measured, with bands");
  add_folder_options(command, options->folders);
  command.texts = {.examples = {"foretrain calibrate check gpubench.jsonl --profile my-h100.yaml",
                                "foretrain calibrate check runs.yaml --profile my-h100.yaml "
                                "--profile my-h100-site.yaml"},
                   .exits = {{exit_ok}}};
  command.run = [options] { return run_check(*options); };
  return command;
}

CommandRow calibrate_compare_command() {
  const auto options = std::make_shared<CompareOptions>();
  CommandRow command{"compare", "Compare two profiles, or a profile with the shipped one"};
  command.option("a", options->a, "PROFILE",
                 "Path of a profile, or device/NAME, stack/NAME, site/NAME, "
                 "fabric/NAME",
                 {.required = true});
  command.option("b", options->b, "PROFILE",
                 "The other one; by default the shipped profile behind the first");
  command.flag("--all", options->all, "List constants that are the same as well");
  add_answer_output(command, options->output, "every constant of both");
  add_folder_options(command, options->folders);
  command.texts = {.examples = {"foretrain calibrate compare my-h100.yaml",
                                "foretrain calibrate compare site/selene site/dgx-h100-ndr"},
                   .exits = {{exit_ok}}};
  command.run = [options] { return run_compare(*options); };
  return command;
}

}  // namespace foretrain
