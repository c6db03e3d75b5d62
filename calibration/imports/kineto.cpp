// SPDX-License-Identifier: Apache-2.0
#include "calibration/imports/imported_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "calibration/imports/json_document.hpp"
#include "calibration/imports/record_text.hpp"
#include "models/base/percentile.hpp"

namespace foretrain {
namespace {

constexpr std::size_t most_names = 100'000;

/// The kernel's function without return type, arguments and template parameters.
std::string short_name(const std::string& name) {
  std::string_view text = name;
  if (text.starts_with("void ")) text.remove_prefix(5);
  return plain_text(text.substr(0, text.find_first_of("<(")), 80);
}

struct Product {
  double m = 0.0;
  double n = 0.0;
  double k = 0.0;
  double batch = 1.0;
  std::string dtype;
  auto operator<=>(const Product&) const = default;
};

std::string dtype_of(const std::string& type) {
  if (type == "c10::BFloat16") return "bf16";
  if (type == "c10::Half") return "fp16";
  if (type == "float") return "fp32";
  return "";
}

/// Sizes of the operand at `index` of an operator's "Input Dims".
std::vector<double> dimensions(const JsonValue& arguments, std::size_t index) {
  std::vector<double> sizes;
  for (const char* const name : {"Input Dims", "Input dims"})
    if (const JsonValue* const dims = arguments.find(name);
        dims != nullptr && index < dims->items.size())
      for (const JsonValue& size : dims->items[index].items)
        sizes.push_back(size.as_number().value_or(0.0));
  for (const double size : sizes)
    if (size < 1.0 || size > 1e9 || std::floor(size) != size) return {};
  return sizes;
}

/// The product that an operator is; nothing for other operators and for traces without shapes.
std::optional<Product> product_of(const JsonValue& event, const JsonValue& arguments) {
  const std::string name = event.text_of("name");
  const bool adds = name == "aten::addmm";
  const bool batched = name == "aten::bmm";
  if (name != "aten::mm" && !adds && !batched) return std::nullopt;
  const std::size_t first = adds ? 1 : 0;
  const auto left = dimensions(arguments, first);
  const auto right = dimensions(arguments, first + 1);
  const std::size_t rank = batched ? 3 : 2;
  if (left.size() != rank || right.size() != rank || left[rank - 1] != right[rank - 2])
    return std::nullopt;
  const JsonValue* const types = arguments.find("Input type");
  if (types == nullptr || types->items.size() <= first) return std::nullopt;
  Product product{left[rank - 2], right[rank - 1], left[rank - 1], batched ? left[0] : 1.0,
                  dtype_of(types->items[first].text)};
  if (product.dtype.empty() || (batched && left[0] != right[0])) return std::nullopt;
  return product;
}

class TraceReader {
 public:
  explicit TraceReader(ImportedLog& log) : log_{log} {}

  void take(const JsonValue& event) {
    if (!event.is_object() || event.text_of("ph") != "X") return;
    const std::string category = event.text_of("cat");
    const JsonValue* const arguments = event.find("args");
    if (category == "cpu_op" || category == "Operator") {
      if (arguments == nullptr) return;
      const auto product = product_of(event, *arguments);
      const auto id = identity(*arguments);
      if (product && id) operators_[*id] = *product;
    } else if (category == "kernel" || category == "Kernel") {
      take_kernel(event, arguments);
    }
  }

  void finish() {
    double total = 0.0;
    for (const auto& [name, times] : kernels_)
      for (const double time : times) total += time;
    for (auto& [name, times] : kernels_) add_record("kineto:" + name, {}, times, total);
    std::map<Product, std::vector<double>> products;
    for (const auto& [id, times] : launched_) {
      // An operator that launches several kernels is no plain product.
      const auto found = operators_.find(id);
      if (found != operators_.end() && times.size() == 1)
        products[found->second].push_back(times.front());
    }
    for (auto& [product, times] : products) add_record("gemm", product, times, total);
  }

 private:
  static std::optional<double> identity(const JsonValue& arguments) {
    for (const char* const name : {"External id", "external id"})
      if (const auto id = arguments.number_of(name)) return id;
    return std::nullopt;
  }

  void take_kernel(const JsonValue& event, const JsonValue* arguments) {
    const auto duration = event.number_of("dur");
    const std::string name = short_name(event.text_of("name"));
    if (!duration || *duration < 0.0 || name.empty()) {
      log_.flagged.push_back(
          {event.line, false, "a kernel without a name or a duration from 0 us"});
      return;
    }
    if (*duration == 0.0) return;  // shorter than the clock's step
    if (kernels_.size() < most_names || kernels_.contains(name))
      kernels_[name].push_back(*duration);
    const auto id = arguments == nullptr ? std::nullopt : identity(*arguments);
    if (id) launched_[*id].push_back(*duration);
  }

  void add_record(const std::string& op, const Product& product, std::vector<double>& times,
                  double total) {
    double sum = 0.0;
    for (const double time : times) sum += time;
    KernelRecord record;
    record.op = op;
    record.gpu = log_.facts.device.empty() ? log_.facts.gpu : log_.facts.device;
    record.dtype = product.dtype.empty() ? "-" : product.dtype;
    if (product.k > 0.0) {
      record.m = product.m;
      record.n = product.n;
      record.shape = fmt::format(
          "{:.0f}{}", product.k,
          product.batch > 1.0 ? fmt::format(";batch={:.0f}", product.batch) : std::string());
    }
    record.time_us = percentile_of(times, 0.5);
    record.note = fmt::format("mode=trace count={} share={:.4f}", times.size(), sum / total);
    log_.kernels.push_back(std::move(record));
  }

  ImportedLog& log_;
  std::map<std::string, std::vector<double>> kernels_;
  std::unordered_map<double, Product> operators_;
  std::unordered_map<double, std::vector<double>> launched_;
};

/// Products of the GPUs that the trace lists; several at once cannot be told apart by kernel.
void read_devices(const JsonValue& root, ImportedLog& log, Diagnostics& diagnostics) {
  for (const char* const name : {"deviceProperties", "computeProperties"}) {
    const JsonValue* const devices = root.find(name);
    if (devices == nullptr) continue;
    for (const JsonValue& device : devices->items) {
      const std::string product = plain_text(device.text_of("name"), 80);
      if (product.empty() || product == log.facts.gpu) continue;
      if (!log.facts.gpu.empty())
        return report(log.file, device.line, "GPUs of several models", diagnostics);
      log.facts.gpu = product;
    }
  }
  log.facts.device = device_of_product(log.facts.gpu);
}

}  // namespace

ImportedLog import_kineto(const std::string& text, const std::string& file,
                          const ImportOptions& options, Diagnostics& diagnostics) {
  ImportedLog log;
  log.file = file;
  log.format = LogFormat::kineto;
  log.facts.tool = "kineto";
  TraceReader reader(log);
  const JsonStream stream{"traceEvents", [&](const JsonValue& event) { reader.take(event); }};
  const auto root = parse_json(text, file, diagnostics, 1, stream);
  if (!root) return log;
  if (root->find("traceEvents") == nullptr) {
    report(file, root->line, "there is no list traceEvents", diagnostics);
    return log;
  }
  read_devices(*root, log, diagnostics);
  if (log.facts.gpu.empty()) {
    log.facts.gpu = options.gpu;
    log.facts.device = device_of_product(options.gpu);
  }
  reader.finish();
  for (KernelRecord& record : log.kernels) record.source = source_of(log);
  if (log.kernels.empty())
    report(file, root->line, "the trace has no kernel with a duration", diagnostics);
  else if (log.facts.gpu.empty())
    report(file, root->line, "the trace does not say which GPU it is of; name it (--gpu)",
           diagnostics);
  return log;
}

}  // namespace foretrain
