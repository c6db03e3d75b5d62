// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QHash>
#include <QString>
#include <QStringList>

#include <string>
#include <vector>

#include "gui/process/study.hpp"

namespace foretrain::gui {

/// A setting that people turn all the time.
struct Knob {
  const char* path;
  const char* label;
  const char* help;
  bool slider;  ///< numbers on a scale; else a choice
};
[[nodiscard]] const std::vector<Knob>& knobs();

/// What the knobs need to know of a scenario.
struct KnobState {
  QHash<QString, QString> values;  ///< by path
  int gpus_per_host = 0;
  int layers = 0;
  std::vector<int> tensor;  ///< ranks that searches try, of these four
  std::vector<int> pipeline;
  std::vector<int> context;
  std::vector<int> expert;    ///< empty: the model has no experts
  bool data_follows = false;  ///< parallel.data is not given: it is what the machine has left

  [[nodiscard]] int number(const char* path) const;
  [[nodiscard]] QString value(const char* path) const;
};

/// Of a study with a report.
[[nodiscard]] KnobState knob_state(const Report& report);

/// The values that a knob can take, its present one among them; empty: the knob has no effect here.
[[nodiscard]] QStringList knob_stops(const Knob& knob, const KnobState& state);

/// All settings that one turn means: data ranks follow the machine and the other degrees, hosts
/// follow the data ranks, and interleaving goes with its schedule.
[[nodiscard]] QStringList knob_settings(const Knob& knob, const QString& value,
                                        const KnobState& state);

/// "tensor", "micro-batch", "stage layers": a key by what people call it.
[[nodiscard]] QString key_words(const std::string& path);

/// "tensor 16, data 8, recompute full": settings as for --set, by what people call them.
[[nodiscard]] QString setting_words(const QStringList& settings);

}  // namespace foretrain::gui
