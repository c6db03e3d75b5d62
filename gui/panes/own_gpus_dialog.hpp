// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>

#include "planner/edit/scenario_text.hpp"

class QComboBox;
class QSpinBox;

namespace foretrain::gui {

/// Asks which GPUs somebody has, and what is to be fine-tuned on them.
class OwnGpusDialog : public QDialog {
  Q_OBJECT

 public:
  /// @param models, devices names of the catalogs; @pre neither is empty
  OwnGpusDialog(const QStringList& models, const QStringList& devices, QWidget* parent);

  [[nodiscard]] OwnGpus answer() const;

 private:
  QComboBox* model_;
  QComboBox* device_;
  QSpinBox* gpus_;
  QComboBox* trained_;
  QSpinBox* rank_;
  QSpinBox* sequence_;
};

}  // namespace foretrain::gui
