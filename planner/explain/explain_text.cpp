// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "planner/explain/explain.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"

namespace foretrain {
namespace {

/// "dgx-h100.yaml:5" for "topologies/catalog/hosts/dgx-h100.yaml:5"; the JSON has the whole path.
std::string short_origin(const std::string& origin) {
  if (origin.starts_with("derived:")) return origin;
  return std::filesystem::path(origin).filename().string();
}

std::string constants_text(const ExplainAnswer& answer, const TextStyle& style) {
  if (answer.constants.empty()) return {};
  std::string result = "\n" + toned("Constants", Tone::strong, style) + "\n";
  for (const auto& [name, p] : answer.constants) {
    std::string text = std::string(name_of(p.trust)) + ": ";
    text += p.source.empty() ? "source not stated" : p.source;
    if (!p.date.empty()) text += ", " + p.date;
    text += p.error < 0.0 ? ", error not known" : ", median error " + percent_text(p.error);
    result += labelled(name, text, style, 13);
  }
  return result;
}

}  // namespace

std::string explain_text(const ExplainAnswer& answer, const TextStyle& style) {
  using Align = TextTable::Align;
  std::string result = toned(answer.path, Tone::strong, style);
  if (!answer.value.empty()) result += " = " + answer.value;
  if (!answer.exact.empty() && answer.exact != answer.value) result += "  (" + answer.exact + ")";
  result = hanging("", result, style) + labelled("meaning", answer.meaning, style, 10);
  if (!answer.formula.empty()) result += labelled("formula", answer.formula, style, 10);
  if (!answer.parts.empty()) {
    TextTable table{{Align::left, Align::right}};
    for (const auto& [name, value] : answer.parts) table.add({name, value});
    result += "\n" + toned("Parts", Tone::strong, style) + "\n" + table.text(style);
  }
  if (!answer.inputs.empty()) {
    TextTable table{{Align::left, Align::left, Align::left}};
    for (const ExplainInput& input : answer.inputs)
      table.add({input.path, input.value, short_origin(input.origin)});
    result += "\n" + toned("Computed from", Tone::strong, style) + "\n" + table.text(style);
  }
  return result + constants_text(answer, style);
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
