// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/catalog_models.hpp"
#include "models/layers/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "scenarios/catalog/internal/catalog_path.hpp"
#include "scenarios/catalog/model_names.hpp"
#include "scenarios/huggingface/huggingface.hpp"
#include "scenarios/sections/hybrid_keys.hpp"
#include "scenarios/sections/layer_keys.hpp"
#include "scenarios/sections/model_keys.hpp"
#include "scenarios/sections/vision_keys.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

using keys::unbound;

KeyRows published_keys() {
  return {
      unbound({.path = "published",
               .kind = FieldKind::group,
               .help = "The parameter count that the publisher states."}),
      unbound({.path = "published.parameters",
               .kind = FieldKind::quantity,
               .help = "The count, with the digits that were printed.",
               .example = "145.6 B",
               .required = true,
               .dimension = Dimension::count,
               .min = 0,
               .above_min = true}),
      unbound({.path = "published.rounding",
               .kind = FieldKind::choice,
               .help = "What was done to the last printed digit.",
               .example = "nearest",
               .default_text = "exact",
               .choices = choices_of<CountRounding>()}),
      unbound({.path = "published.counts",
               .kind = FieldKind::choice,
               .help = "What the count includes.",
               .example = "without-embeddings",
               .default_text = "all",
               .choices = choices_of<CountScope>()}),
  };
}

/// Keys of a model file, and where they go; `published` is left to the reader.
const BoundTable<LlmShape>& model_table() {
  static const BoundTable<LlmShape> table(
      "Model catalog",
      joined_rows({head_keys(true, false), model_shape_keys(), published_keys(), source_keys()}));
  return table;
}

constexpr double most_parameters = 1e15;

/// One unit of the last digit of "145.6 B" is 0.1 B.
double last_digit(const FieldValue& value) {
  const std::string& text = value.text;
  const std::size_t number_end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string number = text.substr(0, number_end);
  const double plain = *parse_number(number).value;
  const std::size_t point = number.find('.');
  const auto decimals =
      point == std::string::npos ? 0.0 : static_cast<double>(number.size() - point - 1);
  return value.number / plain * std::pow(10.0, -decimals);
}

std::optional<PublishedCount> published_of(const FieldValues& values) {
  const FieldValue* count = values.find("published.parameters");
  if (count == nullptr) return std::nullopt;
  return PublishedCount{count->number, last_digit(*count),
                        values.choice<CountRounding>("published.rounding"),
                        values.choice<CountScope>("published.counts")};
}

void check_heads(const LlmShape& shape, const FieldValues& values, Diagnostics& diagnostics) {
  if (!shape.mla && !values.has("attention.head_dim") && shape.hidden % shape.heads != 0)
    diagnostics.add(values.where("attention.heads"), "attention.heads",
                    fmt::format("hidden {} does not divide by {} heads; write head_dim",
                                shape.hidden, shape.heads));
  if (static_cast<double>(shape.heads) * shape.head_dim > 10.0 * largest_width)
    diagnostics.add(values.where("attention.head_dim"), "attention.head_dim",
                    fmt::format("{} heads of {} are wider than {:.0e}", shape.heads, shape.head_dim,
                                10.0 * largest_width));
  if (shape.kv_heads > shape.heads || shape.heads % shape.kv_heads != 0)
    diagnostics.add(
        values.where("attention.kv_heads"), "attention.kv_heads",
        fmt::format("{} does not divide the {} query heads", shape.kv_heads, shape.heads));
}

/// A shape that is legal by itself can still have more parameters than parameters() can count.
std::optional<std::string> too_large(const LlmShape& shape) {
  const double layers = shape.layers + shape.mtp_layers;
  auto count = static_cast<double>(layer_parameters(shape, LayerKind::dense).total()) * layers;
  if (shape.moe)
    count += static_cast<double>(layer_parameters(shape, LayerKind::moe).total()) * layers;
  for (const MixerKind mixer : {MixerKind::mamba, MixerKind::delta, MixerKind::convolution})
    if (shape.has_mixer(mixer))
      count +=
          static_cast<double>(layer_parameters(shape, {LayerKind::none, false, mixer}).total()) *
          layers;
  if (count <= most_parameters) return std::nullopt;
  return fmt::format("{} layers of this size are {:.3g} parameters; at most {:.0e} can be counted",
                     shape.layers, count, most_parameters);
}

void check_window(const LlmShape& shape, const FieldValues& values, Diagnostics& diagnostics) {
  if (shape.window_chunked && shape.window == 0)
    diagnostics.add(values.where("attention.chunked"), "attention.chunked",
                    "has no effect without attention.window; leave it out");
  const int every = shape.full_attention_every;
  if (every == 0) return;
  if (shape.window == 0)
    diagnostics.add(values.where("attention.full_every"), "attention.full_every",
                    "has no effect without attention.window; leave it out");
  else if (every == 1)
    diagnostics.add(values.where("attention.full_every"), "attention.full_every",
                    "with 1 every layer sees all tokens; leave it and attention.window out");
}

void check_shape(const LlmShape& shape, const FieldValues& values, Diagnostics& diagnostics) {
  check_heads(shape, values, diagnostics);
  check_window(shape, values, diagnostics);
  check_layers(shape, values, diagnostics);
  if (shape.vision) check_vision(*shape.vision, values, diagnostics);
  if (!check_hybrid(shape, values, diagnostics) || !diagnostics.empty()) return;
  if (auto reason = too_large(shape))
    diagnostics.add(values.where("layers"), "layers", std::move(*reason));
  if (shape.moe && shape.moe->top_k > shape.moe->experts)
    diagnostics.add(
        values.where("moe.top_k"), "moe.top_k",
        fmt::format("a token cannot use {} of {} experts", shape.moe->top_k, shape.moe->experts));
  if (shape.moe && shape.moe->first_dense_layers >= shape.layers)
    diagnostics.add(
        values.where("moe.first_dense_layers"), "moe.first_dense_layers",
        fmt::format("must be below the {} layers, or no layer has experts", shape.layers));
  const bool learned = shape.position == PositionKind::learned;
  if (learned != (shape.positions > 0))
    diagnostics.add(values.where("embedding.positions"), "embedding.positions",
                    learned ? "learned positions need the number of rows of their table"
                            : fmt::format("has no effect with position: {}; leave it out",
                                          name_of(shape.position)));
}

/// Values that the file leaves to arithmetic.
void derive(LlmShape& shape, const FieldValues& values, const std::string& prefix,
            CatalogContext& context) {
  const auto record = [&](const char* path, int value, const char* rule) {
    if (!prefix.empty())
      context.values.push_back(
          {prefix + "." + path, std::to_string(value), std::string("derived: ") + rule});
  };
  if (!values.has("attention.kv_heads")) {
    shape.kv_heads = shape.heads;
    record("attention.kv_heads", shape.kv_heads, "attention.heads");
  }
  if (!values.has("attention.head_dim")) {
    shape.head_dim = shape.mla ? shape.mla->qk_nope_head_dim + shape.mla->qk_rope_head_dim
                               : shape.hidden / shape.heads;
    record("attention.head_dim", shape.head_dim,
           shape.mla ? "qk_nope_head_dim + qk_rope_head_dim" : "hidden / attention.heads");
  }
  read_special_layers(values, shape);
}

/// A Hugging Face configuration as a model of the catalog. Its own name is rarely in it: the folder
/// that it lies in usually is called like the model.
std::optional<ModelEntry> read_huggingface(const CatalogFile& file, const CatalogRequest& request,
                                           CatalogContext& context) {
  const YamlLimits limits;
  const auto text = read_text_file(file.file, file.shown, limits.file_bytes, context.diagnostics,
                                   {request.mark, request.path});
  if (!text) return std::nullopt;
  add_source_file(file, *text, context);
  const auto root = parse_yaml(*text, file.shown, limits, context.diagnostics);
  if (!root) return std::nullopt;
  auto model = import_huggingface(
      *root, {huggingface_model_name(*root, file.file), {}, context.catalogs}, context.diagnostics);
  if (!model) return std::nullopt;
  if (auto reason = too_large(model->shape)) {
    context.diagnostics.add(root->mark, "num_hidden_layers", std::move(*reason));
    return std::nullopt;
  }
  for (const ResolvedValue& value : model->values)
    context.values.push_back({request.path + "." + value.path, value.value, value.origin});
  return ModelEntry{std::move(model->shape), std::nullopt, std::move(model->packed)};
}

}  // namespace

std::optional<ModelEntry> read_model(const CatalogFile& file, const std::string& prefix,
                                     CatalogContext& context, const CatalogRequest* asked_by) {
  const std::size_t before = context.diagnostics.count();
  auto item = read_item(file, model_table(), prefix, context, asked_by);
  if (!item) return std::nullopt;
  LlmShape& shape = item->value;
  derive(shape, item->values, prefix, context);
  check_shape(shape, item->values, context.diagnostics);
  if (context.diagnostics.count() != before) return std::nullopt;
  shape.name = item->values.text("name");
  shape.title = item->values.text("title");
  ModelEntry entry{std::move(shape), published_of(item->values)};
  if (entry.published && entry.published->scope == CountScope::all)
    entry.shape.published_parameters = std::llround(entry.published->parameters);
  return entry;
}

std::optional<LlmShape> read_inline_model(const YamlNode& node, const CatalogRequest& request,
                                          CatalogContext& context) {
  Diagnostics found;
  const FieldValues values = read_fields(node, inline_model_fields(), found);
  LlmShape shape;
  CatalogContext inside{context.catalogs, context.folder, found,
                        context.files,    context.values, context.root};
  if (found.empty()) {
    inline_model_table().fill(values, shape);
    for (const FieldValue& value : values.all())
      if (inline_model_table().applies(values, value)) record_value(value, request.path, inside);
    derive(shape, values, request.path, inside);
    check_shape(shape, values, found);
  }
  for (Diagnostic diagnostic : found.items()) {
    diagnostic.path = child_path(request.path, diagnostic.path);
    context.diagnostics.add(std::move(diagnostic));
  }
  if (!found.empty()) return std::nullopt;
  shape.name = request.name;
  shape.title = values.has("title") ? values.text("title") : request.name;
  return shape;
}

std::optional<ModelEntry> load_model_entry(const CatalogRequest& request, CatalogContext& context) {
  if (!is_catalog_path(request.name) || is_hub_id(request.name)) {
    const auto file = find_requested(CatalogKind::models, request, context);
    return file ? read_model(*file, request.path, context) : std::nullopt;
  }
  const std::filesystem::path written(request.name);
  if (written.extension() != ".yaml" && written.extension() != ".json") {
    context.diagnostics.add(request.mark, request.path,
                            in_quotes(request.name) +
                                " is not read: a model is a catalog name, the path of a YAML file "
                                "in the format of models/catalog, or that of a Hugging Face "
                                "config.json");
    return std::nullopt;
  }
  const std::optional<std::filesystem::path> file = named_file(request, context);
  if (!file) return std::nullopt;
  const CatalogFile found{CatalogKind::models, written.stem().string(), *file,
                          file->lexically_normal().generic_string()};
  return written.extension() == ".json" ? read_huggingface(found, request, context)
                                        : read_model(found, request.path, context, &request);
}

const FieldTable& model_fields() { return model_table().fields(); }

}  // namespace foretrain
