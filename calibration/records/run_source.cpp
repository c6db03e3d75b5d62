// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/run_source.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "calibration/records/internal/words.hpp"

namespace foretrain {
namespace {

constexpr Overlap serial{false, false, false, false};
constexpr Overlap gradients{true, false, false, true};
constexpr Overlap sharded{true, false, true, true};
constexpr Overlap data{true, true, false, true};
constexpr Overlap everything{true, true, true, true};  // NeMo: tensor-parallel overlap as well

struct Family {
  std::string_view name, stack, site;
  Overlap overlap;
  bool half_gradients, sequence, unfused, memory;
};

// Overlap, gradient format and sequence parallelism: the defaults of each framework at the time, or
// what the source's own configuration files set (research notes of the records; DGXC and MLPerf
// publish theirs). A family that is not listed has no profile and is skipped with that reason.
constexpr auto families = std::to_array<Family>({
    {"sc21", "megatron-2021", "selene", serial, true, false, true, true},
    {"kort", "megatron-2023", "selene", serial, true, false, true, true},
    {"megatron", "megatron-2021", "selene", serial, true, false, true, false},
    {"mtnlg", "megatron-deepspeed-2021", "selene", serial, true, false, true, true},
    {"bs", "megatron-deepspeed-2021", "jean-zay", serial, false, false, true, true},
    {"ds", "megatron-deepspeed", "default", serial, true, false, true, false},
    {"vtrain_single", "megatron-deepspeed", "vtrain", serial, true, false, true, false},
    {"vtrain_multi", "megatron-deepspeed", "vtrain", serial, true, false, true, false},
    {"zb", "megatron-2023", "default", serial, false, false, true, true},
    {"zerobubble", "megatron-2023", "default", serial, false, false, true, true},
    {"vocabpar", "megatron-2023", "default", serial, false, false, false, true},
    {"aa", "aleph-alpha", "aleph-alpha", serial, true, false, false, true},
    {"internevo", "internevo", "internevo", gradients, true, false, false, true},
    {"mosaic", "composer", "default", data, true, false, false, true},
    {"dgxc", "nemo", "dgx-h100-ndr", everything, true, true, false, true},
    {"launcher2401", "nemo-2401", "dgx-h100-ndr", everything, true, true, false, true},
    {"launcher2405", "nemo-2401", "dgx-h100-ndr", everything, true, true, false, true},
    {"launcher2308", "nemo", "default", data, true, true, false, false},
    {"launcher2209", "nemo", "default", data, true, true, false, false},
    {"nemo2403", "nemo-2401", "dgx-h100-ndr", everything, true, true, false, true},
    {"nemo2407", "nemo", "dgx-h100-ndr", everything, true, true, false, true},
    {"nemo2502", "nemo", "dgx-h100-ndr", everything, true, true, false, true},
    {"mlperf", "nemo", "dgx-h100-ndr", everything, true, true, false, true},
    {"mbridge", "megatron-core", "dgx-h100-ndr", everything, true, true, false, true},
    {"mcore", "megatron-core", "dgx-h100-ndr", everything, false, true, false, true},
    {"mcorezoo", "megatron-core", "dgx-h100-ndr", data, false, true, false, true},
    {"moefold", "megatron-core", "dgx-h100-ndr", data, false, true, false, false},
    {"simumax", "megatron-core", "default", serial, false, false, false, true},
    {"flagperf", "", "default", data, false, false, false, true},
    {"nanotron", "nanotron", "nanotron", sharded, false, true, false, true},
    {"picotron", "nanotron", "nanotron", gradients, false, false, false, false},
    {"tt", "fsdp2", "default", data, false, true, false, true},
    {"ao", "fsdp2", "default", data, false, true, false, true},
    {"aws", "fsdp2", "default", data, false, true, false, false},
    {"fms", "fsdp2-compile", "default", data, true, false, false, false},
    {"automodel", "fsdp2", "dgx-h100-ndr", data, true, false, false, false},
    {"easycontext", "fsdp2", "default", data, true, false, false, false},
    // measured/public_runs.yaml: no constant was fitted on these.
    {"nemotron4", "megatron-core-2401", "dgx-h100-ndr", data, true, true, false, true},
    {"fp8lm", "megatron-core-2401", "default", serial, false, true, false, true},
    {"msmoe", "megatron-core", "default", data, false, true, false, true},
    {"yafsdp", "fsdp2", "default", data, true, false, false, false},
    {"pax", "jax", "default", data, true, false, false, false},
    {"gcpnemo", "nemo", "default", data, true, true, false, false},
    {"gcpjax", "jax", "default", data, true, false, false, false},
});

/// Runs of Megatron-Core and FlagScale: their READMEs list FlashAttention-2 on Hopper as well, and
/// the launch script passes no overlap.
bool flagperf_megatron(const RunRecord& record) { return contains(record.source, "-megatron/"); }

/// FlagPerf is a collection of frameworks.
std::string flagperf_stack(const RunRecord& record) {
  if (contains(record.id, "-paddle-")) return "paddle";
  if (contains(record.source, "-megatron-deepspeed/")) return "megatron-deepspeed";
  if (flagperf_megatron(record)) return "megatron-core-flash2";
  return contains(record.id, "-aquila2-") ? "megatron-core" : "";
}

/// The Aleph Alpha grids vary the kernels.
std::string aleph_alpha_stack(const RunRecord& record) {
  const std::string kernel = lower(record.attention_kernel);
  if (contains(kernel, "rms kernel")) return "aleph-alpha-rms";
  if (kernel == "torch" || kernel == "fused") return "aleph-alpha-" + kernel;
  return contains(kernel, "attention2") ? "aleph-alpha" : "aleph-alpha-flash1";
}

/// Where runs of one family used different software.
std::string stack_of(const RunRecord& record, std::string_view of_family) {
  const std::string family = record.family();
  if (family == "flagperf") return flagperf_stack(record);
  // The SC21 paper compares with DeepSpeed's ZeRO-3.
  if (family == "sc21" && contains(record.id, "-zero3-")) return "deepspeed-zero3";
  if (family == "ds" && contains(record.zero, "3")) return "deepspeed-zero3";
  if (family == "aa") return aleph_alpha_stack(record);
  if (family == "dgxc" && (contains(record.id, "-maxtext-") || contains(record.id, "-paxml-")))
    return "jax";
  // Its mixtures of experts have kernels of their own, its dense models those of transformers.
  if (family == "automodel" && record.moe) return "automodel";
  if (of_family == "fsdp2" && record.compiled.value_or(false)) return "fsdp2-compile";
  // Submissions of 2023 and early 2024; those of v4.1 ran the software of a year later.
  if (family == "mlperf" && (contains(record.id, "-v3.") || contains(record.id, "-v4.0-")))
    return "nemo-2401";
  return std::string(of_family);
}

}  // namespace

RunSource run_source(const RunRecord& record) {
  RunSource source;
  const std::string family = record.family();
  const auto* const row = std::find_if(families.begin(), families.end(),
                                       [&](const Family& entry) { return entry.name == family; });
  if (row != families.end()) {
    source.known = true;
    source.stack = stack_of(record, row->stack);
    source.site = row->site;
    source.overlap = row->overlap;
    source.half_gradients = row->half_gradients;
    source.sequence = row->sequence;
    source.unfused = row->unfused;
    source.memory = row->memory && source.stack != "jax";
  }
  // All configurations of the NeMo launcher that state it: 96 / 8, 80 / 4 and 40 / 4 layers.
  source.layer_chunks = family.starts_with("launcher");
  if (family == "flagperf" && flagperf_megatron(record)) source.overlap = serial;
  // Of FlagPerf's runs, memory was checked for these frameworks alone.
  if (family == "flagperf")
    source.memory = contains(record.id, "-paddle-") || contains(record.id, "-llama3-") ||
                    contains(record.id, "-aquila2-");
  if (!record.stack.empty()) source.stack = record.stack;
  if (!record.site.empty()) source.site = record.site;
  return source;
}

}  // namespace foretrain
