// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <array>

#include "models/collectives/collective_choice.hpp"
#include "models/serving/deployment.hpp"
#include "models/serving/forward_step.hpp"
#include "models/serving/serving_memory.hpp"
#include "models/serving/steady_load.hpp"
#include "tests/models/collectives/h100_collectives.hpp"
#include "tests/models/example_job.hpp"
#include "tests/models/llama_8b.hpp"

namespace foretrain {
namespace {

using test::llama_8b;

Deployment on_h100(const LlmShape& model, int tensor = 1) {
  const Job job = test::llama2_70b_job();
  Deployment deployment;
  deployment.model = model;
  deployment.cluster = job.cluster;
  deployment.kernels = job.device_profile;
  deployment.site = job.site;
  deployment.layout.tensor = tensor;
  EngineTimes& times = deployment.engine.times;
  times.step = 1.0 * ms;
  times.kernel = 2.0 * us;
  times.exchange = 5.0 * us;
  times.dispatch = 40.0 * us;
  times.dispatch_prompts = 40.0 * us;
  times.burst = 0.0;
  deployment.engine.rules.runtime = 3.0 * GiB;
  return deployment;
}

TEST_CASE("step: a sum over hosts costs what the library takes, small or large",
          "[models][serving]") {
  const Job job = test::h100_collectives();
  Deployment over_hosts = on_h100(llama_8b(), 16);
  over_hosts.cluster = job.cluster;
  over_hosts.kernels.protocols = job.device_profile.protocols;
  const CollectivePath path{over_hosts.cluster, over_hosts.kernels, over_hosts.site};
  const CommGroup group{.ranks = 16, .ranks_per_domain = 8, .span_hosts = 2};
  for (const double rows : {1.0, 4.0, 4096.0}) {
    const StepTime step = step_time(over_hosts, {.decode_sequences = rows, .cached_tokens = rows});
    const Bytes payload{rows * 4096.0 * 2.0};
    const Seconds once = collective_time(CollectiveOp::all_reduce, group, payload, path);
    CHECK(step.tensor_exchange.value() == Approx(2.0 * 32.0 * once.value()).epsilon(0.05));
  }
}

TEST_CASE("cache: grouped-query attention keeps keys and values of every layer",
          "[models][serving]") {
  // 2 x 8 heads x 128 x 2 bytes x 32 layers
  CHECK(cache_size(on_h100(llama_8b())).bytes_per_token() == Approx(131072.0));
  CHECK(cache_size(on_h100(llama_8b(), 4)).bytes_per_token() == Approx(131072.0 / 4));
  Deployment eight = on_h100(llama_8b());
  eight.precision.cache = CacheFormat::fp8;
  CHECK(cache_size(eight).bytes_per_token() == Approx(65536.0));
}

TEST_CASE("cache: latent attention keeps one vector and its rotary key on every tensor rank",
          "[models][serving]") {
  // DeepSeek-V2 (arXiv 2405.04434 section 2.1): 512 + 64 elements a layer.
  LlmShape model = llama_8b();
  model.mla = MlaShape{1536, 512, 128, 64, 128};
  CHECK(cache_size(on_h100(model, 1)).bytes_per_token() == Approx(32 * 576 * 2.0));
  CHECK(cache_size(on_h100(model, 4)).bytes_per_token() == Approx(32 * 576 * 2.0));
}

TEST_CASE("cache: a window keeps its tokens and no more", "[models][serving]") {
  LlmShape model = llama_8b();
  model.window = 128;
  const CacheSize cache = cache_size(on_h100(model));
  CHECK(cache.bytes_per_token() == 0.0);
  CHECK(cache.sequence(100000.0) == cache.sequence(128.0));
}

TEST_CASE("step: decoding one sequence takes at least the time to read the weights",
          "[models][serving]") {
  const Deployment deployment = on_h100(llama_8b());
  const StepTime step = step_time(deployment, {.decode_sequences = 1.0, .cached_tokens = 100.0});
  const Bytes layers{32.0 * (4096.0 * (6144.0 + 4096.0) + 3.0 * 4096.0 * 14336.0) * 2.0};
  CHECK(step.total() > layers / deployment.cluster.host.device.memory_bandwidth);
}

TEST_CASE("step: more sequences and longer caches never take less", "[models][serving][property]") {
  const ForwardPass pass{on_h100(llama_8b())};
  Seconds before;
  for (const double sequences : {1.0, 2.0, 8.0, 64.0, 256.0}) {
    const Seconds now =
        pass.step({.decode_sequences = sequences, .cached_tokens = sequences * 1000.0}).total();
    CHECK(now >= before);
    before = now;
  }
  CHECK(pass.step({.decode_sequences = 8.0, .cached_tokens = 80000.0}).total() >
        pass.step({.decode_sequences = 8.0, .cached_tokens = 8000.0}).total());
}

TEST_CASE("step: a prompt in two chunks scores the pairs of the whole", "[models][serving]") {
  Deployment deployment = on_h100(llama_8b());
  deployment.kernels.attention.tiles_half = 0.0;
  const ForwardPass pass{deployment};
  const std::array<PrefillChunk, 1> whole{{{4096.0, 0.0}}};
  const std::array<PrefillChunk, 1> second{{{2048.0, 2048.0}}};
  const std::array<PrefillChunk, 1> first{{{2048.0, 0.0}}};
  const auto attention = [&](std::span<const PrefillChunk> chunks) {
    return pass.step({.prefill = chunks}).attention.value();
  };
  // Chunks differ by the ramp of short keys alone.
  CHECK(attention(first) + attention(second) == Approx(attention(whole)).epsilon(0.15));
}

namespace {

/// DeepSeek-V2's cut in small: 64 experts over so many GPUs, each GPU an attention group.
Deployment wide_experts(int gpus) {
  LlmShape model = llama_8b();
  model.moe = MoeShape{};
  model.moe->experts = 64;
  model.moe->top_k = 8;
  model.moe->expert_ffn_hidden = 1024;
  Deployment deployment = on_h100(model);
  deployment.layout.attention_data = gpus;
  deployment.layout.expert = gpus;
  deployment.engine.times.per_sequence = 10.0 * us;
  return deployment;
}

}  // namespace

TEST_CASE("step: of a wide group each rank has its share of rows, experts' and the host's alike",
          "[models][serving]") {
  const auto step = [](int gpus) {
    return step_time(wide_experts(gpus),
                     {.decode_sequences = 64.0 * gpus, .cached_tokens = 64000.0 * gpus});
  };
  const StepTime eight = step(8);
  const StepTime wide = step(32);
  // As many sequences per GPU: no rank does more for there being more of them.
  CHECK(wide.elementwise <= 1.01 * eight.elementwise);
  CHECK(wide.experts <= 1.1 * eight.experts);
  CHECK(eight.host == wide.host);
  CHECK(wide.host.value() == Approx(1e-3 + 64.0 * 10e-6));
}

TEST_CASE("step: prompts leave a domain once for each other one, decoded rows once for each rank",
          "[models][serving]") {
  const auto exchange = [](int gpus, bool prompt) {
    const Deployment deployment = wide_experts(gpus);
    std::vector<PrefillChunk> chunks(static_cast<std::size_t>(gpus), PrefillChunk{4096.0, 0.0});
    const double tokens = 4096.0 * gpus;
    return prompt ? step_time(deployment, {.prefill = chunks}).expert_exchange.value()
                  : step_time(deployment, {.decode_sequences = tokens, .cached_tokens = tokens})
                        .expert_exchange.value();
  };
  // 4 hosts of 8: a row goes to 3 (1 - (3/4)^8) = 2.70 other hosts, to 24 of 32 ranks
  // 24 (1 - (31/32)^8) = 5.38 times.
  CHECK(exchange(32, true) / exchange(32, false) == Approx(2.70 / 5.38).epsilon(0.02));
  // Inside the only domain there is no difference.
  CHECK(exchange(8, true) == Approx(exchange(8, false)));
}

TEST_CASE("speculation: a chain of drafts yields 1 + a + a^2 tokens", "[models][serving]") {
  // Leviathan et al., arXiv 2211.17192, equation 1
  CHECK(Speculation{2, 0.5, 0.0}.tokens_per_step() == Approx(1.75));
  CHECK(Speculation{}.tokens_per_step() == 1.0);
}

TEST_CASE("closed loop: tokens per second follow from the cycle of a client", "[models][serving]") {
  const Deployment deployment = on_h100(llama_8b());
  const SteadyLoad load = closed_loop(deployment, {1000.0, 500.0}, {8.0, 0.0});
  const double cycle = load.ttft.value() + 499.0 * load.tpot.value();
  CHECK(load.output_tokens_per_s == Approx(8.0 * 500.0 / cycle).epsilon(1e-6));
  CHECK(closed_loop(deployment, {1000.0, 500.0}, {16.0, 0.0}).output_tokens_per_s >
        load.output_tokens_per_s);
}

TEST_CASE("closed loop: unlike answers leave a benchmark's end to the longest",
          "[models][serving]") {
  const Deployment deployment = on_h100(llama_8b());
  const auto rate = [&](double clients, double requests, LengthSpread spread) {
    return closed_loop(deployment, {1000.0, 500.0, 0.0, spread}, {clients, requests})
        .output_tokens_per_s;
  };
  // One client waits for nobody; a long run has no end.
  CHECK(rate(1.0, 10.0, LengthSpread::even) ==
        Approx(rate(1.0, 10.0, LengthSpread::none)).epsilon(1e-6));
  CHECK(rate(16.0, 1e9, LengthSpread::even) == Approx(rate(16.0, 1e9, LengthSpread::none)));
  // Answers between 0 and 1,000 tokens: with 16 clients the longest of the last has
  // 2/3 - sqrt(pi)/2 Gamma(17)/Gamma(17.5) = 0.4501 of 1,000 tokens more than their mean.
  const double tokens = 450.14;
  const double floor =
      step_time(deployment, {.decode_sequences = 1.0, .cached_tokens = 1250.0}).total().value();
  const double cycle = 16.0 * 500.0 / rate(16.0, 5.0, LengthSpread::none);
  CHECK(16.0 * 500.0 / rate(16.0, 5.0, LengthSpread::even) - cycle ==
        Approx(tokens * floor / 5.0).epsilon(1e-3));
  // Exponential answers: ln 16 + gamma 15/16 = 3.314 mean lengths.
  CHECK(16.0 * 500.0 / rate(16.0, 5.0, LengthSpread::exponential) - cycle ==
        Approx(500.0 * 3.3137 * floor / 5.0).epsilon(1e-3));
}

TEST_CASE("closed loop: the time to most first tokens knows nothing of the start's crowd",
          "[models][serving]") {
  const Deployment deployment = on_h100(llama_8b());
  const SteadyLoad mean = closed_loop(deployment, {1000.0, 500.0}, {8.0, 10.0});
  const SteadyLoad most = closed_loop(deployment, {1000.0, 500.0}, {8.0, 10.0, true});
  CHECK((mean.ttft - most.ttft).value() == Approx(3.5 * mean.prompt.value() / 10.0));
}

TEST_CASE("closed loop: prompts that come at once wait for half of each other's, answers as little",
          "[models][serving]") {
  Deployment deployment = on_h100(llama_8b());
  const RequestLengths alike{8192.0, 500.0};  // a step has room for one
  const SteadyLoad apart = closed_loop(deployment, alike, {8.0, 0.0});
  deployment.engine.times.burst = 1.0;
  const SteadyLoad together = closed_loop(deployment, alike, {8.0, 0.0});
  const double half = 3.5 * together.prompt.value();
  CHECK(together.queueing.value() == Approx(half));
  CHECK(together.tpot.value() == Approx(together.step.value() + half / 499.0));
  CHECK(apart.tpot > together.tpot);
  // Answers of unlike lengths end one by one.
  const RequestLengths unlike{8192.0, 500.0, 0.0, LengthSpread::narrow};
  CHECK(closed_loop(deployment, unlike, {8.0, 0.0}).ttft.value() == Approx(apart.ttft.value()));
}

TEST_CASE("offline: the last wave takes as long as another, however few are left",
          "[models][serving]") {
  Deployment deployment = on_h100(llama_8b());
  deployment.engine.rules.sequences = 100;
  const RequestLengths lengths{128.0, 1000.0};
  const auto rate = [&](double requests) {
    return offline(deployment, lengths, requests).output_tokens_per_s;
  };
  CHECK(rate(200.0) == Approx(rate(100.0)));
  // One request beyond two waves: 1,000 steps of one sequence.
  CHECK(201.0 / rate(201.0) == Approx(200.0 / rate(200.0) + 1.0 / rate(1.0)));
}

TEST_CASE("step: padded experts in 8 bits on Hopper take the same whatever reaches them",
          "[models][serving]") {
  Deployment deployment = wide_experts(1);
  const auto experts = [&](double sequences) {
    return step_time(deployment, {.decode_sequences = sequences, .cached_tokens = sequences})
        .experts.value();
  };
  deployment.precision.experts = WeightFormat::fp8_block;
  const double few = experts(1.0);
  deployment.engine.rules.padded_rows = 128;
  CHECK(experts(1.0) > 2.0 * few);
  CHECK(experts(16.0) == Approx(experts(1.0)).epsilon(0.02));
  deployment.precision.experts = WeightFormat::bf16;
  CHECK(experts(16.0) > 1.5 * experts(1.0));
}

TEST_CASE("step: experts are padded where that was measured, elsewhere the band holds both",
          "[models][serving]") {
  Deployment deployment = wide_experts(1);
  deployment.precision.experts = WeightFormat::fp8_block;
  deployment.engine.tpot = {0.8, 1.06};
  deployment.engine.throughput = {0.5, 1.35};
  deployment.engine.stranger = {0.76, 1.17};
  const ServingBatch batch{.decode_sequences = 1.0, .cached_tokens = 100.0};
  const double free = step_time(deployment, batch).total().value();
  CHECK(serving_bands(deployment, 1.0, 100.0).tpot.high == 1.06);
  EngineRules& rules = deployment.engine.rules;
  rules.padded_rows = 128;
  rules.padded_experts = deployment.model.moe->experts;
  rules.padded_width = deployment.model.moe->expert_ffn_hidden;
  rules.padded_device = deployment.cluster.host.device.name;
  const double padded = step_time(deployment, batch).total().value();
  REQUIRE(padded > 1.5 * free);
  CHECK(serving_bands(deployment, 1.0, 100.0).tpot.high == 1.06);
  rules.padded_experts *= 2;
  CHECK(step_time(deployment, batch).total().value() == free);
  const ServingBands bands = serving_bands(deployment, 1.0, 100.0);
  CHECK(bands.tpot.low == 0.76);
  CHECK(bands.tpot.high == Approx(1.17 * padded / free));
  CHECK(bands.throughput.low == Approx(0.5 * free / padded));
  deployment.precision.experts = WeightFormat::bf16;
  CHECK(serving_bands(deployment, 1.0, 100.0).tpot.high == 1.06);
}

TEST_CASE("step: experts in few bits on Hopper have a share of their own", "[models][serving]") {
  Deployment deployment = wide_experts(1);
  const auto experts = [&] {
    return step_time(deployment, {.decode_sequences = 8192.0, .cached_tokens = 8192.0}).experts;
  };
  const auto slower = [&](WeightFormat format) {
    deployment.precision.experts = format;
    deployment.engine.times.hopper_experts = 1.0;
    const Seconds before = experts();
    deployment.engine.times.hopper_experts = 0.25;
    return experts() / before;
  };
  CHECK(slower(WeightFormat::fp8_block) > 2.0);
  CHECK(slower(WeightFormat::bf16) == Approx(1.0));
}

TEST_CASE("step: the rank with the most popular experts holds up the others", "[models][serving]") {
  Deployment deployment = wide_experts(8);
  const auto experts = [&](double routing) {
    deployment.engine.times.routing = routing;
    return step_time(deployment, {.decode_sequences = 65536.0, .cached_tokens = 65536.0})
        .experts.value();
  };
  // 8 experts a rank: the busiest of 8 has sqrt(2 ln 8 / (1 x 8)) = 0.72 of the mean more.
  CHECK(experts(1.0) / experts(1e6) == Approx(1.72).epsilon(0.1));
}

TEST_CASE("step: dispatches of a step with prompts start as those of prompts do",
          "[models][serving]") {
  Deployment deployment = wide_experts(8);
  const std::array<PrefillChunk, 1> prompt{PrefillChunk{64.0, 0.0}};
  const auto exchange = [&](bool prompts) {
    return prompts ? step_time(deployment, {.prefill = prompt}).expert_exchange.value()
                   : step_time(deployment, {.decode_sequences = 64.0, .cached_tokens = 64.0})
                         .expert_exchange.value();
  };
  const double decoded = exchange(false);
  const double before = exchange(true);
  deployment.engine.times.dispatch_prompts = 90.0 * us;
  // A dispatch and a combine a layer.
  CHECK(exchange(true) - before == Approx(2.0 * deployment.model.layers * 50e-6));
  CHECK(exchange(false) == Approx(decoded));
}

TEST_CASE("step: a first token waits for the host beyond the step, those who decode do not",
          "[models][serving]") {
  Deployment deployment = on_h100(llama_8b());
  const SteadyLoad before = closed_loop(deployment, {1000.0, 500.0}, {8.0, 0.0});
  deployment.engine.times.first_kernel = 100.0 * us;
  const SteadyLoad after = closed_loop(deployment, {1000.0, 500.0}, {8.0, 0.0});
  // 32 layers of ten kernels and more
  CHECK((after.ttft - before.ttft).value() > 0.030);
  CHECK(after.tpot.value() == Approx(before.tpot.value()).epsilon(0.02));
}

TEST_CASE("step: products of few rows take what their weights take to read", "[models][serving]") {
  Deployment deployment = wide_experts(1);
  deployment.engine.times.expert_memory = 1.0;
  deployment.engine.times.memory = 1.0;
  deployment.engine.times.kernel = Seconds{};
  deployment.engine.times.routing = 50.0;
  // 64 experts of 3 x 4096 x 1024 weights, nearly all of them reached by 32 x 8 rows.
  const StepTime step = step_time(deployment, {.decode_sequences = 32.0, .cached_tokens = 32.0});
  const double read = 32.0 * 64.0 * 3.0 * 4096.0 * 1024.0 * 2.0 /
                      deployment.cluster.host.device.memory_bandwidth.value();
  CHECK(step.experts.value() > 0.95 * read);
  CHECK(step.experts.value() < 1.15 * read);
}

TEST_CASE("step: sparse attention reads the chosen tokens and an index of all",
          "[models][serving]") {
  // DeepSeek-V3.2 (arXiv 2512.02556 section 2.1): 64 heads of 128, 2,048 tokens.
  LlmShape model = llama_8b();
  model.mla = MlaShape{1536, 512, 128, 64, 128};
  const double dense = cache_size(on_h100(model)).bytes_per_token();
  const auto attention = [](const LlmShape& shape, double context) {
    return step_time(on_h100(shape), {.decode_sequences = 8.0, .cached_tokens = 8.0 * context})
        .attention;
  };
  const Seconds all = attention(model, 65536.0);
  model.indexer = IndexerShape{64, 128, 2048};
  CHECK(cache_size(on_h100(model)).bytes_per_token() == Approx(dense + 32 * 132.0));
  CHECK(attention(model, 65536.0) < 0.5 * all);
  CHECK(attention(model, 65536.0) > attention(model, 8192.0));
}

TEST_CASE("offline: an engine that reserves answers runs as many as fit whole",
          "[models][serving]") {
  Deployment deployment = on_h100(llama_8b());
  deployment.engine.rules.sequences = 1'000'000;
  const RequestLengths lengths{1000.0, 4000.0};
  const CacheSize cache = cache_size(deployment);
  CHECK(offline(deployment, lengths).running == Approx(cache.sequences(3000.0)));
  deployment.engine.rules.reserves_output = true;
  CHECK(offline(deployment, lengths).running == Approx(cache.sequences(5000.0)));
}

TEST_CASE("deployment: heads that tensor ranks cannot share are refused by name",
          "[models][serving]") {
  const auto reasons = deployment_reasons(on_h100(llama_8b(), 3));
  REQUIRE_FALSE(reasons.empty());
  CHECK(reasons.front().rule == "heads-divide-tensor");
}

}  // namespace
}  // namespace foretrain
