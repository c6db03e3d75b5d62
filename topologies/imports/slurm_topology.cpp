// SPDX-License-Identifier: Apache-2.0
#include "topologies/imports/slurm_topology.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace foretrain {
namespace {

using imports::import_lines;
using imports::lower_case;
using imports::printable;
using imports::quoted;
using imports::trimmed;
using imports::words;

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
    const auto fields = words(line.text);
    if (fields.empty()) return;
    const std::string first = lower_case(fields.front());
    if (first.starts_with("blockname") || first.starts_with("blocksizes"))
      throw ImportError(line.number,
                        "describes blocks (topology/block), which say nothing about switches; a "
                        "tree with SwitchName= lines (topology/tree) can be read");
    if (first == "include")
      throw ImportError(line.number, "includes another file; write the lines into this one");
    if (!first.starts_with("switchname="))
      throw ImportError(
          line.number, "begins with " + quoted(fields.front()) + "; SwitchName=NAME belongs there");
    TreeSwitch added;
    added.line = line.number;
    std::string below;
    for (const std::string_view field : fields) read_field(field, line.number, added, below);
    if (added.hosts.empty() == below.empty())
      throw ImportError(line.number, "switch " + quoted(added.name) +
                                         (below.empty() ? " has neither Nodes= nor Switches="
                                                        : " has both Nodes= and Switches="));
    if (static_cast<int>(switches_.size()) >= import_switches)
      throw ImportError(line.number, "more than " + std::to_string(import_switches) + " switches");
    if (!index_.emplace(added.name, static_cast<int>(switches_.size())).second)
      throw ImportError(line.number, "a second switch " + quoted(added.name));
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
    if (value.empty()) throw ImportError(line, quoted(field) + " has no value; write KEY=VALUE");
    if (key == "switchname") {
      added.name = value;
      if (value.find_first_of("[],") != std::string_view::npos)
        throw ImportError(line, quoted(value) + " names several switches; write one line for each");
    } else if (key == "nodes") {
      added.hosts = expand_hostlist(value, line);
    } else if (key == "switches") {
      below = value;
    } else if (key == "linkspeed") {
      if (!told_speed_) notes_.ignored.emplace_back("LinkSpeed (Slurm does not interpret it)");
      told_speed_ = true;
    } else {
      throw ImportError(line, "unknown key " + quoted(field.substr(0, equals)) +
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
                            "switch " + quoted(name) + " lies below " +
                                quoted(switches_[static_cast<std::size_t>(found.parent)].name) +
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
          throw ImportError(at.line, "node " + quoted(host) + " stands below two switches");
  }

  /// Every switch leads to a top in fewer steps than there are switches.
  void check_circles() const {
    for (const TreeSwitch& at : switches_) {
      int steps = 0;
      for (int up = at.parent; up >= 0; up = switches_[static_cast<std::size_t>(up)].parent)
        if (++steps > 64)
          throw ImportError(at.line,
                            "switch " + quoted(at.name) + " lies below itself, or 64 levels deep");
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

SwitchTree import_slurm_topology(std::string_view text, ImportNotes& notes) {
  TreeReader reader(notes);
  for (const ConfigLine& line : config_lines(text)) reader.add_line(line);
  return reader.finished();
}

}  // namespace foretrain
