// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/common/gemm_shapes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <sstream>

namespace foretrain::harness {
namespace {

constexpr std::array<std::string_view, 5> type_names{"fp32", "tf32", "fp16", "bf16", "fp8"};
constexpr std::array<std::string_view, 3> pass_names{"forward", "input-gradient",
                                                     "weight-gradient"};

template <typename Enum, std::size_t N>
std::optional<Enum> find_name(const std::array<std::string_view, N>& names, std::string_view text) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == text) return static_cast<Enum>(i);
  return std::nullopt;
}

std::optional<std::int64_t> positive(std::string_view text) {
  std::int64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc{} || end.ptr != text.data() + text.size() || value < 1)
    return std::nullopt;
  return value;
}

std::variant<GemmCase, std::string> parse_case(const std::vector<std::string>& words) {
  if (words.size() != 5 && words.size() != 6)
    return "a case is TOKENS OUT IN [BATCH] PASS TYPE, e.g. \"8192 12288 4096 forward bf16\"";
  std::array<std::int64_t, 4> sizes{1, 1, 1, 1};
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    const std::optional<std::int64_t> size = positive(words[i]);
    if (!size || *size > (1LL << 24)) return "'" + words[i] + "' is not a size from 1 to 16777216";
    sizes[i] = *size;
  }
  const std::string& pass = words[words.size() - 2];
  const std::optional<GemmPass> found = find_name<GemmPass>(pass_names, pass);
  if (!found) return "'" + pass + "' is not a pass: forward, input-gradient, weight-gradient";
  const std::optional<NumberType> type = find_name<NumberType>(type_names, words.back());
  if (!type) return "'" + words.back() + "' is not a type: fp32, tf32, fp16, bf16, fp8";
  return GemmCase{{sizes[0], sizes[1], sizes[2], static_cast<int>(sizes[3])}, *found, *type};
}

/// Products of one transformer layer: query, key and value; attention output; MLP up and down.
std::vector<LinearShape> layer_shapes(std::int64_t tokens, std::int64_t hidden,
                                      std::int64_t kv_share, std::int64_t ffn, int tensor) {
  return {{tokens, (hidden + 2 * hidden / kv_share) / tensor, hidden},
          {tokens, hidden, hidden / tensor},
          {tokens, ffn / tensor, hidden},
          {tokens, hidden, ffn / tensor}};
}

void add_layers(std::vector<LinearShape>& shapes) {
  struct Model {
    std::int64_t hidden, kv_share, ffn;
  };
  // Llama 3 8B and 70B, GPT-3 175B, Llama 3 405B; GPT 125M and 1.3B.
  constexpr std::array<Model, 6> models{{{4096, 4, 28672},
                                         {8192, 8, 57344},
                                         {12288, 1, 49152},
                                         {16384, 16, 106496},
                                         {768, 1, 3072},
                                         {2048, 1, 8192}}};
  for (const Model& model : models)
    for (const int tensor : {1, 8, 2, 4})
      for (const std::int64_t tokens : {8192, 2048})
        for (const LinearShape& shape :
             layer_shapes(tokens, model.hidden, model.kv_share, model.ffn, tensor))
          shapes.push_back(shape);
}

void add_grid(std::vector<LinearShape>& shapes) {
  for (const std::int64_t size : {512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384})
    shapes.push_back({size, size, size});
  for (const std::int64_t out : {1000, 4224, 4352, 32000, 50304, 128256})
    shapes.push_back({4096, out, 4096});
  for (const std::int64_t in : {64, 128, 256, 512, 1024, 2048, 16384, 32768})
    shapes.push_back({4096, 4096, in});
  for (const std::int64_t tokens : {1, 16, 64, 128, 256, 512, 1024, 16384, 32768})
    shapes.push_back({tokens, 4096, 4096});
}

void add_batched(std::vector<LinearShape>& shapes) {
  for (const int batch : {16, 64, 256})  // scores and values of unfused attention, experts
    for (const std::int64_t length : {512, 1024, 2048}) {
      shapes.push_back({length, length, 128, batch});
      shapes.push_back({length, 128, length, batch});
    }
}

/// The same cases in an order of which every beginning is spread over the whole list (multiples of
/// the golden ratio, modulo one): a budget then cuts some of every size, type and pass, not the
/// last sizes.
std::vector<GemmCase> spread(const std::vector<GemmCase>& cases) {
  constexpr double golden = 0.6180339887498949;
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const double place = static_cast<double>(i) * golden;
    order.emplace_back(place - std::floor(place), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<GemmCase> result;
  for (const auto& [place, index] : order) result.push_back(cases[index]);
  return result;
}

}  // namespace

std::string_view name(NumberType type) { return type_names[static_cast<std::size_t>(type)]; }
std::string_view name(GemmPass pass) { return pass_names[static_cast<std::size_t>(pass)]; }

GemmShape gemm_shape(const LinearShape& linear, GemmPass pass) {
  switch (pass) {
    case GemmPass::forward:
      return {linear.out, linear.tokens, linear.in, true, false};
    case GemmPass::input_gradient:
      return {linear.in, linear.tokens, linear.out, false, false};
    case GemmPass::weight_gradient:
      return {linear.in, linear.out, linear.tokens, false, true};
  }
  return {};
}

std::variant<std::vector<GemmCase>, std::string> parse_cases(std::string_view text) {
  std::vector<GemmCase> cases;
  std::istringstream lines{std::string{text}};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream stream{line};
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    if (words.empty() || words.front().front() == '#') continue;
    std::variant<GemmCase, std::string> parsed = parse_case(words);
    if (const auto* wrong = std::get_if<std::string>(&parsed))
      return "line " + std::to_string(number) + ": " + *wrong;
    cases.push_back(std::get<GemmCase>(parsed));
  }
  return cases;
}

std::vector<GemmCase> default_cases(const std::vector<NumberType>& types) {
  std::vector<LinearShape> shapes;
  add_layers(shapes);
  add_grid(shapes);
  add_batched(shapes);
  std::vector<GemmCase> cases;
  for (const LinearShape& shape : shapes)
    for (const NumberType type : types)
      for (const GemmPass pass :
           {GemmPass::forward, GemmPass::input_gradient, GemmPass::weight_gradient}) {
        const GemmCase one{shape, pass, type};
        bool known = false;
        for (const GemmCase& other : cases) known = known || other == one;
        if (!known) cases.push_back(one);
      }
  return spread(cases);
}

}  // namespace foretrain::harness
