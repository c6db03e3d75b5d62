// SPDX-License-Identifier: Apache-2.0
#include "calibration/argument_reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace foretrain {

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
  int result = 0;
  const char* const end = value->data() + value->size();
  const auto [rest, failure] = std::from_chars(value->data(), end, result);
  if (failure != std::errc() || rest != end) {
    error("--" + name + ": '" + *value + "' is not an integer");
    return std::nullopt;
  }
  return result;
}

int ArgumentReader::integer(const std::string& name, int fallback) {
  return integer(name).value_or(fallback);
}

double ArgumentReader::number(const std::string& name, double fallback) {
  const std::string* const value = find(name);
  if (value == nullptr) return fallback;
  double result = fallback;
  const char* const end = value->data() + value->size();
  const auto [rest, failure] = std::from_chars(value->data(), end, result);
  if (failure != std::errc() || rest != end)
    error("--" + name + ": '" + *value + "' is not a number");
  return result;
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

bool leaves_memory_alone(const std::string& name) {
  constexpr std::array<std::string_view, 128> names{
      "adam-beta1",
      "adam-beta2",
      "adam-eps",
      "adlr-autoresume",
      "apply-query-key-layer-scaling",
      "async-save",
      "async-strategy",
      "attention-backend",
      "auto-detect-ckpt-format",
      "barrier-with-L1-time",
      "batch-p2p-communication",
      "bias-gelu-fusion",
      "check-for-nan-in-loss-and-grad",
      "check-weight-hash-across-dp-replicas-interval",
      "ckpt-assume-constant-structure",
      "ckpt-format",
      "ckpt-fully-parallel-load",
      "ckpt-fully-parallel-save",
      "clip-grad",
      "cp-comm-type",
      "data-args-path",
      "data-cache-path",
      "data-path",
      "ddp-average-in-collective",
      "ddp-bucket-size",
      "decoupled-lr",
      "decoupled-min-lr",
      "delay-wgrad-compute",
      "disable-gloo-process-groups",
      "dist-ckpt-strictness",
      "distributed-backend",
      "distributed-timeout-minutes",
      "enable-experimental",
      "end-weight-decay",
      "eval-interval",
      "eval-iters",
      "exit-duration-in-mins",
      "exit-interval",
      "exit-signal-handler",
      "fim-data",
      "fim-rate",
      "fim-spm-rate",
      "fp8-amax-compute-algo",
      "fp8-amax-history-len",
      "fp8-interval",
      "fp8-margin",
      "fp8-recipe",
      "hysteresis",
      "init-method-std",
      "initial-loss-scale",
      "load",
      "log-interval",
      "log-memory-to-tensorboard",
      "log-num-zeros-in-grad",
      "log-params-norm",
      "log-throughput",
      "log-timers-to-tensorboard",
      "log-validation-ppl-to-tensorboard",
      "logging-level",
      "loss-scale",
      "loss-scale-window",
      "lr",
      "lr-decay-iters",
      "lr-decay-samples",
      "lr-decay-style",
      "lr-warmup-fraction",
      "lr-warmup-init",
      "lr-warmup-iters",
      "lr-warmup-samples",
      "manual-gc",
      "manual-gc-interval",
      "merge-file",
      "min-loss-scale",
      "min-lr",
      "mmap-bin-files",
      "moe-aux-loss-coeff",
      "moe-enable-deepep",
      "moe-per-layer-logging",
      "moe-permute-fusion",
      "moe-router-bias-update-rate",
      "moe-router-enable-expert-bias",
      "moe-router-fusion",
      "moe-router-group-topk",
      "moe-router-load-balancing-type",
      "moe-router-num-groups",
      "moe-router-pre-softmax",
      "moe-router-score-function",
      "moe-router-topk-scaling-factor",
      "moe-token-dispatcher-type",
      "moe-z-loss-coeff",
      "mscale",
      "mscale-all-dim",
      "mtp-loss-scaling-factor",
      "muon-extra-scale-factor",
      "muon-momentum",
      "muon-num-ns-steps",
      "muon-scale-mode",
      "muon-split-qkv",
      "no-bias-dropout-fusion",
      "no-bias-gelu-fusion",
      "no-check-for-nan-in-loss-and-grad",
      "no-load-optim",
      "no-load-rng",
      "no-mmap-bin-files",
      "no-persist-layer-norm",
      "no-rope-fusion",
      "norm-epsilon",
      "num-workers",
      "overlap-grad-reduce",
      "overlap-p2p-communication-warmup-flush",
      "overlap-param-gather",
      "rotary-base",
      "rotary-interleaved",
      "rotary-percent",
      "rotary-scaling-factor",
      "save",
      "save-interval",
      "seed",
      "split",
      "te-rng-tracker",
      "tensorboard-dir",
      "tensorboard-log-interval",
      "test-mode",
      "train-iters",
      "train-samples",
      "use-checkpoint-opt_param-scheduler",
      "use-mcore-models",
      "use-tp-pp-dp-mapping",
  };
  constexpr std::array<std::string_view, 20> more{
      "verify-integrity",   "vocab-file",        "wandb-exp-name",    "wandb-project",
      "wandb-save-dir",     "weight-decay",      "weight-decay-incr-style",
      "start-weight-decay", "calculate-per-token-loss",               "lr-wsd-decay-iters",
      "lr-wsd-decay-style", "no-save-optim",     "no-save-rng",       "timing-log-level",
      "override-opt_param-scheduler",            "moe-apply-probs-on-input",
      "tokenizer-metadata", "profile",           "one-logger-async",  "hybrid-attention-ratio"};
  const auto in = [&](const auto& list) {
    return std::find(list.begin(), list.end(), std::string_view(name)) != list.end();
  };
  return in(names) || in(more);
}

}  // namespace foretrain
