// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// One token of a shell script. Words keep their quotes and expansions as written.
struct ShellToken {
  enum class Kind {
    word,
    array,      ///< NAME=( elements ): `text` is "NAME=" or "NAME+="
    separator,  ///< newline, ;, &&, ||, |, &
    group,      ///< ( or )
    case_end    ///< ;;
  };

  Kind kind = Kind::word;
  std::string text;
  std::vector<std::string> elements;
  int line = 0;
};

/// What a script may ask of us before we give up on it.
struct ShellLimits {
  std::size_t tokens = 20'000;
  std::size_t depth = 32;             ///< of $( ), of conditions and of `bash -c`
  std::size_t word_bytes = 65'536;    ///< of a variable or a word after expansion
  std::size_t commands = 5'000;       ///< run
  std::size_t expanded = 16'777'216;  ///< bytes of all words together
};

/// Splits a script into tokens. Comments go, but lines `#SBATCH` become words starting with them;
/// redirections and here-documents go; a backslash joins lines. Unbalanced quotes and brackets are
/// reported at `name` and their line.
[[nodiscard]] std::vector<ShellToken> shell_tokens(std::string_view text, const std::string& name,
                                                   int first_line, Diagnostics& diagnostics);

}  // namespace foretrain
