// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "planner/search/search_space.hpp"

namespace foretrain::search_detail {

/// Which plans of one layout (SearchSpace::same_layout()) are refused: each rule is asked once per
/// value of the axis that it looks at, not once per plan. The same answers as refusal().
class LayoutRules {
 public:
  /// @param space outlives this
  explicit LayoutRules(const SearchSpace& space) : space_{space} {}

  /// Asks for the layout that `job` has; leaves the other axes of `job` at their last values.
  /// @pre layout_refusal() is empty
  void ask(Job& job);

  /// Places in the lists of SearchSpace.
  struct Choice {
    std::size_t zero = 0;
    std::size_t micro_batch = 0;
    std::size_t offload = 0;
    std::size_t recompute = 0;
  };
  /// The first rule that a plan breaks; null: none.
  [[nodiscard]] const Infeasible* refusal(const Choice& choice) const;
  /// The same of all plans with this ZeRO stage and micro-batch, where they share it.
  [[nodiscard]] const Infeasible* refusal_of_all(std::size_t zero, std::size_t micro_batch) const;

 private:
  using Answers = std::vector<std::optional<Infeasible>>;

  const SearchSpace& space_;
  Answers recompute_;
  bool recompute_breaks_ = false;
  Answers batch_;
  Answers shards_;
  Answers modelled_;  ///< by ZeRO stage and offloading
};

}  // namespace foretrain::search_detail
