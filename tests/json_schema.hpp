// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "tests/test_text.hpp"

namespace foretrain::test {

/// What the JSON Schema in a file says against a document, a line each; empty when it is valid.
inline std::string schema_errors(const std::filesystem::path& file,
                                 const nlohmann::json& document) {
  using Adapter = valijson::adapters::NlohmannJsonAdapter;
  const nlohmann::json written = nlohmann::json::parse(contents(file));
  valijson::Schema schema;
  valijson::SchemaParser{}.populateSchema(Adapter{written}, schema);
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (validator.validate(schema, Adapter{document}, &results)) return {};
  std::string text = "invalid:\n";
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    for (const std::string& step : error.context) text += step;
    text += ": " + error.description + "\n";
  }
  return text;
}

}  // namespace foretrain::test
