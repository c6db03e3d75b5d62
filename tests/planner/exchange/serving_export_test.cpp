// SPDX-License-Identifier: Apache-2.0
// Deployments as commands of the engines that serve them.
#include <catch2/catch.hpp>

#include "planner/exchange/exports.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

Exported engine_command(ExportKind kind, const char* file,
                        const std::vector<std::string>& settings) {
  LoadOptions options;
  options.purpose = Purpose::serving;
  options.overrides = settings;
  return export_scenario(
      kind, load_scenario(std::string(FORETRAIN_SOURCE_DIR "/scenarios/serving/") + file, options),
      nullptr);
}

std::string command_of(const Exported& exported) {
  return exported.text.substr(exported.text.find("\n", exported.text.rfind("\n# ") + 1) + 1);
}

constexpr const char* dense = "llama3.1-70b-8xh100.yaml";
constexpr const char* experts = "deepseek-v3-16xh200.yaml";

}  // namespace

TEST_CASE("deployments start vLLM and SGLang", "[planner][export]") {
  CHECK(command_of(
            engine_command(ExportKind::vllm, dense,
                           {"serving.batching.token_budget=4096", "serving.batching.sequences=96",
                            "serving.memory_share=0.85", "serving.cuda_graphs=false",
                            "serving.batching.mixed_steps=false"})) ==
        "vllm serve meta-llama/Llama-3.1-70B \\\n    --tensor-parallel-size 4 \\\n"
        "    --max-model-len 18432 \\\n    --gpu-memory-utilization 0.85 \\\n"
        "    --max-num-batched-tokens 4096 \\\n    --max-num-seqs 96 \\\n"
        "    --no-enable-chunked-prefill \\\n    --quantization fp8 \\\n"
        "    --kv-cache-dtype fp8 \\\n    --enforce-eager\n");
  // SGLang's ranks are those of all data groups together, vLLM's those of one.
  CHECK(command_of(engine_command(ExportKind::sglang, experts, {})) ==
        "python -m sglang.launch_server \\\n    --model-path deepseek-ai/DeepSeek-V3 \\\n"
        "    --tp-size 8 \\\n    --dp-size 8 \\\n    --enable-dp-attention \\\n    --ep-size 8 \\\n"
        "    --context-length 41984 \\\n    --enable-mixed-chunk\n");
  CHECK(command_of(engine_command(ExportKind::vllm, experts, {})) ==
        "vllm serve deepseek-ai/DeepSeek-V3 \\\n    --tensor-parallel-size 1 \\\n"
        "    --data-parallel-size 8 \\\n    --enable-expert-parallel \\\n"
        "    --max-model-len 41984 \\\n    --enable-chunked-prefill\n");
}

TEST_CASE("what a command of an engine leaves out is named", "[planner][export]") {
  const auto left = [](ExportKind kind, const std::vector<std::string>& settings) {
    std::string text;
    for (const std::string& sentence : engine_command(kind, experts, settings).left_out)
      text += sentence + "\n";
    return text;
  };
  CHECK_THAT(left(ExportKind::sglang, {}),
             Catch::Contains("fp8-block of experts") && Catch::Contains("drafts (1 per step)") &&
                 Catch::Contains("2 replicas behind a router (least-load)") &&
                 !Catch::Contains("the engine that was forecast"));
  CHECK_THAT(left(ExportKind::vllm, {}), Catch::Contains("the engine that was forecast, sglang"));
}

TEST_CASE("what an engine cannot do is refused by key", "[planner][export]") {
  CHECK_THROWS_WITH(engine_command(ExportKind::vllm, "llama3.1-70b-disaggregated-16xh100.yaml", {}),
                    Catch::Contains("serving.prefill"));
  CHECK_THROWS_WITH(engine_command(ExportKind::vllm, experts, {"serving.parallel.expert=4"}),
                    Catch::Contains("serving.parallel.expert: 4"));
  CHECK_NOTHROW(engine_command(ExportKind::sglang, experts, {"serving.parallel.expert=4"}));
}

}  // namespace foretrain
