// SPDX-License-Identifier: Apache-2.0
// Keys that say how long a run is, and when it stops for evaluation, are not without effect.
#include <catch2/catch.hpp>

#include <algorithm>

#include "scenarios/imports/frameworks/frameworks.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using test::has;

ImportedScenario run_keys_import(Framework framework, const std::string& text) {
  PlanImportOptions options;
  options.gpus = 8;
  options.sequence = 2048;
  return import_framework(framework, text, "run.yaml", options);
}

const std::string trainer =
    "model_name_or_path: meta-llama/Meta-Llama-3-8B\nper_device_train_batch_size: 1\nbf16: true\n"
    "gradient_checkpointing: true\nmax_length: 2048\n";

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("evaluation that is on is named as not modelled", "[scenarios][import]") {
  const auto notes = [](const std::string& more) {
    return run_keys_import(Framework::transformers, trainer + more).notes;
  };
  const PlanNotes on =
      notes("eval_strategy: steps\neval_steps: 1\nper_device_eval_batch_size: 64\n");
  CHECK(on.evaluation == Names{"eval_strategy", "eval_steps", "per_device_eval_batch_size"});
  CHECK(has(on.assumed.back(), "operations.evaluation"));
  for (const char* off : {"eval_strategy: 'no'\neval_steps: 1\n", "eval_steps: 1\n"}) {
    const PlanNotes none = notes(off);
    CHECK(none.evaluation.empty());
    CHECK(std::count(none.ignored.begin(), none.ignored.end(), "eval_steps") == 1);
  }
  const std::string axolotl =
      "base_model: meta-llama/Meta-Llama-3-8B\nsequence_len: 2048\nmicro_batch_size: 1\n"
      "gradient_checkpointing: true\n";
  CHECK(run_keys_import(Framework::axolotl, axolotl + "val_set_size: 0.05\neval_batch_size: 8\n")
            .notes.evaluation == Names{"val_set_size", "eval_batch_size"});
  CHECK(
      run_keys_import(Framework::axolotl, axolotl + "val_set_size: 0\n").notes.evaluation.empty());
}

TEST_CASE("epochs count examples: without their number the run's length is not known",
          "[scenarios][import]") {
  const auto run = [](const std::string& more) {
    return run_keys_import(Framework::transformers, trainer + more);
  };
  const ImportedScenario open = run("num_train_epochs: 3\n");
  CHECK(open.notes.lengths == Names{"num_train_epochs"});
  CHECK_FALSE(open.scenario.job.training.tokens.has_value());
  CHECK(has(open.text, "the length of the run is not known: num_train_epochs"));
  // Steps win over epochs.
  const ImportedScenario stepped = run("num_train_epochs: 3\nmax_steps: 60\n");
  CHECK(stepped.scenario.job.training.tokens == 60.0 * 8 * 2048);
  CHECK_FALSE(has(stepped.text, "the length of the run is not known"));
}

TEST_CASE("epochs of a known number of examples are the length of the run", "[scenarios][import]") {
  const std::string factory =
      "model_name_or_path: meta-llama/Meta-Llama-3-8B\nstage: sft\ndo_train: true\n"
      "finetuning_type: lora\ncutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n";
  const auto run = [&](const std::string& more) {
    return run_keys_import(Framework::llamafactory, factory + more);
  };
  // 1,000 examples are 125 steps of 8.
  const ImportedScenario two = run("max_samples: 1000\nnum_train_epochs: 2.0\ndataset: mine\n");
  CHECK(two.scenario.job.training.tokens == 2.0 * 125 * 8 * 2048);
  CHECK(has(two.text, "1000 examples"));
  // Rows of a packed set are fewer, by how much the source does not say.
  CHECK_FALSE(run("max_samples: 1000\nnum_train_epochs: 2.0\npacking: true\n")
                  .scenario.job.training.tokens.has_value());
}

TEST_CASE("slices of data sets, and what is held back, are the length of the run",
          "[scenarios][import]") {
  const auto tokens = [](Framework framework, const std::string& text) {
    return run_keys_import(framework, text).scenario.job.training.tokens;
  };
  const std::string axolotl =
      "base_model: meta-llama/Meta-Llama-3-8B\nsequence_len: 2048\nmicro_batch_size: 1\n"
      "num_epochs: 2\ndatasets:\n  - {path: a, split: 'train[:600]'}\n";
  const std::string second = "  - {path: b, split: 'train[100:500]'}\n";
  CHECK(tokens(Framework::axolotl, axolotl + second) == 2.0 * 125 * 8 * 2048);
  CHECK(tokens(Framework::axolotl, axolotl + second + "val_set_size: 0.2\n") ==
        2.0 * 100 * 8 * 2048);
  for (const char* unknown : {"  - {path: b}\n", "  - {path: b, split: 'train[:20%]'}\n",
                              "  - {path: b, split: train}\n", "sample_packing: true\n"})
    CHECK_FALSE(tokens(Framework::axolotl, axolotl + unknown).has_value());
  const std::string swift =
      "model: meta-llama/Meta-Llama-3-8B\nmax_length: 2048\nper_device_train_batch_size: 1\n"
      "gradient_accumulation_steps: 1\nnum_train_epochs: 1\ndataset: ";
  CHECK(tokens(Framework::swift, swift + "['a/b#500', 'c:d/e#500']\n") == 125.0 * 8 * 2048);
  CHECK(tokens(Framework::swift, swift + "a/b#500 c#500\nsplit_dataset_ratio: 0.2\n") ==
        100.0 * 8 * 2048);
  CHECK_FALSE(tokens(Framework::swift, swift + "['a/b#500', c]\n").has_value());
  CHECK(tokens(Framework::transformers, trainer + "max_train_samples: 1000\n") ==
        3.0 * 125 * 8 * 2048);
  CHECK(tokens(Framework::transformers, trainer + "dataset_train_split: 'train[:1000]'\n") ==
        3.0 * 125 * 8 * 2048);
}

TEST_CASE("an option tells the length of a run that counts epochs", "[scenarios][import]") {
  PlanImportOptions options;
  options.gpus = 8;
  options.examples = 1000;
  const auto run = [&](Framework framework, const std::string& text,
                       const std::string& name = "args.yaml") {
    return import_framework(framework, text, name, options);
  };
  const ImportedScenario epoch = run(Framework::transformers, trainer + "num_train_epochs: 1\n");
  CHECK(epoch.scenario.job.training.tokens == 125.0 * 8 * 2048);
  CHECK(has(epoch.text, "1000 examples (--examples), a row each, 1 epochs: 125 steps"));
  const ImportedScenario steps = run(Framework::transformers, trainer + "max_steps: 60\n");
  CHECK(steps.scenario.job.training.tokens == 60.0 * 8 * 2048);
  CHECK(has(steps.text, "60 steps, whatever --examples is"));
  const std::string script =
      "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B --max_length 2048 "
      "--global_batch_size 16 --num_train_epochs 2 ";
  CHECK(run(Framework::swift, script + "--dataset a/b\n", "run.sh").scenario.job.training.tokens ==
        125.0 * 16 * 2048);
  options.examples.reset();
  CHECK(run(Framework::swift, script + "--dataset a/b#800\n", "run.sh")
            .scenario.job.training.tokens == 100.0 * 16 * 2048);
  options.examples = 1000;
  CHECK_THROWS_WITH(run(Framework::transformers, trainer + "packing: true\n"),
                    Catch::Contains("packs examples into rows"));
}

TEST_CASE("ms-swift and the Trainer run no tensor ranks of Megatron", "[scenarios][import]") {
  const std::string swift =
      "model: meta-llama/Meta-Llama-3-8B\ntrain_type: full\nmax_length: 2048\n"
      "per_device_train_batch_size: 1\ntorch_dtype: bfloat16\n";
  CHECK(run_keys_import(Framework::swift, swift).scenario.job.parallel.framework ==
        PlanFramework::transformers);
}

}  // namespace foretrain
