// SPDX-License-Identifier: Apache-2.0

#include "scenarios/fields/key_slot.hpp"

#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

std::string flow_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return "[" + text + "]";
}

std::string KeyValue<std::string>::text(const std::string& value, const Field&) {
  return in_double_quotes(value);
}

std::string KeyValue<std::vector<int>>::text(const std::vector<int>& value, const Field&) {
  std::vector<std::string> numbers;
  for (const int number : value) numbers.push_back(std::to_string(number));
  return flow_list(numbers);
}

std::string KeyValue<double>::text(double value, const Field& field) {
  return field.kind == FieldKind::quantity ? format_quantity(value, field.dimension)
                                           : format_number(value);
}

}  // namespace foretrain
