// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractListModel>
#include <QDialog>
#include <QString>

#include <functional>
#include <vector>

class QLineEdit;
class QListView;

namespace foretrain::gui {

/// Something that can be done, by name.
struct PaletteEntry {
  QString text;    ///< "Open an example: llama3-8b-8xh100"
  QString detail;  ///< shortcut or help
  std::function<void()> run;
};

/// The entries that hold every word that was typed: those that begin with the first word, then
/// those with all words in the text, then those with one in the detail only; else as given.
class PaletteModel : public QAbstractListModel {
  Q_OBJECT

 public:
  enum Role { detail_role = Qt::UserRole };

  explicit PaletteModel(std::vector<PaletteEntry> entries, QObject* parent = nullptr);

  void look_for(const QString& words);
  void run(int row) const;
  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

 private:
  std::vector<PaletteEntry> entries_;
  std::vector<std::size_t> found_;
};

/// Ctrl+K: type what you want, press Enter.
class CommandPalette : public QDialog {
  Q_OBJECT

 public:
  explicit CommandPalette(std::vector<PaletteEntry> entries, QWidget* parent = nullptr);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void choose(const QModelIndex& index);

  PaletteModel* model_;
  QLineEdit* line_;
  QListView* list_;
};

}  // namespace foretrain::gui
