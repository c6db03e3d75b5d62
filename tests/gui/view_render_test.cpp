// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <QTemporaryDir>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "gui/views/registry.hpp"
#include "gui/views/render.hpp"
#include "tests/gui/view_fixture.hpp"

namespace foretrain::gui {
namespace {

QString scenario(const char* name) {
  return QStringLiteral(FORETRAIN_SOURCE_DIR "/scenarios/") + QString::fromLatin1(name);
}

std::string bytes_of(const QString& file) {
  std::ifstream stream{file.toStdString(), std::ios::binary};
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  return bytes.str();
}

}  // namespace

TEST_CASE("render: the same request gives the same bytes", "[gui][views][render]") {
  fixtures::application();
  const QTemporaryDir folder;
  for (const ViewEntry& entry : view_registry()) {
    if (std::string{entry.id} == "scatter" || std::string{entry.id} == "pareto") continue;
    RenderRequest request;
    request.view = QString::fromLatin1(entry.id);
    request.scenario = scenario("llama2-70b-1024xh100.yaml");
    request.size = {1000, 640};
    request.out = folder.filePath(QStringLiteral("a.png"));
    CHECK(render(request).code == 0);
    RenderRequest again = request;
    again.out = folder.filePath(QStringLiteral("b.png"));
    CHECK(render(again).code == 0);
    CAPTURE(entry.id);
    CHECK(bytes_of(request.out) == bytes_of(again.out));
    const QImage image{request.out};
    CHECK(image.size() == QSize{1000, 640});
  }
}

TEST_CASE("render: twice the pixels per unit, the same picture", "[gui][views][render]") {
  fixtures::application();
  const QTemporaryDir folder;
  RenderRequest request{folder.filePath(QStringLiteral("x.png")),
                        QStringLiteral("memory"),
                        scenario("llama3-8b-8xh100.yaml"),
                        {640, 400}};
  request.scale = 2.0;
  request.theme = ThemeKind::dark;
  REQUIRE(render(request).code == 0);
  const QImage image{request.out};
  CHECK(image.size() == QSize{1280, 800});
  CHECK(image.pixelColor(2, 2) == theme_of(ThemeKind::dark).surface);
}

TEST_CASE("render: what cannot be drawn is refused with a sentence", "[gui][views][render]") {
  fixtures::application();
  const QTemporaryDir folder;
  RenderRequest request{folder.filePath(QStringLiteral("x.png")),
                        QStringLiteral("gant"),
                        scenario("llama3-8b-8xh100.yaml"),
                        {640, 400}};
  const RenderOutcome unknown = render(request);
  CHECK(unknown.code == 2);
  CHECK(unknown.message.contains(QStringLiteral("did you mean 'gantt'?")));
  CHECK(unknown.message.contains(QStringLiteral("waterfall")));
  request.view = QStringLiteral("gantt");
  request.scenario = QStringLiteral("nowhere.yaml");
  CHECK(render(request).code == 2);
  CHECK(render(request).message.startsWith(QStringLiteral("nowhere.yaml: ")));
  request.scenario = scenario("llama3-8b-8xh100.yaml");
  request.out = folder.filePath(QStringLiteral("x.gif"));
  CHECK(render(request).message.contains(QStringLiteral(".png")));
  request.out = folder.filePath(QStringLiteral("no/such/folder/x.png"));
  CHECK(render(request).code == 2);
}

TEST_CASE("render: a plan that cannot run is drawn, and told", "[gui][views][render]") {
  fixtures::application();
  const QTemporaryDir folder;
  const QString file = folder.filePath(QStringLiteral("heavy.yaml"));
  std::filesystem::copy_file(scenario("llama2-70b-1024xh100.yaml").toStdString(),
                             folder.filePath(QStringLiteral("base.yaml")).toStdString());
  std::ofstream{file.toStdString()} << "schema: 1\nextends: base.yaml\nname: heavy\n"
                                       "parallel: {tensor: 2, pipeline: 1, data: 512}\n"
                                       "memory: {recompute: none}\n";
  RenderRequest request{
      folder.filePath(QStringLiteral("x.png")), QStringLiteral("memory"), file, {640, 400}};
  const RenderOutcome outcome = render(request);
  CHECK(outcome.code == 3);
  CHECK(outcome.message.startsWith(QStringLiteral("infeasible: ")));
  CHECK_FALSE(QImage{request.out}.isNull());
}

}  // namespace foretrain::gui
