// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/core/internal/core_fields.hpp"

#include "models/base/ranges.hpp"
#include "scenarios/imports/frameworks/dialect.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain::core {
namespace {

const Dialect& core_dialect() {
  static const auto dialect = dialect_named("megatron-core");
  return *dialect;
}

}  // namespace

std::vector<std::string_view> fields_of(std::string_view list) {
  return core_dialect().keys_of(list);
}

bool is_field(std::string_view list, std::string_view name) {
  return contains(fields_of(list), name);
}

std::string_view argument_of(std::string_view list, std::string_view name) {
  const DialectTerm* const term = core_dialect().term(list);
  return term == nullptr ? std::string_view() : meaning_of(*term, name);
}

std::optional<NamedPrecision> precision_named(const std::string& name) {
  const DialectTerm* const term = core_dialect().term("precision." + name);
  if (term == nullptr) return std::nullopt;
  const auto ends = parse_number(std::string(meaning_of(*term, "bf16_ends")));
  return NamedPrecision{meaning_of(*term, "fp8_recipe"), meaning_of(*term, "fp4_recipe"),
                        static_cast<int>(ends.value.value_or(0.0)),
                        meaning_of(*term, "parameters") == "true"};
}

}  // namespace foretrain::core
