// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/inputs/llm.hpp"
#include "scenarios/huggingface/huggingface.hpp"
#include "scenarios/huggingface/internal/huggingface_families.hpp"

namespace foretrain::huggingface {

inline constexpr double most_counted = 1e4;

/// Takes keys out of a configuration, one by one, and keeps the books on it.
class Reader {
 public:
  Reader(const YamlNode& map, HuggingFaceModel& model, Diagnostics& diagnostics)
      : map_{map}, model_{model}, diagnostics_{diagnostics} {}

  /// The value of the first of `keys` that is there and not null.
  const YamlNode* take(const std::vector<std::string_view>& keys);

  /// What a number may be, and what it is where no key is there; by which rule, for the books.
  struct Legal {
    int least = 0;
    double most = 0.0;
    std::optional<int> otherwise = std::nullopt;
    std::string rule = {};
  };

  /// A whole number. Writes it into the books under the catalog's name of it.
  int number(const std::string& path, const std::vector<std::string_view>& keys,
             const Legal& legal);
  /// A number from `least` on; 0 where no key is there.
  double amount(const std::string& path, const std::vector<std::string_view>& keys, double least);
  bool truth(const std::string& path, const std::vector<std::string_view>& keys, bool otherwise,
             const std::string& rule);
  /// An empty path is no value of the catalog's.
  void record(const std::string& path, const std::string& value, const std::string& origin);
  void assume(std::string sentence);
  void refuse(const YamlNode& node, std::string_view key, std::string why);
  void refuse(std::string_view key, std::string why);

  /// Sorts the keys that nothing took.
  void finish();

 private:
  const YamlNode& map_;
  HuggingFaceModel& model_;
  Diagnostics& diagnostics_;
  std::set<std::string> used_;
};

/// Layers with other mixers than attention, or with one half alone: what their model types say.
void read_hybrid(Reader& reader, const Family& family, LlmShape& shape);

/// Bases, scalings and epsilons: numbers that launches need and no forecast.
void read_numbers(Reader& reader, LlmShape& shape);

/// Llama 4: chunked attention, experts of every Nth layer. @pre experts and MLP are read
void read_llama4(Reader& reader, LlmShape& shape);

}  // namespace foretrain::huggingface
