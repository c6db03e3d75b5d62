// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "models/base/names.hpp"
#include "models/base/provenance.hpp"
#include "models/base/quantity.hpp"

namespace foretrain {

/// Number format of the matrix multiplications. Of fp8 a whole operand or a row shares a scale, of
/// fp8-block 128 elements (128 x 128 of a weight), of mxfp8 32, of nvfp4, which has four bits, 16.
enum class Precision { fp32, tf32, fp16, bf16, fp8, fp8_block, mxfp8, nvfp4 };
FORETRAIN_ENUM_NAMES(Precision, {Precision::fp32, "fp32"}, {Precision::tf32, "tf32"},
                     {Precision::fp16, "fp16"}, {Precision::bf16, "bf16"}, {Precision::fp8, "fp8"},
                     {Precision::fp8_block, "fp8-block"}, {Precision::mxfp8, "mxfp8"},
                     {Precision::nvfp4, "nvfp4"});

enum class Architecture { volta, turing, ampere, ada, hopper, blackwell };
FORETRAIN_ENUM_NAMES(Architecture, {Architecture::volta, "volta"}, {Architecture::turing, "turing"},
                     {Architecture::ampere, "ampere"}, {Architecture::ada, "ada"},
                     {Architecture::hopper, "hopper"}, {Architecture::blackwell, "blackwell"});

/// An accelerator as its datasheet describes it. Data: `topologies/catalog/devices`.
struct Device {
  std::string name;
  std::string title;  ///< how people call it, e.g. "H100 SXM5 80GB"
  Architecture architecture = Architecture::hopper;
  Bytes memory;                     ///< nominal capacity
  Bytes usable_memory;              ///< what the driver offers to one process (total, no context)
  BytesPerSecond memory_bandwidth;  ///< datasheet
  int multiprocessors = 0;          ///< streaming multiprocessors enabled
  Watts power_limit;                ///< board power
  /// Measured draw, zero where nobody measured it: kernels running; a process that waits for others
  /// inside a collective or between passes; a process without work.
  Watts power_busy;
  Watts power_waiting;
  Watts power_idle;
  std::map<Precision, FlopPerSecond> peak;  ///< dense matrix rate, never the sparse one
  Provenance provenance;

  /// Dense peak for a precision; zero when the device does not offer it. Scales of blocks multiply
  /// at the rate of fp8: those of 128 after the products, those of 32 in the tensor cores, which
  /// have them since Blackwell.
  [[nodiscard]] FlopPerSecond peak_of(Precision precision) const {
    const auto found = peak.find(precision);
    if (found != peak.end()) return found->second;
    const bool like_fp8 =
        precision == Precision::fp8_block ||
        (precision == Precision::mxfp8 && architecture >= Architecture::blackwell);
    return like_fp8 ? peak_of(Precision::fp8) : FlopPerSecond{};
  }
};

}  // namespace foretrain
