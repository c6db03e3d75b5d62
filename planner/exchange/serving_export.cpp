// SPDX-License-Identifier: Apache-2.0
// Commands that start one replica of a deployment, in the terms of the engines' dialects.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "models/base/require.hpp"
#include "planner/exchange/exports.hpp"
#include "planner/text/quoting.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

class ServingWriter {
 public:
  ServingWriter(const Scenario& scenario, const Dialect& dialect, ExportBook& book)
      : scenario_{scenario}, plan_{*scenario.serving}, dialect_{dialect}, book_{book} {}

  std::string write(const std::string& model) {
    text_ = std::string(dialect_.keys_of("launch").front());
    if (dialect_.term("model") == nullptr)
      text_ += " " + shell_word(model);
    else
      add("model", shell_word(model));
    add_layout();
    add_limits();
    add_formats();
    if (!plan_.cuda_graphs) add_switch("eager", "serving.cuda_graphs: false");
    leave_out();
    return text_ + "\n";
  }

 private:
  /// False where the engine has no word for it, or takes the value by itself.
  bool add(std::string_view says, const std::string& value) {
    const DialectTerm* const term = dialect_.term(says);
    const auto word = term == nullptr ? std::nullopt : word_of(*term, value);
    if (word && *word != term->usual)
      text_ += fmt::format(" \\\n    --{} {}", term->keys.front(), *word);
    return word.has_value();
  }
  void add_switch(std::string_view says, const char* what) {
    if (const auto keys = dialect_.keys_of(says); !keys.empty())
      text_ += fmt::format(" \\\n    --{}", keys.front());
    else
      book_.refuse(what);
  }
  void need(std::string_view says, const std::string& value, const std::string& what) {
    if (!add(says, value)) book_.refuse(what);
  }

  static std::string layout_key(const char* name) {
    return fmt::format("serving.parallel.{}", name);
  }

  void add_layout() {
    const ServingLayout& layout = plan_.layout;
    if (!add("stage_ranks", fmt::format("{}", layout.stage())))
      add("tensor", fmt::format("{}", layout.tensor));
    add("pipeline", fmt::format("{}", layout.pipeline));
    add("attention_data", fmt::format("{}", layout.attention_data));
    if (layout.attention_data > 1 && dialect_.term("attention_apart") != nullptr)
      add_switch("attention_apart", "");
    if (layout.expert == 1 || add("expert", fmt::format("{}", layout.expert))) return;
    if (layout.expert == layout.stage())
      add_switch("experts_apart", layout_key("expert").c_str());
    else
      book_.refuse(fmt::format("{}: {}; the engine has 1 or all {} GPUs of a stage",
                               layout_key("expert"), layout.expert, layout.stage()));
  }

  void add_limits() {
    const RequestLoad& load = plan_.load;
    if (load.prompt.most > 0 && load.output.most > 0)
      add("context", fmt::format("{}", load.shared_prefix + load.prompt.most + load.output.most));
    if (plan_.memory_share) add("memory_share", format_number(*plan_.memory_share));
    const BatchingChoice& batching = plan_.batching;
    if (batching.token_budget) add("token_budget", fmt::format("{}", *batching.token_budget));
    if (batching.sequences) add("sequences", fmt::format("{}", *batching.sequences));
    if (batching.mixed_steps == true) add_switch("mixed_steps", "serving.batching.mixed_steps");
    // Engines that never mix have no word for it.
    if (batching.mixed_steps == false && dialect_.term("whole_prompts") != nullptr)
      add_switch("whole_prompts", "");
  }

  /// Formats that an engine makes of 16-bit weights are options, others are a checkpoint's.
  void add_formats() {
    const ServingPrecision& precision = plan_.precision;
    const bool one = precision.attention == precision.linear &&
                     (precision.linear == precision.experts || !scenario_.job.model.moe);
    const WeightFormat format = precision.linear;
    const bool plain = one && format == WeightFormat::bf16;
    if (!plain && !(one && add("weights", std::string(name_of(format)))))
      book_.leave_out(fmt::format(
          "the format of weights ({} of attention, {} of MLPs, {} of experts), which a checkpoint "
          "decides: name one that has it",
          name_of(precision.attention), name_of(format), name_of(precision.experts)));
    if (precision.cache != CacheFormat::bf16)
      need("cache", std::string(name_of(precision.cache)),
           fmt::format("serving.precision.cache: {}", name_of(precision.cache)));
  }

  void leave_out() {
    const ServingLayout& layout = plan_.layout;
    book_.refuse_if(plan_.prefill.replicas > 0,
                    "serving.prefill: replicas that only prefill, which take a connector for the "
                    "cache and two commands");
    if (plan_.speculation.drafted > 0)
      book_.leave_out(
          fmt::format("drafts ({} per step), whose model or head the engine is told "
                      "with its options of speculative decoding",
                      plan_.speculation.drafted));
    const int replicas =
        layout.replicas > 0 ? layout.replicas : scenario_.job.cluster.gpus() / layout.gpus();
    if (replicas > 1)
      book_.leave_out(fmt::format("{} replicas behind a router ({}); this starts one, on {} GPU{}",
                                  replicas, name_of(plan_.routing), layout.gpus(),
                                  layout.gpus() == 1 ? "" : "s"));
    if (plan_.autoscaling.least > 0) book_.leave_out("serving.autoscaling, which a router does");
    if (layout.gpus() > scenario_.job.cluster.host.gpus)
      book_.leave_out("the hosts of a replica that is larger than one, and how they find another");
  }

  const Scenario& scenario_;
  const ServingPlan& plan_;
  const Dialect& dialect_;
  ExportBook& book_;
  std::string text_;
};

}  // namespace

Exported export_serving(ExportKind kind, const Scenario& scenario) {
  FORETRAIN_REQUIRE(scenario.serving.has_value());
  const auto dialect = dialect_named(std::string(name_of(kind)));
  ExportBook book(std::string(name_of(kind)));
  leave_out_machine(scenario.job, book);
  if (scenario.serving->engine != name_of(kind))
    book.leave_out(fmt::format("the engine that was forecast, {}", scenario.serving->engine));
  const std::string model = released_model(scenario.job, book);
  const std::string text = ServingWriter(scenario, *dialect, book).write(model);
  book.check();
  return {export_comments(scenario, book) + text, book.left_out()};
}

}  // namespace foretrain
