// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fields/key_rows.hpp"

#include <array>
#include <map>

#include <catch2/catch.hpp>

#include "models/inputs/device.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

struct Wheel {
  Seconds turn = Seconds{2.0};
  double slip = 0.5;
};

struct Cart {
  int horses = 1;
  std::array<Wheel, 2> wheels;
  std::optional<Wheel> spare;
  std::map<Precision, Wheel> by_format;
};

struct Horse {
  int legs = 4;
};

KeyRows cart_keys() {
  const auto group = [](const char* path) { return keys::group(path, "A group."); };
  return {group("cart"),
          keys::with_default({.path = "cart.horses", .help = "How many."}, &Cart::horses),
          keys::bind({.path = "cart.slip", .help = "Of the second."}, &Cart::wheels, std::size_t{1},
                     &Wheel::slip),
          group("cart.spare"),
          keys::bind({.path = "cart.spare.turn", .help = "Its turn."}, &Cart::spare, &Wheel::turn),
          keys::fitted(keys::bind({.path = "cart.spare.slip", .help = "Its slip."}, &Cart::spare,
                                  &Wheel::slip)),
          group("cart.bf16"),
          keys::bind({.path = "cart.bf16.slip", .help = "Its slip."}, &Cart::by_format,
                     Precision::bf16, &Wheel::slip)};
}

const BoundTable<Cart>& cart_table() {
  static const BoundTable<Cart> table("A cart", cart_keys());
  return table;
}

Cart cart_of(const std::string& text) {
  Diagnostics diagnostics;
  const auto root = parse_yaml(text, "cart.yaml", YamlLimits{}, diagnostics);
  const FieldValues values = read_fields(*root, cart_table().fields(), diagnostics);
  diagnostics.throw_if_any();
  return cart_table().read(values);
}

}  // namespace

TEST_CASE("rows of keys: a path leads through members, arrays, optionals and maps",
          "[scenarios][fields]") {
  const std::string text =
      "cart:\n  horses: 3\n  slip: 0.25\n  spare: {turn: 3 s}\n  bf16: {slip: 0.75}\n";
  const Cart cart = cart_of(text);
  CHECK(cart.horses == 3);
  CHECK(cart.wheels[0].slip == 0.5);
  CHECK(cart.wheels[1].slip == 0.25);
  REQUIRE(cart.spare.has_value());
  CHECK(cart.spare->turn == Seconds{3.0});
  CHECK(cart.by_format.at(Precision::bf16).slip == 0.75);
  CHECK(cart_table().text(cart) == text);
}

TEST_CASE("rows of keys: a part that no file names stays absent, and is not written",
          "[scenarios][fields]") {
  const Cart cart = cart_of("cart: {horses: 1}\n");
  CHECK_FALSE(cart.spare.has_value());
  CHECK(cart.by_format.empty());
  CHECK(cart_table().text(cart).empty());
  const KeyRow* const row = cart_table().find("cart.spare.slip");
  REQUIRE(row != nullptr);
  CHECK(row->slot.find(&cart) == nullptr);
}

TEST_CASE("rows of keys: what the type of a member says need not be written down",
          "[scenarios][fields]") {
  const FieldTable& fields = cart_table().fields();
  CHECK(fields.find("cart.horses")->kind == FieldKind::integer);
  CHECK(fields.find("cart.horses")->default_text == "1");
  CHECK(fields.find("cart.spare.turn")->kind == FieldKind::quantity);
  CHECK(fields.find("cart.spare.turn")->dimension == Dimension::time);
  CHECK(fields.find("cart.spare.turn")->default_text.empty());
}

TEST_CASE("rows of keys: a fit reads and sets a constant in base units", "[scenarios][fields]") {
  Cart cart = cart_of("cart: {spare: {slip: 0.1}}\n");
  const KeySlot& slot = cart_table().find("cart.spare.slip")->slot;
  CHECK(slot.ops->number(slot.find(&cart)) == 0.1);
  slot.ops->set_number(slot.find(&cart), 0.2);
  CHECK(cart.spare->slip == 0.2);
  CHECK_THROWS(keys::fitted(keys::bind({.path = "cart.horses"}, &Cart::horses)));
}

TEST_CASE("rows of keys: a table takes no rows of another struct", "[scenarios][fields]") {
  KeyRows rows = cart_keys();
  rows.push_back(keys::bind({.path = "cart.legs", .help = "Of a horse."}, &Horse::legs));
  CHECK_THROWS(BoundTable<Cart>("A cart", rows));
}

}  // namespace foretrain
