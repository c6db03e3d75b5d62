// SPDX-License-Identifier: Apache-2.0
#include "scenarios/huggingface/huggingface.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>

#include "scenarios/huggingface/internal/huggingface_families.hpp"
#include "scenarios/huggingface/internal/huggingface_reader.hpp"
#include "scenarios/sections/scenario_text.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

using huggingface::AttentionForm;
using huggingface::Families;
using huggingface::Family;
using huggingface::LayerForm;
using huggingface::node_of;
using huggingface::Reader;

void read_attention(Reader& reader, LlmShape& shape) {
  const AttentionForm form = reader.family().attention;
  reader.fill("attention", shape);
  shape.qk_norm_whole &= shape.qk_norm;
  shape.qk_norm &= !shape.qk_norm_whole;
  if (shape.heads % shape.kv_heads != 0)
    reader.refuse(reader.key_of("attention.kv_heads"),
                  fmt::format("{} does not divide {} heads", shape.kv_heads, shape.heads));
  const bool latent = form == AttentionForm::latent || form == AttentionForm::indexed;
  if (latent) reader.fill("attention.mla", shape);
  if (form == AttentionForm::compressed) reader.fill("attention.compression", shape);
  const bool chooses = form != AttentionForm::heads && form != AttentionForm::latent;
  if (chooses) reader.fill("attention.indexer", shape);
}

/// LFM2: two thirds of what is written, times a factor, rounded up to a multiple.
void adjust_mlp(Reader& reader, LlmShape& shape) {
  const bool adjusted = reader.truth("mlp.adjusted");
  const double times = reader.amount("mlp.adjusted_times");
  if (!adjusted) return reader.pass_over("mlp.adjusted");
  const int multiple = reader.width("mlp.adjusted_multiple");
  double width = std::trunc(2.0 * shape.ffn_hidden / 3.0);
  if (times > 0.0) width = std::trunc(times * width);
  shape.ffn_hidden = multiple * static_cast<int>(std::ceil(width / multiple));
  reader.record("mlp.hidden", std::to_string(shape.ffn_hidden),
                "derived: " + reader.key_of("mlp.adjusted"));
}

/// Modules that predict further tokens, where they are like layers.
void read_prediction(Reader& reader, LlmShape& shape) {
  const int modules = reader.number("mtp_layers", {0, 100});
  if (reader.truth("mtp_layers.used")) shape.mtp_layers = modules;
}

void read_shape(Reader& reader, LlmShape& shape) {
  for (const char* const group : {"", "embedding"}) reader.fill(group, shape);
  if (shape.position == PositionKind::learned)
    shape.positions = reader.width("embedding.positions");
  read_attention(reader, shape);
  for (const char* const group : {"mlp", "norm"}) reader.fill(group, shape);
  adjust_mlp(reader, shape);
  huggingface::LayerFlags windowed;
  if (reader.family().layers == LayerForm::blocks)
    windowed = huggingface::read_windows(reader, shape);
  else
    huggingface::read_hybrid(reader, shape);
  if (shape.mamba_beside) reader.fill("mamba", shape);
  huggingface::read_experts(reader, shape);
  huggingface::read_special_layers(reader, windowed, shape);
  read_prediction(reader, shape);
  huggingface::read_numbers(reader, shape);
}

/// The family whose signs a file has most of.
const Family* family_by_signs(const YamlNode& map, const Families& known, bool untyped) {
  const Family* best = nullptr;
  for (const auto& [type, family] : known) {
    const bool all = std::ranges::all_of(
        family.signs, [&](const auto& key) { return node_of(map, key) != nullptr; });
    if (!all || family.signs.empty() || (untyped && !family.untyped)) continue;
    if (best == nullptr || family.signs.size() > best->signs.size()) best = &family;
  }
  return best;
}

std::vector<std::string> read_types(const Families& known) {
  std::vector<std::string> types;
  for (const auto& [type, family] : known)
    if (family.needs.empty() && family.text.empty() && !family.untyped &&
        !type.ends_with(huggingface::tower_suffix))
      types.push_back(type);
  return types;
}

/// The parts of a file and what is asked of it.
struct Source {
  const YamlNode& root;
  const YamlNode& map;  ///< the root, or its text part
  const HuggingFaceRequest& request;
  const Families& known;
};

/// "model_type 'x' is not understood": with the nearest family, by its name or else by the keys.
void refuse_type(const Source& source, const YamlNode& type, Diagnostics& diagnostics) {
  const std::vector<std::string> types = read_types(source.known);
  const std::optional<std::string> by_name = nearest(type.text, types);
  const Family* by_keys = family_by_signs(source.map, source.known, false);
  const std::string like = by_name ? *by_name : by_keys != nullptr ? by_keys->type : "llama";
  diagnostics.add(type.mark, "model_type",
                  fmt::format("{} is not understood{}; --as {} (with --hf or import hf) reads the "
                              "file as that family, which it is like in its {}. Known: {}",
                              in_quotes(type.text), nearest_hint(type.text, types), like,
                              by_name ? "name" : "keys", joined(types)));
}

/// The row of a type, of its text part where a row says that it is the whole.
const Family* row_of(const std::string& type, const Families& known) {
  const auto found = known.find(type);
  if (found == known.end() || found->second.text.empty())
    return found == known.end() ? nullptr : &found->second;
  const auto text = known.find(found->second.text);
  return text == known.end() ? nullptr : &text->second;
}

/// The type that a file says, of its text part or by the row of the whole; null pointer after
/// reporting that it says none.
const Family* stated_family(const Source& source, Diagnostics& diagnostics) {
  const YamlNode* type = source.map.find("model_type");
  const bool parts = &source.map != &source.root;
  if (parts && (type == nullptr || !type->is_scalar())) type = source.root.find("model_type");
  if (type == nullptr && !parts)
    if (const Family* family = family_by_signs(source.map, source.known, true)) return family;
  if (type == nullptr || !type->is_scalar()) {
    diagnostics.add(source.map.mark, "model_type", "is missing; it names the kind of model");
    return nullptr;
  }
  if (const Family* family = row_of(type->text, source.known)) return family;
  refuse_type(source, *type, diagnostics);
  return nullptr;
}

/// The family to read a file as; null pointer after reporting that there is none.
const Family* family_of(const Source& source, HuggingFaceModel& model, Diagnostics& diagnostics) {
  const std::string& as = source.request.as;
  const Family* family = nullptr;
  const YamlNode* type = source.map.find("model_type");
  const Mark& mark = type != nullptr ? type->mark : source.map.mark;
  if (as.empty()) {
    family = stated_family(source, diagnostics);
  } else if ((family = row_of(as, source.known)) != nullptr) {
    model.assumed.push_back(
        fmt::format("read as {} (--as), not as {}: what that family has beside it is not counted",
                    as, type != nullptr ? in_quotes(type->text) : "what the file says"));
  } else {
    const std::vector<std::string> types = read_types(source.known);
    diagnostics.add(mark, "--as",
                    fmt::format("{} is no family{}. Known: {}", in_quotes(as),
                                nearest_hint(as, types), joined(types)));
  }
  if (family == nullptr || family->needs.empty()) return family;
  diagnostics.add(mark, "model_type",
                  fmt::format("{} is not read: it needs {}, not modelled so far",
                              in_quotes(family->type), family->needs));
  return nullptr;
}

std::string comments(const HuggingFaceModel& model) {
  std::string text;
  for (const std::string& sentence : model.assumed) text += "# " + sentence + "\n";
  if (model.packed) text += "# " + model.packed->sentence() + "\n";
  for (const std::string& key : model.unknown) text += "# " + key + ": unknown key, ignored\n";
  return text;
}

/// The keys that a text has at its left edge.
std::string groups_of(const std::string& text) {
  std::string groups;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.front() != ' ')
      groups += (groups.empty() ? "" : ", ") + line.substr(0, line.find(':'));
  return groups;
}

}  // namespace

std::vector<std::string> huggingface_model_types(
    const std::vector<std::filesystem::path>& catalogs) {
  return read_types(*huggingface::families(catalogs));
}

std::optional<HuggingFaceModel> import_huggingface(const YamlNode& root,
                                                   const HuggingFaceRequest& request,
                                                   Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.count();
  if (!root.is_map()) {
    diagnostics.add(root.mark, "", "is not a Hugging Face configuration: not an object");
    return std::nullopt;
  }
  const auto known = huggingface::families(request.catalogs);
  HuggingFaceModel model;
  const YamlNode* text = root.find("text_config");
  const bool parts = text != nullptr && text->is_map();
  const Source source{root, parts ? *text : root, request, *known};
  if (parts)
    model.assumed.emplace_back(
        "the language model is read from text_config; encoders of sound are left out");
  const Family* family = family_of(source, model, diagnostics);
  if (family == nullptr) return std::nullopt;
  Reader reader{source.map, parts ? &root : nullptr, *family, model, diagnostics};
  read_shape(reader, model.shape);
  reader.finish();
  huggingface::read_towers(root, *family, *known, model);
  if (diagnostics.count() != before) return std::nullopt;
  model.packed = packed_checkpoint(root);
  model.shape.name = request.name;
  model.shape.title = request.name;
  return model;
}

std::string huggingface_model_name(const YamlNode& root, const std::filesystem::path& file) {
  const auto plain = [](const std::string& text) {
    std::string name;
    for (const char c : lower_case(text)) {
      const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
      if (kept || !name.empty()) name += kept ? c : '-';
    }
    return name.substr(std::min(name.find_first_not_of(".-"), name.size()), 64);
  };
  const std::string stem = file.stem().string();
  std::string own;
  if (const YamlNode* path = root.find("_name_or_path"); path != nullptr && path->is_scalar())
    own = plain(std::filesystem::path(path->text + "/").parent_path().filename().string());
  if (own.empty() && stem != "config" && stem != "params") own = plain(stem);
  if (own.empty())
    own =
        plain(std::filesystem::absolute(file).lexically_normal().parent_path().filename().string());
  return own.empty() ? "model" : own;
}

std::string huggingface_model_name(const std::filesystem::path& file) {
  Diagnostics unheard;  // whoever reads the model tells what is wrong
  const YamlLimits limits;
  const auto text = read_text_file(file, file.string(), limits.file_bytes, unheard);
  const auto root = text ? parse_yaml(*text, file.string(), limits, unheard) : std::nullopt;
  return huggingface_model_name(root.value_or(YamlNode{}), file);
}

std::string model_catalog_text(const HuggingFaceModel& model, const std::string& source,
                               const std::string& date) {
  const LlmShape& shape = model.shape;
  const std::string text = model_shape_text(shape);
  return fmt::format("schema: 1\nname: {}\ntitle: {}\n{}{}", shape.name,
                     in_double_quotes(shape.title), comments(model), text) +
         fmt::format("sources:\n  - covers: [{}]\n    cite: {}\n    date: {}\n", groups_of(text),
                     in_double_quotes(source), date);
}

}  // namespace foretrain
