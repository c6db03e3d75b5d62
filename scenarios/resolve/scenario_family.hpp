// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scenarios/fields/field_reader.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// The scenario that all members of a family come from.
struct FamilyBase {
  std::string text;
  std::string name;              ///< stands for the file in messages
  std::filesystem::path folder;  ///< relative paths start here
  LoadOptions options;
};

/// A key that differs between members, and its values as for --set.
struct FamilyKey {
  std::string path;
  std::vector<std::string> values;
};

/// One member of a family.
struct FamilyMember {
  /// Lower-case hex SHA-256 over every resolved value and every catalog file behind them; neither
  /// comments nor the order of keys count, nor where a value comes from. Members without a job have
  /// one over their values and errors.
  std::string identity;
  std::vector<std::string> errors;  ///< "key.path: message", sorted; empty: there is a job
};

/// Many variants of one scenario, each resolved as load_scenario() does with the same overrides,
/// but with every file read once. Where values of different keys cannot touch each other, only
/// what differs from the member before is worked out anew.
class ScenarioFamily {
 public:
  /// @pre no path of `keys` is another one of them or a group around it.
  /// @throws ScenarioError for what no choice of values can mend: errors of the files, unknown keys
  ///   and values that their key refuses.
  ScenarioFamily(FamilyBase base, std::vector<FamilyKey> keys);
  ~ScenarioFamily();
  ScenarioFamily(const ScenarioFamily&) = delete;
  ScenarioFamily& operator=(const ScenarioFamily&) = delete;

  /// The number of this value of a key, which becomes one of the family's where it is not yet.
  /// Values of groups and lists that come so are slower than those given before.
  /// @throws ScenarioError for a value that its key refuses @pre key < keys.size()
  std::size_t value_number(std::size_t key, const std::string& value);

  /// The member where each key has the value of this number. What it returns, and job(), hold
  /// until the next call. @pre chosen[k] < keys[k].values.size()
  const FamilyMember& resolve(const std::vector<std::size_t>& chosen);
  /// Of the member that was resolved last. @pre it has no errors
  [[nodiscard]] const Job& job() const { return job_; }

  /// What its first member asks to be forecast.
  [[nodiscard]] Work work() const { return work_; }

  /// Every file that was read for a member so far: the scenario, its bases, catalog files.
  [[nodiscard]] const std::set<std::string>& files_read() const { return files_read_; }

  /// SHA-256 over the scenario without its keys, over the keys with their values, and over every
  /// catalog file that one of these values alone leads to.
  [[nodiscard]] std::string family_identity();

 private:
  struct Section;
  struct KeyValue;
  struct Machine;

  void read_values();
  void check_first();
  [[nodiscard]] KeyValue read_value(std::size_t key, std::size_t value,
                                    Diagnostics& diagnostics) const;
  void diff_group_key(std::size_t key);
  [[nodiscard]] YamlNode document(const std::vector<std::size_t>& chosen,
                                  std::optional<std::size_t> without = std::nullopt) const;
  void apply(std::size_t key, std::size_t value);
  void set_line(const std::string& path, const FieldValue* value);
  const Machine& machine_of(const FieldValues& values);
  void resolve_patched(const std::vector<std::size_t>& chosen);
  void resolve_whole(const std::vector<std::size_t>& chosen);
  void finish(const FieldValues& values, const Machine& machine, Diagnostics& diagnostics);
  [[nodiscard]] std::string identity_of(const Machine& machine);

  FamilyBase base_;
  std::vector<FamilyKey> keys_;
  YamlNode root_;                                ///< base with its overrides
  std::vector<std::vector<KeyValue>> settings_;  ///< by key, then value
  Work work_ = Work::training;
  bool patchable_ = true;  ///< the first member reads without an error

  FieldValues values_;                ///< of the patched member
  std::vector<std::size_t> current_;  ///< its choice
  std::map<std::string, Section> sections_;
  std::map<std::string, std::unique_ptr<Machine>> machines_;  ///< by the lines that ask for them
  const Machine* job_machine_ = nullptr;                      ///< what job_ was copied from
  Job job_;
  FamilyMember member_;
  std::set<std::string> files_read_;
};

}  // namespace foretrain
