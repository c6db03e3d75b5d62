// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <map>
#include <string>

#include "gui/process/study.hpp"

namespace foretrain::gui {

/// The shell command that makes the forecast on the screen again: the file as it is on disk and
/// --set for what was changed since; the whole text on standard input where --set cannot say it.
/// @param file empty: the text was never saved; @param saved the file's text on disk
[[nodiscard]] QString reproducing_command(const Question& question, const QString& file,
                                          const QString& saved);

/// What a scenario's text gives, by path.
[[nodiscard]] std::map<std::string, std::string> values_of(const std::string& text);

}  // namespace foretrain::gui
