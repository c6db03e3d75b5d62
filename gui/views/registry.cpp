// SPDX-License-Identifier: Apache-2.0
#include "gui/views/registry.hpp"

#include <algorithm>

#include "gui/views/gantt_view.hpp"
#include "gui/views/memory_view.hpp"
#include "gui/views/waterfall_view.hpp"

namespace foretrain::gui {
namespace {

template <class T>
View* make(QWidget* parent) {
  return new T{parent};
}

}  // namespace

const std::vector<ViewEntry>& view_registry() {
  static const std::vector<ViewEntry> entries{
      {"memory", "Memory", "Device memory of every stage, row by row, under the line of the device",
       make<MemoryView>},
      {"waterfall", "Where time goes", "What lies between the peak of the devices and the step",
       make<WaterfallView>},
      {"gantt", "Pipeline", "The step on a time axis: passes, exchanges and bubbles of every stage",
       make<GanttView>},
  };
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
