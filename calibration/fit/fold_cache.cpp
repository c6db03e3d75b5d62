// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/fold_cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "models/base/require.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

std::string line_of(const std::string& name, double value) {
  return fmt::format("{} {:a}", name, value);
}

}  // namespace

void Fingerprint::add_byte(unsigned char byte) {
  constexpr std::uint64_t prime = 1099511628211ULL;
  hash_ = (hash_ ^ byte) * prime;
}

void Fingerprint::add(const std::string& text) {
  for (const char letter : text) add_byte(static_cast<unsigned char>(letter));
  add_byte(0);
}

void Fingerprint::add(double value) {
  auto bits = std::bit_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < sizeof bits; ++i, bits >>= 8U)
    add_byte(static_cast<unsigned char>(bits & 0xffU));
}

void Fingerprint::add(const std::vector<bool>& marks) {
  for (const bool mark : marks) add_byte(mark ? 1 : 2);
  add_byte(0);
}

fs::path FoldCache::file_of(std::uint64_t key) const {
  return folder_ / fmt::format("{:016x}.txt", key);
}

std::optional<std::vector<double>> FoldCache::find(std::uint64_t key,
                                                   const std::vector<std::string>& names) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream stream(file_of(key));
  std::vector<double> values;
  std::string line;
  for (const std::string& name : names) {
    if (!std::getline(stream, line)) return std::nullopt;
    const std::size_t blank = line.rfind(' ');
    if (blank == std::string::npos || line.substr(0, blank) != name) return std::nullopt;
    const std::string number = line.substr(blank + 1);
    char* end = nullptr;
    values.push_back(std::strtod(number.c_str(), &end));
    if (end == number.c_str() || *end != '\0') return std::nullopt;
  }
  if (!std::getline(stream, line) || line != "end") return std::nullopt;
  return values;
}

void FoldCache::keep(std::uint64_t key, const std::vector<std::string>& names,
                     const std::vector<double>& values) const {
  FORETRAIN_REQUIRE(names.size() == values.size());
  if (folder_.empty()) return;
  std::error_code failed;
  fs::create_directories(folder_, failed);
  const fs::path file = file_of(key);
  const fs::path beside = file.string() + fmt::format(".{}", getpid());
  {
    std::ofstream stream(beside);
    for (std::size_t i = 0; i < names.size(); ++i) stream << line_of(names[i], values[i]) << "\n";
    stream << "end\n";
    if (!stream.flush()) failed = std::make_error_code(std::errc::io_error);
  }
  if (!failed) fs::rename(beside, file, failed);
  if (failed) fs::remove(beside, failed);
}

fs::path usual_fold_cache() {
  const auto below = [](const char* variable, const char* rest) {
    const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr || *value == '\0' ? fs::path() : fs::path(value) / rest;
  };
  const fs::path asked = below("XDG_CACHE_HOME", "foretrain/folds");
  return asked.empty() ? below("HOME", ".cache/foretrain/folds") : asked;
}

}  // namespace foretrain
