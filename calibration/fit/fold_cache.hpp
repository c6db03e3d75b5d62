// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace foretrain {

/// A hash (FNV-1a, 64 bits) of whatever is added.
class Fingerprint {
 public:
  void add(const std::string& text);
  void add(double value);  ///< its bits
  void add(const std::vector<bool>& marks);
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  void add_byte(unsigned char byte);

  std::uint64_t hash_ = 14695981039346656037ULL;
};

/// Numbers that take long to compute, a small file each, named by the fingerprint of all that they
/// follow from. Files appear whole or not at all, so that a run that was killed goes on where it
/// was.
class FoldCache {
 public:
  /// @param folder empty: nothing is kept
  explicit FoldCache(std::filesystem::path folder) : folder_{std::move(folder)} {}

  /// What is kept under a key, each number under its name; nothing where names differ.
  [[nodiscard]] std::optional<std::vector<double>> find(
      std::uint64_t key, const std::vector<std::string>& names) const;
  /// Numbers come back to the last bit. A folder that cannot be written keeps nothing.
  void keep(std::uint64_t key, const std::vector<std::string>& names,
            const std::vector<double>& values) const;

 private:
  [[nodiscard]] std::filesystem::path file_of(std::uint64_t key) const;

  std::filesystem::path folder_;
};

/// $XDG_CACHE_HOME/foretrain/folds, else ~/.cache/foretrain/folds; empty where there is neither.
[[nodiscard]] std::filesystem::path usual_fold_cache();

}  // namespace foretrain
