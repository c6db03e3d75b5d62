// SPDX-License-Identifier: Apache-2.0
#include "topologies/imports/slurm_topology.hpp"

namespace foretrain {
namespace {

using imports::quoted;
using imports::whole_number;

/// Names as they grow from left to right, one bracket after the other.
class HostlistReader {
 public:
  HostlistReader(int line, int most) : line_{line}, most_{most} {}

  void add_item(std::string_view item) {
    if (item.empty()) fail(item, "an empty name");
    std::vector<std::string> names{""};
    while (!item.empty()) {
      const std::size_t open = item.find('[');
      const std::string_view plain = item.substr(0, open);
      if (plain.find(']') != std::string_view::npos) fail(item, "a ] without [");
      for (std::string& name : names) name += plain;
      if (names.front().size() > longest_name)
        fail(item, "a name of more than " + std::to_string(longest_name) + " bytes");
      if (open == std::string_view::npos) break;
      const std::size_t close = item.find(']', open);
      if (close == std::string_view::npos) fail(item, "a [ without ]");
      names = multiplied(names, numbers(item.substr(open + 1, close - open - 1)));
      item.remove_prefix(close + 1);
    }
    for (std::string& name : names) all_.push_back(std::move(name));
    check_size(all_.size());
  }

  std::vector<std::string> take() { return std::move(all_); }

 private:
  static constexpr std::size_t longest_name = 64;  // of a host (Linux: HOST_NAME_MAX)

  [[noreturn]] void fail(std::string_view what, const std::string& why) const {
    throw ImportError(
        line_, "host list " + quoted(what) + ": " + why + "; legal is for example tux[0-3,012]");
  }

  void check_size(std::size_t names) const {
    if (names > static_cast<std::size_t>(most_))
      throw ImportError(line_, "a host list of more than " + std::to_string(most_) + " names");
  }

  [[nodiscard]] std::vector<std::string> multiplied(const std::vector<std::string>& names,
                                                    const std::vector<std::string>& endings) const {
    check_size(names.size() * endings.size());
    std::vector<std::string> result;
    result.reserve(names.size() * endings.size());
    for (const std::string& name : names)
      for (const std::string& ending : endings) result.push_back(name + ending);
    return result;
  }

  /// "0-3,012": 0 to 3 and 012; leading zeros keep their width.
  [[nodiscard]] std::vector<std::string> numbers(std::string_view ranges) const {
    std::vector<std::string> result;
    while (true) {
      const std::size_t comma = ranges.find(',');
      const std::string_view range = ranges.substr(0, comma);
      const std::size_t dash = range.find('-');
      const std::string_view low = range.substr(0, dash);
      const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
      const auto first = whole_number(low);
      const auto last = whole_number(high);
      if (!first || !last) fail(range, "is neither a number nor a range of numbers");
      if (*last < *first) fail(range, "runs backwards");
      check_size(result.size() + static_cast<std::size_t>(*last - *first) + 1);
      for (int number = *first; number <= *last; ++number) {
        std::string digits = std::to_string(number);
        if (digits.size() < low.size()) digits.insert(0, low.size() - digits.size(), '0');
        result.push_back(std::move(digits));
      }
      if (comma == std::string_view::npos) return result;
      ranges.remove_prefix(comma + 1);
    }
  }

  int line_;
  int most_;
  std::vector<std::string> all_;
};

}  // namespace

std::vector<std::string> expand_hostlist(std::string_view list, int line, int most) {
  HostlistReader reader(line, most);
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && list[i] == '[') ++depth;
    if (i < list.size() && list[i] == ']') --depth;
    if (i < list.size() && (list[i] != ',' || depth > 0)) continue;
    reader.add_item(list.substr(begin, i - begin));
    begin = i + 1;
  }
  return reader.take();
}

}  // namespace foretrain
