// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/shell/argument_reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "models/base/ranges.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

namespace {

/// Python allows single underscores between digits.
std::string without_underscores(const std::string& text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between = i > 0 && i + 1 < text.size() && text[i - 1] != '_';
    if (text[i] != '_' || !between) digits += text[i];
  }
  return digits;
}

template <class T>
std::optional<T> whole_text(const std::string& text) {
  const std::string digits = without_underscores(text);
  T result{};
  const char* const end = digits.data() + digits.size();
  const auto [rest, failure] = std::from_chars(digits.data(), end, result);
  if (failure != std::errc() || rest != end) return std::nullopt;
  return result;
}

std::optional<int> whole_number(const std::string& text) { return whole_text<int>(text); }

/// What to do about a variable that the script leaves to its environment.
std::string hint(const std::string& value) {
  return value.find("${") == std::string::npos ? "" : "; give the variable with --var NAME=VALUE";
}

}  // namespace

const std::string* ArgumentReader::find(const std::string& name) {
  read_.insert(name);
  const auto found = arguments_.find(name);
  return found == arguments_.end() ? nullptr : &found->second;
}

bool ArgumentReader::has(const std::string& name) { return find(name) != nullptr; }

bool ArgumentReader::flag(const std::string& name) {
  const std::string* const value = find(name);
  return value != nullptr && *value != "false" && *value != "False" && *value != "0";
}

std::optional<int> ArgumentReader::integer(const std::string& name) {
  const std::string* const value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto result = whole_number(*value);
  if (!result) error("--" + name + ": " + in_quotes(*value) + " is not an integer" + hint(*value));
  return result;
}

std::optional<int> ArgumentReader::peek_integer(const std::string& name) {
  const auto found = arguments_.find(name);
  return found == arguments_.end() ? std::nullopt : whole_number(found->second);
}

int ArgumentReader::integer(const std::string& name, int fallback) {
  return integer(name).value_or(fallback);
}

double ArgumentReader::number(const std::string& name, double fallback) {
  const std::string* const value = find(name);
  if (value == nullptr) return fallback;
  const auto result = whole_text<double>(*value);
  if (!result || !std::isfinite(*result)) {
    error("--" + name + ": " + in_quotes(*value) + " is not a number" + hint(*value));
    return fallback;
  }
  return *result;
}

std::string ArgumentReader::text(const std::string& name, const std::string& fallback) {
  const std::string* const value = find(name);
  return value == nullptr ? fallback : *value;
}

std::vector<std::string> ArgumentReader::words(const std::string& name) {
  std::vector<std::string> result;
  const std::string* const value = find(name);
  if (value == nullptr) return result;
  std::string word;
  for (const char c : *value + ' ') {
    if (std::string_view("[], \"'").find(c) == std::string_view::npos) {
      word += c;
    } else if (!word.empty()) {
      result.push_back(std::move(word));
      word.clear();
    }
  }
  return result;
}

std::vector<std::string> ArgumentReader::unread() const {
  std::vector<std::string> result;
  for (const auto& [name, value] : arguments_)
    if (read_.count(name) == 0) result.push_back(name);
  return result;
}

std::vector<std::string> ArgumentReader::given() const {
  std::vector<std::string> result;
  for (const auto& [name, value] : arguments_)
    if (read_.count(name) > 0) result.push_back(name);
  return result;
}

namespace {

/// Families of arguments: checkpoints, logging, learning rate, data, profiling.
constexpr auto families = std::to_array<std::string_view>({"adam-",
                                                           "adlr-",
                                                           "async-",
                                                           "auto-detect",
                                                           "ckpt-",
                                                           "check-",
                                                           "clip-",
                                                           "data-",
                                                           "dataloader-",
                                                           "dist-ckpt",
                                                           "distributed-timeout",
                                                           "error-injection",
                                                           "eval",
                                                           "exit-",
                                                           "fim-",
                                                           "fp8-amax",
                                                           "ft-",
                                                           "high-priority",
                                                           "init-method",
                                                           "log-",
                                                           "logging-",
                                                           "loss-scale",
                                                           "lr",
                                                           "local-ckpt",
                                                           "manual-gc",
                                                           "min-",
                                                           "mmap",
                                                           "muon-",
                                                           "no-load",
                                                           "no-save",
                                                           "no-mmap",
                                                           "non-persistent",
                                                           "one-logger",
                                                           "perform-",
                                                           "profile",
                                                           "replication",
                                                           "rerun",
                                                           "result-rejected",
                                                           "rotary-",
                                                           "save",
                                                           "seed",
                                                           "split",
                                                           "straggler",
                                                           "tensorboard",
                                                           "test-",
                                                           "timing-",
                                                           "train-",
                                                           "use-checkpoint",
                                                           "use-pytorch-profiler",
                                                           "inference-",
                                                           "mid-level-",
                                                           "moe-router-",
                                                           "s3-cache",
                                                           "tiktoken-",
                                                           "tokenizer-",
                                                           "tp-comm-bootstrap",
                                                           "tp-comm-overlap-",
                                                           "use-dist-ckpt",
                                                           "use-persistent-ckpt",
                                                           "wandb",
                                                           "weight-decay"});
constexpr auto single_names =
    std::to_array<std::string_view>({"apply-query-key-layer-scaling",
                                     "attention-backend",
                                     "barrier-with-L1-time",
                                     "batch-p2p-communication",
                                     "bias-gelu-fusion",
                                     "calculate-per-token-loss",
                                     "cp-comm-type",
                                     "ddp-average-in-collective",
                                     "ddp-bucket-size",
                                     "ddp-num-buckets",
                                     "ddp-pad-buckets-for-high-nccl-busbw",
                                     "decoupled-lr",
                                     "decoupled-min-lr",
                                     "decoupled-weight-decay",
                                     "delay-wgrad-compute",
                                     "disable-gloo-process-groups",
                                     "disable-tp-comm-split-ag",
                                     "distributed-backend",
                                     "enable-experimental",
                                     "end-weight-decay",
                                     "eod-mask-loss",
                                     "fp8-interval",
                                     "fp8-margin",
                                     "hierarchical-context-parallel-sizes",
                                     "hysteresis",
                                     "initial-loss-scale",
                                     "iterations-to-skip",
                                     "load",
                                     "merge-file",
                                     "moe-apply-probs-on-input",
                                     "moe-aux-loss-coeff",
                                     "moe-deepep-num-sms",
                                     "moe-enable-deepep",
                                     "moe-flex-dispatcher-backend",
                                     "moe-hybridep-num-sms",
                                     "moe-input-jitter-eps",
                                     "moe-per-layer-logging",
                                     "moe-permute-fusion",
                                     "moe-router-bias-update-rate",
                                     "moe-router-enable-expert-bias",
                                     "moe-router-fusion",
                                     "moe-router-group-topk",
                                     "moe-router-load-balancing-type",
                                     "moe-router-num-groups",
                                     "moe-router-padding-for-fp8",
                                     "moe-router-padding-for-quantization",
                                     "moe-router-pre-softmax",
                                     "moe-router-score-function",
                                     "moe-router-topk-limited-devices",
                                     "moe-router-topk-scaling-factor",
                                     "moe-token-dispatcher-type",
                                     "moe-token-drop-policy",
                                     "moe-z-loss-coeff",
                                     "mscale",
                                     "mscale-all-dim",
                                     "mtp-loss-scaling-factor",
                                     "no-async-tensor-model-parallel-allreduce",
                                     "no-bias-dropout-fusion",
                                     "no-bias-gelu-fusion",
                                     "no-check-for-nan-in-loss-and-grad",
                                     "no-overlap-p2p-communication",
                                     "no-persist-layer-norm",
                                     "no-rope-fusion",
                                     "no-weight-decay-cond-type",
                                     "norm-epsilon",
                                     "num-dataset-builder-threads",
                                     "num-workers",
                                     "optimizer-cpu-offload-d2h",
                                     "original-max-position-embeddings",
                                     "overlap-cpu-optimizer-d2h-h2d",
                                     "overlap-grad-reduce",
                                     "overlap-p2p-communication-warmup-flush",
                                     "overlap-param-gather",
                                     "overlap-param-gather-with-optimizer-step",
                                     "finetune",
                                     "override-opt_param-scheduler",
                                     "pin-cpu-grads",
                                     "pin-cpu-params",
                                     "qk-clip",
                                     "qk-clip-alpha",
                                     "qk-clip-threshold",
                                     "refit-method",
                                     "reset-attention-mask",
                                     "reset-position-ids",
                                     "sharp-enabled-group",
                                     "start-weight-decay",
                                     "te-rng-tracker",
                                     "tokenizer-metadata",
                                     "use-cpu-initialization",
                                     "use-mcore-models",
                                     "use-mup",
                                     "use-nccl-ub",
                                     "use-torch-optimizer-for-cpu-offload",
                                     "use-transformer-engine-op-fuser",
                                     "verify-integrity",
                                     "vocab-file",
                                     "activation-func-clamp-value",
                                     "apply-wd-to-qk-layernorm",
                                     "disable-tp-comm-bulk-dgrad",
                                     "disable-tp-comm-bulk-wgrad",
                                     "disable-tp-comm-overlap-ag",
                                     "disable-tp-comm-overlap-rs",
                                     "disable-tp-comm-split-rs",
                                     "disable-bf16-reduced-precision-matmul",
                                     "empty-unused-memory-level",
                                     "fine-grained-offloading-max-inflight-offloads",
                                     "glu-linear-offset",
                                     "init-model-with-meta-device",
                                     "inprocess-restart",
                                     "mock-data",
                                     "nccl-communicator-config-path",
                                     "openai-gelu",
                                     "overlap-dispatch-backward-with-experts-wgrad",
                                     "pipeline-model-parallel-comm-backend",
                                     "softmax-type",
                                     "trust-remote-code",
                                     "use-fused-weighted-squared-relu",
                                     "abort-on-unmet-fused-kernel-constraints",
                                     "kill-switch-path",
                                     "deepspeed-activation-checkpointing",
                                     "deepspeed_config",
                                     "deepspeed_mpi",
                                     "deepscale",
                                     "deepscale_config",
                                     "codecarbon-dir",
                                     "valid-num-workers",
                                     "valid-weighted-split-paths-path",
                                     "valid-data-path",
                                     "no-position-embedding",
                                     "rank",
                                     "local-rank",
                                     "local_rank",
                                     "use-one-sent-docs",
                                     "use-sharp"});

}  // namespace

bool leaves_memory_alone(const std::string& name) {
  const std::string_view given(name);
  const bool family = std::ranges::any_of(
      families, [&](std::string_view prefix) { return given.starts_with(prefix); });
  return family || contains(single_names, given);
}

std::vector<std::string> arguments_without_memory() {
  return {single_names.begin(), single_names.end()};
}

}  // namespace foretrain
