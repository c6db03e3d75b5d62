// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/catalog_like.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/sections/compose.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {
namespace {

/// Whether the document gives `key` (dotted) itself.
bool says(const YamlNode& root, std::string_view key) {
  const YamlNode* at = &root;
  for (std::size_t dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.')) {
    at = at->find(key.substr(0, dot));
    if (at == nullptr) return false;
    key.remove_prefix(dot + 1);
  }
  return at->find(key) != nullptr;
}

std::string chain_text(const std::vector<CatalogFile>& chain, const std::string& last) {
  std::string text;
  for (const CatalogFile& file : chain) text += file.name + " is like ";
  return text + last;
}

}  // namespace

std::optional<CatalogFile> find_relative(const YamlNode& like,
                                         const std::vector<CatalogFile>& chain,
                                         CatalogContext& context) {
  const CatalogKind kind = chain.back().kind;
  const auto refuse = [&](const std::string& why) {
    context.diagnostics.add(like.mark, like_key, why);
    return std::nullopt;
  };
  if (chain.size() > like_depth)
    return refuse(fmt::format("more than {} entries are like each other", like_depth));
  const std::size_t before = context.diagnostics.count();
  const auto roots = catalog_roots(context.catalogs, context.diagnostics);
  if (context.diagnostics.count() != before) return std::nullopt;
  if (is_entry_name(like.text)) {
    if (auto found = find_catalog_file(kind, like.text, roots, chain)) return found;
    if (find_catalog_file(kind, like.text, roots))
      return refuse("the entries are like each other in a circle: " + chain_text(chain, like.text));
  }
  std::vector<std::string> names;
  for (const CatalogFile& file : list_catalog_files(kind, roots)) names.push_back(file.name);
  const std::string hint = nearest_hint(like.text, names);
  return refuse(fmt::format("there is no {} {}{} Known: {}", entry_noun(kind), in_quotes(like.text),
                            hint.empty() ? "." : hint, joined(names)));
}

YamlNode completed_by(YamlNode relative, YamlNode own, const FieldTable& table) {
  std::erase_if(relative.entries, [&table](const YamlEntry& entry) {
    const Field* const field = table.find(entry.key);
    return field != nullptr && field->own;
  });
  for (YamlEntry& entry : relative.entries)
    if (entry.key == "deviations")
      std::erase_if(entry.value.entries,
                    [&own](const YamlEntry& line) { return says(own, line.key); });
  // What is inherited has its relative's sources.
  if (table.find("sources") != nullptr && own.find("sources") == nullptr) {
    YamlNode none;
    none.kind = YamlNode::Kind::sequence;
    none.mark = own.mark;
    own.entries.push_back({"sources", own.mark, std::move(none)});
  }
  return merge_documents(std::move(relative), std::move(own), table);
}

bool is_own(const Mark& mark, const CatalogFile& file) {
  return mark.file != nullptr && *mark.file == file.shown;
}

bool is_own(const FieldValue& value, const CatalogFile& file) {
  return !value.is_default && is_own(value.mark, file);
}

}  // namespace foretrain
