// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "planner/scene/number_units.hpp"
#include "planner/text/palette.hpp"

namespace foretrain {

/// Pixels, y downwards.
struct ScenePoint {
  double x = 0.0;
  double y = 0.0;
};

struct SceneArea {
  double left = 0.0;
  double top = 0.0;
  double width = 0.0;
  double height = 0.0;

  [[nodiscard]] double right() const { return left + width; }
  [[nodiscard]] double bottom() const { return top + height; }
  [[nodiscard]] ScenePoint centre() const { return {left + width / 2.0, top + height / 2.0}; }
  /// Its sides moved inwards by so much.
  [[nodiscard]] SceneArea inside(double from_left, double from_top, double from_right,
                                 double from_bottom) const;
  [[nodiscard]] bool contains(const SceneArea& other) const;
  [[nodiscard]] bool meets(const SceneArea& other) const;
};

/// A colour by what it says, or of the palette by what it stands for; never by its value.
struct SceneColour {
  std::variant<Ink, Paint, Heat> of = Ink::text;
  double opacity = 1.0;

  // Charts name inks and paints as they are.
  // NOLINTBEGIN(google-explicit-constructor)
  constexpr SceneColour(Ink ink, double share = 1.0) : of{ink}, opacity{share} {}
  constexpr SceneColour(const Paint& paint, double share = 1.0) : of{paint}, opacity{share} {}
  constexpr SceneColour(Heat heat, double share = 1.0) : of{heat}, opacity{share} {}
  // NOLINTEND(google-explicit-constructor)

  friend bool operator==(const SceneColour&, const SceneColour&) = default;

  /// "#rrggbb", without the opacity.
  [[nodiscard]] std::string hex(bool dark) const;
};

enum class LetterSize { small, body, title };

struct SceneLetters {
  SceneColour ink = Ink::text;
  LetterSize size = LetterSize::small;
  bool bold = false;
};

/// How wide and high words are: of the font of the medium that the scene is for.
class TextMetrics {
 public:
  TextMetrics() = default;
  TextMetrics(const TextMetrics&) = delete;
  TextMetrics& operator=(const TextMetrics&) = delete;
  virtual ~TextMetrics() = default;

  [[nodiscard]] virtual double width(const std::string& text,
                                     const SceneLetters& letters) const = 0;
  /// Of a line.
  [[nodiscard]] virtual double height(LetterSize size) const = 0;
};

/// Pixels of letters in SVG files.
[[nodiscard]] double picture_letters(LetterSize size);
/// DejaVu Sans at the sizes of SVG files: the widest of the fonts that these ask for.
[[nodiscard]] const TextMetrics& picture_metrics();

/// A line of words in its box; turned by a quarter to the left where it is upright.
struct SceneText {
  SceneArea box;
  std::string text;
  SceneLetters letters;
  bool upright = false;
  bool cut = false;  ///< only its beginning had room
};
struct SceneLine {
  ScenePoint from;
  ScenePoint to;
  SceneColour ink = Ink::grid;
  double width = 1.0;
  bool dashed = false;
};
struct SceneBox {
  SceneArea area;
  SceneColour fill;
  double radius = 0.0;
  std::optional<SceneColour> ink{};  ///< of its outline
  double width = 1.0;
};
/// A line through points, or what it encloses.
struct ScenePath {
  std::vector<ScenePoint> points;
  std::optional<SceneColour> fill{};
  std::optional<SceneColour> ink{};
  double width = 1.0;
  bool dashed = false;
};
enum class DotShape { circle, diamond, triangle, square };
struct SceneDot {
  ScenePoint at;
  double radius = 4.0;
  SceneColour fill = Ink::surface;
  std::optional<SceneColour> ink{};
  double width = 1.0;
  DotShape shape = DotShape::circle;

  /// The corners of a dot that is no circle.
  [[nodiscard]] std::vector<ScenePoint> corners() const;
};
using SceneItem = std::variant<SceneText, SceneLine, SceneBox, ScenePath, SceneDot>;

/// What a mark stands for, so that other pictures can show the same.
struct SceneTarget {
  enum class Kind { none, stage, task, link, part, plan };

  Kind kind = Kind::none;
  int stage = -1;
  std::int64_t task = -1;
  std::string name{};                   ///< of the link or part
  std::vector<std::string> settings{};  ///< of the plan, as for --set

  friend bool operator==(const SceneTarget&, const SceneTarget&) = default;
};

/// Something that can be pointed at. Marks are in the order in which a reader goes through them.
struct SceneMark {
  SceneArea area;
  std::string title;
  std::vector<std::string> lines{};  ///< after a tab: to the right
  SceneTarget target{};
  std::vector<std::size_t> touches{};  ///< items, lines among them, that stand out with it
};

/// What a picture shows, in one line, with the tone of a verdict; a quieter line below.
struct SceneHeadline {
  std::string text;
  std::string detail{};
  std::optional<Ink> tone{};  ///< good, caution or bad
};

/// What a chart has to know of its medium.
struct SceneSpace {
  double width = 900.0;
  double height = 480.0;
  const TextMetrics* metrics = &picture_metrics();
  NumberUnits units{};
  SceneTarget picked{};   ///< in another picture
  std::string subject{};  ///< of a picture that stands alone: the name of the run
};

/// Of an SVG file about `subject`.
[[nodiscard]] SceneSpace picture_space(std::string subject, double width = 900.0,
                                       double height = 480.0);

/// A picture for every medium: scene_svg() and the window paint it, marks are what a pointer finds.
/// Whoever draws a chart writes one function from values to a scene.
struct Scene {
  enum class Across { start, middle, end };
  enum class Down { top, middle, bottom };
  static constexpr double unbounded = std::numeric_limits<double>::infinity();

  explicit Scene(const SceneSpace& in);

  /// Puts the headline above; what is left is for the chart.
  SceneArea headline(SceneHeadline line);

  /// One line at a point, the alignment says which of its points stands there. What is wider than
  /// `room` is cut; less than a letter of room draws nothing. Returns where it stands.
  SceneArea text(ScenePoint at, Across across, Down down, const std::string& words,
                 const SceneLetters& letters = {Ink::muted}, double room = unbounded);
  /// As many lines as it takes in that width. Returns their area.
  SceneArea paragraph(ScenePoint corner, double width, const std::string& words,
                      const SceneLetters& letters = {Ink::muted});
  /// Runs upwards, its middle at `centre`.
  void upright(ScenePoint centre, const std::string& words,
               const SceneLetters& letters = {Ink::muted});
  /// Ground behind words that bars or lines may reach.
  void plate(const SceneArea& area, double opacity = 0.86);

  void line(ScenePoint from, ScenePoint to, const SceneColour& ink = Ink::grid, double width = 1.0,
            bool dashed = false);
  void box(const SceneArea& area, const SceneColour& fill, double radius = 0.0);
  void add(SceneItem item) { items.push_back(std::move(item)); }

  [[nodiscard]] double text_width(const std::string& words,
                                  const SceneLetters& letters = {}) const {
    return space.metrics->width(words, letters);
  }
  [[nodiscard]] double line_height(LetterSize size = LetterSize::small) const {
    return space.metrics->height(size);
  }

  SceneSpace space;
  SceneArea chart{};  ///< below the headline
  std::vector<SceneItem> items{};
  std::vector<SceneMark> marks{};
};

/// An SVG 1.1 document on a light ground; each mark is a tip. `label`: for those who do not see it.
[[nodiscard]] std::string scene_svg(const Scene& scene, const std::string& label = {});

/// What a colour is called where a picture stands: "#1b222c", "var(--ink)".
using ColourName = std::function<std::string(const SceneColour&)>;
/// The elements of that document, in colours of that name, on whatever ground there is.
[[nodiscard]] std::string scene_elements(const Scene& scene, const ColourName& name);

}  // namespace foretrain
