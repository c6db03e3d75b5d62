// SPDX-License-Identifier: Apache-2.0
#include "gui/views/registry.hpp"

#include <algorithm>

namespace foretrain::gui {

const std::vector<ViewEntry>& view_registry() {
  static const std::vector<ViewEntry> entries{};
  return entries;
}

const ViewEntry* find_view(const QString& id) {
  const auto& entries = view_registry();
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const ViewEntry& entry) {
    return id == QLatin1String(entry.id);
  });
  return found == entries.end() ? nullptr : &*found;
}

}  // namespace foretrain::gui
