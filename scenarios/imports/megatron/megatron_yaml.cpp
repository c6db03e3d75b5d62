// SPDX-License-Identifier: Apache-2.0
#include "models/base/contains.hpp"
#include "scenarios/imports/megatron/megatron_source.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "scenarios/imports/frameworks/internal/core_fields.hpp"

namespace foretrain {
namespace {

/// Keys at the top that no pre-training of a GPT reads, or that change neither memory nor time.
constexpr auto passed_over = std::to_array<std::string_view>({"add_position_embedding",
                                                              "bert_binary_head",
                                                              "data_parallel_random_init",
                                                              "decoder_num_layers",
                                                              "decoder_seq_length",
                                                              "delay_grad_reduce",
                                                              "delay_param_gather",
                                                              "enable_one_logger",
                                                              "encoder_num_layers",
                                                              "encoder_seq_length",
                                                              "finetune",
                                                              "lazy_mpu_init",
                                                              "mask_prob",
                                                              "mock_data",
                                                              "onnx_safe",
                                                              "override_opt_param_scheduler",
                                                              "retriever_seq_length",
                                                              "sample_rate",
                                                              "sgd_momentum",
                                                              "short_seq_prob",
                                                              "skip_train",
                                                              "squared_relu",
                                                              "swiglu",
                                                              "vocab_extra_ids"});

/// Fields of the groups that no argument of their name sets.
constexpr auto without_argument = std::to_array<std::string_view>(
    {"_cpu_offloading_context", "async_tensor_model_parallel_allreduce", "perform_initialization",
     "rotary_interleaved"});

bool is_false(const std::string& text) { return text == "false" || text == "False"; }
bool is_true(const std::string& text) { return text == "true" || text == "True"; }

/// Builds the arguments of one file.
class YamlArguments {
 public:
  MegatronSource read(const YamlNode& root) {
    for (const YamlEntry& entry : root.entries) {
      const bool group = entry.key == "language_model" || entry.key == "model_parallel";
      if (!group) put_argument(entry);
      for (const YamlEntry& field : entry.value.entries)
        if (group) put_field(entry.key, field);
    }
    return std::move(found_);
  }

 private:
  void set(std::string argument, std::string value, const YamlEntry& entry,
           const std::string& group = {}) {
    found_.keys[argument] = group.empty() ? entry.key : group + "." + entry.key;
    found_.lines[argument] = entry.mark.line;
    found_.arguments[std::move(argument)] = is_true(value) ? "true" : std::move(value);
  }

  static std::string dashed(std::string name) {
    std::ranges::replace(name, '_', '-');
    return name;
  }

  void put_argument(const YamlEntry& entry) {
    const std::string text = core::core_text(entry.value);
    if (text.empty() || contains(passed_over, entry.key)) return;
    if (const auto argument = core::argument_in(core::inverse_fields(), entry.key);
        !argument.empty()) {
      if (is_false(text)) set(std::string(argument), "true", entry);
    } else if (!is_false(text)) {
      set(dashed(entry.key), text, entry);
    }
  }

  void put_field(const std::string& group, const YamlEntry& entry) {
    const std::string text = core::core_text(entry.value);
    const std::string& name = entry.key;
    if (text.empty()) return;
    const bool harmless = contains(core::harmless_model_fields(), name) ||
                          contains(core::approximate_model_fields(), name);
    if (const auto renamed = core::argument_in(core::renamed_fields(), name); !renamed.empty()) {
      set(std::string(renamed), text, entry, group);
    } else if (const auto off = core::argument_in(core::inverse_fields(), name); !off.empty()) {
      if (is_false(text)) set(std::string(off), "true", entry, group);
    } else if (name == "activation_func") {
      put_activation(text, entry, group);
    } else if (name == "fp8") {
      set("fp8-format", text, entry, group);
    } else if (name == "num_query_groups") {
      set("num-query-groups", text, entry, group);
      set("group-query-attention", "true", entry, group);
    } else if (name == "overlap_p2p_comm") {
      if (is_false(text)) set("no-overlap-p2p-communication", "true", entry, group);
    } else if (!is_false(text) && name != "gated_linear_unit" && !harmless &&
               !contains(without_argument, name)) {
      set(dashed(name), text, entry, group);
    }
  }

  /// By name: core_config_from_args() gates the MLP for "swiglu" alone.
  void put_activation(const std::string& text, const YamlEntry& entry, const std::string& group) {
    if (text == "swiglu")
      set("swiglu", "true", entry, group);
    else if (text == "squaredrelu" || text == "squared_relu")
      set("squared-relu", "true", entry, group);
    else if (text != "gelu")
      set("activation-func " + text, "true", entry, group);
  }

  MegatronSource found_;
};

}  // namespace

bool is_megatron_yaml(const YamlNode& root) {
  const YamlNode* model = root.find("language_model");
  const YamlNode* parallel = root.find("model_parallel");
  return (model != nullptr && model->is_map()) || (parallel != nullptr && parallel->is_map());
}

MegatronSource megatron_yaml_source(const YamlNode& root) { return YamlArguments{}.read(root); }

}  // namespace foretrain
