// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/run_source.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "calibration/records/internal/words.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/fields/field_reader.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

namespace source_keys {

Field text(std::string path, std::string help, std::string example, bool required = false) {
  return {.path = std::move(path),
          .help = std::move(help),
          .example = std::move(example),
          .required = required};
}

Field texts(std::string path, std::string help, std::string example, bool required = false) {
  Field field = text(std::move(path), std::move(help), std::move(example), required);
  field.kind = FieldKind::text_list;
  return field;
}

Field flag(std::string path, std::string help, std::string absent) {
  return {.path = std::move(path),
          .kind = FieldKind::boolean,
          .help = std::move(help),
          .example = "true",
          .default_text = std::move(absent)};
}

Field overlap(std::string path, bool required) {
  return {.path = std::move(path),
          .kind = FieldKind::choice_list,
          .help = "Communication that runs beside compute.",
          .example = "[gradients, pipeline]",
          .required = required,
          .choices = {"gradients", "parameters", "tensor", "pipeline", "experts"}};
}

Field list(std::string path, std::string help) {
  return {.path = std::move(path), .kind = FieldKind::list, .help = std::move(help)};
}

}  // namespace source_keys

const FieldTable& run_source_fields() {
  using namespace source_keys;  // NOLINT(google-build-using-namespace): names of this table alone
  static const FieldTable table(
      "Sources of records",
      {{.path = "schema",
        .kind = FieldKind::integer,
        .help = "Version of this file format.",
        .example = "1",
        .required = true,
        .min = 1,
        .max = 1},
       list("sources", "One family of records each."),
       text("sources[].family", "Text before the first dash of its records' ids.", "dgxc", true),
       text("sources[].stack", "Stack profile; left out, no profile describes it.", "nemo"),
       text("sources[].site", "Site profile.", "dgx-h100-ndr", true),
       overlap("sources[].overlap", true),
       flag("sources[].half_gradients", "16-bit gradient traffic in bf16 training, too.", "false"),
       flag("sources[].sequence", "Sequence parallelism in tensor groups.", "false"),
       flag("sources[].unfused", "Attention as separate kernels.", "false"),
       flag("sources[].memory", "The memory rules of the profile are those of the framework.",
            "true"),
       flag("sources[].layer_chunks", "Pipelines interleave one layer per chunk.", "false"),
       list("variants", "Runs of a family that used something else."),
       texts("variants[].of", "Families.", "[aa]", true),
       texts("variants[].id", "Any of these in the record's id.", "[-zero3-]"),
       texts("variants[].source", "Any of these in its source.", "[-megatron/]"),
       texts("variants[].zero", "Any of these in its ZeRO stage.", "[\"3\"]"),
       texts("variants[].attention", "Any of these in its attention kernel, in lower case.",
             "[rms kernel]"),
       texts("variants[].attention_is", "Its attention kernel is one of these.", "[torch]"),
       flag("variants[].experts", "It is a mixture of experts.", ""),
       flag("variants[].compiled", "It was compiled.", ""),
       text("variants[].stack", "Stack profile.", "jax"),
       overlap("variants[].overlap", false),
       flag("variants[].memory", "As of a source.", "")});
  return table;
}

/// One line of `variants`: a condition that is absent holds.
struct Variant {
  std::vector<std::string> families, id, source, zero, attention, attention_is;
  bool experts = false;
  bool compiled = false;
  std::optional<std::string> stack;
  std::optional<Overlap> overlap;
  std::optional<bool> memory;

  [[nodiscard]] bool holds(const RunRecord& record) const {
    const auto any = [](const std::vector<std::string>& parts, const std::string& text) {
      return parts.empty() || std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
               return contains(text, part);
             });
    };
    const std::string kernel = lower(record.attention_kernel);
    return std::count(families.begin(), families.end(), record.family()) > 0 &&
           any(id, record.id) && any(source, record.source) && any(zero, record.zero) &&
           any(attention, kernel) &&
           (attention_is.empty() ||
            std::count(attention_is.begin(), attention_is.end(), kernel) > 0) &&
           (!experts || record.moe) && (!compiled || record.compiled.value_or(false));
  }
};

struct RunSources {
  std::map<std::string, RunSource> families;
  std::vector<Variant> variants;
};

std::optional<Overlap> overlap_in(const FieldValues& values, const std::string& path) {
  const FieldValue* const listed = values.find(path);
  if (listed == nullptr) return std::nullopt;
  const auto has = [&](const char* name) {
    return std::count(listed->texts.begin(), listed->texts.end(), name) > 0;
  };
  return Overlap{has("gradients"), has("parameters"), has("tensor"), has("pipeline"),
                 has("experts")};
}

Variant variant_in(const FieldValues& values, const std::string& at, Diagnostics& diagnostics) {
  const auto texts = [&](const char* key) {
    const FieldValue* const value = values.find(at + key);
    return value == nullptr ? std::vector<std::string>{} : value->texts;
  };
  const auto is = [&](const char* key) { return values.has(at + key) && values.boolean(at + key); };
  Variant variant{texts("of"),        texts("id"),
                  texts("source"),    texts("zero"),
                  texts("attention"), texts("attention_is"),
                  is("experts"),      is("compiled"),
                  std::nullopt,       overlap_in(values, at + "overlap"),
                  std::nullopt};
  if (values.has(at + "stack")) variant.stack = values.text(at + "stack");
  if (values.has(at + "memory")) variant.memory = values.boolean(at + "memory");
  if (variant.id.empty() && variant.source.empty() && variant.zero.empty() &&
      variant.attention.empty() && variant.attention_is.empty() && !variant.experts &&
      !variant.compiled)
    diagnostics.add(values.where(at + "of"), at + "of",
                    "the variant says of which records it is; write one of id, source, zero, "
                    "attention, attention_is, experts: true or compiled: true");
  return variant;
}

RunSources sources_in(const FieldValues& values, Diagnostics& diagnostics) {
  RunSources sources;
  for (int i = 0; i < values.list_size("sources"); ++i) {
    const std::string at = fmt::format("sources[{}].", i);
    RunSource source;
    source.known = true;
    if (values.has(at + "stack")) source.stack = values.text(at + "stack");
    source.site = values.text(at + "site");
    source.overlap = overlap_in(values, at + "overlap").value_or(source.overlap);
    source.half_gradients = values.boolean(at + "half_gradients");
    source.sequence = values.boolean(at + "sequence");
    source.unfused = values.boolean(at + "unfused");
    source.memory = values.boolean(at + "memory");
    source.layer_chunks = values.boolean(at + "layer_chunks");
    const std::string& family = values.text(at + "family");
    if (!sources.families.emplace(family, std::move(source)).second)
      diagnostics.add(values.where(at + "family"), at + "family",
                      in_quotes(family) + " is there already");
  }
  for (int i = 0; i < values.list_size("variants"); ++i) {
    const std::string at = fmt::format("variants[{}].", i);
    sources.variants.push_back(variant_in(values, at, diagnostics));
    for (const std::string& family : sources.variants.back().families)
      if (sources.families.count(family) == 0)
        diagnostics.add(values.where(at + "of"), at + "of",
                        "there is no source " + in_quotes(family));
  }
  return sources;
}

/// The shipped file. @throws ScenarioError with the places of what is wrong
RunSources read_run_sources() {
  const std::filesystem::path below = "calibration/measured/sources.yaml";
  Diagnostics diagnostics;
  const auto roots = catalog_roots({}, diagnostics);
  diagnostics.throw_if_any();
  const YamlLimits limits;
  const auto text =
      read_text_file(roots.front() / below, below.generic_string(), limits.file_bytes, diagnostics);
  const auto root = text ? parse_yaml(*text, below.generic_string(), limits, diagnostics)
                         : std::optional<YamlNode>{};
  diagnostics.throw_if_any();
  const FieldValues values = read_fields(*root, run_source_fields(), diagnostics);
  diagnostics.throw_if_any();
  RunSources sources = sources_in(values, diagnostics);
  diagnostics.throw_if_any();
  return sources;
}

}  // namespace

RunSource run_source(const RunRecord& record) {
  static const RunSources sources = read_run_sources();
  RunSource source;
  if (const auto found = sources.families.find(record.family()); found != sources.families.end())
    source = found->second;
  for (const Variant& variant : sources.variants) {
    if (!variant.holds(record)) continue;
    source.stack = variant.stack.value_or(source.stack);
    source.overlap = variant.overlap.value_or(source.overlap);
    source.memory = variant.memory.value_or(source.memory);
  }
  if (!record.stack.empty()) source.stack = record.stack;
  if (!record.site.empty()) source.site = record.site;
  return source;
}

}  // namespace foretrain
