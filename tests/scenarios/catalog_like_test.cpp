// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/catalog_read.hpp"

#include <algorithm>
#include <fstream>
#include <map>

#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/catalog/catalog_machine.hpp"
#include "scenarios/catalog/catalog_profiles.hpp"
#include "tests/temporary_folder.hpp"

using namespace foretrain;
namespace fs = std::filesystem;

namespace {

/// A catalog folder that lives as long as the test, and what a look-up in it tells.
class LikeFolder : public test::TemporaryFolder {
 public:
  struct Read {
    std::optional<StackProfile> stack;
    std::map<std::string, ResolvedValue> values;
    std::string errors;
    std::size_t files = 0;
  };

  [[nodiscard]] Read stack(const std::string& name) const {
    Diagnostics diagnostics;
    std::vector<SourceFile> files;
    std::vector<ResolvedValue> values;
    CatalogContext context{{path()}, {}, diagnostics, files, values};
    Read read;
    read.stack = load_stack({name, "stack", {}}, context);
    for (ResolvedValue& value : values) read.values[value.path] = value;
    for (const Diagnostic& item : diagnostics.sorted()) read.errors += item.text() + "\n";
    read.files = files.size();
    return read;
  }

  [[nodiscard]] std::optional<Host> host(const std::string& name, std::string& errors) const {
    Diagnostics diagnostics;
    std::vector<SourceFile> files;
    std::vector<ResolvedValue> values;
    CatalogContext context{{path()}, {}, diagnostics, files, values};
    auto host = load_host({name, "cluster.host", {}}, context);
    for (const Diagnostic& item : diagnostics.sorted()) errors += item.text() + "\n";
    return host;
  }
};

/// A stack file that is like another one and says `rest`.
std::string stack_like(const std::string& name, const std::string& like, const std::string& rest) {
  return "schema: 1\nname: " + name + "\ntitle: Mine\nlike: " + like +
         "\nprovenance: {trust: extrapolated, source: guessed, date: 2026-11-22}\n" + rest;
}

}  // namespace

TEST_CASE("an entry has what its relative says, and its own where it says something",
          "[scenarios][catalog][like]") {
  const LikeFolder folder;
  folder.write("stacks/mine.yaml", stack_like("mine", "nemo", "times: {elementwise: 2.5}\n"));
  const auto mine = folder.stack("mine");
  const auto nemo = folder.stack("nemo");
  CHECK(mine.errors.empty());
  REQUIRE(mine.stack.has_value());
  REQUIRE(nemo.stack.has_value());
  CHECK(mine.stack->times.elementwise == 2.5);
  CHECK(mine.stack->times.step_constant == nemo.stack->times.step_constant);
  CHECK(mine.stack->memory.loss_bytes == nemo.stack->memory.loss_bytes);
  CHECK(mine.stack->band_high == nemo.stack->band_high);
  // Title and provenance are a file's own.
  CHECK(mine.stack->title == "Mine");
  CHECK(mine.stack->provenance.trust == Trust::extrapolated);
  CHECK(mine.stack->provenance.error < 0.0);
  // Every value says who says it, also over two generations, and all files are in the books.
  CHECK(mine.values.at("stack.times.elementwise").origin.ends_with("stacks/mine.yaml:6"));
  CHECK(mine.values.at("stack.times.step_constant")
            .origin.starts_with("calibration/profiles/stack/nemo.yaml:"));
  CHECK(mine.values.at("stack.memory.loss_bytes")
            .origin.starts_with("calibration/profiles/stack/megatron-core.yaml:"));
  CHECK(mine.files == 3);
  LoadOptions with_folder;
  with_folder.catalogs = {folder.path()};
  const auto inherited = inherited_values("stacks", "mine", with_folder);
  const auto says = [&](const std::string& path) {
    return std::any_of(inherited.begin(), inherited.end(),
                       [&](const ResolvedValue& value) { return value.path == path; });
  };
  CHECK(says("times.step_constant"));
  CHECK_FALSE(says("times.elementwise"));
  CHECK_FALSE(says("provenance.source"));
}

TEST_CASE("a relative that changes is noticed", "[scenarios][catalog][like]") {
  const LikeFolder folder;
  folder.write("stacks/mine.yaml", stack_like("mine", "base", ""));
  folder.write("stacks/base.yaml", stack_like("base", "nemo", "times: {elementwise: 2}\n"));
  REQUIRE(folder.stack("mine").stack.has_value());
  CHECK(folder.stack("mine").stack->times.elementwise == 2.0);
  folder.write("stacks/base.yaml", stack_like("base", "nemo", "times: {elementwise: 3}\n"));
  CHECK(folder.stack("mine").stack->times.elementwise == 3.0);
}

TEST_CASE("an entry of a catalog folder may be like the built-in one of its name",
          "[scenarios][catalog][like]") {
  const LikeFolder folder;
  const double shipped = folder.stack("jax").stack.value().times.shard_bus;
  folder.write("stacks/jax.yaml", stack_like("jax", "jax", "times: {elementwise: 2.5}\n"));
  const auto mine = folder.stack("jax");
  CHECK(mine.errors.empty());
  REQUIRE(mine.stack.has_value());
  CHECK(mine.stack->times.elementwise == 2.5);
  CHECK(mine.stack->times.shard_bus == shipped);
}

TEST_CASE("circles, unknown relatives and long chains are refused where they are written",
          "[scenarios][catalog][like]") {
  const LikeFolder folder;
  folder.write("stacks/a.yaml", stack_like("a", "b", ""));
  folder.write("stacks/b.yaml", stack_like("b", "a", ""));
  folder.write("stacks/self.yaml", stack_like("self", "self", ""));
  folder.write("stacks/lost.yaml", stack_like("lost", "nemoo", ""));
  folder.write("stacks/bad.yaml", stack_like("bad", "nemo", "tims: {}\n"));
  folder.write("stacks/child.yaml", stack_like("child", "bad", ""));
  for (int i = 0; i <= 9; ++i)
    folder.write("stacks/c" + std::to_string(i) + ".yaml",
                 stack_like("c" + std::to_string(i), "c" + std::to_string(i + 1), ""));
  const auto refused = [&](const std::string& name, const std::string& message) {
    const auto read = folder.stack(name);
    CAPTURE(name, read.errors);
    CHECK_FALSE(read.stack.has_value());
    CHECK(read.errors.find(message) != std::string::npos);
  };
  refused("a",
          "stacks/b.yaml:4:7: like: the entries are like each other in a circle: a is like b "
          "is like a");
  refused("self", "stacks/self.yaml:4:7: like: the entries are like each other in a circle");
  refused("lost", "stacks/lost.yaml:4:7: like: there is no stack 'nemoo'");
  refused("lost", "did you mean 'nemo'?");
  refused("child", "stacks/bad.yaml:6:1: tims: unknown key");
  refused("c0", "more than 8 entries are like each other");
}

TEST_CASE("a deviation goes with its value", "[scenarios][catalog][like]") {
  const LikeFolder folder;
  folder.write("stacks/base.yaml",
               stack_like("base", "nemo",
                          "times: {elementwise: 2, head: 3}\n"
                          "deviations: {times.elementwise: 0.1, times.head: 0.2}\n"));
  folder.write("stacks/mine.yaml", stack_like("mine", "base",
                                              "times: {elementwise: 4, release: 1.2}\n"
                                              "deviations: {times.release: 0.3}\n"));
  Diagnostics diagnostics;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{{folder.path()}, {}, diagnostics, files, values};
  const auto file = find_requested(CatalogKind::stacks, {"mine", "stack", {}}, context);
  REQUIRE(file.has_value());
  const auto read = read_catalog_file(*file, stack_table().fields(), context, nullptr);
  REQUIRE(read.has_value());
  const YamlNode& deviations = read->at("deviations").node;
  CHECK(deviations.find("times.elementwise") == nullptr);  // of a value that mine replaces
  REQUIRE(deviations.find("times.head") != nullptr);
  CHECK(deviations.find("times.head")->text == "0.2");
  CHECK(deviations.find("times.release") != nullptr);
  // A deviation of a value that only the relative says belongs into the relative's file.
  folder.write("stacks/mine.yaml", stack_like("mine", "base", "deviations: {times.head: 0.3}\n"));
  CHECK(folder.stack("mine").errors.find("'times.head' is not a number of this file") !=
        std::string::npos);
}

TEST_CASE("a host is like another with other devices, and sources vouch for what it says alone",
          "[scenarios][catalog][like]") {
  const LikeFolder folder;
  const std::string head = "schema: 1\nname: mine\ntitle: Mine\nlike: dgx-h100\ndevice: h200\n";
  folder.write("hosts/mine.yaml",
               head + "sources: [{covers: [device], cite: ours, date: 2026-11-22}]\n");
  std::string errors;
  const auto host = folder.host("mine", errors);
  CHECK(errors.empty());
  REQUIRE(host.has_value());
  CHECK(host->device.name == "h200");
  CHECK(host->nics == 8);
  CHECK(host->gpu_link.name == "nvlink4");
  folder.write("hosts/mine.yaml", head);
  CHECK_FALSE(folder.host("mine", errors).has_value());
  CHECK(errors.find("mine.yaml:5:9: device: no source covers this value") != std::string::npos);
  CHECK(errors.find("nics") == std::string::npos);
}
