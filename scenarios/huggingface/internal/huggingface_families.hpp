// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/names.hpp"
#include "scenarios/fields/shipped_table.hpp"

namespace foretrain {
namespace huggingface {

/// Heads or latent vectors; with an indexer over either (`sparse`, `indexed`); DeepSeek-V4's.
enum class AttentionForm { heads, latent, indexed, sparse, compressed };
/// What a layer is: both halves, one half alone, or both with other mixers than attention in some.
enum class LayerForm { blocks, halves, mixers };

/// Lists and texts by concept: a key of the model catalog, or a word of families.yaml.
using ConceptKeys = std::map<std::string, std::vector<std::string>, std::less<>>;
using ConceptDefaults = std::map<std::string, std::string, std::less<>>;

/// A row of families.yaml with what it takes over from the row that it is like, and from the head
/// of the table.
struct Family {
  std::string type;
  std::string text;   ///< type of a text_config that does not say its own
  std::string needs;  ///< what is not modelled; empty: the family is read
  AttentionForm attention = AttentionForm::heads;
  LayerForm layers = LayerForm::blocks;
  bool experts = false;
  ConceptKeys keys;
  ConceptDefaults defaults;
  std::set<std::string, std::less<>> idle;
  std::vector<RefusedKeys> refused;
  std::vector<RefusedKeys> left_out;  ///< told and passed over where they are on
  std::vector<std::string> signs;     ///< keys that tell such a file where the type does not
  bool untyped = false;               ///< its files name no type
};

using Families = std::map<std::string, Family, std::less<>>;

/// @throws ScenarioError when the table is broken
[[nodiscard]] std::shared_ptr<const Families> families(
    const std::vector<std::filesystem::path>& catalogs);

}  // namespace huggingface

FORETRAIN_ENUM_NAMES(huggingface::AttentionForm, {huggingface::AttentionForm::heads, "heads"},
                     {huggingface::AttentionForm::latent, "latent"},
                     {huggingface::AttentionForm::indexed, "indexed"},
                     {huggingface::AttentionForm::sparse, "sparse"},
                     {huggingface::AttentionForm::compressed, "compressed"});
FORETRAIN_ENUM_NAMES(huggingface::LayerForm, {huggingface::LayerForm::blocks, "blocks"},
                     {huggingface::LayerForm::halves, "halves"},
                     {huggingface::LayerForm::mixers, "mixers"});

}  // namespace foretrain
