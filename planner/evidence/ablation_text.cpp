// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/ablation_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace foretrain {
namespace {

using Align = TextTable::Align;
using PairJson = nlohmann::ordered_json;

std::string signed_percent(double share) { return fmt::format("{:+.1f}", 100.0 * share); }

std::string verdict_on(const AblationCheck& check) {
  if (!check.has_sign()) return "small";
  if (!check.right_sign()) return "sign";
  return check.right_size() ? "" : "size";
}

TextTable summary_table(const std::vector<AblationCheck>& checks) {
  TextTable table{{Align::left, Align::right, Align::right, Align::right, Align::right}};
  table.add({"what differs", "pairs", "right sign", "within a third", "small"});
  AblationSummary all{"all"};
  const auto line = [&](const AblationSummary& one) {
    table.add({one.what, std::to_string(one.pairs), std::to_string(one.signs),
               std::to_string(one.sizes), std::to_string(one.small)});
  };
  for (const AblationSummary& one : summarize(checks)) {
    line(one);
    all.pairs += one.pairs;
    all.signs += one.signs;
    all.sizes += one.sizes;
    all.small += one.small;
  }
  line(all);
  return table;
}

}  // namespace

std::string ablations_text(const std::vector<AblationCheck>& checks, const TextStyle& style) {
  std::string text =
      toned("Pairs of runs that differ in one choice: step time", Tone::strong, style) + "\n" +
      summary_table(checks).text(style) +
      hanging("  ", "small: measured to change by less than 2 %, as repeated runs do.", style) +
      "\n" + toned("Change of the step time, percent", Tone::strong, style) + "\n";
  TextTable table{{Align::left, Align::right, Align::right, Align::left}};
  table.add({"pair", "measured", "forecast", "wrong"});
  for (const AblationCheck& check : checks)
    if (check.why.empty())
      table.add({check.pair.after, signed_percent(check.measured), signed_percent(check.predicted),
                 verdict_on(check)});
  text += table.text(style);
  for (const AblationCheck& check : checks)
    if (!check.why.empty()) text += hanging("  ", "not judged: " + check.why, style);
  return text;
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
