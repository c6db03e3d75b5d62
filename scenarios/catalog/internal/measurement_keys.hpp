// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "scenarios/fields/field_binding.hpp"

namespace foretrain {

/// provenance.*: what `calibrate fit --measured` adds to a profile that it makes.
template <class T>
std::vector<Bound<T>> measurement_keys() {
  const auto texts = [](const char* path, const char* help, const char* example) {
    return unbound<T>(
        {.path = path, .kind = FieldKind::text_list, .help = help, .example = example});
  };
  return {
      unbound<T>({.path = "provenance.driver",
                  .help = "Driver and libraries that it was measured with.",
                  .example = "580.65.06"}),
      unbound<T>({.path = "provenance.base",
                  .help = "Profile that constants come from which were not measured.",
                  .example = "h100-sxm5-80gb"}),
      texts("provenance.inherited", "Those constants.", "[alone.attention]"),
      texts("provenance.files", "Logs that it was fitted on, each with its SHA-256.",
            "[\"gpubench.jsonl 9f86d081884c7d65\"]"),
      unbound<T>({.path = "provenance.hold_out",
                  .kind = FieldKind::integer,
                  .help =
                      "One of this many records was left out of the fit, for `calibrate check`; "
                      "0: none was.",
                  .example = "5",
                  .min = 0,
                  .max = 1000}),
      texts("provenance.residuals", "Errors of the fit, by what was measured.",
            "[\"gemm bf16: 512 records, mean 3.1 %\"]"),
      texts("provenance.verdict", "What the measurements are worth, in sentences.",
            "[\"2-node data only: multi-node predictions extrapolate\"]"),
  };
}

}  // namespace foretrain
