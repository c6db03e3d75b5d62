// SPDX-License-Identifier: Apache-2.0
// What importers say goes to terminals and logs, and names what it is about: names and values come
// from files of others, so that nothing in them may act on a terminal or break a line.
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "scenarios/huggingface/huggingface.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/huggingface_plan.hpp"

namespace foretrain {
namespace {

struct Case {
  Framework framework;
  std::string text;
  std::string escaped;  ///< what stands in a message for what is not printable
};

/// One line, no control characters, nothing that is not UTF-8.
bool is_printable(const std::string& text) {
  int following = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (following > 0) {
      if ((byte & 0xC0U) != 0x80U) return false;
      --following;
    } else if (byte >= 0x80U) {
      following = byte >= 0xF0U ? 3 : byte >= 0xE0U ? 2 : byte >= 0xC2U ? 1 : -1;
      if (following < 0) return false;
    } else if (byte < 0x20U || byte == 0x7FU) {
      return false;
    }
  }
  // U+0080 to U+009F are control characters as well.
  for (std::size_t at = text.find('\xC2'); at < text.size(); at = text.find('\xC2', at + 1))
    if (static_cast<unsigned char>(text[at + 1]) < 0xA0U) return false;
  return following == 0;
}

/// The messages of an import that is refused; none when it is not.
template <class Import>
std::vector<std::string> messages(const Import& import) {
  try {
    (void)import();
  } catch (const ScenarioError& error) {
    std::vector<std::string> texts;
    for (const Diagnostic& diagnostic : error.diagnostics()) texts.push_back(diagnostic.text());
    return texts;
  }
  return {};
}

void check(const std::vector<std::string>& said, const std::string& escaped) {
  CHECK_FALSE(said.empty());
  for (const std::string& message : said) {
    CAPTURE(message);
    CHECK(is_printable(message));
  }
  CAPTURE(escaped, said);
  CHECK(std::any_of(said.begin(), said.end(), [&](const std::string& message) {
    return message.find(escaped) != std::string::npos;
  }));
}

/// Megatron-LM arguments as JSON, whose escapes bring any character.
std::string json_arguments(const std::string& name, const std::string& value = "3") {
  return R"({"gpus": 8, "args": {"--num-layers": 24, "--hidden-size": 1024,
    "--num-attention-heads": 16, "--seq-length": 2048, "--max-position-embeddings": 2048,
    "--micro-batch-size": 4, "--global-batch-size": 512, "--bf16": true, ")" +
         name + "\": " + value + "}}";
}

}  // namespace

TEST_CASE("names and values with control characters are escaped in what importers say",
          "[scenarios][import]") {
  const auto [framework, text, escaped] = GENERATE(values<Case>({
      {Framework::megatron, json_arguments("--mag\\u001b[31mic"),
       "'--mag\\x1b[31mic' holds the character U+001B"},
      {Framework::megatron, json_arguments("--mag\\u007fic"),
       "'--mag\\x7fic' holds the character U+007F"},
      {Framework::megatron, json_arguments("--mag\\u009bic"),
       "'--mag\\xc2\\x9bic' holds the character U+009B"},
      {Framework::megatron, json_arguments("--num-experts", "\"2\\u001b\""),
       "'2\\x1b' holds the character U+001B"},
      {Framework::megatron, json_arguments("--tokenizer-type", "\"To\\u009bk\""),
       "'To\\xc2\\x9bk' holds the character U+009B"},
      {Framework::megatron, json_arguments("--recompute-granularity", "\"f\\u009bull\""),
       "'f\\xc2\\x9bull' holds the character U+009B"},
      {Framework::megatron, "cat <<E\xc2\x9bOF\nno end\n", "'<<E\\xc2\\x9bOF' does not end"},
      {Framework::deepspeed, "{\"zero\\u001b[2J\": 1}",
       "'zero\\x1b[2J' holds the character U+001B"},
      {Framework::deepspeed, "{\"optimizer\": {\"type\": \"Ad\\u001bam\"}}",
       "'Ad\\x1bam' holds the character U+001B"},
      {Framework::deepspeed, "{\"train_batch_size\": \"2\\u00075\"}", "'2\\x075'"},
      {Framework::nanotron, "\"tur\\x1bbo\": {on: true}",
       "'tur\\x1bbo' holds the character U+001B"},
      {Framework::nanotron, "parallelism: {dp: \"4\\x7f\"}", "'4\\x7f'"},
      {Framework::nanotron, "\"a\\nb\": 1", "'a\\nb': is not known"},
      {Framework::torchtitan,
       "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[\"tur\\u001bbo\"]\non = 1",
       "'tur\\x1bbo.on': is not known"},
      {Framework::torchtitan, "[model]\nname = \"llama3\"\nflavor = \"8\\u001b\"", "'8\\x1b'"},
      {Framework::nemo, "model: {\"num\\x1b_layers\": 2}",
       "'num\\x1b_layers' holds the character U+001B"},
      {Framework::nemo, "trainer: {devices: \"8\\x1b\"}", "'8\\x1b'"},
  }));
  CAPTURE(name_of(framework), text);
  PlanImportOptions options;
  options.find_model = false;
  if (framework == Framework::deepspeed) {
    options.model = "llama2-7b";
    options.sequence = 4096;
  }
  check(messages([&, kind = framework, source = text] {
          return import_framework(kind, source, "run", options);
        }),
        escaped);
}

TEST_CASE("raw control characters and bytes that are not UTF-8 are refused where they stand",
          "[scenarios][import]") {
  for (const auto& [framework, name] : EnumNames<Framework>::names) {
    CAPTURE(name);
    const auto said = [&, kind = framework](const std::string& text) {
      return messages([&] { return import_framework(kind, text, "run", {}); });
    };
    check(said("--num-layers 2\n--num\x1b[31m-heads 3"), "run:2:6: control character 0x1b");
    check(said("a\x7f: 1"), "run:1:2: control character 0x7f");
    check(said("\"a\xff\": 1"), "run:1:3: not UTF-8 text");
  }
}

TEST_CASE("a Hugging Face configuration's names and values are escaped in what is said of it",
          "[scenarios][import][huggingface]") {
  const std::string head = "{\"model_type\": \"llama\", \"hidden_size\": ";
  check(
      messages([&] {
        return plan_of_huggingface({head + "\"4\\u001b096\"}", "config.json", "Hugging Face"}, {});
      }),
      "'4\\x1b096'");
  check(messages([&] {
          return plan_of_huggingface(
              {"{\"model_type\": \"lla\\u0007ma\"}", "config.json", "Hugging Face"}, {});
        }),
        "'lla\\x07ma'");
  const std::string text = head +
                           "4096, \"num_hidden_layers\": 32, \"num_attention_heads\": 32,"
                           "\"intermediate_size\": 11008, \"vocab_size\": 32000, "
                           "\"strange\\u001b]0;\": 1}";
  Diagnostics diagnostics;
  const auto root = parse_yaml(text, "config.json", YamlLimits{}, diagnostics);
  REQUIRE(root);
  const auto model = import_huggingface(*root, {"model"}, diagnostics);
  REQUIRE(model);
  REQUIRE(diagnostics.count() == 1);
  CHECK(diagnostics.items().front().message.starts_with("'strange\\x1b]0;' holds the character"));
  CHECK(model->unknown.empty());
}

TEST_CASE("a source with control characters behind escapes is not imported",
          "[scenarios][import]") {
  PlanImportOptions options;
  options.find_model = false;
  options.left_out = {"mag\x1b[31mic"};
  CHECK_THROWS_AS(
      import_framework(Framework::megatron, json_arguments("--mag\\u001b[31mic"), "run", options),
      ScenarioError);
}

}  // namespace foretrain
