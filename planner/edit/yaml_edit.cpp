// SPDX-License-Identifier: Apache-2.0
#include "planner/edit/yaml_edit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "calibration/imports/record_text.hpp"
#include "planner/edit/internal/yaml_spans.hpp"
#include "scenarios/sections/scenario_fields.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

using Path = std::vector<std::string>;
/// Values by path, scalar groups under the child that they stand for. Empty groups keep an entry.
using Leaves = std::map<std::string, std::string>;

Path segments(const std::string& path) {
  Path result;
  std::size_t begin = 0;
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', begin)) {
    result.push_back(path.substr(begin, dot - begin));
    begin = dot + 1;
  }
  result.push_back(path.substr(begin));
  return result;
}

/// The field of a group that may be written as a scalar; null for all others.
const Field* short_group(const std::string& path) {
  const Field* field = scenario_fields().find(table_path(path));
  return field && !field->scalar_child.empty() ? field : nullptr;
}

void collect(const YamlNode& node, const std::string& path, Leaves& leaves) {
  if (node.is_map()) {
    if (node.entries.empty()) leaves[path] = "{}";
    for (const YamlEntry& entry : node.entries)
      collect(entry.value, child_path(path, entry.key), leaves);
  } else if (node.is_sequence()) {
    if (node.items.empty()) leaves[path] = "[]";
    for (std::size_t i = 0; i < node.items.size(); ++i)
      collect(node.items[i], fmt::format("{}[{}]", path, i), leaves);
  } else if (node.is_scalar()) {
    const Field* group = short_group(path);
    leaves[group ? path + "." + group->scalar_child : path] = "=" + node.text;
  } else {
    leaves[path] = "";
  }
}

bool lies_below(const std::string& path, const std::string& group) {
  return path == group || (path.starts_with(group) && path.size() > group.size() &&
                           (path[group.size()] == '.' || path[group.size()] == '['));
}

/// Empty groups say nothing; they come and go with what is in them.
void drop_empty(Leaves& leaves) {
  std::erase_if(leaves,
                [](const auto& leaf) { return leaf.second.empty() || leaf.second == "{}"; });
}

std::optional<YamlNode> parse(const std::string& text, std::string& problem) {
  Diagnostics diagnostics;
  auto root = parse_yaml(text, "text", YamlLimits{}, diagnostics);
  if (!root) {
    const Diagnostic& first = diagnostics.items().front();
    problem = fmt::format("the text cannot be changed by key while it is unreadable: line {}: {}",
                          first.line, first.message);
  }
  return root;
}

/// Nothing but blanks, line ends and comments.
bool has_no_content(const std::string& text) {
  bool comment = false;
  return std::ranges::all_of(text, [&](char c) {
    if (c == '\n') comment = false;
    comment = comment || c == '#';
    return comment || c == ' ' || c == '\t' || c == '\r' || c == '\n';
  });
}

/// Place of a key among its siblings in the reference.
std::size_t table_order(const std::string& group, const std::string& key) {
  const auto names = scenario_fields().child_names(group);
  return static_cast<std::size_t>(std::ranges::find(names, key) - names.begin());
}

/// One text with its tree; makes new texts.
class Editor {
 public:
  Editor(const std::string& text, YamlNode root)
      : text_{text}, root_{std::move(root)}, spans_{text} {}

  TextEdit set(const Path& path, const std::string& value) {
    Place place = find(path);
    if (place.depth == path.size()) return done(replaced(*place.entry, place.in_flow, value));
    const Path rest(path.begin() + static_cast<std::ptrdiff_t>(place.depth), path.end());
    if (place.node->is_map()) return done(inserted(place, rest, value));
    if (place.node->is_null()) return done(opened(place, rest, value));
    if (place.node->is_scalar()) {
      if (const Field* group = short_group(place.path)) {
        if (rest.size() == 1 && rest.front() == group->scalar_child)
          return done(replaced(*place.entry, place.in_flow, value));
        return done(expanded(place, group->scalar_child, rest, value));
      }
    }
    return {std::nullopt, fmt::format("{} is not a group here, so it has no {}",
                                      place.path.empty() ? "the text" : place.path, rest.front())};
  }

  /// Nothing when the key is not there.
  std::optional<std::string> without(const Path& path) {
    Place place = find(path);
    const bool stands_for_it = place.depth + 1 == path.size() && place.entry &&
                               place.node->is_scalar() && short_group(place.path) &&
                               short_group(place.path)->scalar_child == path.back();
    if (place.depth != path.size() && !stands_for_it) return std::nullopt;
    // A group that has nothing else goes as well.
    std::size_t at = place.trail.size() - 1;
    while (at > 0 && place.trail[at].map->entries.size() == 1) --at;
    const Step& step = place.trail[at];
    return step.in_flow ? cut_flow(step) : cut_lines(step);
  }

 private:
  /// An entry on the way to a path.
  struct Step {
    const YamlNode* map = nullptr;
    std::size_t index = 0;
    bool in_flow = false;  ///< the map is written in braces
  };
  struct Place {
    const YamlNode* node = nullptr;    ///< the last that exists
    const YamlEntry* entry = nullptr;  ///< that holds it; null for the root
    std::string path;                  ///< of the node
    std::size_t depth = 0;             ///< segments that exist
    bool in_flow = false;              ///< the entry stands in a flow map
    std::vector<Step> trail;
  };

  [[nodiscard]] Place find(const Path& path) const {
    Place place;
    place.node = &root_;
    bool flow = spans_.is_flow(root_);
    for (const std::string& key : path) {
      if (!place.node->is_map()) break;
      const auto& entries = place.node->entries;
      const auto entry =
          std::ranges::find_if(entries, [&](const YamlEntry& e) { return e.key == key; });
      if (entry == entries.end()) break;
      place.trail.push_back({place.node, static_cast<std::size_t>(entry - entries.begin()), flow});
      place.in_flow = flow;
      place.entry = &*entry;
      place.node = &entry->value;
      place.path = child_path(place.path, key);
      ++place.depth;
      flow = flow || spans_.is_flow(*place.node);
    }
    return place;
  }

  static TextEdit done(std::string text) { return {std::move(text), {}}; }

  [[nodiscard]] std::string with(Span span, const std::string& replacement) const {
    return text_.substr(0, span.begin) + replacement + text_.substr(span.end);
  }

  [[nodiscard]] std::string replaced(const YamlEntry& entry, bool in_flow,
                                     const std::string& value) const {
    const std::size_t colon = spans_.behind_colon(entry);
    if (entry.value.is_null()) return with({colon, colon}, " " + value);
    const Span span = spans_.of(entry.value, in_flow);
    const bool below = text_.find('\n', colon) < span.begin;
    return below ? with({colon, span.end}, " " + value) : with(span, value);
  }

  /// "b: {c: value}" for the path b.c.
  static std::string flow_text(const Path& path, std::size_t from, const std::string& value) {
    if (from + 1 == path.size()) return path[from] + ": " + value;
    return path[from] + ": {" + flow_text(path, from + 1, value) + "}";
  }

  [[nodiscard]] std::string newline() const {
    return text_.find("\r\n") == std::string::npos ? "\n" : "\r\n";
  }

  /// The same over several lines, each with its line end before it.
  [[nodiscard]] std::string block_text(const Path& path, std::size_t indent,
                                       const std::string& value) const {
    std::string result;
    for (std::size_t i = 0; i < path.size(); ++i)
      result += newline() + std::string(indent + 2 * i, ' ') + path[i] + ":";
    return result + " " + value;
  }

  [[nodiscard]] std::string inserted(const Place& place, const Path& rest,
                                     const std::string& value) const {
    const YamlNode& map = *place.node;
    const bool flow = place.in_flow || spans_.is_flow(map);
    const std::size_t order = table_order(place.path, rest.front());
    const YamlEntry* before = nullptr;
    for (const YamlEntry& entry : map.entries)
      if (table_order(place.path, entry.key) < order) before = &entry;
    if (flow) {
      const std::string item = flow_text(rest, 0, value);
      if (map.entries.empty()) {
        const std::size_t at = spans_.offset(map.mark) + 1;
        return with({at, at}, item);
      }
      const std::size_t at =
          before ? spans_.of(*before, true).end : spans_.offset(map.entries.front().mark);
      return with({at, at}, before ? ", " + item : item + ", ");
    }
    const auto indent = static_cast<std::size_t>(map.entries.front().mark.column - 1);
    const std::string lines = block_text(rest, indent, value);
    if (before) {
      const std::size_t at = spans_.line_end(spans_.of(*before, false).end);
      return with({at, at}, lines);
    }
    const std::size_t at = spans_.line_begin(spans_.offset(map.entries.front().mark));
    return with({at, at}, lines.substr(newline().size()) + newline());
  }

  /// A group without content gets its first key.
  [[nodiscard]] std::string opened(const Place& place, const Path& rest,
                                   const std::string& value) const {
    if (!place.entry)
      return text_ + block_text(rest, 0, value).substr(newline().size()) + newline();
    const std::size_t colon = spans_.behind_colon(*place.entry);
    if (place.in_flow) return with({colon, colon}, " {" + flow_text(rest, 0, value) + "}");
    const std::size_t at = spans_.line_end(colon);
    const auto indent = static_cast<std::size_t>(place.entry->mark.column) + 1;
    return with({at, at}, block_text(rest, indent, value));
  }

  /// "recompute: full" becomes "recompute: {granularity: full, layers: 2}".
  [[nodiscard]] std::string expanded(const Place& place, const std::string& child, const Path& rest,
                                     const std::string& value) const {
    const Span span = spans_.of(*place.node, place.in_flow);
    return with(span, "{" + child + ": " + text_.substr(span.begin, span.end - span.begin) + ", " +
                          flow_text(rest, 0, value) + "}");
  }

  [[nodiscard]] std::string cut_flow(const Step& step) const {
    const auto& entries = step.map->entries;
    Span span = spans_.of(entries[step.index], true);
    if (step.index + 1 < entries.size())
      span.end = spans_.offset(entries[step.index + 1].mark);
    else if (step.index > 0)
      span.begin = spans_.of(entries[step.index - 1], true).end;
    return with(span, "");
  }

  [[nodiscard]] std::string cut_lines(const Step& step) const {
    const Span span = spans_.of(step.map->entries[step.index], false);
    return with({spans_.line_begin(span.begin), spans_.next_line(span.end)}, "");
  }

  const std::string& text_;
  YamlNode root_;
  YamlSpans spans_;
};

/// Whether `after` holds what `before` holds, but for what lies at `path`; there it holds `wanted`.
bool changed_only(const YamlNode& before, const std::string& after_text, const std::string& path,
                  const Leaves& wanted) {
  std::string problem;
  YamlNode after;
  if (!has_no_content(after_text)) {
    auto parsed = parse(after_text, problem);
    if (!parsed) return false;
    after = std::move(*parsed);
  }
  Leaves expected;
  collect(before, "", expected);
  std::erase_if(expected, [&](const auto& leaf) { return lies_below(leaf.first, path); });
  expected.insert(wanted.begin(), wanted.end());
  Leaves found;
  collect(after, "", found);
  drop_empty(expected);
  drop_empty(found);
  return expected == found;
}

TextEdit refused(const std::string& path) {
  return {std::nullopt, path + " stands in a form that only the text editor can change"};
}

/// A value as it can stand in any place: what a brace would end is quoted.
std::string portable(const YamlNode& node, const std::string& value) {
  const bool plain = node.is_scalar() && !node.quoted;
  return plain && node.text.find_first_of(",[]{}") != std::string::npos ? yaml_scalar(node.text)
                                                                        : value;
}

}  // namespace

TextEdit set_value(const std::string& text, const std::string& path, const std::string& value) {
  if (value.find_first_of("\n\r") != std::string::npos)
    return {std::nullopt, "a value of " + path + " must stand on one line"};
  if (path.find('[') != std::string::npos)
    return {std::nullopt, path + " is an element of a list; only the text editor can change it"};
  std::string problem;
  const auto node = parse(value, problem);
  if (!node) return {std::nullopt, in_quotes(value) + " is not a value for " + path};
  std::optional<YamlNode> root = YamlNode{};
  std::string base = text;
  if (has_no_content(text)) {
    if (!base.empty() && base.back() != '\n') base += '\n';
  } else {
    root = parse(text, problem);
  }
  if (!root) return {std::nullopt, problem};
  TextEdit edit =
      Editor{base, *root}.set(segments(path), portable(*node, std::string(trimmed(value))));
  if (!edit.text) return edit;
  Leaves wanted;
  collect(*node, path, wanted);
  return changed_only(*root, *edit.text, path, wanted) ? edit : refused(path);
}

TextEdit remove_value(const std::string& text, const std::string& path) {
  if (has_no_content(text)) return {text, {}};
  std::string problem;
  const auto root = parse(text, problem);
  if (!root) return {std::nullopt, problem};
  const auto edited = Editor{text, *root}.without(segments(path));
  if (!edited) return {text, {}};
  if (!changed_only(*root, *edited, path, {})) return refused(path);
  return {*edited, {}};
}

TextEdit apply_settings(const std::string& text, const std::vector<std::string>& settings) {
  TextEdit edit{text, {}};
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos)
      return {std::nullopt, in_quotes(setting) + " is not a setting; write key=value"};
    edit = set_value(*edit.text, setting.substr(0, equals), setting.substr(equals + 1));
    if (!edit.text) return edit;
  }
  return edit;
}

std::string yaml_scalar(const std::string& text) {
  Diagnostics diagnostics;
  const auto node = parse_yaml(text, "text", YamlLimits{}, diagnostics);
  const bool plain = node && diagnostics.empty() && node->is_scalar() && !node->quoted &&
                     node->text == text && text.find_first_of(",[]{}#\n\r") == std::string::npos &&
                     text.find(": ") == std::string::npos && text.back() != ':';
  if (plain) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n')
      quoted += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20)
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    else
      quoted += c;
  }
  return quoted + "\"";
}

}  // namespace foretrain
