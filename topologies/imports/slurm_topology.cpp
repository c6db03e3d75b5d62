// SPDX-License-Identifier: Apache-2.0
#include "topologies/imports/slurm_topology.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace foretrain {
namespace {

using imports::in_quotes;

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
        line_, "host list " + in_quotes(what) + ": " + why + "; legal is for example tux[0-3,012]");
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
      const auto first = count_in(low);
      const auto last = count_in(high);
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

using imports::import_lines;
using imports::in_quotes;
using imports::lower_case;
using imports::printable;

struct ConfigLine {
  int number = 0;
  std::string text;
};

/// Lines without comments; a backslash at the end joins the next one.
std::vector<ConfigLine> config_lines(std::string_view text) {
  std::vector<ConfigLine> lines;
  int number = 0;
  bool joins = false;
  for (std::string_view line : import_lines(text)) {
    ++number;
    line = trimmed(line.substr(0, line.find('#')));
    const bool goes_on = line.ends_with('\\');
    if (goes_on) line = trimmed(line.substr(0, line.size() - 1));
    if (joins)
      lines.back().text += " " + std::string(line);
    else if (!line.empty() || goes_on)
      lines.push_back({number, std::string(line)});
    if (!lines.empty() && lines.back().text.size() > import_bytes / 4)
      throw ImportError(number, "continues a line of more than 16 MiB");
    joins = goes_on;
  }
  return lines;
}

class TreeReader {
 public:
  explicit TreeReader(ImportNotes& notes) : notes_{notes} {}

  void add_line(const ConfigLine& line) {
    const auto fields = blank_words(line.text);
    if (fields.empty()) return;
    const std::string first = lower_case(fields.front());
    if (first.starts_with("blockname") || first.starts_with("blocksizes"))
      throw ImportError(line.number,
                        "describes blocks (topology/block), which say nothing about switches; a "
                        "tree with SwitchName= lines (topology/tree) can be read");
    if (first == "include")
      throw ImportError(line.number, "includes another file; write the lines into this one");
    if (!first.starts_with("switchname="))
      throw ImportError(line.number, "begins with " + in_quotes(fields.front()) +
                                         "; SwitchName=NAME belongs there");
    TreeSwitch added;
    added.line = line.number;
    std::string below;
    for (const std::string_view field : fields) read_field(field, line.number, added, below);
    if (added.hosts.empty() == below.empty())
      throw ImportError(line.number, "switch " + in_quotes(added.name) +
                                         (below.empty() ? " has neither Nodes= nor Switches="
                                                        : " has both Nodes= and Switches="));
    if (static_cast<int>(switches_.size()) >= import_switches)
      throw ImportError(line.number, "more than " + std::to_string(import_switches) + " switches");
    if (!index_.emplace(added.name, static_cast<int>(switches_.size())).second)
      throw ImportError(line.number, "a second switch " + in_quotes(added.name));
    hosts_ += static_cast<int>(added.hosts.size());
    if (hosts_ > import_hosts)
      throw ImportError(line.number, "more than " + std::to_string(import_hosts) + " nodes");
    switches_.push_back(std::move(added));
    below_.push_back(std::move(below));
  }

  SwitchTree finished() {
    if (switches_.empty())
      throw ImportError(0, "has no line SwitchName=...; is this Slurm's topology.conf?");
    join();
    check_hosts();
    check_circles();
    return {std::move(switches_), hosts_};
  }

 private:
  void read_field(std::string_view field, int line, TreeSwitch& added, std::string& below) {
    const std::size_t equals = field.find('=');
    const std::string key = lower_case(field.substr(0, equals));
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : field.substr(equals + 1);
    if (value.empty()) throw ImportError(line, in_quotes(field) + " has no value; write KEY=VALUE");
    if (key == "switchname") {
      added.name = value;
      if (value.find_first_of("[],") != std::string_view::npos)
        throw ImportError(line,
                          in_quotes(value) + " names several switches; write one line for each");
    } else if (key == "nodes") {
      added.hosts = expand_hostlist(value, line);
    } else if (key == "switches") {
      below = value;
    } else if (key == "linkspeed") {
      if (!told_speed_) notes_.ignored.emplace_back("LinkSpeed (Slurm does not interpret it)");
      told_speed_ = true;
    } else {
      throw ImportError(line, "unknown key " + in_quotes(field.substr(0, equals)) +
                                  "; known: SwitchName, Nodes, Switches, LinkSpeed");
    }
  }

  void join() {
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      if (below_[i].empty()) continue;
      const int line = switches_[i].line;
      for (const std::string& name : expand_hostlist(below_[i], line, import_switches)) {
        const auto child = index_.find(name);
        if (child == index_.end())
          throw ImportError(line, "there is no line SwitchName=" + printable(name));
        TreeSwitch& found = switches_[static_cast<std::size_t>(child->second)];
        if (found.parent >= 0)
          throw ImportError(line,
                            "switch " + in_quotes(name) + " lies below " +
                                in_quotes(switches_[static_cast<std::size_t>(found.parent)].name) +
                                " already; a tree has one way up");
        found.parent = static_cast<int>(i);
        switches_[i].switches.push_back(child->second);
      }
    }
  }

  void check_hosts() const {
    std::unordered_set<std::string_view> seen;
    for (const TreeSwitch& at : switches_)
      for (const std::string& host : at.hosts)
        if (!seen.insert(host).second)
          throw ImportError(at.line, "node " + in_quotes(host) + " stands below two switches");
  }

  /// Every switch leads to a top in fewer steps than there are switches.
  void check_circles() const {
    for (const TreeSwitch& at : switches_) {
      int steps = 0;
      for (int up = at.parent; up >= 0; up = switches_[static_cast<std::size_t>(up)].parent)
        if (++steps > 64)
          throw ImportError(
              at.line, "switch " + in_quotes(at.name) + " lies below itself, or 64 levels deep");
    }
  }

  ImportNotes& notes_;
  std::vector<TreeSwitch> switches_;
  std::vector<std::string> below_;  ///< host lists of switches
  std::unordered_map<std::string, int> index_;
  int hosts_ = 0;
  bool told_speed_ = false;
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

SwitchTree import_slurm_topology(std::string_view text, ImportNotes& notes) {
  TreeReader reader(notes);
  for (const ConfigLine& line : config_lines(text)) reader.add_line(line);
  return reader.finished();
}

}  // namespace foretrain
