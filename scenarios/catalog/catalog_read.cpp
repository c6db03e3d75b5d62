// SPDX-License-Identifier: Apache-2.0

#include "scenarios/catalog/catalog_read.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <tuple>

#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/catalog/internal/catalog_path.hpp"
#include "scenarios/sections/compose.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/sha256.hpp"
#include "scenarios/yaml/text_file.hpp"

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

namespace {

bool covers(std::string_view source, std::string_view path) {
  return path == source || (path.starts_with(source) && path.size() > source.size() &&
                            (path[source.size()] == '.' || path[source.size()] == '['));
}

bool is_iso_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (const std::size_t at : {0U, 1U, 2U, 3U, 5U, 6U, 8U, 9U})
    if (std::isdigit(static_cast<unsigned char>(text[at])) == 0) return false;
  const int month = (text[5] - '0') * 10 + (text[6] - '0');
  const int day = (text[8] - '0') * 10 + (text[9] - '0');
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

void check_date(const FieldValues& values, const std::string& path, Diagnostics& diagnostics) {
  const FieldValue* date = values.find(path);
  if (date != nullptr && !is_iso_date(date->text))
    diagnostics.add(date->mark, path,
                    in_quotes(date->text) +
                        " is not a date; write year-month-day, for example "
                        "2024-07-23");
}

void check_sources(const FieldValues& values, const CatalogFile& file, Diagnostics& diagnostics) {
  std::vector<std::string> covered;
  for (int i = 0; i < values.list_size("sources"); ++i) {
    const std::string source = fmt::format("sources[{}]", i);
    check_date(values, source + ".date", diagnostics);
    const FieldValue* keys = values.find(source + ".covers");
    if (keys == nullptr) continue;
    for (const std::string& key : keys->texts) {
      covered.push_back(key);
      const bool used =
          std::any_of(values.all().begin(), values.all().end(), [&](const FieldValue& value) {
            return is_own(value, file) && !is_bookkeeping(value.path) && covers(key, value.path);
          });
      if (!used)
        diagnostics.add(keys->mark, source + ".covers",
                        in_quotes(key) +
                            " is not a key of this file; a source covers keys or groups "
                            "of keys that stand in it");
    }
  }
  for (const FieldValue& value : values.all()) {
    if (!is_own(value, file) || is_bookkeeping(value.path)) continue;
    if (std::none_of(covered.begin(), covered.end(),
                     [&](const std::string& key) { return covers(key, value.path); }))
      diagnostics.add(value.mark, value.path,
                      "no source covers this value; list it under `covers` of one of `sources`");
  }
}

void check_name(const FieldValues& values, const CatalogFile& file, Diagnostics& diagnostics) {
  const FieldValue* name = values.find("name");
  if (name != nullptr && name->text != file.name)
    diagnostics.add(name->mark, "name",
                    fmt::format("{} does not match the file, which is named {}.yaml",
                                in_quotes(name->text), file.name));
}

/// Every line is a number of the file that says it, and how sure a fit is of its logarithm.
void check_deviations(const FieldValues& values, const CatalogFile& file,
                      Diagnostics& diagnostics) {
  constexpr double most = 10.0;
  const FieldValue* const written = values.find("deviations");
  if (written == nullptr) return;
  if (!written->node.is_map()) {
    diagnostics.add(written->mark, "deviations", "is not a map of keys and numbers");
    return;
  }
  for (const YamlEntry& entry : written->node.entries) {
    if (!is_own(entry.mark, file)) continue;
    const std::string path = "deviations." + entry.key;
    const FieldValue* const of = values.find(entry.key);
    const bool number =
        of != nullptr && is_own(*of, file) &&
        (of->field->kind == FieldKind::number || of->field->kind == FieldKind::quantity);
    if (!number)
      diagnostics.add(entry.mark, path, in_quotes(entry.key) + " is not a number of this file");
    const Parsed<double> parsed =
        entry.value.is_scalar() ? parse_number(entry.value.text) : Parsed<double>{};
    if (!parsed.value || !(*parsed.value > 0.0) || *parsed.value > most)
      diagnostics.add(entry.value.mark, path,
                      fmt::format("is not a number above 0 and at most {:g}", most));
  }
}

void check_values(const FieldValues& values, const CatalogFile& file, const FieldTable& table,
                  Diagnostics& diagnostics) {
  check_name(values, file, diagnostics);
  if (table.find("sources") != nullptr) check_sources(values, file, diagnostics);
  check_date(values, "provenance.date", diagnostics);
  check_deviations(values, file, diagnostics);
}

/// The host that a device's file describes: a document of its own whose device is that one, with
/// the sources that cover it.
YamlNode host_within(const YamlNode& document, const CatalogFile& file) {
  const YamlNode* const server = document.find(file.within);
  if (server == nullptr || !server->is_map()) return server == nullptr ? document : *server;
  YamlNode host = *server;
  const auto add = [&host](const char* key, const YamlNode& value) {
    if (host.find(key) == nullptr) host.entries.push_back({key, value.mark, value});
  };
  const auto scalar = [&](const std::string& text) {
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.text = text;
    node.mark = server->mark;
    return node;
  };
  add("device", scalar(file.name));
  YamlNode covers;
  covers.kind = YamlNode::Kind::sequence;
  for (const YamlEntry& entry : host.entries) covers.items.push_back(scalar(entry.key));
  for (const char* const key : {"schema", "name", "title"})
    if (const YamlNode* const value = document.find(key)) add(key, *value);
  const YamlNode* const sources = document.find("sources");
  if (sources == nullptr || host.find("sources") != nullptr) return host;
  YamlNode own = *sources;
  std::erase_if(covers.items, [](const YamlNode& key) { return is_bookkeeping(key.text); });
  std::erase_if(own.items, [&file](const YamlNode& source) {
    const YamlNode* const keys = source.find("covers");
    return keys == nullptr ||
           std::none_of(keys->items.begin(), keys->items.end(),
                        [&file](const YamlNode& key) { return key.text == file.within; });
  });
  for (YamlNode& source : own.items)
    for (YamlEntry& entry : source.entries)
      if (entry.key == "covers") entry.value.items = covers.items;
  add("sources", own);
  return host;
}

/// The document of an entry: its file's, or a part of that.
std::optional<YamlNode> entry_document(const std::string& text, const CatalogFile& file,
                                       Diagnostics& diagnostics) {
  auto document = parse_yaml(text, file.shown, YamlLimits{}, diagnostics);
  if (!document || file.within.empty()) return document;
  return host_within(*document, file);
}

/// A catalog file that was read before, without an error, and what it held.
struct KnownFile {
  const FieldTable* table = nullptr;
  std::string text;
  std::string hash;
  std::optional<YamlNode> like;               ///< what it says under `like`
  std::shared_ptr<const KnownFile> relative;  ///< that it was completed by
  YamlNode root;                              ///< completed
  FieldValues values;
};

/// Reading is cheap, parsing and checking is not, and searches, sweeps and importers ask for the
/// same few files again and again: what a file holds is kept for as long as its text, and that of
/// its relatives, stays the same.
class KnownFiles {
 public:
  using Known = std::shared_ptr<const KnownFile>;

  /// @param chain files that are like `file`, each like the next one
  Known read(const CatalogFile& file, const FieldTable& table, std::vector<CatalogFile> chain,
             CatalogContext& context, const CatalogRequest* asked_by) {
    chain.push_back(file);
    const std::size_t problems = context.diagnostics.count();
    const std::size_t bytes = YamlLimits{}.file_bytes;
    const auto text = asked_by == nullptr
                          ? read_text_file(file.file, file.shown, bytes, context.diagnostics)
                          : read_text_file(file.file, file.shown, bytes, context.diagnostics,
                                           {asked_by->mark, asked_by->path});
    if (!text) return nullptr;
    Known before = find(file, table, *text);
    add_source_hash(file, before ? before->hash : sha256_hex(*text), context);
    if (before && !before->like) return before;
    auto root = before ? std::nullopt : entry_document(*text, file, context.diagnostics);
    if (!before && !root) return nullptr;
    std::optional<YamlNode> like = before ? before->like : said_like(*root, table);
    Known relative;
    if (like && !(relative = read_relative(*like, table, chain, context))) return nullptr;
    if (before && before->relative == relative) return before;
    if (!root) root = entry_document(*text, file, context.diagnostics);
    if (relative) root = completed_by(relative->root, std::move(*root), table);
    FieldValues values = read_fields(*root, table, context.diagnostics);
    check_values(values, file, table, context.diagnostics);
    if (context.diagnostics.count() != problems) return nullptr;
    return keep(file, {&table, *text, sha256_hex(*text), std::move(like), relative,
                       std::move(*root), std::move(values)});
  }

 private:
  static std::optional<YamlNode> said_like(const YamlNode& root, const FieldTable& table) {
    const YamlNode* const like = table.find(like_key) == nullptr ? nullptr : root.find(like_key);
    return like != nullptr && like->is_scalar() ? std::optional{*like} : std::nullopt;
  }

  Known read_relative(const YamlNode& like, const FieldTable& table,
                      const std::vector<CatalogFile>& chain, CatalogContext& context) {
    const auto found = find_relative(like, chain, context);
    if (!found) return nullptr;
    const CatalogRequest asked{like.text, std::string(like_key), like.mark};
    return read(*found, table, chain, context, &asked);
  }

  [[nodiscard]] Known find(const CatalogFile& file, const FieldTable& table,
                           const std::string& text) const {
    const auto found = files_.find(key_of(file));
    const bool same =
        found != files_.end() && found->second->table == &table && found->second->text == text;
    return same ? found->second : nullptr;
  }

  Known keep(const CatalogFile& file, KnownFile known) {
    constexpr std::size_t most = 512;
    if (files_.size() >= most) files_.clear();
    return files_
        .insert_or_assign(key_of(file), std::make_shared<const KnownFile>(std::move(known)))
        .first->second;
  }

  using Key = std::tuple<std::filesystem::path, std::string, std::string>;
  static Key key_of(const CatalogFile& file) { return {file.file, file.shown, file.within}; }

  std::map<Key, Known> files_;
};

}  // namespace

std::optional<FieldValues> read_catalog_file(const CatalogFile& file, const FieldTable& table,
                                             CatalogContext& context,
                                             const CatalogRequest* asked_by) {
  thread_local KnownFiles known_files;
  const std::size_t before = context.diagnostics.count();
  const auto known = known_files.read(file, table, {}, context, asked_by);
  if (!known || context.diagnostics.count() != before) return std::nullopt;
  return known->values;
}

}  // namespace foretrain
