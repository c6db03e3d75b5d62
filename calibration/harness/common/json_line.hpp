// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace foretrain::harness {

/// One flat JSON object on one line, written key by key; the harness's output is a file of these.
/// Numbers that JSON cannot hold (infinite, not a number) become null.
class JsonLine {
 public:
  JsonLine& text(std::string_view key, std::string_view value);
  JsonLine& number(std::string_view key, double value);
  JsonLine& whole(std::string_view key, std::int64_t value);
  JsonLine& truth(std::string_view key, bool value);
  JsonLine& missing(std::string_view key);

  /// `{...}` without a line end.
  [[nodiscard]] std::string str() const { return body_.empty() ? "{}" : "{" + body_ + "}"; }

 private:
  void key(std::string_view name);

  std::string body_;
};

/// A string as JSON has it, with its quotes.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace foretrain::harness
