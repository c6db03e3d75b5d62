// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace foretrain {

/// A model of the catalog that a hub id, a folder or a builder's name means.
struct HubModel {
  std::string name;      ///< empty: the catalog has none
  bool another = false;  ///< under another name, with the same shape
};

[[nodiscard]] HubModel hub_model(const std::string& id,
                                 const std::vector<std::filesystem::path>& catalogs);

/// How weights rest that a hub id says are packed in a way that is not modelled: "AQLM"; else
/// empty.
[[nodiscard]] std::string packed_otherwise(const std::string& id);

}  // namespace foretrain
