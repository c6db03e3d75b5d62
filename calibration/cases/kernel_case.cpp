// SPDX-License-Identifier: Apache-2.0
#include "calibration/cases/kernel_case.hpp"

#include <fmt/format.h>

#include <array>
#include <regex>
#include <string_view>

#include "calibration/imports/imported_log.hpp"
#include "calibration/records/csv_table.hpp"
#include "calibration/records/internal/words.hpp"
#include "models/base/require.hpp"
#include "models/inputs/recipe.hpp"
#include "scenarios/catalog/model_names.hpp"

namespace foretrain {
namespace {

constexpr double plot_tokens = 16384.0;  // FlashAttention's plots keep tokens and width (their
constexpr double plot_width = 2048.0;    // benchmark script; arXiv 2307.08691 section 4.1)
constexpr double rate_traffic = 1e9;     // bytes that stand for a bandwidth without a size
constexpr double backward_over_forward = 2.5;
constexpr double half_bytes = 2.0;
constexpr double single_bytes = 4.0;
constexpr Seconds host_launch = 9.0 * us;  // of a product in a loop (SimuMax on B200)
constexpr double long_row = 16384.0;       // bytes that a block of threads keeps in registers

/// Catalog device of a name in the table; empty: none. What stands in brackets says that it is
/// another one.
std::string device_of(const std::string& gpu) {
  return has_part(gpu, "(") ? "" : device_called(gpu, DeviceNaming::table);
}

std::optional<Precision> precision_of(const std::string& dtype) {
  if (dtype == "bf16" || dtype == "bfloat16" || dtype == "fp16/bf16") return Precision::bf16;
  if (dtype == "fp8_block") return Precision::fp8_block;
  return from_name<Precision>(dtype);
}

bool is_product(const std::string& op) {
  return op == "gemm" || op == "gemm_TN" || op == "gemm_NN" || op == "gemm_NT_accum_fp32" ||
         op == "gemm_cublaslt" || op.starts_with("grouped_gemm") || op == "gemm_deepgemm" ||
         op == "gemm_max" || op == "te_gemm_fprop_autocast:bf16";
}

MappedKernel no_kernel(std::string why) {
  MappedKernel mapped;
  mapped.why = std::move(why);
  return mapped;
}

std::optional<Seconds> measured_time(const KernelRecord& record, Flop flop, Bytes traffic) {
  if (record.time_us) return *record.time_us * us;
  if (record.tflops && flop > Flop{}) return flop / (*record.tflops * TFLOPS);
  if (record.gbs && traffic > Bytes{}) return traffic / (*record.gbs * GBps);
  return std::nullopt;
}

/// Rows of grouped products state the forward shape for all passes.
Gemm pass_of(const std::string& op, const Gemm& forward) {
  if (op == "grouped_gemm_bwd_grad_act") return forward.data_gradient();
  return op == "grouped_gemm_bwd_grad_w" ? forward.weight_gradient() : forward;
}

MappedKernel product(const KernelRecord& record, KernelCase kernel) {
  std::optional<double> depth;
  double count = 1.0;
  bool looped = false;
  std::smatch match;
  static const std::regex several{R"((\d{1,9});(groups|batch)=(\d{1,6}))"};
  if (std::regex_match(record.shape, match, several)) {
    depth = std::stod(match[1]);
    count = std::stod(match[3]);
    looped = match[2] == "groups" && count > 1.0;
  } else if (!read_number(record.shape, depth)) {
    depth.reset();
  }
  if (!record.m || !record.n || !depth) return no_kernel("the shape of the GEMM is not stated");
  if (kernel.precision == Precision::fp8_block)
    return no_kernel("GEMMs with a scale per block of 128: training runs other kernels");
  GemmCase work{pass_of(record.op, {*record.m, *record.n, *depth, count}), false, looped};
  MappedKernel mapped;
  if (quantised(kernel.precision) && record.family() == "aiconfigurator" &&
      kernel.precision != Precision::mxfp8) {
    work.quantises = true;
    mapped.assumptions.push_back(
        fmt::format("the library brings the 16-bit input to {} in that time",
                    kernel.precision == Precision::fp8 ? "FP8" : name_of(kernel.precision)));
  }
  if (looped)
    mapped.assumptions.emplace_back(
        "groups one after another on four streams, at training's clock");
  const auto measured = measured_time(record, work.gemm.flop(), Bytes{});
  if (!measured) return no_kernel("neither a time nor a rate is stated");
  kernel.measured = *measured;
  kernel.work = work;
  kernel.kind = "gemm " + std::string(name_of(kernel.precision));
  mapped.kernel = std::move(kernel);
  return mapped;
}

std::optional<double> number_after(const std::string& shape, const std::string& key) {
  std::smatch match;
  if (!std::regex_search(shape, match, std::regex("(?:^| )" + key + R"((\d{1,9})\b)")))
    return std::nullopt;
  return std::stod(match[1]);
}

/// What the operation's name says about an attention kernel.
struct AttentionWords {
  bool causal;
  bool forward;
  bool backward;
  bool plotted;
};

std::optional<AttentionWords> attention_words(const std::string& op) {
  const bool causal = has_part(op, "causal");
  if (op.starts_with("attn_prefill")) return AttentionWords{causal, true, false, false};
  if (op.starts_with("sdp_fwd")) return AttentionWords{causal, true, false, false};
  if (op.starts_with("sdp_bwd")) return AttentionWords{causal, false, true, false};
  for (const char* const library : {"fa2_fwd", "fa3_fwd", "cudnn_fwd"})
    if (op.starts_with(library)) return AttentionWords{causal, true, has_part(op, "_bwd"), true};
  return std::nullopt;
}

AttentionLibrary library_of(const std::string& op) {
  if (op.starts_with("fa3") || has_part(op, "_fa3")) return AttentionLibrary::flash3;
  if (op.starts_with("cudnn") || has_part(op, ":torch_flow") || has_part(op, "trtllmprefill"))
    return AttentionLibrary::vendor;
  // FlashAttention-2 is what the A100 runs, vLLM's kernels included.
  return AttentionLibrary::flash2;
}

MappedKernel attention(const KernelRecord& record, const AttentionWords& words, KernelCase kernel) {
  const auto length = number_after(record.shape, "s");
  auto head = number_after(record.shape, "hd");
  if (!head) head = number_after(record.shape, "dqk");
  auto batch = number_after(record.shape, "b");
  auto heads = number_after(record.shape, "h");
  MappedKernel mapped;
  if (length && head && words.plotted && !batch && !heads) {
    batch = plot_tokens / *length;
    heads = plot_width / *head;
    mapped.assumptions.emplace_back("16384 tokens and a width of 2048, as its authors benchmark");
  }
  if (!length || !head || !batch || !heads)
    return no_kernel("the shape of the attention is not stated");
  AttentionCase work;
  // Without a mask a query sees twice the keys that it sees on average with one.
  const double seen = words.causal ? *length : 2.0 * *length;
  work.work = {*batch, *heads, *length,
               seen,   *head,  number_after(record.shape, "dv").value_or(*head)};
  work.kv_heads = number_after(record.shape, "kvh").value_or(*heads);
  work.forward = words.forward;
  work.backward = words.backward;
  work.library = library_of(record.op);
  work.fills_cache = record.op.starts_with("attn_prefill");
  const double passes =
      (words.forward ? 1.0 : 0.0) + (words.backward ? backward_over_forward : 0.0);
  const auto measured = measured_time(record, passes * work.work.causal_forward_flop(), Bytes{});
  if (!measured) return no_kernel("neither a time nor a rate is stated");
  kernel.measured = *measured;
  kernel.work = work;
  kernel.kind = "flash attention";
  mapped.kernel = std::move(kernel);
  return mapped;
}

MappedKernel streaming(const KernelRecord& record, KernelCase kernel) {
  if (!record.gbs) return no_kernel("the traffic of the kernel is not stated");
  MappedKernel mapped;
  Bytes traffic{rate_traffic};
  if (record.time_us)
    traffic = *record.time_us * us * (*record.gbs * GBps);
  else
    mapped.assumptions.emplace_back("1 GB moved: the source states the rate alone");
  kernel.measured = traffic / (*record.gbs * GBps);
  if (record.op == "ln" && record.n && single_bytes * *record.n >= long_row) {
    traffic *= 1.5;
    mapped.assumptions.emplace_back(
        "rows from 16 KiB on are read twice: mean and variance, result");
  }
  kernel.work = StreamCase{traffic};
  kernel.kind = "streaming";
  mapped.kernel = std::move(kernel);
  return mapped;
}

bool is_streaming(const std::string& op) {
  for (const char* const name : {"add", "relu", "tanh", "ln", "softmax"})
    if (op == name) return true;
  return op.starts_with("hbm_");
}

/// Why an operation has no model of its own.
std::string objection(const std::string& op) {
  if (has_part(op, "moe_fused"))
    return "an inference kernel: routing, activation and GEMMs of the experts in one";
  if (op.starts_with("te_layer_gemms")) return "a sum of several GEMMs";
  if (op.starts_with("te_gemm"))
    return "a GEMM with Transformer Engine's casts, which steps price by stack";
  if (op.starts_with("deepep"))
    return "dispatch and combine of DeepEP, a library of its own, not NCCL";
  if (has_part(op, "p2p") || has_part(op, "H2D") || has_part(op, "D2H") || has_part(op, "D2D"))
    return "the rate of a link, not a kernel";
  if (has_part(op, "as reported")) return "heads and mask are not stated";
  if (op == "fused_adamw") return "the formats of the states, thus the traffic, are not stated";
  if (has_part(op, "launch") || has_part(op, "replay"))
    return "a launch from the host: step times price it by layer and stack";
  return "no model for this operation";
}

Seconds quantise_time(const Gemm& gemm, const KernelDevice& on, const InferenceExtras& extras) {
  const InferenceExtras::Quantising& of = extras.*quantising_of(on.precision);
  return of.fixed + Bytes{of.bytes * gemm.batch * gemm.m * gemm.k} / on.device.memory_bandwidth;
}

Seconds cache_time(const AttentionCase& work, const KernelDevice& on,
                   const InferenceExtras& extras) {
  // The A100 table (FlashAttention-2) shows none of it.
  if (work.library == AttentionLibrary::flash2) return Seconds{};
  const AttentionWork& at = work.work;
  const double width = half_bytes * at.batch * at.query_length * (at.head_dim + at.value_dim);
  const Bytes moved{(extras.cache_passes * work.kv_heads + extras.query_passes * at.heads) * width};
  return extras.cache_fixed + moved / on.device.memory_bandwidth;
}

}  // namespace

MappedKernel map_kernel(const KernelRecord& record) {
  KernelCase kernel;
  const auto words = attention_words(record.op);
  if (has_part(record.op, "as reported") ||
      (!words && !is_product(record.op) && !is_streaming(record.op)))
    return no_kernel(objection(record.op));
  kernel.device = device_of(record.gpu);
  if (kernel.device.empty()) return no_kernel("no device " + record.gpu);
  if (is_streaming(record.op)) return streaming(record, std::move(kernel));
  const auto precision = precision_of(record.dtype);
  if (!precision) return no_kernel("no number format " + record.dtype);
  if (words && quantised(*precision)) return no_kernel("attention in 8 bits is not modelled");
  kernel.precision = *precision;
  return words ? attention(record, *words, std::move(kernel)) : product(record, std::move(kernel));
}

InferenceExtras inference_extras() {
  return {.fp8 = {8.27, 10.2 * us},
          .nvfp4 = {4.99, 8.57 * us},
          .cache_passes = 2.95,
          .query_passes = 1.11,
          .cache_fixed = 14.2 * us};
}

InferenceExtras::Quantising InferenceExtras::*quantising_of(Precision precision) {
  if (precision == Precision::nvfp4) return &InferenceExtras::nvfp4;
  FORETRAIN_REQUIRE(precision == Precision::fp8);
  return &InferenceExtras::fp8;
}

namespace {

/// A work with what prices it, for std::visit.
struct Pricer {
  KernelDevice on;
  const InferenceExtras& extras;

  Seconds operator()(const GemmCase& work) const {
    if (work.looped) return looped(work.gemm);
    const Seconds time = gemm_time(work.gemm, on);
    return work.quantises ? time + quantise_time(work.gemm, on, extras) : time;
  }
  /// Groups take milliseconds: the clock is that of training. The host launches each.
  [[nodiscard]] Seconds looped(const Gemm& gemm) const {
    const KernelDevice training{on.device, on.profile, on.precision, false};
    return max(grouped_gemm_time(gemm, training), gemm.batch * host_launch);
  }
  Seconds operator()(const AttentionCase& work) const {
    Seconds time = flash_attention_alone(work.work, on, work.library, work.backward);
    if (work.backward && !work.forward)
      time -= flash_attention_alone(work.work, on, work.library, false);
    return work.fills_cache ? time + cache_time(work, on, extras) : time;
  }
  Seconds operator()(const StreamCase& work) const {
    return streaming_time(work.traffic, on) + on.profile.gemm.begin()->second.launch;
  }
};

}  // namespace

Seconds kernel_time(const KernelCase& kernel, const Device& device, const DeviceProfile& profile,
                    const InferenceExtras& extras) {
  return std::visit(Pricer{{device, profile, kernel.precision, true}, extras}, kernel.work);
}

}  // namespace foretrain
