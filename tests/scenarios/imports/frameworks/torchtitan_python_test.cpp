// SPDX-License-Identifier: Apache-2.0
// torchtitan's configurations in Python, read as data.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "scenarios/imports/frameworks/frameworks.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using test::has;

/// Names and keys as torchtitan/models/llama3/config_registry.py has them.
constexpr const char* registry = R"(from torchtitan.trainer import Trainer

def llama3_8b() -> Trainer.Config:
    """A docstring (with a bracket."""
    model_spec = model_registry("8B")
    return Trainer.Config(
        loss=ChunkedLossWrapper.Config(loss_fn=CrossEntropyLoss.Config(size=f(model_spec))),
        model_spec=model_spec,
        optimizer=default_adamw(lr=3e-4),
        training=TrainingConfig(
            num_tokens_per_microbatch_per_dp_rank=2 * 8192,  # two rows
            max_context_length=8192,
            steps=1_000,
        ),
        activation_checkpoint=SelectiveAC.Config(),
    )


def llama3_8b_float8() -> Trainer.Config:
    config = llama3_8b()
    config.compile = CompileConfig(enable=True, components=["model"])
    config.parallelism.tensor_parallel_degree = 2
    config.activation_checkpoint = FullAC.Config()
    config.model_spec = model_registry(
        "8B", converters=[Float8LinearConverter.Config(filter_fqns=["lm_head"])]
    )
    return config


def llama3_8b_nvfp4() -> Trainer.Config:
    config = llama3_8b()
    config.model_spec = model_registry("8B", converters=[NVFP4LinearConverter.Config()])
    return config


def llama3_8b_branches() -> Trainer.Config:
    config = llama3_8b()
    if config.compile.enable:
        config.training.steps = 5
    return config
)";

ImportedScenario read_python(const std::string& behind) {
  PlanImportOptions options;
  options.gpus = 64;
  options.host = "dgx-h100";
  return import_framework(Framework::torchtitan, registry + behind, "config_registry.py", options);
}

std::string python_refusal(const std::string& behind) {
  try {
    (void)read_python(behind);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a configuration of torchtitan in Python is read as data", "[scenarios][import]") {
  const Job plain = read_python("\nconfig=llama3_8b").scenario.job;
  CHECK(plain.training.sequence == 8192);
  CHECK(plain.training.micro_batch == 2);
  CHECK(plain.training.global_batch == 128);
  CHECK(plain.training.tokens == 1000.0 * 128 * 8192);
  CHECK(plain.memory.recompute.every_second_matmul);
  CHECK(plain.memory.fused_loss);
  CHECK(plain.stack.name == "fsdp2");
  const Job eight = read_python("\nconfig=llama3_8b_float8").scenario.job;
  CHECK(eight.training.precision == Precision::fp8);
  CHECK(eight.training.fp8_scaling == Fp8Scaling::current);
  CHECK(eight.parallel.tensor == 2);
  CHECK(eight.parallel.sequence);
  CHECK(eight.memory.recompute.kind == RecomputeKind::full);
  CHECK_FALSE(eight.memory.recompute.every_second_matmul);
  CHECK(eight.stack.name == "fsdp2-compile");
  const Job over =
      read_python("\nconfig=llama3_8b\nparallelism.tensor_parallel_degree=4").scenario.job;
  CHECK(over.parallel.tensor == 4);
}

TEST_CASE("Python that has to be run is refused", "[scenarios][import]") {
  CHECK(has(python_refusal(""), "config=NAME"));
  CHECK(has(python_refusal("\nconfig=llama3_8b_branches"), "is to be one of"));
  CHECK(has(python_refusal("\nconfig=llama3_8b_nvfp4"), "NVFP4LinearConverter"));
  CHECK(has(python_refusal("\nconfig=llama3_8b\ntraining.num_tokens_per_train_step=100"),
            "no whole number of rows"));
}

TEST_CASE("Python that grows without end is refused", "[scenarios][import]") {
  std::string text = "\na0 = [1, 1]\n";
  for (int i = 1; i < 40; ++i) text += fmt::format("a{} = [a{}, a{}]\n", i, i - 1, i - 1);
  CHECK(has(python_refusal(text), "grows too large"));
  CHECK(has(python_refusal("\nb = " + std::string(100, '(')), "deep"));
}

}  // namespace foretrain
