// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "gui/views/view.hpp"

namespace foretrain::gui {

/// A view that the main window offers and `--view ID` draws.
struct ViewEntry {
  const char* id;     ///< stable: "memory", "waterfall", "gantt", ...
  const char* title;  ///< of its tab, e.g. "Pipeline"
  const char* help;   ///< one sentence for tooltips and the command palette
  View* (*construct)(QWidget* parent);
  TextKind of = TextKind::training;  ///< what it is a view of
  bool needs_log = false;

  /// A view with that id.
  [[nodiscard]] View* make(QWidget* parent) const;
  /// Whether it belongs to a study of this kind: the window leaves out the others.
  [[nodiscard]] bool has(const Study& study) const;
};

/// Every view, in the order of the tabs. "memory" and "waterfall" stand beside the cards in the
/// main window; the others are tabs.
[[nodiscard]] const std::vector<ViewEntry>& view_registry();

// Views that nobody else needs the classes of.
View* make_memory_view(QWidget* parent);
View* make_roofline_view(QWidget* parent);
View* make_tornado_view(QWidget* parent);
View* make_waterfall_view(QWidget* parent);

/// The entry of that id, or null.
[[nodiscard]] const ViewEntry* find_view(const QString& id);

}  // namespace foretrain::gui
