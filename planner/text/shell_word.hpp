// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace foretrain {

/// A word as bash reads it back, whatever it holds.
[[nodiscard]] std::string shell_word(const std::string& text);
/// Words of a command line, one blank apart.
[[nodiscard]] std::string shell_words(const std::vector<std::string>& words);
/// Settings as options of a command line: "--set KEY=VALUE --set ..."; empty: none.
[[nodiscard]] std::string set_words(const std::vector<std::string>& settings);

}  // namespace foretrain
