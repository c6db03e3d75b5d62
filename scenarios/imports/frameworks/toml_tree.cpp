// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/toml_tree.hpp"

#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "scenarios/imports/frameworks/toml_nesting.hpp"
#include "scenarios/yaml/text_file.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

class Converter {
 public:
  Converter(const std::string& name, const YamlLimits& limits, Diagnostics& diagnostics)
      : file_{std::make_shared<const std::string>(name)},
        limits_{limits},
        diagnostics_{diagnostics} {}

  YamlNode convert(const toml::node& node, std::size_t depth) {
    YamlNode result;
    result.mark = mark_of(node.source());
    if (++nodes_ > limits_.nodes || depth > limits_.nesting) {
      if (!full_)
        diagnostics_.add(result.mark, "", "holds too many values or nests them too deeply");
      full_ = true;
      return result;
    }
    if (const auto* table = node.as_table()) {
      result.kind = YamlNode::Kind::map;
      for (const auto& [key, value] : *table)
        result.entries.push_back(
            {std::string(key.str()), mark_of(key.source()), convert(value, depth + 1)});
    } else if (const auto* array = node.as_array()) {
      result.kind = YamlNode::Kind::sequence;
      for (const toml::node& item : *array) result.items.push_back(convert(item, depth + 1));
    } else {
      convert_value(node, result);
    }
    return result;
  }

 private:
  [[nodiscard]] Mark mark_of(const toml::source_region& source) const {
    return {file_, static_cast<int>(source.begin.line), static_cast<int>(source.begin.column)};
  }

  static void convert_value(const toml::node& node, YamlNode& result) {
    result.kind = YamlNode::Kind::scalar;
    if (const auto* text = node.as_string()) {
      result.text = text->get();
      result.quoted = true;
    } else if (const auto* integer = node.as_integer()) {
      result.text = std::to_string(integer->get());
    } else if (const auto* number = node.as_floating_point()) {
      result.text = std::isfinite(number->get()) ? format_number(number->get()) : "inf";
    } else if (const auto* boolean = node.as_boolean()) {
      result.text = boolean->get() ? "true" : "false";
    } else {
      result.text = "date";  // none of the dates and times decides anything
      result.quoted = true;
    }
  }

  std::shared_ptr<const std::string> file_;
  const YamlLimits& limits_;
  Diagnostics& diagnostics_;
  std::size_t nodes_ = 0;
  bool full_ = false;
};

}  // namespace

std::optional<YamlNode> parse_toml(std::string_view text, const std::string& name,
                                   const YamlLimits& limits, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.count();
  const Mark top{std::make_shared<const std::string>(name), 1, 1};
  if (text.size() > limits.file_bytes) {
    diagnostics.add(top, "", "is larger than " + std::to_string(limits.file_bytes) + " bytes");
    return std::nullopt;
  }
  if (!check_encoding(text, top, diagnostics)) return std::nullopt;
  if (const auto place = too_deep_toml(text, limits.nesting)) {
    diagnostics.add(Mark{top.file, place->line, place->column}, "",
                    fmt::format("nested deeper than {} levels", limits.nesting));
    return std::nullopt;
  }
  try {
    const toml::table table = toml::parse(text, name);
    YamlNode root = Converter(name, limits, diagnostics).convert(table, 0);
    if (diagnostics.count() != before) return std::nullopt;
    return root;
  } catch (const toml::parse_error& error) {
    const auto& place = error.source().begin;
    diagnostics.add(Mark{top.file, static_cast<int>(place.line), static_cast<int>(place.column)},
                    "", "is no TOML: " + in_quotes(error.description()));
    return std::nullopt;
  }
}

}  // namespace foretrain
