// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

struct JsonMember;

/// A JSON value that knows its line.
struct JsonValue {
  enum class Kind { null, boolean, number, text, list, object };

  Kind kind = Kind::null;
  int line = 0;  ///< where it begins, of the file
  bool truth = false;
  double number = 0.0;
  std::string text;
  std::vector<JsonValue> items;
  std::vector<JsonMember> members;

  [[nodiscard]] bool is_object() const { return kind == Kind::object; }
  [[nodiscard]] bool is_list() const { return kind == Kind::list; }
  /// The member of that name; null pointer when this is no object or has none.
  [[nodiscard]] const JsonValue* find(std::string_view key) const;
  /// Its number, also of a text that holds nothing but a number; nothing for anything else and for
  /// what is not finite.
  [[nodiscard]] std::optional<double> as_number() const;
  /// Number of the member of that name.
  [[nodiscard]] std::optional<double> number_of(std::string_view key) const;
  /// Text of the member of that name; empty: there is none.
  [[nodiscard]] std::string text_of(std::string_view key) const;
};

struct JsonMember {
  std::string name;
  JsonValue value;
};

/// What a document may ask of us before we give up on it.
struct JsonLimits {
  std::size_t nesting = 64;
  std::size_t values = 4'000'000;
  std::size_t members = 20'000;  ///< of one object
};

/// Takes the elements of one list of the document as they come, so that a large one need not fit in
/// memory; they are not in the tree.
struct JsonStream {
  std::string key;  ///< member of the outermost object
  std::function<void(const JsonValue&)> take;
};

/// Parses one JSON value. Malformed text, repeated members and what is beyond the limits become a
/// diagnostic under `file` with its line. @param first_line of the text within the file
[[nodiscard]] std::optional<JsonValue> parse_json(std::string_view text, const std::string& file,
                                                  Diagnostics& diagnostics, int first_line = 1,
                                                  const JsonStream& stream = {});

/// A value within a text of several, one after another.
struct JsonPiece {
  int line = 0;
  std::string_view text;
  bool closed = false;  ///< false: the text ends within it
};

/// The objects of a text that holds one after another, on lines of their own or not; anything
/// between them is passed over.
[[nodiscard]] std::vector<JsonPiece> split_json_objects(std::string_view text);

}  // namespace foretrain
