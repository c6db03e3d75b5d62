// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "planner/explain/explain.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/quoting.hpp"

namespace foretrain {
namespace {

/// "dgx-h100.yaml:5" for "topologies/catalog/hosts/dgx-h100.yaml:5"; the JSON has the whole path.
std::string short_origin(const std::string& origin) {
  if (origin.starts_with("derived:")) return origin;
  return std::filesystem::path(origin).filename().string();
}

AnswerFacts constants_facts(const ExplainAnswer& answer) {
  AnswerFacts facts;
  facts.label_columns = 13;
  for (const auto& [name, p] : answer.constants) {
    std::string text = std::string(name_of(p.trust)) + ": ";
    text += p.source.empty() ? "source not stated" : p.source;
    if (!p.date.empty()) text += ", " + p.date;
    text += p.error < 0.0 ? ", error not known" : ", median error " + percent_text(p.error);
    facts.add(name, std::move(text));
  }
  return facts;
}

AnswerHead head_of(const ExplainAnswer& answer, const std::string& source) {
  AnswerHead head;
  head.subject = answer.path;
  head.words = answer.value.empty() ? fmt::format("{} PARTS", answer.parts.size()) : answer.value;
  head.sentence = answer.meaning;
  if (!answer.value.empty())
    head.figures.push_back(
        {"value", answer.value, "",
         answer.exact == answer.value || answer.exact == "null" ? std::string() : answer.exact});
  for (const auto& [name, value] : answer.parts)
    if (answer.value.empty() && head.figures.size() < 4) head.figures.push_back({name, value});
  if (source.empty()) return head;
  head.next = "foretrain explain " + source;
  for (const ExplainInput& input : answer.inputs)
    if (input.origin == "forecast") {
      head.next += " " + shell_word(input.path);
      break;
    }
  return head;
}

}  // namespace

Answer explain_answer(const ExplainAnswer& explained, const std::string& source) {
  Answer answer{head_of(explained, source)};
  AnswerFacts facts;
  facts.label_columns = 10;
  if (!explained.formula.empty()) facts.add("formula", explained.formula);
  answer.add("", std::move(facts));
  AnswerTable parts{{words_column(), number_column()}};
  for (const auto& [name, value] : explained.parts) parts.add({name, value});
  answer.add("Parts", std::move(parts));
  AnswerTable inputs{{words_column(), words_column(), words_column()}};
  for (const ExplainInput& input : explained.inputs)
    inputs.add({input.path, input.value, short_origin(input.origin)});
  answer.add("Computed from", std::move(inputs));
  answer.add("Constants", constants_facts(explained));
  return answer;
}

std::string explain_json(const ExplainAnswer& answer) {
  Json inputs = Json::array();
  for (const ExplainInput& input : answer.inputs)
    inputs.push_back({{"path", input.path}, {"value", input.value}, {"origin", input.origin}});
  Json parts = Json::array();
  for (const auto& [name, value] : answer.parts)
    parts.push_back({{"name", name}, {"value", value}});
  Json constants = Json::array();
  for (const auto& [name, p] : answer.constants)
    constants.push_back({{"layer", name},
                         {"trust", name_of(p.trust)},
                         {"source", p.source},
                         {"date", p.date},
                         {"error", p.error < 0.0 ? Json(nullptr) : number_or_null(p.error)}});
  Json exact = Json::parse(answer.exact, nullptr, false);
  if (exact.is_discarded()) exact = answer.exact.empty() ? Json(nullptr) : Json(answer.exact);
  return dump({{"schema", "explanation/1"},
               {"quantity", answer.path},
               {"value", exact},
               {"text", answer.value},
               {"meaning", answer.meaning},
               {"formula", answer.formula},
               {"parts", parts},
               {"inputs", inputs},
               {"constants", constants}});
}

}  // namespace foretrain
