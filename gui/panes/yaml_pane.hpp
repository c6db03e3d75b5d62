// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPlainTextEdit>
#include <QWidget>

#include <vector>

#include "gui/looks/theme.hpp"
#include "gui/process/study.hpp"

namespace foretrain::gui {

class YamlColours;

/// A text editor with line numbers that leaves undo to the document.
class YamlEdit : public QPlainTextEdit {
  Q_OBJECT

 public:
  explicit YamlEdit(QWidget* parent = nullptr);
  void set_theme(const Theme& theme);
  /// Underlines the words at these places.
  void mark(const std::vector<Diagnostic>& diagnostics);
  /// Replaces what differs, so that cursor and view stay where they are.
  void adopt(const QString& text);
  /// With the line ends of the text that was adopted last; no-break spaces are kept.
  [[nodiscard]] QString text() const;

 Q_SIGNALS:
  void undo_wanted();
  void redo_wanted();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void lay_out();
  void paint_numbers();

  const Theme* theme_;
  QWidget* numbers_;
  YamlColours* colours_;
  bool carriage_returns_ = false;  ///< the file ends its lines with CR LF
};

/// The scenario's text, with what is wrong in it underlined.
class YamlPane : public QWidget {
  Q_OBJECT

 public:
  explicit YamlPane(QWidget* parent = nullptr);

  void set_text(const QString& text);
  void set_study(const Study& study);
  void set_theme(const Theme& theme);
  /// The cursor goes to a line, counted from 1.
  void go_to_line(int line);
  [[nodiscard]] YamlEdit& editor() { return *editor_; }

 Q_SIGNALS:
  void typed(const QString& text);
  void undo_wanted();
  void redo_wanted();

 private:
  YamlEdit* editor_;
};

}  // namespace foretrain::gui
