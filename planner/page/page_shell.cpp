// SPDX-License-Identifier: Apache-2.0
#include "planner/page/internal/page_shell.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "models/base/require.hpp"
#include "planner/page/internal/page_files.hpp"
#include "planner/text/content_policy.hpp"
#include "planner/text/palette.hpp"
#include "planner/text/svg_text.hpp"
#include "planner/text/task_looks.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

/// JSON inside a <script> element: neither its end nor a comment can begin in a string.
std::string script_safe(const std::string& json) {
  std::string result;
  result.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      result += "\\u003c";
    else if (c == '>')
      result += "\\u003e";
    else if (c == '&')
      result += "\\u0026";
    else
      result += c;
  }
  return result;
}

/// Replaces every {{name}} of `text` once; what is put in is not looked at again.
std::string filled(std::string_view text,
                   const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string result;
  while (!text.empty()) {
    const std::size_t open = text.find("{{");
    result += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find("}}", open);
    FORETRAIN_REQUIRE(close != std::string_view::npos);
    const std::string_view name = text.substr(open + 2, close - open - 2);
    bool known = false;
    for (const auto& [key, value] : values)
      if (key == name) {
        result += value;
        known = true;
      }
    FORETRAIN_REQUIRE(known);
    text.remove_prefix(close + 2);
  }
  return result;
}

/// The palette as custom properties, on a light ground and on a dark one. Paper is light.
std::string palette_style() {
  std::string light;
  std::string dark;
  const auto add = [&](const std::string& name, const Paint& paint) {
    light += fmt::format("--{}:{};", name, paint.light);
    dark += fmt::format("--{}:{};", name, paint.dark);
  };
  constexpr std::array names{"blue", "orange", "green", "red", "sky", "pink", "yellow", "grey"};
  for (std::size_t i = 0; i < names.size(); ++i) add(names[i], series_paints[i]);
  // Of pictures, which name a colour by what it is on a light ground.
  for (const Paint& paint : palette::all) add(std::string("ink-") + (paint.light + 1), paint);
  for (const InkLook& look : inks) add(look.property, look.paint);
  std::size_t task = 0;
  for (const TaskLook& look : task_looks) add(fmt::format("task-{}", task++), look.paint);
  return fmt::format(":root{{{}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{}}}}}\n",
                     light, dark);
}

std::string contents_html(const PageShell& shell) {
  if (shell.links.size() < 3) return "";
  std::string list;
  for (const auto& [id, words] : shell.links)
    list += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", id, xml_text(words));
  return "<nav aria-label=\"Contents\"><ul>\n" + list + "</ul></nav>\n";
}

std::string limits_html(const PageShell& shell) {
  if (shell.limits.empty()) return "";
  std::string list;
  for (const std::string& item : shell.limits) list += "<li>" + item + "</li>\n";
  return "<h2 id=\"limits\">How to read this, and its limits</h2>\n<ul>\n" + list + "</ul>\n";
}

}  // namespace

std::string shell_html(const PageShell& shell) {
  // Paper has colours of its own, which come last.
  const std::string style = palette_style().append(page_style());
  const bool scripted = !shell.data.empty();
  const std::string script_rule =
      scripted ? fmt::format(" script-src '{}';", policy_hash(page_script())) : "";
  const std::string scripts =
      scripted ? fmt::format(
                     "<div id=\"tip\" role=\"tooltip\" hidden></div>\n"
                     "<script type=\"application/json\" id=\"data\">{}</script>\n"
                     "<script>{}</script>\n",
                     script_safe(shell.data), page_script())
               : "";
  return filled(page_template(), {{"title", xml_text(shell.title)},
                                  {"kind", xml_text(shell.kind)},
                                  {"style-hash", policy_hash(style)},
                                  {"script-rule", script_rule},
                                  {"style", style},
                                  {"contents", contents_html(shell)},
                                  {"main", shell.main},
                                  {"limits", limits_html(shell)},
                                  {"version", version},
                                  {"scripts", scripts}});
}

}  // namespace foretrain
