// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/frameworks.hpp"

#include <algorithm>
#include <array>
#include <system_error>

#include "scenarios/catalog/catalog.hpp"
#include "scenarios/imports/frameworks/importers.hpp"
#include "scenarios/imports/megatron/megatron_import.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {

namespace fs = std::filesystem;

namespace {

/// What the program knows of a framework.
struct FrameworkRow {
  Framework framework;
  const char* title;
  Importer* import;
  bool several_files = false;
};

/// An importer of several frameworks, bound to one of them.
template <auto* import, Framework framework>
ImportedScenario import_by(const ImportSource& source, const PlanImportOptions& options) {
  return import(framework, source, options);
}

constexpr std::array framework_rows{
    FrameworkRow{Framework::megatron, "Megatron-LM", import_megatron},
    FrameworkRow{Framework::deepspeed, "DeepSpeed", import_deepspeed},
    FrameworkRow{Framework::nanotron, "nanotron", import_nanotron},
    FrameworkRow{Framework::torchtitan, "torchtitan", import_torchtitan},
    FrameworkRow{Framework::nemo, "NeMo", import_nemo},
    FrameworkRow{Framework::transformers, "Hugging Face Trainer",
                 import_by<import_tuning, Framework::transformers>, true},
    FrameworkRow{Framework::axolotl, "Axolotl", import_by<import_tuning, Framework::axolotl>, true},
    FrameworkRow{Framework::llamafactory, "LLaMA-Factory",
                 import_by<import_tuning, Framework::llamafactory>, true},
    FrameworkRow{Framework::swift, "ms-swift", import_by<import_tuning, Framework::swift>, true},
    FrameworkRow{Framework::bridge, "Megatron-Bridge", import_bridge},
    FrameworkRow{Framework::nemo2, "NeMo 2", import_nemo2},
    FrameworkRow{Framework::torchtune, "torchtune", import_torchtune},
    FrameworkRow{Framework::horovod, "Horovod", import_horovod},
    FrameworkRow{Framework::lightning, "Lightning", import_lightning},
    FrameworkRow{Framework::maxtext, "MaxText", import_maxtext},
    FrameworkRow{Framework::verl, "verl", import_by<import_policy, Framework::verl>},
    FrameworkRow{Framework::nemo_rl, "NeMo-RL", import_by<import_policy, Framework::nemo_rl>},
    FrameworkRow{Framework::openrlhf, "OpenRLHF", import_by<import_policy, Framework::openrlhf>},
    FrameworkRow{Framework::slime, "slime", import_by<import_policy, Framework::slime>},
};
static_assert(std::equal(framework_rows.begin(), framework_rows.end(),
                         EnumNames<Framework>::names.begin(), EnumNames<Framework>::names.end(),
                         [](const auto& row, const auto& name) {
                           return row.framework == name.first;
                         }),
              "every framework has its row, in the order of its names");

const FrameworkRow& row_of(Framework framework) {
  return *std::ranges::find_if(framework_rows,
                               [&](const FrameworkRow& row) { return row.framework == framework; });
}

/// The options with the shape of the file that options.model names, wherever it lies: a person
/// named it, and the scenario has the shape in it. @throws ScenarioError
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

}  // namespace

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

const char* title_of(Framework framework) { return row_of(framework).title; }

bool reads_several_files(Framework framework) { return row_of(framework).several_files; }

ImportedScenario import_framework(Framework framework, const std::string& text,
                                  const std::string& name, const PlanImportOptions& options) {
  const FrameworkRow& row = row_of(framework);
  return row.import(
      {text, name, row.title,
       from_name<PlanFramework>(std::string(name_of(framework))).value_or(PlanFramework::any)},
      with_model_file(options));
}

}  // namespace foretrain
