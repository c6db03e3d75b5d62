// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/compose.hpp"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "scenarios/sections/scenario_fields.hpp"
#include "scenarios/yaml/confinement.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/sha256.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

/// Keys that speak about their own file and are never inherited.
bool is_own_key(std::string_view key) { return key == "extends" || key == "schema"; }

/// A scalar that stands for a group becomes that group.
YamlNode as_group(YamlNode node, const Field* field) {
  if (!node.is_scalar() || !field || field->scalar_child.empty()) return node;
  YamlNode group;
  group.kind = YamlNode::Kind::map;
  group.mark = node.mark;
  group.entries.push_back({field->scalar_child, node.mark, std::move(node)});
  return group;
}

/// Follows the chain of `extends` from one scenario.
class Composer {
 public:
  Composer(const fs::path& folder, const LoadOptions& options, Diagnostics& diagnostics)
      : diagnostics_(diagnostics), roots_(roots_of(folder, options)) {}

  ComposedDocument compose(const std::string& text, const std::string& name,
                           const fs::path& folder) {
    const fs::path file = canonical_of(folder / fs::path(name).filename());
    result_.readable = true;
    result_.root = read(text, name, file).value_or(YamlNode{});
    result_.readable = readable_;
    return std::move(result_);
  }

 private:
  /// The document of one file with its bases folded in.
  std::optional<YamlNode> read(const std::string& text, const std::string& name,
                               const fs::path& file) {
    result_.files.push_back({name, sha256_hex(text)});
    auto root = parse_yaml(text, name, YamlLimits{}, diagnostics_);
    if (!root) {
      if (chain_.empty()) readable_ = false;
      return std::nullopt;
    }
    chain_.push_back({file, name});
    const YamlNode* extends = root->find("extends");
    if (extends && !extends->is_scalar()) result_.state = Document::partial;
    if (extends && extends->is_scalar()) {
      auto base = read_base(*extends, name, file);
      if (base)
        root = merge_documents(std::move(*base), std::move(*root), scenario_fields());
      else
        result_.state = Document::partial;
    }
    chain_.pop_back();
    return root;
  }

  std::optional<YamlNode> read_base(const YamlNode& extends, const std::string& name,
                                    const fs::path& file) {
    const fs::path target = canonical_of(file.parent_path() / extends.text);
    const std::string shown =
        (fs::path(name).parent_path() / extends.text).lexically_normal().string();
    const std::string problem = refusal(extends.text, target);
    if (!problem.empty()) {
      diagnostics_.add(extends.mark, "extends", problem);
      return std::nullopt;
    }
    const auto text = read_text_file(target, extends.text, YamlLimits{}.file_bytes, diagnostics_,
                                     {extends.mark, "extends"});
    if (!text) return std::nullopt;
    auto base = read(*text, shown, target);
    if (!base) return std::nullopt;
    if (!base->is_map()) {
      diagnostics_.add(base->mark, {}, "a file that is extended must hold keys and values");
      return std::nullopt;
    }
    check_schema(*base);
    std::erase_if(base->entries, [](const YamlEntry& entry) { return is_own_key(entry.key); });
    return base;
  }

  /// Why `target` must not be read; empty when it may.
  [[nodiscard]] std::string refusal(const std::string& written, const fs::path& target) const {
    if (std::string refused = path_refusal(written, target, roots_, "extended"); !refused.empty())
      return refused;
    std::string cycle;
    for (const auto& [file, name] : chain_) {
      if (file == target || !cycle.empty()) cycle += name + " -> ";
    }
    if (!cycle.empty())
      return fmt::format("the files extend each other in a circle: {}{}", cycle, written);
    if (static_cast<int>(chain_.size()) > extends_depth)
      return fmt::format("more than {} files extend each other", extends_depth);
    return {};
  }

  void check_schema(const YamlNode& base) {
    const YamlNode* schema = base.find("schema");
    if (!schema)
      diagnostics_.add(base.mark, "schema", "required key is missing; write for example schema: 1");
    else if (!schema->is_scalar() || schema->text != "1")
      diagnostics_.add(schema->mark, "schema", "must be 1");
  }

  struct Link {
    fs::path file;
    std::string name;
  };

  Diagnostics& diagnostics_;
  ReadRoots roots_;
  std::vector<Link> chain_;
  bool readable_ = true;
  ComposedDocument result_;
};

std::string unknown_override(const std::string& path, const FieldTable& table) {
  std::vector<std::string> all;
  std::string meant;
  for (const Field& field : table.fields()) {
    if (leaf_name(field.path) == path && meant.empty()) meant = field.path;
    if (field.path.find("[]") == std::string::npos) all.push_back(field.path);
  }
  if (meant.empty()) meant = nearest(path, all).value_or("");
  std::string group = path;
  while (!group.empty() && table.children(group).empty()) {
    const auto dot = group.rfind('.');
    group = dot == std::string::npos ? "" : group.substr(0, dot);
  }
  return fmt::format("unknown key{} Keys of {}: {}",
                     meant.empty() ? "." : "; did you mean " + in_quotes(meant) + "?",
                     group.empty() ? "the file" : group, joined(table.child_names(group)));
}

/// Whether a user may set this key by flag; the reason why not, else empty.
std::string override_refusal(const std::string& path, const FieldTable& table) {
  if (path.find('[') != std::string::npos)
    return "a list is set as a whole, for example budget=[{metric: step.time_s, max: 4.2}]";
  if (!table.find(path)) return unknown_override(path, table);
  if (is_own_key(path)) return "cannot be set by a flag; it belongs into the file";
  return {};
}

void erase_path(YamlNode& node, std::string_view path) {
  const std::size_t dot = path.find('.');
  const std::string_view name = path.substr(0, dot);
  const auto entry = std::find_if(node.entries.begin(), node.entries.end(),
                                  [&](const YamlEntry& other) { return other.key == name; });
  if (entry == node.entries.end()) return;
  if (dot == std::string_view::npos)
    node.entries.erase(entry);
  else
    erase_path(entry->value, path.substr(dot + 1));
}

/// The value of an override, below the groups of its path.
const YamlNode& leaf_of(const YamlNode& node) {
  return node.is_map() && node.entries.size() == 1 ? leaf_of(node.entries.front().value) : node;
}

}  // namespace

YamlNode merge_documents(YamlNode base, YamlNode over, const FieldTable& table,
                         const std::string& path) {
  const Field* field = path.empty() ? nullptr : table.find(path);
  base = as_group(std::move(base), field);
  if (!base.is_map() || !over.is_map()) return over;
  for (YamlEntry& entry : over.entries) {
    const auto same = std::find_if(base.entries.begin(), base.entries.end(),
                                   [&](const YamlEntry& other) { return other.key == entry.key; });
    if (same == base.entries.end()) {
      base.entries.push_back(std::move(entry));
      continue;
    }
    same->mark = entry.mark;
    same->value = merge_documents(std::move(same->value), std::move(entry.value), table,
                                  child_path(path, entry.key));
  }
  base.mark = over.mark;
  return base;
}

std::optional<YamlNode> parse_override(const std::string& text, int ordinal,
                                       const FieldTable& table, Diagnostics& diagnostics) {
  const Mark mark{std::make_shared<const std::string>("--set"), ordinal, 1};
  const auto equals = text.find('=');
  const std::string path = text.substr(0, equals);
  if (equals == std::string::npos || path.empty()) {
    diagnostics.add(mark, {},
                    fmt::format("{} is not an override; write path=value, for example "
                                "parallel.tensor=4",
                                in_quotes(text)));
    return std::nullopt;
  }
  const std::string problem = override_refusal(path, table);
  if (!problem.empty()) {
    diagnostics.add(mark, printable_path(path), problem);
    return std::nullopt;
  }
  if (text.find_first_not_of(" \t", equals + 1) == std::string::npos) {
    diagnostics.add(mark, path, "no value after '='");
    return std::nullopt;
  }
  Diagnostics problems;
  auto value = parse_yaml(std::string_view(text).substr(equals + 1), "--set", YamlLimits{},
                          problems, {ordinal, static_cast<int>(equals) + 2});
  for (Diagnostic found : problems.items()) {
    found.path = found.path.empty() ? path : child_path(path, found.path);
    diagnostics.add(std::move(found));
  }
  if (!value || !problems.empty()) return std::nullopt;
  std::string rest = path;
  while (!rest.empty()) {
    const auto dot = rest.rfind('.');
    YamlNode group;
    group.kind = YamlNode::Kind::map;
    group.mark = mark;
    group.entries.push_back({std::string(leaf_name(rest)), mark, std::move(*value)});
    value = std::move(group);
    rest = dot == std::string::npos ? "" : rest.substr(0, dot);
  }
  return value;
}

ComposedDocument compose_scenario(const std::string& text, const std::string& name,
                                  const fs::path& folder, const LoadOptions& options,
                                  Diagnostics& diagnostics) {
  ComposedDocument document = Composer(folder, options, diagnostics).compose(text, name, folder);
  int ordinal = 0;
  for (const std::string& flag : options.overrides) {
    auto over = parse_override(flag, ++ordinal, scenario_fields(), diagnostics);
    if (!over)
      document.state = Document::partial;
    else if (leaf_of(*over).is_null())
      erase_path(document.root, flag.substr(0, flag.find('=')));
    else if (document.root.is_map())
      document.root =
          merge_documents(std::move(document.root), std::move(*over), scenario_fields());
  }
  for (const std::string& path : options.left_out) erase_path(document.root, path);
  return document;
}

}  // namespace foretrain
