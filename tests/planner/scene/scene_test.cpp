// SPDX-License-Identifier: Apache-2.0
#include "planner/scene/scene.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "planner/forecast/power_chart.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/scene/scene_parts.hpp"
#include "planner/solve/sensitivity.hpp"
#include "planner/step/roofline.hpp"
#include "planner/step/step_losses.hpp"
#include "planner/step/step_slices.hpp"

namespace foretrain {
namespace {

/// What is wrong with the words of a scene: cut, outside of it, or one on another.
std::string word_faults(const Scene& scene) {
  const SceneArea all{0.0, 0.0, scene.space.width, scene.space.height};
  std::vector<const SceneText*> texts;
  std::string faults;
  for (const SceneItem& item : scene.items) {
    const auto* text = std::get_if<SceneText>(&item);
    if (text == nullptr) continue;
    if (!all.contains(text->box)) faults += "outside: " + text->text + "\n";
    for (const SceneText* other : texts) {
      const double wide = std::min(text->box.right(), other->box.right()) -
                          std::max(text->box.left, other->box.left);
      const double high = std::min(text->box.bottom(), other->box.bottom()) -
                          std::max(text->box.top, other->box.top);
      // Letters do not fill their boxes: a pixel in common hides nothing.
      if (wide > 1.5 && high > 2.5) faults += text->text + " lies on " + other->text + "\n";
    }
    texts.push_back(text);
  }
  return faults;
}

Scenario scenario_of(const char* name) {
  return load_scenario(std::string{FORETRAIN_SOURCE_DIR "/scenarios/"} + name + ".yaml");
}

}  // namespace

TEST_CASE("scene: words that are too wide are cut, and nothing is drawn of less than a letter",
          "[planner][scene]") {
  Scene scene{SceneSpace{}};
  const std::string words = "pipeline stage 12 of 16";
  const double wide = scene.text_width(words);
  CHECK(scene.text({10.0, 10.0}, Scene::Across::start, Scene::Down::top, words).width ==
        Approx(wide).margin(1.0));
  for (const double room : {0.3 * wide, 0.6 * wide, 0.9 * wide})
    CHECK(
        scene.text({10.0, 10.0}, Scene::Across::end, Scene::Down::bottom, words, {}, room).width <=
        room + 1.0);
  CHECK(std::get<SceneText>(scene.items.back()).cut);
  const std::size_t before = scene.items.size();
  CHECK(scene.text({}, Scene::Across::start, Scene::Down::top, words, {}, 4.0).width == 0.0);
  CHECK(scene.items.size() == before);
}

TEST_CASE("scene: a point of the words stands where it was put", "[planner][scene]") {
  Scene scene{SceneSpace{}};
  const auto put = [&](Scene::Across across, Scene::Down down) {
    return scene.text({200.0, 100.0}, across, down, "GiB per GPU");
  };
  CHECK(put(Scene::Across::end, Scene::Down::bottom).right() == Approx(200.0).margin(0.5));
  CHECK(put(Scene::Across::end, Scene::Down::bottom).bottom() == Approx(100.0).margin(0.5));
  CHECK(put(Scene::Across::middle, Scene::Down::middle).centre().x == Approx(200.0).margin(0.5));
  CHECK(put(Scene::Across::middle, Scene::Down::middle).centre().y == Approx(100.0).margin(0.5));
}

TEST_CASE("scene: a paragraph keeps its width and loses no word", "[planner][scene]") {
  Scene scene{SceneSpace{}};
  const std::string words = "one two three four five six seven eight nine ten eleven twelve";
  const SceneArea area = scene.paragraph({0.0, 0.0}, 120.0, words);
  std::string read;
  for (const SceneItem& item : scene.items) {
    const auto& line = std::get<SceneText>(item);
    CHECK(line.box.width <= 121.0);
    CHECK(line.box.bottom() <= area.bottom() + 1.0);
    read += (read.empty() ? "" : " ") + line.text;
  }
  CHECK(read == words);
}

TEST_CASE("scene: names from files cannot become markup", "[planner][scene]") {
  Scene scene{picture_space("a <b> & \"c\"")};
  scene.headline({"fits"});
  scene.marks.push_back({{1.0, 1.0, 2.0, 2.0}, "<script>", {"x\t</svg>"}});
  const std::string svg = scene_svg(scene, "</title>");
  for (const char* raw : {"<b>", "<script>", "</svg>\n</svg>"})
    CHECK(svg.find(raw) == std::string::npos);
  CHECK(svg.find("a &lt;b&gt; &amp; &quot;c&quot;") != std::string::npos);
  CHECK(svg.find("x: &lt;/svg&gt;") != std::string::npos);
}

/// Contrast of two colours, WCAG 2.1.
static double contrast(std::string_view one, std::string_view other) {
  const auto luminance = [](std::string_view hex) {
    const auto part = [&](std::size_t at) {
      const double c = std::stoi(std::string(hex.substr(at, 2)), nullptr, 16) / 255.0;
      return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
  };
  const double a = luminance(one) + 0.05;
  const double b = luminance(other) + 0.05;
  return std::max(a, b) / std::min(a, b);
}

TEST_CASE("scene: every ink is in the table at its place, and reads on both grounds",
          "[planner][scene]") {
  for (std::size_t i = 0; i < inks.size(); ++i) {
    CHECK(static_cast<std::size_t>(inks[i].ink) == i);
    for (std::size_t j = i + 1; j < inks.size(); ++j)
      CHECK(std::string_view(inks[i].property) != inks[j].property);
  }
  const Paint& ground = look_of(Ink::surface).paint;
  for (const auto& [ink, least] : {std::pair{Ink::text, 7.0},
                                   {Ink::muted, 4.5},
                                   {Ink::good, 4.5},
                                   {Ink::caution, 4.5},
                                   {Ink::bad, 4.5},
                                   {Ink::accent, 4.5}}) {
    const InkLook& look = look_of(ink);
    CAPTURE(look.property);
    CHECK(contrast(look.paint.light, ground.light) >= least);
    CHECK(contrast(look.paint.dark, ground.dark) >= least);
  }
}

TEST_CASE("scene: no word of a chart is outside or lies on another, at any size",
          "[planner][scene][property]") {
  const char* const name =
      GENERATE("llama3-8b-8xh100", "llama2-70b-1024xh100", "llama3.1-405b-16384xh100");
  const Scenario scenario = scenario_of(name);
  const Report report = evaluate(scenario, AttentionFlops::full, EngineKind::path);
  const auto path = play_step(report);
  REQUIRE(path);
  const StepLosses losses = step_losses(report);
  const Roofline roof = roofline(scenario.job);
  const MemoryForecast& memory = *report.prediction.memory;
  const MemoryCourse course = stage_memory_course(report, *path, memory.peak_stage);
  const Sensitivity moved = sensitivity(scenario, SensitivityMetric::time, 0.1);
  for (const auto& [width, height] :
       {std::pair{900.0, 480.0}, {1600.0, 900.0}, {640.0, 420.0}, {420.0, 320.0}})
    for (const char* subject : {"", "a run"}) {
      const SceneSpace space = picture_space(subject, width, height);
      CAPTURE(name, width, height, subject);
      CHECK(word_faults(memory_chart(memory, space)) == "");
      CHECK(word_faults(waterfall_chart(report, &losses, space)) == "");
      CHECK(word_faults(roofline_chart(roof, "H100", space)) == "");
      CHECK(word_faults(course_chart(course, memory.usable, space)) == "");
      CHECK(word_faults(tornado_chart(moved, space)) == "");
      CHECK(word_faults(power_chart(step_power(scenario.job, *path), space)) == "");
    }
}

TEST_CASE("scene: bars of the waterfall end where the step ends", "[planner][scene]") {
  const Report report = evaluate(scenario_of("llama2-70b-1024xh100"));
  const Scene scene = waterfall_chart(report, nullptr, {});
  std::vector<SceneBox> bars;
  for (const SceneItem& item : scene.items)
    if (const auto* box = std::get_if<SceneBox>(&item)) bars.push_back(*box);
  REQUIRE(bars.size() > 4);
  const SceneBox& whole = bars.back();
  for (std::size_t i = 0; i + 1 < bars.size(); ++i) {
    CHECK(bars[i].area.left >= whole.area.left - 1.5);
    if (i > 0) CHECK(bars[i].area.left == Approx(bars[i - 1].area.right()).margin(1.6));
  }
  CHECK(bars[bars.size() - 2].area.right() == Approx(whole.area.right()).margin(1.6));
}

}  // namespace foretrain
