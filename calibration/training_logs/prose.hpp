// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace foretrain {

/// How much of a text is sentences.
class ProseShare {
 public:
  void take(std::string_view line);
  /// A third or more of the lines that are not empty, of the first two thousand.
  [[nodiscard]] bool most_of_it() const;
  /// The same of sentences and marks of pages (headings, lists, tags).
  [[nodiscard]] bool is_page() const;

 private:
  long lines_ = 0;
  long sentences_ = 0;
  long marks_ = 0;
};

}  // namespace foretrain
