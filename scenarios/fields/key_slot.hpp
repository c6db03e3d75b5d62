// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>

#include "models/base/require.hpp"
#include "scenarios/fields/key_values.hpp"

namespace foretrain {

/// A default-made T, the same one for all callers.
template <class T>
const T& default_made() {
  static const T made{};
  return made;
}

/// The way into a part that an owner may lack: a group behind std::optional, an entry of a map.
struct SlotStep {
  void* (*make)(void* part, int entry);              ///< made where it is absent
  const void* (*find)(const void* part, int entry);  ///< null where it is absent
};

/// Where the value of a key lies in the struct that a file becomes, as plain data.
struct KeySlot {
  const void* owner = nullptr;     ///< default_made<T>() of the owner's type, by which it is known
  std::size_t offset = 0;          ///< from the owner to the value, or to what has the step
  const SlotStep* step = nullptr;  ///< null: none
  int entry = 0;                   ///< of a map
  std::size_t inner = 0;           ///< from where the step leads to the value
  const void* usual = nullptr;     ///< the value of a default-made owner, or of a part made anew
  const ValueOps* ops = nullptr;   ///< null: no value (groups, lists, names to look up)

  /// The value in `target`, whose part is made where it is absent.
  [[nodiscard]] void* make(void* target) const;
  /// The value in `target`; null where its part is absent.
  [[nodiscard]] const void* find(const void* target) const;
  [[nodiscard]] void* find(void* target) const;
};

namespace key_slot {

/// How far a path of members has been followed.
struct Walk {
  KeySlot slot;
  const void* base;  ///< the owner, or the part behind the step

  void arrive(const void* value) {
    const auto distance = static_cast<std::size_t>(static_cast<const std::byte*>(value) -
                                                   static_cast<const std::byte*>(base));
    (slot.step == nullptr ? slot.offset : slot.inner) = distance;
  }
  /// @pre no step before: a slot has one
  void take(const void* part, const SlotStep& step, int entry, const void* behind) {
    FORETRAIN_REQUIRE(slot.step == nullptr);
    arrive(part);
    slot.step = &step;
    slot.entry = entry;
    base = behind;
  }
};

/// The step into a part of this type; there is none into others.
template <class Part>
struct Step;

template <class G>
struct Step<std::optional<G>> {
  using Behind = G;
  static constexpr SlotStep slot{[](void* part, int) -> void* {
                                   auto& group = *static_cast<std::optional<G>*>(part);
                                   return group ? &*group : &group.emplace();
                                 },
                                 [](const void* part, int) -> const void* {
                                   const auto& group = *static_cast<const std::optional<G>*>(part);
                                   return group ? &*group : nullptr;
                                 }};
};

template <class K, class V>
struct Step<std::map<K, V>> {
  using Behind = V;
  static constexpr SlotStep slot{
      [](void* part, int entry) -> void* {
        return &(*static_cast<std::map<K, V>*>(part))[static_cast<K>(entry)];
      },
      [](const void* part, int entry) -> const void* {
        const auto& entries = *static_cast<const std::map<K, V>*>(part);
        const auto found = entries.find(static_cast<K>(entry));
        return found == entries.end() ? nullptr : &found->second;
      }};
};

template <class V>
const V& follow(Walk&, const V& at) {
  return at;
}

/// What lies at the end of a path of members, members of what an optional holds, indices of arrays
/// and entries of maps.
template <class Part, class First, class... Rest>
const auto& follow(Walk& walk, const Part& at, First first, Rest... rest) {
  if constexpr (!requires { typename Step<Part>::Behind; }) {
    if constexpr (std::is_member_object_pointer_v<First>)
      return follow(walk, at.*first, rest...);
    else
      return follow(walk, at[first], rest...);
  } else {
    const auto& behind = default_made<typename Step<Part>::Behind>();
    if constexpr (std::is_enum_v<First>) {
      walk.take(&at, Step<Part>::slot, static_cast<int>(first), &behind);
      return follow(walk, behind, rest...);
    } else {
      walk.take(&at, Step<Part>::slot, 0, &behind);
      return follow(walk, behind, first, rest...);
    }
  }
}

template <class T, class... Path>
auto slot_and_value(Path... path) {
  Walk walk{{.owner = &default_made<T>()}, &default_made<T>()};
  const auto& value = follow(walk, default_made<T>(), path...);
  walk.arrive(&value);
  walk.slot.usual = &value;
  return std::pair(walk.slot, &value);
}

}  // namespace key_slot

/// The slot at the end of a path: members, indices of arrays, entries of maps, and members of what
/// an optional holds.
template <class T, class... Path>
KeySlot slot_of(Path... path) {
  auto [slot, value] = key_slot::slot_and_value<T>(path...);
  slot.ops = &value_ops<std::remove_cvref_t<decltype(*value)>>;
  return slot;
}

}  // namespace foretrain
