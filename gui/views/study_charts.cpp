// SPDX-License-Identifier: Apache-2.0
// Views whose chart follows from the study at once.
#include "gui/views/chart_view.hpp"
#include "gui/views/registry.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/scene/scene.hpp"
#include "planner/step/roofline.hpp"
#include "planner/step/step_losses.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

struct StudyChart {
  bool (*known)(const Study&);
  const char* otherwise;  ///< the sentence where the step is known, but this is not
  Scene (*draw)(const Study&, const SceneSpace&);
  std::string (*table)(const Study&);
};

class StudyChartView : public ChartView {
 public:
  StudyChartView(const StudyChart& chart, QWidget* parent) : ChartView{parent}, chart_{chart} {}

  [[nodiscard]] QString csv() const override {
    return missing().isEmpty() ? qt_text(chart_.table(*study())) : QString{};
  }

 protected:
  [[nodiscard]] QString missing() const override {
    if (study() && study()->report && chart_.known(*study())) return {};
    const QString why = missing_step(study());
    return why.isEmpty() ? QString::fromLatin1(chart_.otherwise) : why;
  }
  [[nodiscard]] Scene scene(const SceneSpace& space) override {
    return chart_.draw(*study(), space);
  }

 private:
  const StudyChart chart_;
};

Roofline roofline_of(const Study& study) { return roofline(study.report->scenario.job); }

}  // namespace

View* make_memory_view(QWidget* parent) {
  return new StudyChartView{
      {[](const Study& s) { return s.report->prediction.memory.has_value(); }, "",
       [](const Study& s, const SceneSpace& space) {
         return memory_chart(*s.report->prediction.memory, space);
       },
       [](const Study& s) { return memory_csv(*s.report->prediction.memory); }},
      parent};
}

View* make_waterfall_view(QWidget* parent) {
  return new StudyChartView{
      {[](const Study& s) { return s.step() != nullptr && s.report->prediction.flops.has_value(); },
       "There is no count of FLOPs to compare the step with.",
       [](const Study& s, const SceneSpace& space) {
         return waterfall_chart(*s.report, s.losses.get(), space);
       },
       [](const Study& s) { return waterfall_csv(*s.report); }},
      parent};
}

View* make_roofline_view(QWidget* parent) {
  return new StudyChartView{
      {[](const Study& s) { return s.runs() && !roofline_of(s).kernels.empty(); },
       "This step has no kernels.",
       [](const Study& s, const SceneSpace& space) {
         return roofline_chart(roofline_of(s), s.report->scenario.job.cluster.host.device.title,
                               space);
       },
       [](const Study& s) { return roofline_csv(roofline_of(s)); }},
      parent};
}

}  // namespace foretrain::gui
