// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/hub_names.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "scenarios/catalog/catalog_listing.hpp"

namespace foretrain {
namespace {

/// What names of copies and publishers add behind a model's own.
constexpr auto additions = std::to_array<std::string_view>(
    {"bnb4bit", "gptq4bit", "gptqint4", "gptqint8",    "gptq",     "instruct", "chat", "base",
     "it",      "pt",       "hf",       "v0.3",        "bf16",     "fp16",     "2507", "thinking",
     "unsloth", "dynamic",  "0324",     "checkpoints", "original", "16e",      "128e"});

struct Alias {
  std::string_view plain, model;
};

/// Models with the shape of one in the catalog, by their letters, digits and dots; of each, its
/// config.json was compared.
constexpr auto aliases = std::to_array<Alias>({
    {"qwen2.50.5b", "qwen2-0.5b"},
    {"qwen2.51.5b", "qwen2-1.5b"},
    {"qwen2.57b", "qwen2-7b"},
    {"qwen2.572b", "qwen2-72b"},
    {"qwen2.5coder0.5b", "qwen2-0.5b"},
    {"qwen2.5coder1.5b", "qwen2-1.5b"},
    {"qwen2.5coder7b", "qwen2-7b"},
    {"qwen2.5math1.5b", "qwen2-1.5b"},
    {"qwen2.5math7b", "qwen2-7b"},
    {"qwen2.5math72b", "qwen2-72b"},
    {"llama3.370b", "llama3.1-70b"},
    {"llama4scout17b", "llama4-scout"},
    {"llama4maverick17b", "llama4-maverick"},
    {"deepseekr1", "deepseek-v3"},
    {"deepseekr10528", "deepseek-v3"},
    {"deepseekr1distillllama8b", "llama3.1-8b"},
    {"deepseekr1distillllama70b", "llama3.1-70b"},
    {"deepseekr1distillqwen7b", "qwen2-7b"},
    {"mixtral8x7bv0.1", "mixtral-8x7b"},
    {"mixtral8x7binstructv0.1", "mixtral-8x7b"},
    {"mixtral8x22bv0.1", "mixtral-8x22b"},
    {"mixtral8x22binstructv0.1", "mixtral-8x22b"},
    {"mistral7binstructv0.1", "mistral-7b-v0.1"},
    {"zephyr7bbeta", "mistral-7b-v0.1"},
    {"zephyr7bsftfull", "mistral-7b-v0.1"},
    {"olmo204251b", "olmo2-1b"},
    {"olmo211247b", "olmo2-7b"},
    {"olmo2112413b", "olmo2-13b"},
    {"olmo2032532b", "olmo2-32b"},
    {"olmo310257b", "olmo3-7b"},
    {"nvidianemotron3nano30ba3b", "nemotron3-nano-30b-a3b"},
    {"gpt2", "gpt2-small"},
});

struct PackedName {
  std::string_view word, title;
};
constexpr auto packed_names = std::to_array<PackedName>({{"-aqlm", "AQLM"},
                                                         {"-hqq", "HQQ"},
                                                         {"-eetq", "EETQ"},
                                                         {"-gguf", "GGUF"},
                                                         {"-exl2", "EXL2"},
                                                         {"-mlx", "MLX"},
                                                         {"nvfp4", "NVFP4"},
                                                         {"mxfp4", "MXFP4"},
                                                         {"-fp8", "8-bit floats"},
                                                         {"w4a16", "4 bits (compressed-tensors)"},
                                                         {"w8a8", "8 bits (compressed-tensors)"}});

std::string lowered(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

/// Letters, digits and dots of the last part of a name, in lower case, without additions.
std::string plain_model(std::string id) {
  while (id.ends_with('/')) id.pop_back();
  std::string letters;
  for (const char c : lowered(id.substr(id.find_last_of('/') + 1)))
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.') letters += c;
  if (letters.starts_with("meta")) letters.erase(0, 4);
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view word : additions)
      if (letters.size() > word.size() && letters.ends_with(word)) {
        letters.resize(letters.size() - word.size());
        again = true;
      }
  }
  return letters;
}

}  // namespace

HubModel hub_model(const std::string& id, const std::vector<std::filesystem::path>& catalogs) {
  LoadOptions load;
  load.catalogs = catalogs;
  const std::string plain = plain_model(id);
  for (const CatalogEntry& entry : catalog_entries("models", load))
    if (!plain.empty() && plain_model(entry.name) == plain) return {entry.name};
  for (const Alias& alias : aliases)
    if (plain == alias.plain || plain_model(std::string(alias.plain)) == plain)
      return {std::string(alias.model), true};
  return {};
}

std::string packed_otherwise(const std::string& id) {
  const std::string name = lowered(id.substr(id.find_last_of('/') + 1));
  for (const PackedName& row : packed_names)
    if (name.find(row.word) != std::string::npos) return std::string(row.title);
  return {};
}

}  // namespace foretrain
