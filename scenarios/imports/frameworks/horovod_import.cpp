// SPDX-License-Identifier: Apache-2.0
// Options and defaults: horovodrun --help; docs/tensor-fusion.rst; a threshold of 128 MB and cycles
// of 1 ms since release 0.21.0 (horovod/horovod pull request 2468).
#include "models/base/ranges.hpp"
#include "scenarios/imports/frameworks/importers.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "scenarios/imports/frameworks/plain_torch.hpp"
#include "scenarios/imports/shell/launch_line.hpp"
#include "scenarios/yaml/text_file.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

constexpr double usual_threshold = 128.0;  ///< MiB
constexpr double largest_threshold = 1e6;

bool ends_as(const std::string& word, std::string_view program) {
  return word == program || word.ends_with("/" + std::string(program));
}

bool starts_horovod(const std::vector<std::string>& words) {
  const auto any = [&](const auto& is) { return std::ranges::any_of(words, is); };
  if (any([](const std::string& word) { return ends_as(word, "horovodrun"); })) return true;
  const bool launcher = any([](const std::string& word) {
    return ends_as(word, "mpirun") || ends_as(word, "mpiexec") || ends_as(word, "srun");
  });
  return launcher && any([](const std::string& word) { return word.ends_with(".py"); });
}

/// Reads the launcher's options and Horovod's variables into a plan.
class HorovodReader {
 public:
  HorovodReader(const NamedLaunch& launch, const PlanImportOptions& options, ImportedPlan& plan,
                Diagnostics& diagnostics)
      : launch_{launch}, options_{options}, plan_{plan}, diagnostics_{diagnostics} {
    for (const auto& [name, value] : launch.variables)
      if (name.starts_with("HOROVOD_")) settings_[name] = value;
    const auto& words = launch.before;
    for (std::size_t i = 0; i < words.size(); ++i) take(words, i);
  }

  void read() {
    read_fusion();
    const auto set = [&](const char* name) {
      const auto found = settings_.find(name);
      return found != settings_.end() && found->second != "0";
    };
    for (const char* name : {"HOROVOD_HIERARCHICAL_ALLREDUCE", "HOROVOD_HIERARCHICAL_ALLGATHER"})
      if (set(name) && !left(name))
        refuse(name,
               "sums with NCCL in hosts and MPI between them, which is not modelled; NCCL's own "
               "choice of rings and trees is (--leave-out " +
                   std::string(name) + ")");
    if (set("HOROVOD_AUTOTUNE"))
      plan_.notes.assumed.emplace_back(
          "what HOROVOD_AUTOTUNE finds is not known: the threshold that is stated, or the default");
    if (set("HOROVOD_CYCLE_TIME")) plan_.notes.approximated.emplace_back("HOROVOD_CYCLE_TIME");
    for (const auto& [name, value] : settings_)
      if (name != "HOROVOD_CYCLE_TIME") plan_.notes.read.push_back(name);
    plan_.notes.assumed.emplace_back(
        "gradients are summed by NCCL in fp32, without compression, beside the backward pass");
  }

  [[nodiscard]] std::optional<int> processes() const { return processes_; }

 private:
  [[nodiscard]] bool left(const std::string& name) const {
    const auto& names = options_.left_out;
    return contains(names, name);
  }

  void refuse(const std::string& key, std::string message) {
    diagnostics_.add(launch_.mark, key, std::move(message));
  }

  void take(const std::vector<std::string>& words, std::size_t i) {
    static const std::map<std::string, std::string> flags{
        {"--fusion-threshold-mb", "HOROVOD_FUSION_THRESHOLD_MB"},
        {"--cycle-time-ms", "HOROVOD_CYCLE_TIME"},
        {"--hierarchical-allreduce", "HOROVOD_HIERARCHICAL_ALLREDUCE"},
        {"--hierarchical-allgather", "HOROVOD_HIERARCHICAL_ALLGATHER"},
        {"--autotune", "HOROVOD_AUTOTUNE"}};
    const std::string& word = words[i];
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (name.starts_with("HOROVOD_") && equals != std::string::npos) {
      settings_[name] = word.substr(equals + 1);
      return;
    }
    std::string value = equals != std::string::npos ? word.substr(equals + 1)
                        : i + 1 < words.size()      ? words[i + 1]
                                                    : std::string();
    if (name == "--config-file") refuse(name, "names another file of settings; state them here");
    if (name == "-np" || name == "--num-proc") {
      const auto count = parse_integer(value);
      if (count.value && *count.value >= 1 && *count.value <= 1'000'000)
        processes_ = static_cast<int>(*count.value);
      else
        refuse(name, in_quotes(value) + " is not a number of processes from 1 to 1000000");
    }
    const auto flag = flags.find(name);
    if (flag == flags.end()) return;
    const bool takes_value = name.ends_with("-mb") || name.ends_with("-ms");
    settings_[flag->second] = takes_value ? value : "1";
  }

  void read_fusion() {
    double mebibytes = usual_threshold;
    const auto number = [&](const char* name, double unit) {
      const auto found = settings_.find(name);
      if (found == settings_.end()) return false;
      const auto parsed = parse_number(found->second);
      mebibytes = parsed.value ? *parsed.value * unit : -1.0;
      if (!parsed.value || !(mebibytes >= 0.0 && mebibytes <= largest_threshold)) {
        refuse(name, in_quotes(found->second) + " is not a size from 0 to 1,000,000 MB");
        mebibytes = usual_threshold;
      } else if (mebibytes == 0.0) {
        refuse(name, "0 sums every tensor by itself, which is not modelled");
        mebibytes = usual_threshold;
      }
      return true;
    };
    if (!number("HOROVOD_FUSION_THRESHOLD_MB", 1.0) &&
        !number("HOROVOD_FUSION_THRESHOLD", 1.0 / (1024.0 * 1024.0)))
      plan_.notes.assumed.emplace_back(
          "fusion buffers of 128 MB, the default since release 0.21 (HOROVOD_FUSION_THRESHOLD)");
    plan_.job.communication.bucket = mebibytes * MiB;
  }

  const NamedLaunch& launch_;
  const PlanImportOptions& options_;
  ImportedPlan& plan_;
  Diagnostics& diagnostics_;
  std::map<std::string, std::string> settings_;
  std::optional<int> processes_;
};

}  // namespace

ImportedScenario import_horovod(const ImportSource& source, const PlanImportOptions& options) {
  Diagnostics diagnostics;
  const Mark top{std::make_shared<const std::string>(source.name), 1, 1};
  if (!check_encoding(source.text, top, diagnostics) || refuse_python(source, diagnostics))
    diagnostics.throw_if_any();
  const auto launch =
      find_launch(source, options, starts_horovod,
                  "holds no launch by horovodrun, or by mpirun of a Python script", diagnostics);
  const auto per_host = host_gpus(options, diagnostics);
  diagnostics.throw_if_any();
  ImportedPlan plan;
  plan.job.name = std::filesystem::path(source.name).stem().string();
  plan.notes.assumed = launch->assumed;
  HorovodReader reader(*launch, options, plan, diagnostics);
  reader.read();
  PlainTorchRun run;
  run.size = launch->size;
  if (reader.processes()) run.size = {.nodes = {}, .gpus_per_node = {}, .gpus = reader.processes()};
  run.decided_by = "Horovod";
  run.mark = launch->mark;
  fill_plain_torch(run, options, *per_host, plan, diagnostics);
  return finish_import(std::move(plan), source, options, diagnostics);
}

}  // namespace foretrain
