// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/studies.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace foretrain {
namespace {

using PairJson = nlohmann::ordered_json;

std::string signed_percent(double share) { return fmt::format("{:+.1f}", 100.0 * share); }

std::string verdict_on(const AblationCheck& check) {
  if (!check.has_sign()) return "small";
  if (!check.right_sign()) return "sign";
  return check.right_size() ? "" : "size";
}

/// Kinds of choices, the sum of them last.
std::vector<AblationSummary> with_sum(const std::vector<AblationCheck>& checks) {
  std::vector<AblationSummary> lines = summarize(checks);
  AblationSummary all{"all"};
  for (const AblationSummary& one : lines) {
    all.pairs += one.pairs;
    all.signs += one.signs;
    all.sizes += one.sizes;
    all.small += one.small;
  }
  lines.push_back(std::move(all));
  return lines;
}

AnswerHead ablations_head(const AblationSummary& all) {
  AnswerHead head;
  head.subject = "Runs that differ in one choice";
  head.words = fmt::format("{} OF {} RIGHT IN SIGN", all.signs, all.pairs);
  head.sentence = fmt::format(
      "What one choice changes of the step time: of {} measured changes above the noise, {} are "
      "forecast with the right sign and {} within a third of their size.",
      all.pairs, all.signs, all.sizes);
  head.figures = {{"right sign", fmt::format("{} of {}", all.signs, all.pairs)},
                  {"within a third", fmt::format("{} of {}", all.sizes, all.pairs)}};
  return head;
}

AnswerTable changes_table(const std::vector<AblationCheck>& checks) {
  AnswerTable table{{words_column("pair"), number_column("measured"), number_column("forecast"),
                     words_column("wrong")}};
  for (const AblationCheck& check : checks)
    if (check.why.empty())
      table.add({check.pair.after, signed_percent(check.measured), signed_percent(check.predicted),
                 verdict_on(check)});
  return table;
}

}  // namespace

Answer ablations_answer(const std::vector<AblationCheck>& checks) {
  const std::vector<AblationSummary> lines = with_sum(checks);
  Answer answer{ablations_head(lines.back())};
  AnswerTable kinds{{words_column("what differs"), number_column("pairs"),
                     number_column("right sign"), number_column("within a third"),
                     number_column("small")}};
  for (const AblationSummary& one : lines)
    kinds.add({one.what, std::to_string(one.pairs), std::to_string(one.signs),
               std::to_string(one.sizes), std::to_string(one.small)});
  answer.add({"By kind of choice",
              {std::move(kinds),
               AnswerLine{"small: measured to change by less than 2 %, as repeated runs do."}}});
  AnswerSection changes{"Change of the step time, percent", {changes_table(checks)}};
  for (const AblationCheck& check : checks)
    changes.blocks.emplace_back(AnswerLine{check.why, check.why.empty() ? "" : "not judged: "});
  answer.add(std::move(changes));
  return answer;
}

std::string ablations_json(const std::vector<AblationCheck>& checks) {
  PairJson summary = PairJson::array();
  for (const AblationSummary& one : summarize(checks))
    summary.push_back({{"what", one.what},
                       {"pairs", one.pairs},
                       {"right_sign", one.signs},
                       {"within_a_third", one.sizes},
                       {"small", one.small}});
  PairJson pairs = PairJson::array();
  for (const AblationCheck& check : checks) {
    const bool judged = check.why.empty();
    const auto number = [&](double value) { return judged ? PairJson(value) : PairJson(nullptr); };
    pairs.push_back({{"what", check.pair.what},
                     {"before", check.pair.before},
                     {"after", check.pair.after},
                     {"besides", check.pair.besides},
                     {"measured", number(check.measured)},
                     {"predicted", number(check.predicted)},
                     {"why", judged ? PairJson(nullptr) : PairJson(check.why)}});
  }
  return PairJson{{"summary", std::move(summary)}, {"pairs", std::move(pairs)}}.dump(2) + "\n";
}

}  // namespace foretrain
