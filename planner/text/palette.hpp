// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "models/step/task_graph.hpp"

namespace foretrain {

/// A colour as every medium shows it.
struct Paint {
  const char* light;     ///< pictures, pages and windows on a light ground: "#rrggbb"
  const char* dark;      ///< pages and windows on a dark ground
  const char* terminal;  ///< ANSI 256-colour number

  friend constexpr bool operator==(const Paint& a, const Paint& b) {
    return std::string_view(a.light) == b.light && std::string_view(a.dark) == b.dark;
  }
};

/// The colours of everything that is drawn: window, page, SVG and terminal take them from here.
/// Told apart with any common colour blindness: the set of Okabe and Ito ("Color Universal Design",
/// 2008), its black and yellow adapted to the ground, and quieter ones beside it.
namespace palette {
inline constexpr Paint blue{"#0072b2", "#3d9ad6", "32"};
inline constexpr Paint orange{"#e69f00", "#e69f00", "214"};
inline constexpr Paint green{"#009e73", "#1fb58a", "36"};
inline constexpr Paint vermilion{"#d55e00", "#e8711a", "166"};
inline constexpr Paint sky{"#56b4e9", "#7cc8f2", "117"};
inline constexpr Paint purple{"#cc79a7", "#d98bb7", "175"};
inline constexpr Paint yellow{"#d9cb2a", "#f0e442", "227"};
inline constexpr Paint grey{"#808892", "#8c97a5", "246"};

inline constexpr Paint steel{"#9bb8d3", "#5f83a8", "110"};
inline constexpr Paint sand{"#e8c9a0", "#cfae83", "223"};
inline constexpr Paint mint{"#9fd3c7", "#86c2b4", "152"};
inline constexpr Paint violet{"#7f4f8c", "#a878b6", "96"};
inline constexpr Paint brown{"#8c6d46", "#b08f63", "137"};
inline constexpr Paint slate{"#6b7a8f", "#8fa1ba", "103"};
inline constexpr Paint ink{"#333333", "#c9ced4", "238"};
inline constexpr Paint silver{"#b4b4b4", "#6a7078", "249"};

/// Each of them once.
inline constexpr std::array<Paint, 16> all{blue,   orange, green, vermilion, sky,  purple,
                                           yellow, grey,   steel, sand,      mint, violet,
                                           brown,  slate,  ink,   silver};
}  // namespace palette

/// What a colour says, on either ground.
enum class Ink {
  text,     ///< contrast to surface above 7:1
  muted,    ///< labels, axes; above 4.5:1
  grid,     ///< of charts; quieter than border
  border,   ///< hairlines around surfaces
  window,   ///< behind everything
  surface,  ///< cards, charts, panes
  raised,   ///< buttons, inputs, headers, tips
  hover,    ///< under the pointer
  accent,   ///< selection, links, primary buttons
  good,     ///< fits
  caution,  ///< fits barely, warnings
  bad,      ///< does not fit, errors
  idle      ///< bubbles and idle time
};

struct InkLook {
  Ink ink;
  const char* property;  ///< of style sheets, without its dashes
  Paint paint;
};
/// In the order of Ink.
inline constexpr std::array<InkLook, 13> inks{
    {{Ink::text, "ink", {"#1b222c", "#e8ecf1", "252"}},
     {Ink::muted, "soft", {"#5a6675", "#a0acba", "246"}},
     {Ink::grid, "grid", {"#e6eaef", "#2a333e", "238"}},
     {Ink::border, "line", {"#d5dbe3", "#343f4c", "240"}},
     {Ink::window, "window", {"#eef1f5", "#12161c", "233"}},
     {Ink::surface, "ground", {"#ffffff", "#1a2028", "234"}},
     {Ink::raised, "panel", {"#f6f8fa", "#242c36", "235"}},
     {Ink::hover, "hover", {"#e7ecf2", "#2e3844", "236"}},
     {Ink::accent, "link", {"#0b62a8", "#5ab4f0", "75"}},
     {Ink::good, "good", {"#007a5a", "#3fc89c", "36"}},
     {Ink::caution, "caution", {"#8a5800", "#f0b43c", "214"}},
     {Ink::bad, "bad", {"#b53a00", "#ff8a55", "209"}},
     {Ink::idle, "idle", {"#dde2e8", "#2b343f", "238"}}}};
[[nodiscard]] constexpr const InkLook& look_of(Ink ink) {
  return inks[static_cast<std::size_t>(ink)];
}

/// How much of the most, from idle to the busiest: even in lightness, safe for colour-blind eyes.
struct Heat {
  double share = 0.0;  ///< 0 to 1

  friend bool operator==(const Heat&, const Heat&) = default;
};
/// Its colour on a light or a dark ground: "#rrggbb".
[[nodiscard]] std::string hex_of(Heat heat, bool dark);
/// Black or white, whichever reads better on it.
[[nodiscard]] Paint ink_on(Heat heat);

/// The eight that stand for no category: curves, groups, marks.
inline constexpr std::array<Paint, 8> series_paints{
    palette::blue, palette::orange, palette::green,  palette::vermilion,
    palette::sky,  palette::purple, palette::yellow, palette::grey};

/// How a role of a task looks in a Gantt chart: a letter where there is no colour (every second
/// micro-batch in lower case), a coloured block or area with it.
struct TaskLook {
  TaskRole role;
  const char* name;
  char letter;
  Paint paint;
};

inline constexpr std::array<TaskLook, 14> task_looks{
    {{TaskRole::forward, "forward", 'F', palette::blue},
     {TaskRole::backward, "backward", 'B', palette::orange},
     {TaskRole::input_gradient, "input gradient", 'I', palette::vermilion},
     {TaskRole::weight_gradient, "weight gradient", 'W', palette::violet},
     {TaskRole::tensor, "tensor exchange", 'T', palette::yellow},
     {TaskRole::context, "context exchange", 'K', palette::sand},
     {TaskRole::expert, "expert exchange", 'E', palette::mint},
     {TaskRole::transfer, "transfer", 'S', palette::sky},
     {TaskRole::gradients, "gradient reduction", 'G', palette::purple},
     {TaskRole::weights, "weight gathering", 'A', palette::steel},
     {TaskRole::optimizer, "optimizer", 'O', palette::green},
     {TaskRole::input, "input", 'N', palette::brown},
     {TaskRole::offload, "offload", 'M', palette::slate},
     {TaskRole::constant, "fixed cost", 'C', palette::silver}}};

[[nodiscard]] constexpr const TaskLook& look_of(TaskRole role) {
  for (const TaskLook& look : task_looks)
    if (look.role == role) return look;
  return task_looks.back();
}

}  // namespace foretrain
