// SPDX-License-Identifier: Apache-2.0
#include "python/module/quick_cache.hpp"

#include <algorithm>
#include <filesystem>
#include <list>
#include <mutex>
#include <utility>

#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

/// Each holds a scenario and the machines that were asked for: some megabytes at most.
constexpr std::size_t most_kept = 8;

struct Kept {
  std::string name;
  std::mutex mutex;
  std::unique_ptr<QuickForecasts> forecasts;
};

/// Forecasts that were asked for last, the newest first.
class Cache {
 public:
  std::shared_ptr<Kept> entry(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto known = std::find_if(kept_.begin(), kept_.end(),
                                    [&](const auto& kept) { return kept->name == name; });
    if (known != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, known);
    } else {
      kept_.push_front(std::make_shared<Kept>());
      kept_.front()->name = name;
      if (kept_.size() > most_kept) kept_.pop_back();
    }
    return kept_.front();
  }

 private:
  std::mutex mutex_;
  std::list<std::shared_ptr<Kept>> kept_;
};

Cache& cache() {
  static Cache all;
  return all;
}

/// Whether a key stands twice, or beside a group around it: then the order decides.
bool overlap(const std::vector<std::string>& keys) {
  for (const std::string& outer : keys)
    for (const std::string& inner : keys)
      if (&outer != &inner && inner.starts_with(outer) &&
          (inner.size() == outer.size() || inner[outer.size()] == '.'))
        return true;
  return false;
}

std::string name_of_question(const QuickQuestion& question, const fs::path& folder) {
  std::string name = question.file;
  // Relative paths mean something else after a change of folder.
  name.append("\n").append(folder.string());
  for (const auto* part : {&question.keys, &question.catalogs}) {
    name += '\n';
    for (const std::string& word : *part) name.append("\t").append(word);
  }
  return name;
}

std::optional<Prediction> forecast(Kept& kept, const QuickQuestion& question,
                                   const fs::path& folder) {
  if (!kept.forecasts || !kept.forecasts->fresh()) {
    std::vector<fs::path> catalogs;
    for (const std::string& catalog : question.catalogs) catalogs.push_back(folder / catalog);
    kept.forecasts = std::make_unique<QuickForecasts>(folder / question.file, question.keys,
                                                      catalogs, question.values);
  }
  return kept.forecasts->forecast(question.values);
}

}  // namespace

std::shared_ptr<const Prediction> quick_forecast(const QuickQuestion& question) {
  if (overlap(question.keys)) return nullptr;
  const fs::path folder = fs::current_path();
  const auto kept = cache().entry(name_of_question(question, folder));
  const std::lock_guard lock(kept->mutex);
  try {
    auto found = forecast(*kept, question, folder);
    if (!found) return nullptr;
    return std::make_shared<const Prediction>(std::move(*found));
  } catch (const ScenarioError&) {
    return nullptr;  // the command tells it in the words of a user's own --set
  }
}

}  // namespace foretrain
