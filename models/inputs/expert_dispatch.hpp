// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/names.hpp"

namespace foretrain {

/// Who carries tokens to the ranks of their experts: DeepEP and other node-limited dispatchers
/// (once_per_host), a plain all-to-all of NCCL (every_copy), HybridEP (fused), or an all-gather of
/// all tokens of the group, of which each rank takes what its experts need (all_gather).
enum class ExpertDispatch { once_per_host, every_copy, fused, all_gather };
FORETRAIN_ENUM_NAMES(ExpertDispatch, {ExpertDispatch::once_per_host, "once-per-host"},
                     {ExpertDispatch::every_copy, "every-copy"}, {ExpertDispatch::fused, "fused"},
                     {ExpertDispatch::all_gather, "all-gather"});

/// What pricing has to know of a dispatcher. Sources: models/inputs/README.md, "Dispatchers".
struct DispatchTraits {
  ExpertDispatch kind;
  bool gathers = false;        ///< every token goes to every rank of the group
  bool copies_across = false;  ///< a row per expert crosses domains, else one per token and domain
  bool distinct_inside = false;  ///< a row per rank inside a domain, else one per expert
  bool sorts = false;            ///< rows arrive in the experts' order: no permutation of their own
  int multiprocessors = 20;      ///< that its kernels take of a device, by default
};

[[nodiscard]] constexpr DispatchTraits traits_of(ExpertDispatch dispatch) {
  switch (dispatch) {
    case ExpertDispatch::every_copy:
      return {.kind = dispatch, .copies_across = true};
    case ExpertDispatch::fused:
      return {.kind = dispatch, .distinct_inside = true, .sorts = true, .multiprocessors = 16};
    case ExpertDispatch::all_gather:
      return {.kind = dispatch, .gathers = true};
    case ExpertDispatch::once_per_host:
      break;
  }
  return {.kind = ExpertDispatch::once_per_host};
}

}  // namespace foretrain
