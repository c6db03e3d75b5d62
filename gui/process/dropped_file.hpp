// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

namespace foretrain::gui {

/// What a file that somebody dropped on the window is, by words that only its kind has.
struct DroppedFile {
  enum class Kind {
    scenario,   ///< or a cluster file
    model,      ///< a Hugging Face config.json
    framework,  ///< a configuration of `framework`
    log         ///< of training: the rest
  };
  Kind kind = Kind::log;
  QString framework{};  ///< first of a pair of importable_frameworks()
};
/// Reads the start of the file; one that cannot be read is a log, whose reader says why.
[[nodiscard]] DroppedFile dropped_file(const QString& file);

}  // namespace foretrain::gui
