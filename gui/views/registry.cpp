// SPDX-License-Identifier: Apache-2.0
#include "gui/views/registry.hpp"

#include <algorithm>

#include "gui/views/answer_view.hpp"
#include "gui/views/course_view.hpp"
#include "gui/views/gantt_view.hpp"
#include "gui/views/map_view.hpp"
#include "gui/views/pareto_view.hpp"
#include "gui/views/scaling_view.hpp"
#include "gui/views/scatter_view.hpp"
#include "gui/views/topology_view.hpp"

namespace foretrain::gui {
namespace {

template <class T>
View* made(QWidget* parent) {
  return new T{parent};
}

}  // namespace

View* ViewEntry::make(QWidget* parent) const {
  View* const view = construct(parent);
  view->setObjectName(QLatin1String(id));
  view->setAccessibleName(QString::fromUtf8(title));
  view->setAccessibleDescription(QString::fromUtf8(help));
  return view;
}

bool ViewEntry::has(const Study& study) const {
  return of == study.kind && (!needs_log || study.question.log != nullptr);
}

const std::vector<ViewEntry>& view_registry() {
  static const std::vector<ViewEntry> entries{
      {"memory", "Memory", "Device memory of every stage, row by row, under the line of the device",
       make_memory_view},
      {"waterfall", "Where time goes", "What lies between the peak of the devices and the step",
       make_waterfall_view},
      {"gantt", "Pipeline", "The step on a time axis: passes, exchanges and bubbles of every stage",
       made<GanttView>},
      {"course", "Memory over time", "Device memory of a stage over the step", made<CourseView>},
      {"roofline", "Kernels", "Kernels on the roofline of the device: peak and memory bandwidth",
       make_roofline_view},
      {"topology", "Network", "The network between hosts, and which of its links are hot",
       made<TopologyView>},
      {"tornado", "Sensitivity", "What a tenth more or less of each input does to the time",
       make_tornado_view},
      {"pareto", "Plans", "Every plan that fits by memory and time; a click loads one",
       made<ParetoView>},
      {"map", "Sweep", "A number of the forecast over two keys; a click loads a combination",
       made<MapView>},
      {"scaling", "Scaling", "Speed per GPU on smaller and larger machines; a click loads one",
       made<ScalingView>},
      {"scatter", "Accuracy", "Predicted against measured step times of the shipped records",
       made<ScatterView>},
      {"diagnosis", "Diagnosis", "A training log against the forecast, and what explains the gap",
       made<DiagnosisView>, TextKind::training, true},
      {"serving", "Serving", "Latency, throughput and cost of a deployment that answers requests",
       made<ServingView>, TextKind::served},
      {"queue", "Queue", "Waits, use and cost of a cluster that many jobs share", made<QueueView>,
       TextKind::queue},
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
