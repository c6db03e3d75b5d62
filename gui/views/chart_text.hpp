// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFont>
#include <QRectF>
#include <QString>

#include "gui/looks/theme.hpp"
#include "gui/looks/units.hpp"

namespace foretrain::gui {

/// A line of text and where it stands.
struct DrawnLabel {
  QString text;
  QRectF box;
  bool cut = false;  ///< only its beginning had room
};

/// The colour between two.
[[nodiscard]] QColor blend(const QColor& from, const QColor& to, double share);
/// The same colour, transparent to that share.
[[nodiscard]] QColor veiled(const QColor& colour, double opacity);

[[nodiscard]] double text_width(const QString& text, const QFont& font);
[[nodiscard]] double line_height(const QFont& font);
[[nodiscard]] QFont bold(QFont font);

}  // namespace foretrain::gui
