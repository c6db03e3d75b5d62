// SPDX-License-Identifier: Apache-2.0
#include "scenarios/huggingface/internal/huggingface_families.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "scenarios/yaml/nearest.hpp"

namespace foretrain::huggingface {
namespace {

/// Where the table lies below the data folder, and in a folder of a user's own (--catalog).
constexpr const char* shipped_families = "scenarios/huggingface/families.yaml";
constexpr const char* own_families = "families.yaml";

Field field(const std::string& path, FieldKind kind, const char* help, const char* example) {
  return {.path = path, .kind = kind, .help = help, .example = example};
}

void append(std::vector<Field>& to, const std::vector<Field>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// What the head of the table and a row of it both say.
std::vector<Field> shared_fields(const std::string& path) {
  std::vector<Field> fields{
      field(path + "keys", FieldKind::tree,
            "Keys that mean a concept, the first that is there; KEY=VALUE: whether it is that.",
            "{moe.top_k: [moe_k]}"),
      field(path + "defaults", FieldKind::tree,
            "Concepts where the file says nothing: values, or A * B, A / B, A + B, A - B of "
            "concepts; #A is how many items a list has.",
            "{embedding.tied: true}"),
      field(path + "idle", FieldKind::text_list, "Keys that change neither sizes nor FLOPs.",
            "[use_cache]")};
  for (const char* list : {"refused", "left_out"}) append(fields, refused_fields(path + list));
  return fields;
}

std::vector<Field> row_fields() {
  const std::string row = "families[].";
  std::vector<Field> fields{
      field("families", FieldKind::list, "Families by model type.", ""),
      field(row + "type", FieldKind::text, "Its model_type.", "llama"),
      field(row + "like", FieldKind::text, "A row that it takes over.", "llama"),
      field(row + "text", FieldKind::text, "Type of a text_config that names none.", "gemma3_text"),
      field(row + "needs", FieldKind::text, "What is not modelled: the family is refused.",
            "short convolutions"),
      field(row + "source", FieldKind::text, "Public file that it was read from.",
            "llama/configuration_llama.py"),
      field(row + "attention", FieldKind::choice, "Form of its attention.", "latent"),
      field(row + "layers", FieldKind::choice, "What one layer is.", "mixers"),
      field(row + "experts", FieldKind::boolean, "Whether some layers have experts.", "true"),
      field(row + "signs", FieldKind::text_list, "Keys that tell it where the type does not.",
            "[kv_lora_rank]"),
      field(row + "untyped", FieldKind::boolean, "Whether its files name no type.", "true")};
  for (Field& each : fields) {
    if (each.path == row + "type") each.required = true;
    if (each.path == row + "attention") each.choices = choices_of<AttentionForm>();
    if (each.path == row + "layers") each.choices = choices_of<LayerForm>();
  }
  append(fields, shared_fields(row));
  return fields;
}

const FieldTable& family_fields() {
  static const FieldTable table = [] {
    std::vector<Field> fields{schema_field()};
    append(fields, shared_fields(""));
    append(fields, row_fields());
    return FieldTable("Families of Hugging Face configurations", std::move(fields));
  }();
  return table;
}

/// A row as it stands in a file.
struct Written {
  const FieldValues* file;
  std::string path;
};

/// Reads rows, each after the row that it is like.
class Table {
 public:
  explicit Table(const std::vector<FieldValues>& files) {
    for (const FieldValues& file : files)
      for (int i = 0; i < file.list_size("families"); ++i)
        rows_.try_emplace(file.text(fmt::format("families[{}].type", i)),
                          Written{&file, fmt::format("families[{}].", i)});
    for (auto file = files.rbegin(); file != files.rend(); ++file) add_shared(*file, "", head_);
    for (const auto& [type, row] : rows_) static_cast<void>(family(type));
    diagnostics_.throw_if_any();
  }

  [[nodiscard]] Families take() { return std::move(families_); }

 private:
  static std::string text_at(const Written& row, const char* key) {
    const FieldValue* value = row.file->find(row.path + key);
    return value == nullptr ? std::string() : value->text;
  }

  const Family& family(const std::string& type) {
    const auto known = families_.find(type);
    if (known != families_.end()) return known->second;
    const Written& row = rows_.at(type);
    Family made = head_;
    const std::string like = text_at(row, "like");
    if (!like.empty() && rows_.count(like) > 0 && open_.insert(type).second)
      made = family(like);
    else if (!like.empty())
      refuse(row, "like", "names no row before it: " + in_quotes(like));
    made.type = type;
    made.signs.clear();
    made.untyped = false;
    made.needs = text_at(row, "needs");
    made.text = text_at(row, "text");
    add_facts(row, made);
    return families_.emplace(type, std::move(made)).first->second;
  }

  void add_facts(const Written& row, Family& to) {
    const FieldValues& file = *row.file;
    if (file.has(row.path + "attention"))
      to.attention = file.choice<AttentionForm>(row.path + "attention");
    if (file.has(row.path + "layers")) to.layers = file.choice<LayerForm>(row.path + "layers");
    if (file.has(row.path + "experts")) to.experts = file.boolean(row.path + "experts");
    if (file.has(row.path + "untyped")) to.untyped = file.boolean(row.path + "untyped");
    to.signs = texts_at(file, row.path + "signs");
    add_shared(file, row.path, to);
  }

  void add_shared(const FieldValues& file, const std::string& path, Family& to) {
    for (std::string& key : texts_at(file, path + "idle")) to.idle.insert(std::move(key));
    for (RefusedKeys& row : refused_at(file, path + "refused")) to.refused.push_back(row);
    for (RefusedKeys& row : refused_at(file, path + "left_out")) to.left_out.push_back(row);
    if (const FieldValue* keys = file.find(path + "keys"))
      for (const YamlEntry& entry : keys->node.entries)
        if (is_concept(entry, path, to)) to.keys[entry.key] = texts_of(entry.value);
    if (const FieldValue* defaults = file.find(path + "defaults"))
      for (const YamlEntry& entry : defaults->node.entries)
        if (is_concept(entry, path, to)) to.defaults[entry.key] = entry.value.text;
  }

  /// The head names all concepts; a row that says another means one of them.
  bool is_concept(const YamlEntry& entry, const std::string& path, const Family& to) {
    if (path.empty() || to.keys.count(entry.key) > 0) return true;
    std::vector<std::string> names;
    for (const auto& [name, keys] : to.keys) names.push_back(name);
    diagnostics_.add(entry.mark, path + entry.key,
                     "is no concept of the table" + nearest_hint(entry.key, names));
    return false;
  }

  static std::vector<std::string> texts_of(const YamlNode& node) {
    std::vector<std::string> texts;
    if (node.is_scalar()) texts.push_back(node.text);
    for (const YamlNode& item : node.items) texts.push_back(item.text);
    return texts;
  }

  void refuse(const Written& row, const std::string& key, std::string why) {
    diagnostics_.add(row.file->where(row.path + key), row.path + key, std::move(why));
  }

  std::map<std::string, Written> rows_;
  std::set<std::string> open_;  ///< rows that are being read: none is like itself
  Family head_;
  Families families_;
  Diagnostics diagnostics_;
};

Families families_of(const std::vector<FieldValues>& files) { return Table(files).take(); }

}  // namespace

std::shared_ptr<const Families> families(const std::vector<std::filesystem::path>& catalogs) {
  static ShippedRows<Families> shipped({shipped_families, own_families, family_fields},
                                       families_of);
  return shipped.of(catalogs);
}

}  // namespace foretrain::huggingface
