// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/model_files.hpp"

#include <system_error>

#include "scenarios/catalog/catalog.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {

namespace fs = std::filesystem;

std::optional<fs::path> model_file_at(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return path;
  if (fs::is_regular_file(path / "config.json", error)) return path / "config.json";
  return std::nullopt;
}

std::optional<ModelFile> read_model_file(const fs::path& file,
                                         const std::vector<fs::path>& catalogs,
                                         Diagnostics& diagnostics) {
  if (file.extension() != ".json") {
    std::vector<SourceFile> files;
    std::vector<ResolvedValue> values;
    CatalogContext context{catalogs, file.parent_path(), diagnostics, files, values};
    const Mark place{std::make_shared<const std::string>("--model"), 0, 0};
    auto shape = load_model({"./" + file.filename().string(), "model", place}, context);
    return shape ? std::optional(ModelFile{std::move(*shape)}) : std::nullopt;
  }
  const auto text = read_text_file(file, file.string(), YamlLimits{}.file_bytes, diagnostics);
  const auto root =
      text ? parse_yaml(*text, file.string(), YamlLimits{}, diagnostics) : std::nullopt;
  auto model = root ? import_huggingface(*root, {huggingface_model_name(*root, file), {}, catalogs},
                                         diagnostics)
                    : std::nullopt;
  return model ? std::optional(ModelFile{std::move(model->shape), std::move(model->packed)})
               : std::nullopt;
}

PlanImportOptions with_model_file(PlanImportOptions options) {
  if (options.model.empty() || options.shape) return options;
  const bool path = options.model.find('/') != std::string::npos ||
                    fs::path(options.model).extension() == ".json" ||
                    fs::path(options.model).extension() == ".yaml";
  const auto file = path ? model_file_at(options.model) : std::nullopt;
  if (!file) return options;
  Diagnostics diagnostics;
  auto model = read_model_file(*file, options.catalogs, diagnostics);
  diagnostics.throw_if_any();
  options.shape = std::move(model->shape);
  options.packed = std::move(model->packed);
  options.model = options.shape->name;
  return options;
}

}  // namespace foretrain
