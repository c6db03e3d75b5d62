// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

namespace foretrain {

/// A colour as every medium shows it.
struct Paint {
  const char* light;     ///< pictures, pages and windows on a light ground: "#rrggbb"
  const char* dark;      ///< pages and windows on a dark ground
  const char* terminal;  ///< ANSI 256-colour number
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

/// The eight that stand for no category: curves, groups, marks.
inline constexpr std::array<Paint, 8> series_paints{
    palette::blue, palette::orange, palette::green,  palette::vermilion,
    palette::sky,  palette::purple, palette::yellow, palette::grey};

}  // namespace foretrain
