// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/catalog.hpp"
#include "models/layers/parameters.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "scenarios/catalog/catalog_machine.hpp"
#include "scenarios/catalog/catalog_models.hpp"
#include "tests/temporary_folder.hpp"
#include "topologies/fabrics/fabric.hpp"

using namespace foretrain;
namespace fs = std::filesystem;

namespace {

/// A resolution with its books.
struct Books {
  Diagnostics diagnostics;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{{}, {}, diagnostics, files, values};

  /// All errors, one per line.
  [[nodiscard]] std::string errors() const {
    std::string text;
    for (const Diagnostic& item : diagnostics.sorted()) text += item.text() + "\n";
    return text;
  }
};

CatalogRequest ask(const std::string& name, const std::string& path) {
  return {name, path, {std::make_shared<const std::string>("run.yaml"), 3, 8}};
}

Mark at_preset(std::string_view) { return ask("", "").mark; }

const char* const tiny_model = R"(schema: 1
name: tiny
title: Tiny
layers: 2
hidden: 64
attention: {heads: 4}
mlp: {hidden: 256, gated: false}
embedding: {vocabulary: 1000, tied: true, position: rotary}
norm: {kind: rmsnorm}
sources:
  - {covers: [layers, hidden, attention, mlp, embedding, norm], cite: this test, date: 2026-11-21}
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string errors_of_model(const std::string& text) {
  const test::TemporaryFolder extra;
  extra.write("models/tiny.yaml", text);
  Books books;
  books.context.catalogs = {extra.path()};
  CHECK_FALSE(load_model(ask("tiny", "model"), books.context).has_value());
  std::string errors = books.errors();
  const std::string folder = extra.path().generic_string() + "/";
  for (auto at = errors.find(folder); at != std::string::npos; at = errors.find(folder))
    errors.erase(at, folder.size());
  return errors;
}

}  // namespace

TEST_CASE("a catalog file is kept until its text changes", "[scenarios][catalog]") {
  const test::TemporaryFolder extra;
  const auto loaded = [&](Books& books) {
    books.context.catalogs = {extra.path()};
    return load_model(ask("tiny", "model"), books.context);
  };
  extra.write("models/tiny.yaml", tiny_model);
  Books first, again, changed, wrong;
  const auto one = loaded(first);
  REQUIRE(one.has_value());
  const auto two = loaded(again);
  REQUIRE(two.has_value());
  CHECK(two->layers == one->layers);
  CHECK(again.files.front().sha256 == first.files.front().sha256);
  CHECK(again.values.size() == first.values.size());
  extra.write("models/tiny.yaml", replaced(tiny_model, "layers: 2", "layers: 3"));
  const auto three = loaded(changed);
  REQUIRE(three.has_value());
  CHECK(three->layers == 3);
  CHECK(changed.files.front().sha256 != first.files.front().sha256);
  extra.write("models/tiny.yaml", replaced(tiny_model, "layers: 2", "layers: none"));
  CHECK_FALSE(loaded(wrong).has_value());
  CHECK_FALSE(wrong.errors().empty());
}

TEST_CASE("every catalog file loads, with a source for every value", "[scenarios][catalog]") {
  const auto [kind, least] = GENERATE(table<std::string, std::size_t>({{"models", 60},
                                                                       {"devices", 12},
                                                                       {"hosts", 15},
                                                                       {"links", 15},
                                                                       {"fabrics", 10},
                                                                       {"device-profiles", 1},
                                                                       {"stacks", 1},
                                                                       {"sites", 1}}));
  CAPTURE(kind);
  std::vector<CatalogEntry> entries;
  try {
    entries = catalog_entries(kind);
  } catch (const ScenarioError& error) {
    FAIL(error.what());
  }
  CHECK(entries.size() >= least);
  CHECK(catalog_listing(kind).broken.empty());
  for (const CatalogEntry& entry : entries) {
    CAPTURE(entry.name);
    CHECK_FALSE(entry.title.empty());
    CHECK_FALSE(entry.summary.empty());
    CHECK(entry.summary.find('\n') == std::string::npos);
  }
}

TEST_CASE("parameters of every catalog model equal the published count", "[scenarios][catalog]") {
  int exact = 0;
  for (const CatalogEntry& listed : catalog_entries("models")) {
    CAPTURE(listed.name);
    Books books;
    const auto entry = load_model_entry(ask(listed.name, "model"), books.context);
    REQUIRE(entry.has_value());
    REQUIRE(entry->published.has_value());
    const PublishedCount& published = *entry->published;
    const LlmShape& shape = entry->shape;
    auto ours = static_cast<double>(parameters(shape));
    if (published.scope == CountScope::without_embeddings) {
      ours -= static_cast<double>(embedding_parameters(shape, shape.vocabulary));
      if (!shape.tied_embeddings) ours -= static_cast<double>(shape.vocabulary) * shape.hidden;
    }
    // A label can be met only to its last digit: half of it either way, or up to a whole one
    // above where the source cuts digits off.
    const double stated = published.parameters;
    const double permille = 0.001 * stated;
    switch (published.rounding) {
      case CountRounding::exact:
        CHECK(ours == stated);
        ++exact;
        break;
      case CountRounding::nearest:
        CHECK(std::abs(ours - stated) <= std::max(permille, 0.5 * published.last_digit));
        break;
      case CountRounding::down:
        CHECK(ours >= stated - permille);
        CHECK(ours < stated + std::max(permille, published.last_digit));
        break;
    }
  }
  CHECK(exact >= 38);  // the rest have no exact count in print
}

TEST_CASE("every host and every fabric of the catalogs combine where the NIC keeps up",
          "[scenarios][catalog]") {
  int combined = 0;
  for (const CatalogEntry& host_entry : catalog_entries("hosts")) {
    Books books;
    const auto host = load_host(ask(host_entry.name, "cluster.host"), books.context);
    REQUIRE(host.has_value());
    CAPTURE(host_entry.name);
    CHECK(load_device_profile(ask(host->device.name, "cluster.host"), books.context));
    const auto network =
        load_network({{}, std::nullopt, 16, at_preset}, ask("tcp-10g", "cluster.fabric.preset"),
                     *host, books.context);
    REQUIRE(network.has_value());
    CHECK(network->path_latency > Seconds{});
    CHECK(network->switch_levels >= 1);
    ++combined;
  }
  CHECK(combined >= 15);
}

TEST_CASE("a DGX H100 resolves through its device and links", "[scenarios][catalog]") {
  Books books;
  const auto host = load_host(ask("dgx-h100", "cluster.host"), books.context);
  REQUIRE(host.has_value());
  CHECK(host->gpus == 8);
  CHECK(host->scale_up == ScaleUpKind::nvswitch);
  CHECK(host->device.name == "h100-sxm5-80gb");
  CHECK(host->device.peak_of(Precision::bf16) == 989.4 * TFLOPS);
  CHECK(host->device.peak_of(Precision::fp8) == 1978.9 * TFLOPS);
  CHECK(host->device.usable_memory == 79.11 * GiB);
  CHECK(host->device.provenance.trust == Trust::datasheet);
  CHECK(host->gpu_link.bandwidth == 450.0 * GBps);
  CHECK(host->nic.bandwidth == 400.0 * Gbps);
  CHECK(host->storage_read == BytesPerSecond{});

  // show lists every value with the place that it comes from
  const auto listed = [&](const std::string& path) -> std::string {
    for (const ResolvedValue& value : books.values)
      if (value.path == path) return value.value + " @ " + value.origin;
    return "";
  };
  CHECK(listed("cluster.host.gpus") == "8 @ topologies/catalog/hosts/dgx-h100.yaml:6");
  CHECK(listed("cluster.host.device.memory.usable") ==
        "79.11 GiB @ topologies/catalog/devices/h100-sxm5-80gb.yaml:6");
  CHECK(listed("cluster.host.scale_up.link.bandwidth") ==
        "450 GB/s @ topologies/catalog/links/nvlink4.yaml:5");
  CHECK(listed("cluster.host.device.sources").empty());
  CHECK(books.files.size() == 5);  // host, device, three links
  for (const SourceFile& file : books.files) CHECK(file.sha256.size() == 64);
}

TEST_CASE("derived head widths say how they were derived", "[scenarios][catalog]") {
  Books books;
  const auto model = load_model(ask("llama2-70b", "model"), books.context);
  REQUIRE(model.has_value());
  CHECK(model->head_dim == 128);
  CHECK(model->published_parameters == 68'976'648'192);
  bool found = false;
  for (const ResolvedValue& value : books.values)
    if (value.path == "model.attention.head_dim") {
      found = true;
      CHECK(value.origin == "derived: hidden / attention.heads");
    }
  CHECK(found);
}

TEST_CASE("an unknown name is reported at its key with the nearest and the known ones",
          "[scenarios][catalog]") {
  Books books;
  CHECK_FALSE(load_host(ask("dgx-h10", "cluster.host"), books.context));
  const std::string errors = books.errors();
  CHECK(errors.find("run.yaml:3:8: cluster.host: there is no host 'dgx-h10'; did you mean "
                    "'dgx-h100'? Known: a10, ") == 0);
  Books upper;
  CHECK_FALSE(load_model(ask("Llama2-70", "model"), upper.context));
  CHECK(upper.errors().find("did you mean 'llama2-70b'?") != std::string::npos);
}

TEST_CASE("a preset faster than the host's NICs is refused", "[scenarios][catalog]") {
  Books books;
  const auto host = load_host(ask("dgx-a100", "cluster.host"), books.context);
  REQUIRE(host.has_value());
  CHECK_FALSE(load_network({{}, std::nullopt, 16, at_preset},
                           ask("ib-ndr", "cluster.fabric.preset"), *host, books.context));
  CHECK(books.errors() ==
        "run.yaml:3:8: cluster.fabric.preset: ib-ndr runs at 400 Gbit/s, but a NIC of dgx-a100 "
        "carries 200 Gbit/s (ib-hdr); choose a slower preset, or a host with such NICs\n");
}

TEST_CASE("a stated rate of NICs stands in place of the preset's", "[scenarios][catalog]") {
  Books books;
  const auto host = load_host(ask("dgx-a100", "cluster.host"), books.context);
  REQUIRE(host.has_value());
  Network stated;
  stated.nic_rate = 200.0 * Gbps;
  const auto network = load_network({stated, std::nullopt, 16, at_preset},
                                    ask("roce-400", "cluster.fabric.preset"), *host, books.context);
  REQUIRE(network.has_value());
  CHECK(network->nic_link.bandwidth == 200.0 * Gbps);
  CHECK(network->preset == "roce-400");
}

TEST_CASE("a user's catalog comes first and may add entries", "[scenarios][catalog]") {
  const test::TemporaryFolder extra;
  extra.write("models/tiny.yaml", tiny_model);
  extra.write("models/llama2-70b.yaml", replaced(tiny_model, "name: tiny", "name: llama2-70b"));
  Books books;
  books.context.catalogs = {extra.path()};
  const auto tiny = load_model(ask("tiny", "model"), books.context);
  REQUIRE(tiny.has_value());
  CHECK(parameters(*tiny) == 1000 * 64 + 2 * (4 * 64 * 64 + 2 * 64 * 256 + 2 * 64) + 64);
  const auto shadowed = load_model(ask("llama2-70b", "model"), books.context);
  REQUIRE(shadowed.has_value());
  CHECK(shadowed->layers == 2);
  CHECK(catalog_entries("models", {{}, {extra.path()}}).size() ==
        catalog_entries("models").size() + 1);
}

TEST_CASE("a broken catalog file is listed with its error and blocks no other look-up",
          "[scenarios][catalog]") {
  const test::TemporaryFolder extra;
  extra.write("models/tiny.yaml", tiny_model);
  extra.write("models/spoilt.yaml", "schema: 1\nname: spoilt\nlayrs: 2\n");
  extra.write("models/mangled.yaml", "{{{");
  const CatalogListing listing = catalog_listing("models", {{}, {extra.path()}});
  CHECK(listing.entries.size() == catalog_entries("models").size() + 1);
  REQUIRE(listing.broken.size() == 2);
  CHECK(listing.broken[0].name == "mangled");
  CHECK_FALSE(listing.broken[0].problems.empty());
  CHECK(listing.broken[1].name == "spoilt");
  std::string problems;
  for (const Diagnostic& problem : listing.broken[1].problems) problems += problem.text() + "\n";
  CHECK(problems.find("spoilt.yaml:3:1: layrs: unknown key") != std::string::npos);
  Books books;
  books.context.catalogs = {extra.path()};
  CHECK(load_model(ask("tiny", "model"), books.context));
  CHECK(books.diagnostics.empty());
  CHECK_FALSE(load_model(ask("spoilt", "model"), books.context));
  CHECK(books.errors().find("spoilt.yaml:3:1: layrs") != std::string::npos);
}

TEST_CASE("a host or device that no catalog has: the message says how to add it",
          "[scenarios][catalog]") {
  Books books;
  CHECK_FALSE(load_device_profile(ask("r200", "cluster.host"), books.context));
  for (const char* part : {"there is no device profile 'r200'", "DIR/device-profiles/r200.yaml",
                           "foretrain show device-profiles NAME", "--catalog DIR",
                           "foretrain calibrate fit --measured run1 --device r200"}) {
    CAPTURE(part);
    CHECK(books.errors().find(part) != std::string::npos);
  }
  Books host;
  CHECK_FALSE(load_host(ask("nvl72-rack-of-mine", "cluster.host"), host.context));
  CHECK(host.errors().find("DIR/hosts/nvl72-rack-of-mine.yaml") != std::string::npos);
  // What is misspelt gets its nearest name and no lecture.
  Books near;
  CHECK_FALSE(load_host(ask("dgx-h10", "cluster.host"), near.context));
  CHECK(near.errors().find("To add") == std::string::npos);
}

TEST_CASE("a model file beside the scenario or in its repository is found, one outside is not",
          "[scenarios][catalog]") {
  const test::TemporaryFolder folder;
  folder.write("run/tiny.yaml", tiny_model);
  folder.write("secret.yaml", tiny_model);
  Books books;
  books.context.folder = folder.path() / "run";
  CHECK(load_model(ask("./tiny.yaml", "model"), books.context));
  CHECK(load_model(ask("tiny.yaml", "model"), books.context));
  CHECK(books.diagnostics.empty());
  CHECK_FALSE(load_model(ask("../secret.yaml", "model"), books.context));
  CHECK(books.errors().find("run.yaml:3:8: model: '../secret.yaml' leads out of the scenario's "
                            "folder; only files in it or below it can be read, or below --root") ==
        0);
  fs::create_symlink(folder.path() / "secret.yaml", folder.path() / "run" / "link.yaml");
  CHECK_FALSE(load_model(ask("link.yaml", "model"), books.context));
  Books repository;
  repository.context.folder = folder.path() / "run";
  repository.context.root = folder.path();
  folder.write("shared/tiny.yaml", tiny_model);
  CHECK(load_model(ask("../shared/tiny.yaml", "model"), repository.context));
  CHECK_FALSE(load_model(ask("../../secret.yaml", "model"), repository.context));
  CHECK(repository.errors().find("leads out of the scenario's repository") != std::string::npos);
  Books missing;
  missing.context.folder = folder.path() / "run";
  CHECK_FALSE(load_model(ask("none.yaml", "model"), missing.context));
  CHECK(missing.errors().find("run.yaml:3:8: model: ") == 0);
  Books relative;
  relative.context.folder = ".";
  CHECK_FALSE(load_model(ask("no-such-model.yaml", "model"), relative.context));
  CHECK(relative.errors().find("outside") == std::string::npos);
  Books toml;
  CHECK_FALSE(load_model(ask("./config.toml", "model"), toml.context));
  CHECK(toml.errors().find("'./config.toml' is not read") != std::string::npos);
}

TEST_CASE("errors inside a catalog file stand at their place in it", "[scenarios][catalog]") {
  CHECK(errors_of_model(replaced(replaced(replaced(tiny_model, "layers: 2", "layers: 10000"),
                                          "hidden: 64", "hidden: 1000000"),
                                 "hidden: 256", "hidden: 1000000")) ==
        "models/tiny.yaml:4:9: layers: 10000 layers of this size are 6e+16 parameters; at most "
        "1e+15 can be counted\n");
  CHECK(errors_of_model(replaced(tiny_model, "hidden: 64", "hidden: 65")) ==
        "models/tiny.yaml:6:20: attention.heads: hidden 65 does not divide by 4 heads; write "
        "head_dim\n");
  CHECK(errors_of_model(replaced(tiny_model, "heads: 4", "heads: 4, kv_heads: 3")) ==
        "models/tiny.yaml:6:33: attention.kv_heads: 3 does not divide the 4 query heads\n");
  CHECK(errors_of_model(replaced(tiny_model, "position: rotary", "position: learned")) ==
        "models/tiny.yaml:8:12: embedding.positions: learned positions need the number of rows of "
        "their table\n");
  CHECK(errors_of_model(replaced(tiny_model, "name: tiny", "name: tinny")) ==
        "models/tiny.yaml:2:7: name: 'tinny' does not match the file, which is named tiny.yaml\n");
  CHECK(errors_of_model(replaced(tiny_model, "layers: 2", "layrs: 2"))
            .find("models/tiny.yaml:4:1: layrs: unknown key; did you mean 'layers'?") !=
        std::string::npos);
}

TEST_CASE("a value without a source is an error, and so is a source without a value or date",
          "[scenarios][catalog]") {
  CHECK(errors_of_model(replaced(tiny_model, "covers: [layers, ", "covers: [")) ==
        "models/tiny.yaml:4:9: layers: no source covers this value; list it under `covers` of one "
        "of `sources`\n");
  CHECK(
      errors_of_model(replaced(tiny_model, "covers: [layers, ", "covers: [layers, moe, ")) ==
      "models/tiny.yaml:11:14: sources[0].covers: 'moe' is not a key of this file; a source covers "
      "keys or groups of keys that stand in it\n");
  CHECK(errors_of_model(replaced(tiny_model, "2026-11-21", "last year")) ==
        "models/tiny.yaml:11:88: sources[0].date: 'last year' is not a date; write "
        "year-month-day, for example 2024-07-23\n");
}

TEST_CASE("deviations of a profile are of numbers that it states", "[scenarios][catalog]") {
  const std::string site =
      "schema: 1\nname: ours\ntitle: Ours\nprovenance: {trust: measured, source: us, date: "
      "2026-11-21}\nacross: {launch: 20 us, per_step: 5 us, ramp: 0 ns, share: 0.86}\n"
      "lone_share: 0.7\nsend_share: 0.75\nwait: 10 us\ndeviations:\n";
  const auto errors = [&](const std::string& line) {
    const test::TemporaryFolder extra;
    extra.write("sites/ours.yaml", site + line);
    Books books;
    books.context.catalogs = {extra.path()};
    const bool read = load_site(ask("ours", "site"), books.context).has_value();
    CHECK(read == books.errors().empty());
    return books.errors();
  };
  CHECK(errors("  across.share: 0.05\n  wait: 0.8\n").empty());
  CHECK(errors("  across.shore: 0.05\n")
            .find("ours.yaml:10:3: deviations.across.shore: "
                  "'across.shore' is not a number of this file") != std::string::npos);
  CHECK(errors("  title: 0.05\n").find("is not a number of this file") != std::string::npos);
  for (const char* const wrong : {"0", "-1", "11", "wide", "[1]"})
    CHECK(errors("  wait: " + std::string(wrong) + "\n").find("is not a number above 0") !=
          std::string::npos);
}

TEST_CASE("an unknown kind of catalog names the kinds", "[scenarios][catalog]") {
  CHECK_THROWS_WITH(catalog_entries("device"),
                    Catch::Contains("there is no catalog of 'device'; did you mean 'devices'?"));
}

TEST_CASE("a data folder that is none is an error, not a silent fallback", "[scenarios][catalog]") {
  const auto [folder, lack] = GENERATE(std::pair{"/nonexistent/foretrain", "is not a folder"},
                                       std::pair{"/usr/share", "holds no models/catalog"});
  REQUIRE(setenv("FORETRAIN_DATA_DIR", folder, 1) == 0);
  Books books;
  const auto model = load_model(ask("llama2-70b", "model"), books.context);
  REQUIRE(unsetenv("FORETRAIN_DATA_DIR") == 0);
  CHECK_FALSE(model.has_value());
  CHECK(books.errors().find(std::string(folder) + ": " + lack) == 0);
}

TEST_CASE("dgx-1 lists the sixteen NVLink connections of the cube mesh", "[scenarios][catalog]") {
  Books books;
  const auto host = load_host(ask("dgx-1", "cluster.host"), books.context);
  REQUIRE(host.has_value());
  const std::vector<GpuPair> cube = dgx1_pairs();
  REQUIRE(host->pairs.size() == cube.size());
  for (std::size_t i = 0; i < cube.size(); ++i) {
    CAPTURE(i);
    CHECK(host->pairs[i].first == cube[i].first);
    CHECK(host->pairs[i].second == cube[i].second);
    CHECK(host->pairs[i].lanes == cube[i].lanes);
  }
}

TEST_CASE("a mesh that names no two GPUs, or leaves some far apart, is refused at its place",
          "[scenarios][catalog][error]") {
  const auto [pairs, message] = GENERATE(table<std::string, std::string>(
      {{"[0-1, 1-8]", "'1-8' is not two GPUs from 0 to 7, as in 0-1 or 0-3x2"},
       {"[0+1]", "'0+1' is not two GPUs from 0 to 7, as in 0-1 or 0-3x2"},
       {"[0-1x0]", "'0-1x0' is not two GPUs from 0 to 7, as in 0-1 or 0-3x2"},
       {"[3-3]", "'3-3' is not two GPUs from 0 to 7, as in 0-1 or 0-3x2"},
       {"[0-1, 1-0x2]", "'1-0x2' joins two GPUs that are joined already; add its lanes there"},
       {"[0-1]",
        "some GPUs of a host are more than two NVLinks apart; join them through one GPU "
        "at most, or use PCIe"}}));
  std::ifstream file(fs::path(FORETRAIN_SOURCE_DIR) / "topologies/catalog/hosts/dgx-1.yaml");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto from = text.find("pairs: [");
  REQUIRE(from != std::string::npos);
  const test::TemporaryFolder extra;
  extra.write("hosts/dgx-1.yaml", replaced(text, text.substr(from, text.find(']', from) + 1 - from),
                                           "pairs: " + pairs));
  Books books;
  books.context.catalogs = {extra.path()};
  CHECK_FALSE(load_host(ask("dgx-1", "cluster.host"), books.context));
  CHECK(books.errors().find("dgx-1.yaml:10:10: scale_up.pairs: " + message) != std::string::npos);
}

TEST_CASE("patterns of hybrid models are checked against their layers and mixers",
          "[scenarios][catalog]") {
  const std::string hybrid =
      replaced(tiny_model, "layers: 2\n",
               "layers: 4\nlayer_pattern: \"M-*-\"\n"
               "mamba: {heads: 8, head_dim: 16, groups: 2, state_dim: 16}\n");
  const auto sourced = [](const std::string& text) {
    return replaced(text, "covers: [layers,", "covers: [layers, layer_pattern, mamba,");
  };
  const auto wrong = [&](const std::string& from, const std::string& to) {
    return errors_of_model(sourced(replaced(hybrid, from, to)));
  };
  CHECK(wrong("M-*-", "M-*").find("names 3 layers of 4") != std::string::npos);
  CHECK(wrong("M-*-", "M-*X").find("letter 4 is not one of M, G, *, - and E") != std::string::npos);
  CHECK(wrong("M-*-", "M-*E").find("the group moe is missing") != std::string::npos);
  CHECK(wrong("M-*-", "--*-").find("no pattern names a Mamba-2 layer") != std::string::npos);
  CHECK(wrong("groups: 2", "groups: 3").find("do not divide the heads") != std::string::npos);
  CHECK(wrong("heads: 8, ", "").find("mamba.heads") != std::string::npos);
  const test::TemporaryFolder extra;
  extra.write("models/tiny.yaml", sourced(hybrid));
  Books books;
  books.context.catalogs = {extra.path()};
  const auto model = load_model(ask("tiny", "model"), books.context);
  CAPTURE(books.errors());
  REQUIRE(model.has_value());
  CHECK(model->layer_form(0).mixer == MixerKind::mamba);
  CHECK(model->mamba->chunk == 128);
}
