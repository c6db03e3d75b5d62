// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/collectives/scheme.hpp"

namespace foretrain {

/// All-reduce by switches that add. `nvls`: the NVSwitch of one host; every member sends all of the
/// payload and its reduced part once more, and receives as much (NVIDIA's NVLink SHARP as the CUDA
/// multicast instructions use it). `nvls-tree`: the same in every host, with the double binary tree
/// between hosts. `collnet`: the same in every host, and the switches of the network add what
/// the NICs send (SHARP: Graham et al., COMHPC 2016).
namespace in_switch {

[[nodiscard]] std::string nvls_refusal(const CollectiveProblem& problem);
[[nodiscard]] std::vector<CollectivePhase> nvls_phases(const CollectiveProblem& problem);
void nvls_emit(const CollectiveProblem& problem, int phase, const TransferSink& sink);

[[nodiscard]] std::string tree_refusal(const CollectiveProblem& problem);
[[nodiscard]] std::vector<CollectivePhase> tree_phases(const CollectiveProblem& problem);
void tree_emit(const CollectiveProblem& problem, int phase, const TransferSink& sink);

[[nodiscard]] std::string collnet_refusal(const CollectiveProblem& problem);
[[nodiscard]] std::vector<CollectivePhase> collnet_phases(const CollectiveProblem& problem);
void collnet_emit(const CollectiveProblem& problem, int phase, const TransferSink& sink);

}  // namespace in_switch

inline constexpr CollectiveScheme nvls_scheme{"nvls",
                                              "nvls",
                                              "NVSwitch of one host adds",
                                              in_switch::nvls_refusal,
                                              in_switch::nvls_phases,
                                              in_switch::nvls_emit,
                                              nullptr};
inline constexpr CollectiveScheme nvls_tree_scheme{"nvls-tree",
                                                   "nvls-tree",
                                                   "NVSwitches add, double binary tree between",
                                                   in_switch::tree_refusal,
                                                   in_switch::tree_phases,
                                                   in_switch::tree_emit,
                                                   nullptr};
inline constexpr CollectiveScheme collnet_scheme{"collnet",
                                                 "collnet",
                                                 "switches of host and network add (SHARP)",
                                                 in_switch::collnet_refusal,
                                                 in_switch::collnet_phases,
                                                 in_switch::collnet_emit,
                                                 nullptr};

}  // namespace foretrain
