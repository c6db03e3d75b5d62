// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

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

/// Repeated timings of one thing. Percentiles are the value at the nearest rank.
struct Sample {
  int count = 0;
  double minimum = 0.0;
  double median = 0.0;
  double p90 = 0.0;
  double maximum = 0.0;

  /// How far the middle runs are apart: (p90 - minimum) / median.
  [[nodiscard]] double spread() const { return median > 0.0 ? (p90 - minimum) / median : 0.0; }
};

/// @pre values is not empty.
[[nodiscard]] Sample summarize(std::vector<double> values);

}  // namespace foretrain::harness
