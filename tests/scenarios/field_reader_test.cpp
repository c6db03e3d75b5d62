// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fields/field_reader.hpp"

#include <catch2/catch.hpp>

#include "models/base/quantity.hpp"

namespace foretrain {
namespace {

/// A small format with one field of every kind.
const FieldTable& kinds() {
  static const FieldTable table(
      "test",
      {
          {.path = "name", .help = "h", .required = true},
          {.path = "count",
           .kind = FieldKind::integer,
           .help = "h",
           .default_text = "3",
           .min = 1,
           .max = 9},
          {.path = "ratio", .kind = FieldKind::number, .help = "h", .min = 0, .above_min = true},
          {.path = "on", .kind = FieldKind::boolean, .help = "h", .default_text = "true"},
          {.path = "size",
           .kind = FieldKind::quantity,
           .help = "h",
           .example = "1 MiB",
           .dimension = Dimension::bytes,
           .max = 1e9},
          {.path = "colour",
           .kind = FieldKind::choice,
           .help = "h",
           .default_text = "red",
           .choices = {"red", "green"}},
          {.path = "layers", .kind = FieldKind::integer_list, .help = "h", .example = "[1, 2]"},
          {.path = "flags",
           .kind = FieldKind::choice_list,
           .help = "h",
           .example = "[fast]",
           .choices = {"fast", "small"}},
          {.path = "sources", .kind = FieldKind::text_list, .help = "h"},
          {.path = "extra", .kind = FieldKind::tree, .help = "h"},
          {.path = "outer", .kind = FieldKind::group, .help = "h", .scalar_child = "mode"},
          {.path = "outer.mode",
           .kind = FieldKind::choice,
           .help = "h",
           .required = true,
           .choices = {"a", "b"}},
          {.path = "outer.depth", .kind = FieldKind::integer, .help = "h", .default_text = "2"},
          {.path = "items", .kind = FieldKind::list, .help = "h"},
          {.path = "items[].key", .help = "h", .required = true},
          {.path = "items[].weight", .kind = FieldKind::number, .help = "h", .default_text = "1"},
      });
  return table;
}

struct ReadOutcome {
  FieldValues values;
  std::vector<std::string> messages;
};

ReadOutcome read(const std::string& text, Document document = Document::whole) {
  Diagnostics diagnostics;
  const auto root = parse_yaml(text, "f", YamlLimits{}, diagnostics);
  REQUIRE(root.has_value());
  ReadOutcome outcome;
  outcome.values = read_fields(*root, kinds(), diagnostics, document);
  for (const Diagnostic& diagnostic : diagnostics.sorted())
    outcome.messages.push_back(diagnostic.text());
  return outcome;
}

using Messages = std::vector<std::string>;

TEST_CASE("reader: every kind of value arrives typed", "[scenarios]") {
  const auto [values, messages] = read(
      "name: n\ncount: 4\nratio: 0.5\non: false\nsize: 2 MiB\ncolour: green\nlayers: [3, 4]\n"
      "flags: [small, fast]\nsources: [x, y]\nextra: {any: [thing]}\n"
      "outer: {mode: b, depth: 7}\nitems:\n  - {key: k1}\n  - {key: k2, weight: 5}\n");
  REQUIRE(messages.empty());
  CHECK(values.text("name") == "n");
  CHECK(values.integer("count") == 4);
  CHECK(values.number("ratio") == 0.5);
  CHECK_FALSE(values.boolean("on"));
  CHECK(values.quantity<Bytes>("size") == 2.0 * MiB);
  CHECK(values.text("colour") == "green");
  CHECK(values.at("layers").integers == std::vector<int>{3, 4});
  CHECK(values.text("layers") == "[3, 4]");
  CHECK(values.at("flags").texts == std::vector<std::string>{"small", "fast"});
  CHECK(values.at("sources").texts == std::vector<std::string>{"x", "y"});
  CHECK(values.at("extra").node.find("any")->items[0].text == "thing");
  CHECK(values.text("outer.mode") == "b");
  CHECK(values.integer("outer.depth") == 7);
  REQUIRE(values.list_size("items") == 2);
  CHECK(values.text("items[1].key") == "k2");
  CHECK(values.number("items[0].weight") == 1);
  CHECK(values.at("items[0].weight").is_default);
}

TEST_CASE("reader: origins tell files from defaults", "[scenarios]") {
  const auto [values, messages] = read("name: n\nouter: a\n");
  REQUIRE(messages.empty());
  CHECK(values.at("name").origin() == "f:1");
  CHECK(values.at("outer.mode").origin() == "f:2");
  CHECK(values.at("outer.depth").origin() == "default");
  CHECK(values.at("colour").origin() == "default");
  CHECK_FALSE(values.has("ratio"));
  CHECK_FALSE(values.has("items[0].key"));
  CHECK(values.list_size("items") == 0);
}

TEST_CASE("reader: a group that may be a value sets its child", "[scenarios]") {
  CHECK(read("name: n\nouter: b\n").values.text("outer.mode") == "b");
  CHECK(read("name: n\nouter: c\n").messages ==
        Messages{"f:2:8: outer.mode: 'c' is not a legal value. Legal: a, b"});
  CHECK(read("name: n\nouter: {depth: 1}\n").messages ==
        Messages{"f:2:8: outer.mode: required key is missing"});
  CHECK(read("name: n\n").messages.empty());  // an absent optional group asks nothing
}

TEST_CASE("reader: all errors come in one go, in file order", "[scenarios][error]") {
  const auto [values, messages] =
      read("count: 10\nratio: 0\ncolor: green\nsize: 2 GB\nlayers: 3\nflags: [fats, fast]\n");
  CHECK(messages ==
        Messages{
            "f:1:1: name: required key is missing", "f:1:8: count: must be between 1 and 9, not 10",
            "f:2:8: ratio: must be above 0, not 0",
            ("f:3:1: color: unknown key; did you mean 'colour'? Keys of the file: name, count, "
             "ratio, on, size, colour, layers, flags, sources, extra, outer, items"),
            "f:4:7: size: must be at most 1 GB, not 2 GB",
            "f:5:9: layers: must be a list of integers such as [1, 2], not a single value",
            ("f:6:9: flags[0]: 'fats' is not a legal value; did you mean 'fast'? Legal: fast, "
             "small")});
  CHECK_FALSE(values.has("count"));
  CHECK(values.was_refused("count"));
  CHECK_FALSE(values.was_refused("on"));
}

TEST_CASE("reader: a partial document is not asked for its missing keys", "[scenarios]") {
  CHECK(read("count: 2\n", Document::partial).messages.empty());
  CHECK(read("count: 20\n", Document::partial).messages.size() == 1);
}

TEST_CASE("reader: cross checks find a place even for absent keys", "[scenarios]") {
  const auto values = read("name: n\nouter: {mode: a}\n").values;
  CHECK(values.where("name").line == 1);
  CHECK(values.where("outer.depth").line == 2);
  CHECK(values.where("outer.depth").column == 8);
  CHECK(values.where("ratio").line == 1);
}

TEST_CASE("reader: integers beyond int are refused, not wrapped", "[scenarios][error]") {
  const auto big = read("name: n\nouter: {mode: a, depth: 2147483648}\n");
  CHECK(big.messages ==
        Messages{"f:2:25: outer.depth: must be at most 2147483647, not 2147483648"});
  CHECK(read("name: n\nouter: {mode: a, depth: 2147483647}\n").values.integer("outer.depth") ==
        2147483647);
}

TEST_CASE("table: what is inconsistent is refused at once", "[scenarios]") {
  using Fields = std::vector<Field>;
  CHECK_THROWS_AS(FieldTable("t", Fields{{.path = "a"}, {.path = "a"}}), std::logic_error);
  CHECK_THROWS_AS(FieldTable("t", Fields{{.path = "a.b"}}), std::logic_error);
  CHECK_THROWS_AS(FieldTable("t", Fields{{.path = "a", .kind = FieldKind::choice}}),
                  std::logic_error);
  CHECK_THROWS_AS(FieldTable("t", Fields{{.path = "a", .kind = FieldKind::quantity}}),
                  std::logic_error);
}

TEST_CASE("table: paths with indices find their field", "[scenarios]") {
  CHECK(kinds().find("items[12].key") == kinds().find("items[].key"));
  CHECK(kinds().find("items.key") == nullptr);
  CHECK(kinds().child_names("items[3]") == std::vector<std::string>{"key", "weight"});
  CHECK(table_path("a[12].b[3]") == "a[].b[]");
  CHECK(leaf_name("a.b.c") == "c");
}

}  // namespace
}  // namespace foretrain
