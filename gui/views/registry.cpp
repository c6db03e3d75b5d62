// SPDX-License-Identifier: Apache-2.0
#include "gui/views/registry.hpp"

#include <algorithm>

#include "gui/views/course_view.hpp"
#include "gui/views/gantt_view.hpp"
#include "gui/views/map_view.hpp"
#include "gui/views/memory_view.hpp"
#include "gui/views/pareto_view.hpp"
#include "gui/views/roofline_view.hpp"
#include "gui/views/scaling_view.hpp"
#include "gui/views/scatter_view.hpp"
#include "gui/views/topology_view.hpp"
#include "gui/views/tornado_view.hpp"
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
      {"course", "Memory over time", "Device memory of a stage over the step", make<CourseView>},
      {"roofline", "Kernels", "Kernels on the roofline of the device: peak and memory bandwidth",
       make<RooflineView>},
      {"topology", "Network", "The network between hosts, and which of its links are hot",
       make<TopologyView>},
      {"tornado", "Sensitivity", "What a tenth more or less of each input does to the time",
       make<TornadoView>},
      {"pareto", "Plans", "Every plan that fits by memory and time; a click loads one",
       make<ParetoView>},
      {"map", "Sweep", "A number of the forecast over two keys; a click loads a combination",
       make<MapView>},
      {"scaling", "Scaling", "Speed per GPU on smaller and larger machines; a click loads one",
       make<ScalingView>},
      {"scatter", "Accuracy", "Predicted against measured step times of the shipped records",
       make<ScatterView>},
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
