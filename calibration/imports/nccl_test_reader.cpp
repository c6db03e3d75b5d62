// SPDX-License-Identifier: Apache-2.0
#include "calibration/imports/internal/nccl_test_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/imports/log_text.hpp"

namespace foretrain {
namespace {

/// The word after one of that name.
std::string_view after(const std::vector<std::string_view>& words, std::string_view name) {
  const auto found = std::ranges::find(words, name);
  if (found == words.end() || found + 1 == words.end()) return {};
  return *(found + 1);
}

}  // namespace

bool RankList::take(int line, std::string_view text) {
  const auto words = words_of(text);
  if (words.size() < 6 || words[0] != "#" || words[1] != "Rank" || !whole_in(words[2]))
    return false;
  const auto bus = text.find(']');
  const std::string_view product =
      bus == std::string_view::npos ? std::string_view{} : trimmed(text.substr(bus + 1));
  const auto group = whole_in(after(words, "Group")).value_or(0.0);
  add(line, static_cast<int>(std::min(group, 1e6)), plain_text(after(words, "on")),
      plain_text(product));
  return true;
}

void RankList::add(int line, int group, const std::string& host, const std::string& product) {
  if (closed_) {  // the list of another run in the same file
    hosts_.clear();
    products_.clear();
    groups_.clear();
    count_ = 0;
    closed_ = false;
  }
  ++count_;
  line_ = line;
  hosts_.insert(host);
  if (!product.empty()) products_.insert(product);
  groups_.insert(group);
}

bool RankList::close(int line, const ImportOptions& options) {
  const auto refuse = [&](std::string why) {
    report(log_.file, line_ > 0 ? line_ : line, std::move(why), diagnostics_);
    return false;
  };
  closed_ = true;
  if (count_ == 0) return true;
  if (products_.size() > 1)
    return refuse("ranks run on different GPUs: " + joined({products_.begin(), products_.end()}));
  if (groups_.size() > 1)
    return refuse(
        fmt::format("{} groups ran at once (NCCL_TESTS_SPLIT): their rows say nothing "
                    "about one group alone",
                    groups_.size()));
  const int hosts = static_cast<int>(hosts_.size());
  if (count_ % hosts != 0)
    return refuse(
        fmt::format("{} ranks on {} hosts are not the same number on each", count_, hosts));
  const std::string product = products_.empty() ? "" : *products_.begin();
  log_.facts.gpu = product;
  log_.facts.device = device_of_product(product);
  log_.facts.gpus = count_;
  log_.facts.nodes = hosts;
  // Containers on one machine may have names of their own; the options decide.
  if (options.nodes > 0) log_.facts.nodes = options.nodes;
  return true;
}

}  // namespace foretrain
