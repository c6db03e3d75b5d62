// SPDX-License-Identifier: Apache-2.0
#include <sstream>
#include <utility>

#include "planner/exchange/internal/key_differences.hpp"
#include "scenarios/sections/sections.hpp"

namespace foretrain {
namespace {

void add_unlike(const std::string& section, const std::string& usual,
                std::vector<std::string>& keys) {
  std::istringstream lines(section);
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(' ')) name = line.substr(0, line.find(':')) + ".";
    if (!line.starts_with(' ') || ("\n" + usual).find("\n" + line + "\n") != std::string::npos)
      continue;
    keys.push_back(name + line.substr(2));
  }
}

}  // namespace

std::vector<std::string> key_differences(const Job& rest) {
  Job plain;
  plain.training.precision = rest.training.precision;
  std::vector<std::string> keys;
  for (const auto& [mine, usual] :
       {std::pair{training_keys().text(rest.training), training_keys().text(plain.training)},
        std::pair{fine_tuning_keys().text(rest.fine_tuning),
                  fine_tuning_keys().text(plain.fine_tuning)},
        std::pair{parallel_keys().text(rest.parallel), parallel_keys().text(plain.parallel)},
        std::pair{memory_keys().text(rest.memory), memory_keys().text(plain.memory)},
        std::pair{communication_keys().text(rest), communication_keys().text(plain)}})
    add_unlike(mine, usual, keys);
  return keys;
}

}  // namespace foretrain
