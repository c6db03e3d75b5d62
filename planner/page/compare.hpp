// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/forecast/report.hpp"
#include "planner/scene/number_units.hpp"

namespace foretrain {

/// A headline number of every side; absent where a side's forecast does not know it.
struct ComparedFigure {
  std::string path;  ///< of the JSON, with its unit; else "gpus" or "tokens_per_step"
  std::string label;
  std::vector<std::optional<double>> values;

  /// The side's number for people; "-" where it is absent.
  [[nodiscard]] std::string text(std::size_t side) const;
  /// `side` less the first side, signed, and over the first side; "-" where either is absent.
  [[nodiscard]] std::string difference(std::size_t side) const;
  [[nodiscard]] std::string ratio(std::size_t side) const;
};

/// How a number changes from one forecast to another.
struct FigureChange {
  std::string text;  ///< signed, and of the first one: "-1.20 s (-14.3 %)"
  bool better = false;
};
/// Nothing where either is unknown, or both are the same.
/// @param path as ComparedFigure has it
[[nodiscard]] std::optional<FigureChange> figure_change(std::string_view path,
                                                        std::optional<double> from,
                                                        std::optional<double> to,
                                                        const NumberUnits& units = {});

/// One part of the way from peak FLOP/s to the step (waterfall.hpp), for every side.
struct ComparedPart {
  std::string key;
  std::string label;
  std::vector<std::optional<Seconds>> times;
};

/// A resolved value that is not the same on all sides.
struct ComparedSetting {
  std::string path;
  bool catalog = false;  ///< not a key of the scenario file: it came with a catalog entry
  std::vector<std::optional<ResolvedValue>> values;  ///< absent: the side has no such value
};

/// A named row of memory on every side's heaviest stage, zero where a side lacks it.
struct ComparedRow {
  std::string category;
  std::string name;
  std::vector<std::optional<Bytes>> sizes;  ///< absent: memory is not forecast for this side

  /// Largest less smallest size.
  [[nodiscard]] Bytes spread() const;
};

/// Several forecasts side by side; the first one is what the others are held against.
struct Comparison {
  std::vector<Report> reports;
  std::vector<ComparedFigure> figures;    ///< without those that no side knows
  std::vector<ComparedPart> parts;        ///< without those that are zero on all sides
  std::vector<ComparedSetting> settings;  ///< only those that differ
  std::vector<ComparedRow> rows;          ///< only those that differ, the most different first

  [[nodiscard]] bool feasible() const;
};

/// "A", "B", ...: what the reports call a side.
[[nodiscard]] std::string side_name(std::size_t side);

/// @pre 2 to 26 reports
[[nodiscard]] Comparison compare(std::vector<Report> reports);

/// Which side has the least time per token and the least cost, and how sure that is: a tie where
/// the bands leave it open.
[[nodiscard]] std::vector<std::string> lead_sentences(const Comparison& comparison);
[[nodiscard]] AnswerHead comparison_head(const Comparison& comparison);

/// Catalog values that differ: a row per entry with the most telling of them, or all.
enum class CatalogValues { grouped, listed };
/// The sides, headline figures, the step's parts from the first side to each other one as a
/// waterfall, what the difference depends on, the settings and the memory rows that differ, and
/// where the constants come from.
[[nodiscard]] Answer comparison_answer(const Comparison& comparison, CatalogValues catalog);
/// Schema comparison/1: planner/README.md, "Output".
[[nodiscard]] std::string comparison_json(const Comparison& comparison);
/// RFC 4180: section, key, one column per side, then difference and ratio to the first side.
[[nodiscard]] std::string comparison_csv(const Comparison& comparison);

}  // namespace foretrain
