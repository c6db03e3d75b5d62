// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/text.hpp"

namespace foretrain {

/// A file of another tool that cannot be imported. what() says what is wrong and what would be
/// right, without control characters.
class ImportError : public std::runtime_error {
 public:
  /// @param line from 1; 0: the file as a whole
  ImportError(int line, const std::string& message) : std::runtime_error(message), line_{line} {}
  [[nodiscard]] int line() const { return line_; }

 private:
  int line_;
};

/// What an importer tells beside its result, one sentence or name each.
struct ImportNotes {
  std::vector<std::string> ignored;  ///< by name, with the reason where it is not plain
  std::vector<std::string> assumed;  ///< what the file does not say
};

/// Limits of every importer of this folder.
inline constexpr std::size_t import_bytes = std::size_t{64} << 20U;
inline constexpr std::size_t import_line_bytes = 65536;
inline constexpr int import_xml_depth = 32;
inline constexpr int import_xml_nodes = 200000;
inline constexpr int import_host_gpus = 64;
inline constexpr int import_hosts = 262144;
inline constexpr int import_switches = 65536;
inline constexpr int import_cables = 4194304;

namespace imports {

/// At most 60 bytes of a user's text, all but printable ASCII as "?".
[[nodiscard]] std::string printable(std::string_view text);
/// The same inside a message, in single quotes.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// The lines of a text without their ends. The numbers of lines start at 1.
/// @throws ImportError beyond the limits, or for a zero byte
[[nodiscard]] std::vector<std::string_view> import_lines(std::string_view text);

[[nodiscard]] std::string lower_case(std::string_view text);

/// A finite, non-negative decimal number such as 53.125.
[[nodiscard]] std::optional<double> decimal_number(std::string_view text);

/// "a, b, c and 7 more" of many names.
[[nodiscard]] std::string some_of(const std::vector<std::string>& names, std::size_t most = 6);

}  // namespace imports
}  // namespace foretrain
