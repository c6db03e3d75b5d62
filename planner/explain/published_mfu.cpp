// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "calibration/records/measured_data.hpp"
#include "planner/explain/claim.hpp"

namespace foretrain {
namespace {

struct PublishedLine {
  std::optional<Architecture> architecture;
  std::optional<Precision> precision;
  PublishedMfu best;

  [[nodiscard]] bool fits(Architecture device, Precision format) const {
    return architecture.value_or(device) == device && precision.value_or(format) == format;
  }
};

const FieldTable& published_fields() {
  static const FieldTable table(
      "Published MFU",
      {schema_field(),
       {.path = "published", .kind = FieldKind::list, .help = "The first line that fits counts."},
       {.path = "published[].architecture",
        .kind = FieldKind::choice,
        .help = "Generation of the device; left out, any.",
        .example = "hopper",
        .choices = choices_of<Architecture>()},
       {.path = "published[].precision",
        .kind = FieldKind::choice,
        .help = "Number format; left out, any.",
        .example = "fp8",
        .choices = choices_of<Precision>()},
       {.path = "published[].mfu",
        .kind = FieldKind::number,
        .help = "Of the best published run.",
        .example = "0.6",
        .required = true,
        .min = 0,
        .max = 1,
        .above_min = true},
       {.path = "published[].source",
        .help = "Who published it, of which run.",
        .example = "arXiv 2307.08691",
        .required = true}});
  return table;
}

std::vector<PublishedLine> read_published() {
  Diagnostics diagnostics;
  const FieldValues values =
      read_measured_data("published_mfu.yaml", published_fields(), diagnostics);
  std::vector<PublishedLine> lines;
  for (int i = 0; i < values.list_size("published"); ++i) {
    const std::string at = fmt::format("published[{}].", i);
    PublishedLine line{{}, {}, {values.number(at + "mfu"), values.text(at + "source")}};
    if (values.has(at + "architecture"))
      line.architecture = values.choice<Architecture>(at + "architecture");
    if (values.has(at + "precision")) line.precision = values.choice<Precision>(at + "precision");
    lines.push_back(std::move(line));
  }
  if (lines.empty() || lines.back().architecture || lines.back().precision)
    diagnostics.add(values.where("published"), "published",
                    "the last line fits every device: neither architecture nor precision");
  diagnostics.throw_if_any();
  return lines;
}

}  // namespace

PublishedMfu published_mfu(Architecture architecture, Precision precision) {
  static const std::vector<PublishedLine> lines = read_published();
  return std::find_if(lines.begin(), lines.end(),
                      [&](const PublishedLine& line) { return line.fits(architecture, precision); })
      ->best;
}

}  // namespace foretrain
