// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/sections.hpp"

#include <utility>

#include "scenarios/sections/internal/usual_fields.hpp"

namespace foretrain {
namespace {

using keys::bind;
using keys::count_of;
using keys::group;
using keys::time_of;
using keys::with_default;

Field share_of(std::string path, std::string help, std::string example) {
  return {.path = std::move(path),
          .help = std::move(help),
          .example = std::move(example),
          .min = 0,
          .max = 1};
}

KeyRow head_key() {
  KeyRow key =
      group("serving",
            "A deployment that answers requests (`foretrain serve`), in place of training, or "
            "beside it.");
  key.field.only_written = true;
  return key;
}

KeyRows deployment_keys() {
  return {
      head_key(),
      bind({.path = "serving.engine",
            .help = "Inference engine from the engine profiles: its overheads, and the limits "
                    "of its steps.",
            .example = "vllm",
            .default_text = "vllm"},
           &ServingPlan::engine),
      bind(count_of("serving.replicas",
                    "Copies of the model, each on GPUs of its own; left out, as many as the "
                    "cluster holds.",
                    "4"),
           &ServingPlan::layout, &ServingLayout::replicas),
      with_default({.path = "serving.routing",
                    .help = "Which replica a request goes to: in turn, to the one with the "
                            "fewest requests, or to the one that holds its earlier turns "
                            "(prefix).",
                    .example = "least-load"},
                   &ServingPlan::routing),
      with_default({.path = "serving.cuda_graphs",
                    .help = "Steps that only decode are captured; false: every kernel is launched "
                            "by the host.",
                    .example = "true"},
                   &ServingPlan::cuda_graphs),
      bind(share_of("serving.memory_share",
                    "Share of a GPU's memory that the engine takes (vLLM's "
                    "gpu_memory_utilization); left out, as the engine does by itself.",
                    "0.9"),
           &ServingPlan::memory_share),
  };
}

/// Replicas by load: `serving.replicas` are the most.
KeyRows autoscaling_keys() {
  return {
      group("serving.autoscaling",
            "Replicas that start and stop with the load; serving.replicas are the "
            "most."),
      bind(count_of("serving.autoscaling.least", "Replicas that always run.", "2"),
           &ServingPlan::autoscaling, &Autoscaling::least),
      bind(Field{.path = "serving.autoscaling.target",
                 .help = "Requests per replica, running and waiting, to aim at.",
                 .example = "32",
                 .min = 0,
                 .max = 1e6,
                 .above_min = true},
           &ServingPlan::autoscaling, &Autoscaling::target),
      bind(time_of("serving.autoscaling.start",
                   "From the decision until a replica serves: host, image, weights, graphs.",
                   "3 min", false),
           &ServingPlan::autoscaling, &Autoscaling::start),
      with_default(time_of("serving.autoscaling.interval", "Between decisions.", "30 s"),
                   &ServingPlan::autoscaling, &Autoscaling::interval),
  };
}

/// How one replica is cut: of all replicas, or of those that only prefill.
KeyRows layout_keys(const std::string& at, const std::string& help,
                    ServingLayout ServingPlan::*layout) {
  return {
      group(at.c_str(), help.c_str()),
      with_default(
          count_of(at + ".tensor",
                   "GPUs that every matrix of attention and dense MLPs is sharded across.", "8"),
          layout, &ServingLayout::tensor),
      with_default(count_of(at + ".pipeline", "Stages that the layers are split into.", "1"),
                   layout, &ServingLayout::pipeline),
      with_default(count_of(at + ".attention_data",
                            "Groups of such GPUs, each with all of attention and requests of its "
                            "own, that share the experts (attention data parallelism).",
                            "8"),
                   layout, &ServingLayout::attention_data),
      with_default(
          count_of(at + ".expert", "Groups of GPUs that the experts are spread over.", "8"), layout,
          &ServingLayout::expert),
  };
}

KeyRows prefill_keys() {
  KeyRows keys = layout_keys("serving.prefill",
                             "Replicas that only prefill and hand the cache over; the others only "
                             "decode (disaggregated serving).",
                             &ServingPlan::prefill);
  keys.push_back(bind(count_of("serving.prefill.replicas", "How many.", "2"), &ServingPlan::prefill,
                      &ServingLayout::replicas));
  return keys;
}

void read_weights(ServingPlan& plan, const FieldValue& value) {
  const auto format = from_name<WeightFormat>(value.text);
  if (!format) return;
  plan.precision.attention = *format;
  plan.precision.linear = *format;
  plan.precision.experts = *format;
}

/// The format of all weights at once; keys behind it change those of one kind, and are written.
KeyRow weights_key() {
  return keys::computed<ServingPlan, read_weights, nullptr>(
      {.path = "serving.precision.weights",
       .kind = FieldKind::choice,
       .help = "Format of the weights of attention, MLPs and experts. "
               "Norms, router, embedding and output layer keep 16 bits.",
       .example = "fp8",
       .choices = choices_of<WeightFormat>()});
}

KeyRows precision_keys() {
  KeyRows keys{group("serving.precision", "Number formats; left out, bf16."),
               weights_key(),
               bind({.path = "serving.precision.attention",
                     .help = "Of the projections of attention, where it differs.",
                     .example = "bf16"},
                    &ServingPlan::precision, &ServingPrecision::attention),
               bind({.path = "serving.precision.linear",
                     .help = "Of dense MLPs and shared experts, where it differs.",
                     .example = "fp8"},
                    &ServingPlan::precision, &ServingPrecision::linear),
               bind({.path = "serving.precision.experts",
                     .help = "Of routed experts, where it differs.",
                     .example = "mxfp4"},
                    &ServingPlan::precision, &ServingPrecision::experts),
               bind({.path = "serving.precision.cache",
                     .help = "Of keys and values; left out, bf16.",
                     .example = "fp8"},
                    &ServingPlan::precision, &ServingPrecision::cache)};
  keys.front().field.scalar_child = "weights";
  return keys;
}

KeyRows speculation_keys() {
  return {
      group("serving.speculation",
            "Tokens that are drafted and verified in one step: multi-token "
            "prediction, EAGLE, a draft model."),
      bind(count_of("serving.speculation.drafted", "Drafts per step and sequence.", "3", 1, 64),
           &ServingPlan::speculation, &Speculation::drafted),
      bind(share_of("serving.speculation.acceptance",
                    "Probability that a draft holds where those before it do.", "0.7"),
           &ServingPlan::speculation, &Speculation::acceptance),
      bind(share_of("serving.speculation.draft_share",
                    "Time of making one draft, over that of a step.", "0.05"),
           &ServingPlan::speculation, &Speculation::draft_share),
  };
}

KeyRows batching_keys() {
  return {
      group("serving.batching", "Limits of a step of one replica."),
      bind(count_of("serving.batching.token_budget",
                    "Tokens of a step, prefill and decode together (vLLM's "
                    "max_num_batched_tokens); left out, the engine's.",
                    "8192", 1, 1e7),
           &ServingPlan::batching, &BatchingChoice::token_budget),
      bind(count_of("serving.batching.sequences",
                    "Requests that run at a time (vLLM's max_num_seqs); left out, the "
                    "engine's, or as many as concurrency where that is more.",
                    "256"),
           &ServingPlan::batching, &BatchingChoice::sequences),
      bind({.path = "serving.batching.mixed_steps",
            .help = "Chunks of prompts beside decoding (chunked prefill); false: prompts "
                    "whole, before all decoding.",
            .example = "true"},
           &ServingPlan::batching, &BatchingChoice::mixed_steps),
  };
}

/// Tokens of prompts or of answers.
KeyRows length_keys(const std::string& at, const std::string& help, TokenLaw RequestLoad::*law) {
  KeyRows keys{
      group(at.c_str(), help.c_str()),
      bind(Field{.path = at + ".tokens", .help = "Mean.", .example = "1024", .min = 1, .max = 1e8},
           &ServingPlan::load, law, &TokenLaw::mean),
      bind(share_of(at + ".jitter", "Uniform between (1 - jitter) and (1 + jitter) times the mean.",
                    "0.2"),
           &ServingPlan::load, law, &TokenLaw::jitter),
      bind(Field{.path = at + ".variation",
                 .help = "Log-normal with this standard deviation over the mean.",
                 .example = "0.8",
                 .min = 0,
                 .max = 10},
           &ServingPlan::load, law, &TokenLaw::variation),
      bind(count_of(at + ".most", "Longer ones are cut to it.", "8192", 1, 1e8), &ServingPlan::load,
           law, &TokenLaw::most)};
  keys.front().field.scalar_child = "tokens";
  return keys;
}

/// The file itself is read with the scenario.
KeyRow trace_key() {
  return {{.path = "serving.requests.trace_file",
           .help = "CSV file with a request per line and the columns at,prompt,output: seconds "
                   "from the start, in order, and tokens. With the columns session,wait behind "
                   "them, lines of one session are its turns: a later one is asked `wait` seconds "
                   "after the answer before it, and its prompt holds all that came before.",
           .example = "requests.csv"}};
}

KeyRows arrival_keys() {
  return {
      group("serving.requests", "What is asked."),
      with_default({.path = "serving.requests.arrivals",
                    .help = "How requests come: at random with a rate (poisson), evenly "
                            "(constant), from clients that each wait for their answer (closed), or "
                            "as a file says (trace).",
                    .example = "poisson"},
                   &ServingPlan::load, &RequestLoad::arrivals),
      bind({.path = "serving.requests.rate",
            .kind = FieldKind::quantity,
            .help = "Of arrivals: poisson and constant.",
            .example = "2000 per min",
            .dimension = Dimension::frequency,
            .min = 0,
            .max = 1e6,
            .above_min = true},
           &ServingPlan::load, &RequestLoad::rate),
      bind(count_of("serving.requests.concurrency", "Clients, of arrivals: closed.", "64"),
           &ServingPlan::load, &RequestLoad::concurrency),
      bind(count_of("serving.requests.number",
                    "Requests in all; left out, as many as come in the duration.", "1000", 1, 2e7),
           &ServingPlan::load, &RequestLoad::requests),
      trace_key(),
      bind(count_of("serving.requests.shared_prefix",
                    "First tokens of every prompt that are the same in all, such as a system "
                    "prompt; they come before those of `prompt` and are computed once.",
                    "2000", 1, 1e8),
           &ServingPlan::load, &RequestLoad::shared_prefix),
      bind(share_of("serving.requests.swing",
                    "Share by which the rate of poisson arrivals rises and falls over a day: "
                    "lowest at the start, highest after 12 hours.",
                    "0.6"),
           &ServingPlan::load, &RequestLoad::swing),
      bind(share_of("serving.requests.prefix_reuse",
                    "Share of the other prompt tokens whose cache is there already, such as "
                    "earlier turns of a conversation.",
                    "0.4"),
           &ServingPlan::load, &RequestLoad::prefix_reuse),
  };
}

/// Conversations and agents.
KeyRows session_keys() {
  return {
      group("serving.requests.sessions",
            "Conversations and agents: every turn begins with all that came before. "
            "Rate, clients and number count sessions."),
      bind(count_of("serving.requests.sessions.turns",
                    "Requests of a session, each with a prompt and an answer more.", "8", 1, 10000),
           &ServingPlan::load, &RequestLoad::sessions, &SessionLaw::turns),
      bind(time_of("serving.requests.sessions.wait",
                   "From an answer to the next turn, in the mean (exponential): a tool runs, "
                   "or a user reads.",
                   "20 s", false),
           &ServingPlan::load, &RequestLoad::sessions, &SessionLaw::wait),
  };
}

KeyRows run_keys() {
  return {
      bind(time_of("serving.duration",
                   "Requests come so long; left out, until `requests.number`, or an hour.", "1 h"),
           &ServingPlan::duration),
      bind(time_of("serving.warm_up", "Requests that come before are served and not counted.",
                   "1 min", false),
           &ServingPlan::warm_up),
      with_default(
          count_of("serving.seed", "Decides arrivals and lengths; equal seeds give equal results.",
                   "1", 0, 2147483647),
          &ServingPlan::seed),
      group("serving.goals", "What users are promised."),
      bind(time_of("serving.goals.ttft", "Time to the first token, at most.", "1 s"),
           &ServingPlan::goals, &ServingGoals::ttft),
      bind(time_of("serving.goals.tpot", "Time per token of the answer behind the first, at most.",
                   "30 ms"),
           &ServingPlan::goals, &ServingGoals::tpot),
      with_default(Field{.path = "serving.goals.percentile",
                         .help = "Share of requests, in percent, that must keep each.",
                         .example = "90",
                         .min = 1,
                         .max = 100},
                   &ServingPlan::goals, &ServingGoals::percentile),
  };
}

}  // namespace

const BoundTable<ServingPlan>& serving_keys() {
  static const BoundTable<ServingPlan> table(
      "serving",
      joined_rows(
          {deployment_keys(), autoscaling_keys(),
           layout_keys("serving.parallel", "How one replica is split over its GPUs.",
                       &ServingPlan::layout),
           prefill_keys(), precision_keys(), speculation_keys(), batching_keys(), arrival_keys(),
           session_keys(),
           length_keys("serving.requests.prompt", "Tokens of a prompt.", &RequestLoad::prompt),
           length_keys("serving.requests.output", "Tokens of an answer.", &RequestLoad::output),
           run_keys()}));
  return table;
}

}  // namespace foretrain
