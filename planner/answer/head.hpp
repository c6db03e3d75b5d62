// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/answer/value_rows.hpp"
#include "planner/answer/verdict.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain {

/// A number that somebody decides by.
struct HeadFigure {
  std::string label;         ///< "step"
  std::string value;         ///< "8.31 s"
  std::string band{};        ///< "7.90 s to 8.80 s"; empty: none
  std::string difference{};  ///< to what the answer is held against; empty: nothing
};

/// The first lines of an answer, and all of it under --brief.
struct AnswerHead {
  std::string subject;               ///< name of the scenario
  std::optional<Verdict> verdict{};  ///< absent: there is nothing to judge
  std::string words;                 ///< of the verdict: "FITS", "OUT OF MEMORY", "TIE"
  std::string made_by;               ///< "closed-form", "memory"; empty: nothing to say
  std::string sentence;              ///< that answers
  std::vector<HeadFigure> figures;   ///< three or four
  std::string next;                  ///< the command that most people want then; may be empty
};

/// Of work that a signal ended before there was what answers ("a layout was found"): nothing is
/// judged, and nothing comes next.
[[nodiscard]] AnswerHead interrupted_head(AnswerHead head, const std::string& before);

/// No line is longer than style.width.
[[nodiscard]] std::string head_text(const AnswerHead& head, const TextStyle& style = {});
/// Schema head/1.
[[nodiscard]] std::string head_json(const AnswerHead& head);
[[nodiscard]] const ValueRows& head_document();

}  // namespace foretrain
