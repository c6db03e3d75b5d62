// SPDX-License-Identifier: Apache-2.0
// Context ranks of sparse, compressed and windowed attention.
#include "models/layers/context_kinds.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

#include "models/layers/flops.hpp"
#include "models/layers/layer_operators.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "tests/models/layers/moe_jobs.hpp"

using namespace foretrain;

namespace {

/// DeepSeek-V3.2 over 4 context ranks: sequences of 32,768 tokens, 8,192 on a rank.
Job indexed_job() {
  Job job = test::deepseek_v3_job();
  job.model.indexer = IndexerShape{64, 128, 2048};
  job.training.sequence = 32768;
  job.training.global_batch = 1920;
  job.parallel.context = 4;
  job.parallel.data = 32;
  job.communication.context_exchange = ContextExchange::all_gather;
  return job;
}

/// DeepSeek-V4 Flash in the sizes that attention has: layers with keys of 4 tokens and an indexer,
/// of 128 tokens, and with a window alone. 65,536 tokens over 4 context ranks.
Job compressed_job() {
  Job job = indexed_job();
  LlmShape& model = job.model;
  model.mla.reset();
  model.compression = CompressionShape{1024, 8, 1024};
  model.indexer = IndexerShape{64, 128, 512};
  model.hidden = 4096;
  model.heads = 64;
  model.kv_heads = 1;
  model.head_dim = 512;
  model.window = 128;
  model.compressed = 4;
  model.attention_sinks = true;
  LayerSizes coarse = model;
  coarse.compressed = 128;
  LayerSizes near = model;
  near.compressed = 0;
  model.special_layers = {coarse, near};
  model.special_pattern = "ab.";
  job.training.sequence = 65536;
  return job;
}

/// A layer with experts; of the model's own sizes with its window.
LayerVariant layer_of_kind(const Job& job, std::uint8_t special) {
  return {.kind = LayerKind::moe,
          .windowed = special == 0 && job.model.windows_cut(job.training.sequence),
          .special = special};
}

/// The operator of a layer; fails where it has none of this name.
Operator layer_operator(const Job& job, std::string_view name, std::uint8_t special = 0) {
  const Operators operators = layer_operators(job, layer_of_kind(job, special));
  const auto found = std::ranges::find(operators, name, &Operator::name);
  REQUIRE(found != operators.end());
  return *found;
}

bool has(const Job& job, std::string_view name, std::uint8_t special = 0) {
  const Operators operators = layer_operators(job, layer_of_kind(job, special));
  return std::ranges::find(operators, name, &Operator::name) != operators.end();
}

Flop flop_of(const Job& job, std::string_view name) { return layer_operator(job, name).flop; }

/// The refusal of context ranks; empty where there is none.
std::string refusal(const Job& job) {
  const auto found = refuse_context_exchange(job);
  return found ? found->message + "; " + found->remedy : "";
}

}  // namespace

TEST_CASE("context ranks: indexed attention gathers latents and the indexer's keys",
          "[models][layer]") {
  Job job = indexed_job();
  REQUIRE(refusals(job).empty());
  // 16 bits, 32,768 tokens, latents of 512 + 64 and keys of 128.
  const Operator gather = layer_operator(job, "sparse key gather");
  CHECK(gather.exchange.forward == CollectiveOp::all_gather);
  CHECK(gather.exchange.sent == Bytes{2.0 * 32768 * (576 + 128)});
  CHECK(gather.exchange.backward == CollectiveOp::reduce_scatter);
  CHECK(gather.exchange.returned == gather.exchange.sent);
  CHECK_FALSE(has(job, "boundary rows"));
  CHECK_FALSE(has(job, "key-value gather"));

  // Tensor ranks gather the same latents, each for itself.
  job.parallel.tensor = 2;
  job.parallel.sequence = true;
  CHECK(layer_operator(job, "sparse key gather").exchange.sent == gather.exchange.sent);
}

TEST_CASE("context ranks: a layer that reads another one's choice gathers no indexer's keys",
          "[models][layer]") {
  Job job = indexed_job();
  LayerSizes reader = job.model;
  reader.index = IndexUse::shared;
  job.model.special_layers = {reader};
  job.model.special_pattern = ".aaa";
  CHECK(layer_operator(job, "sparse key gather", 1).exchange.sent == Bytes{2.0 * 32768 * 576});
}

TEST_CASE("context ranks: indexed attention over grouped heads gathers its keys and values",
          "[models][layer]") {
  Job job = indexed_job();
  job.model.mla.reset();
  job.model.kv_heads = 8;
  job.parallel.tensor = 4;
  job.parallel.sequence = true;
  CHECK(layer_operator(job, "sparse key gather").exchange.sent ==
        Bytes{2.0 * 32768 * (2 * 2 * 128 + 128)});
}

TEST_CASE("context ranks: those of indexed attention share its FLOPs evenly", "[models][layer]") {
  Job job = indexed_job();
  Job alone = job;
  alone.parallel.context = 1;
  for (const char* name : {"attention", "indexer scores"})
    CHECK(4.0 * flop_of(job, name) / flop_of(alone, name) == Approx(1.0));
}

TEST_CASE("context ranks: what sparse attention gathers is kept", "[models][memory]") {
  const auto saved = [](int ranks) {
    Job job = indexed_job();
    job.parallel.context = ranks;
    LayerDescription layer{job};
    describe_layer(job.model, {}, layer_cut(job.parallel), layer);
    double width = 0.0;
    for (const SavedTensor& tensor : layer.saved())
      if (tensor.row == &LayerActivations::qkv) width += tensor.width;
    return width;
  };
  CHECK(saved(4) - saved(1) == 4.0 * (576 + 128));
}

TEST_CASE("context ranks: compressed attention gathers what tokens share, and borrows a window",
          "[models][layer]") {
  Job job = compressed_job();
  REQUIRE(refusals(job).empty());
  // A key of 512 and one of the indexer's of 128 for 4 tokens; a key for 128 tokens.
  CHECK(layer_operator(job, "sparse key gather").exchange.sent ==
        Bytes{2.0 * 65536 / 4 * (512 + 128)});
  CHECK(layer_operator(job, "sparse key gather", 1).exchange.sent ==
        Bytes{2.0 * 65536 / 128 * 512});
  CHECK_FALSE(has(job, "sparse key gather", 2));
  // 128 rows of the residual stream, whatever a rank holds.
  for (std::uint8_t special = 0; special < 3; ++special) {
    const Operator rows = layer_operator(job, "boundary rows", special);
    CHECK(rows.exchange.forward == CollectiveOp::send);
    CHECK(rows.exchange.sent == Bytes{2.0 * 128 * 4096});
    CHECK(rows.exchange.returned == rows.exchange.sent);
  }
  job.training.sequence *= 2;
  CHECK(layer_operator(job, "boundary rows").exchange.sent == Bytes{2.0 * 128 * 4096});
}

TEST_CASE("context ranks: the last of consecutive parts sees most", "[models][layer]") {
  // Twice the mean over the last quarter of 65,536 tokens: 7/8 of them under a causal mask, or as
  // many as a window has.
  CHECK(attended_at_end(65536, 0.0, 4.0) == 2.0 * 65536 * 7 / 8);
  CHECK(attended_at_end(65536, 2048.0, 4.0) == 2.0 * 2048);
  CHECK(attended_at_end(65536, 2048.0, 1.0) == Approx(attended_keys(65536, 2048.0)));
  // 49,152 tokens come before; a window of 57,344 is full for the last half of the part, and
  // 53,248 on average in its first half.
  CHECK(attended_at_end(65536, 57344.0, 4.0) == Approx(57344.0 + 53248.0));

  const Job job = compressed_job();
  Job alone = job;
  alone.parallel.context = 1;
  CHECK(4.0 * flop_of(job, "indexer scores") / flop_of(alone, "indexer scores") ==
        Approx(2.0 - 1.0 / 4));
  // 128 and 512 keys for every query of the last part, the mean of which sees fewer at the start.
  const double keys =
      layer_operator(job, "attention").flop / layer_operator(alone, "attention").flop;
  CHECK(4.0 * keys ==
        Approx((2.0 * 128 + 2.0 * 512) / (128 * (2 - 128.0 / 65536) + 512 * (2 - 2048.0 / 65536))));
}

TEST_CASE("context ranks: a part of a sequence is as long as what the next one borrows",
          "[models][rules]") {
  Job job = compressed_job();
  job.training.sequence = 256;
  const std::vector<Infeasible> broken = broken_rules(job);
  REQUIRE(broken.size() == 1);
  CHECK(broken.front().rule == "context-holds-window");
  CHECK(broken.front().remedy == "parallel.context: at most 2");
  job.training.sequence = 512;
  CHECK(broken_rules(job).empty());
}

TEST_CASE("context ranks: exchanges that a kind of attention does not have are refused by name",
          "[models][rules]") {
  using enum ContextExchange;
  struct Kind {
    ContextKind kind;
    bool ring, gather, swap;
  };
  for (const Kind& row :
       {Kind{ContextKind::full, true, true, true}, Kind{ContextKind::windowed, false, true, true},
        Kind{ContextKind::sinks, false, false, true},
        Kind{ContextKind::indexed, false, true, false},
        Kind{ContextKind::compressed, false, true, false}}) {
    CHECK(exchanges(row.kind, ring) == row.ring);
    CHECK(exchanges(row.kind, all_gather) == row.gather);
    CHECK(exchanges(row.kind, all_to_all) == row.swap);
  }
  Job job = indexed_job();
  job.communication.context_exchange = ring;
  CHECK(refusal(job) ==
        "deepseek-v3 has indexed sparse attention, which no kernel computes over context ranks "
        "with exchange ring; communication.context_exchange: all-gather, or parallel.context: 1");
  job.communication.context_exchange = all_to_all;
  CHECK(refusal(job).find("exchange all-to-all") != std::string::npos);
  job.parallel.context = 1;
  CHECK(refusal(job).empty());
}

TEST_CASE("context ranks: sinks in some layers decide for all", "[models][rules]") {
  Job job = test::llama2_70b_job();
  job.parallel.context = 2;
  job.parallel.data = 8;
  job.model.window = 128;
  job.model.full_attention_every = 2;
  job.communication.context_exchange = ContextExchange::all_gather;
  CHECK(refusal(job).empty());
  job.model.attention_sinks = true;
  CHECK(refusal(job).find("communication.context_exchange: all-to-all") != std::string::npos);
  job.communication.context_exchange = ContextExchange::all_to_all;
  CHECK(refusal(job).empty());
}
