// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/base/provenance.hpp"
#include "scenarios/catalog/catalog.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/fields/key_rows.hpp"

namespace foretrain {

/// The keys of the files of a kind.
[[nodiscard]] const FieldTable& catalog_fields(CatalogKind kind);

/// One catalog file as read: the struct, and the values it was made of.
template <class T>
struct CatalogItem {
  T value;
  FieldValues values;
};

/// The file that a request names; an unknown name is reported with the nearest and the known ones.
[[nodiscard]] std::optional<CatalogFile> find_requested(CatalogKind kind,
                                                        const CatalogRequest& request,
                                                        CatalogContext& context);

/// Reads and checks one file: keys, its name, and that its sources cover every value. Nothing
/// when it has an error. The file is added to the context's books.
/// @param asked_by where to report a file that cannot be opened; null: at the file itself.
[[nodiscard]] std::optional<FieldValues> read_catalog_file(const CatalogFile& file,
                                                           const FieldTable& table,
                                                           CatalogContext& context,
                                                           const CatalogRequest* asked_by);

/// Adds a file that was read to the context's books, once.
void add_source_file(const CatalogFile& file, const std::string& text, CatalogContext& context);

void add_source_hash(const CatalogFile& file, const std::string& hash, CatalogContext& context);

/// Adds a value of an entry to the context's books under `prefix`.
void record_value(const FieldValue& value, const std::string& prefix, CatalogContext& context);

/// Origin of the values of an entry that lists its sources.
[[nodiscard]] Provenance provenance_of_sources(const FieldValues& values, Trust trust);

/// What the values of a file make, with every value in the context's books.
/// @param prefix key path under which `foretrain show` lists the values; empty: not listed.
template <class T>
CatalogItem<T> item_of(FieldValues&& values, const BoundTable<T>& table, const std::string& prefix,
                       CatalogContext& context) {
  CatalogItem<T> item;
  item.values = std::move(values);
  table.fill(item.values, item.value);
  if (!prefix.empty())
    for (const FieldValue& value : item.values.all())
      if (table.applies(item.values, value)) record_value(value, prefix, context);
  return item;
}

/// The same of a file. @param prefix as above
template <class T>
std::optional<CatalogItem<T>> read_item(const CatalogFile& file, const BoundTable<T>& table,
                                        const std::string& prefix, CatalogContext& context,
                                        const CatalogRequest* asked_by = nullptr) {
  auto values = read_catalog_file(file, table.fields(), context, asked_by);
  if (!values) return std::nullopt;
  return item_of(std::move(*values), table, prefix, context);
}

/// schema, name, title and, but of a model, like.
[[nodiscard]] KeyRows head_keys(bool title_required, bool like = true);

/// sources: who says so, and when, for every value of the file.
[[nodiscard]] KeyRows source_keys();

/// provenance.*: what `calibrate fit --measured` adds to a profile that it makes.
[[nodiscard]] KeyRows measurement_keys();

/// deviations: of what a fit gave.
[[nodiscard]] KeyRows deviation_keys();

/// provenance: of a fitted profile.
template <class T>
KeyRows provenance_keys(Provenance T::*member) {
  return {
      keys::unbound({.path = "provenance",
                     .kind = FieldKind::group,
                     .help = "Where the constants come from and how well they fit.",
                     .required = true,
                     .own = true}),
      keys::bind({.path = "provenance.trust",
                  .help = "How far the constants can be trusted.",
                  .example = "measured",
                  .required = true},
                 member, &Provenance::trust),
      keys::bind({.path = "provenance.source",
                  .help = "What was measured, by whom.",
                  .example = "nccl sweeps of 8 GPUs",
                  .required = true},
                 member, &Provenance::source),
      keys::bind({.path = "provenance.date",
                  .help = "Date of the source or of the fit.",
                  .example = "2026-11-21",
                  .required = true},
                 member, &Provenance::date),
      keys::bind({.path = "provenance.error",
                  .help = "Median relative error against the source; left out when not known.",
                  .example = "0.05",
                  .min = 0,
                  .max = 1},
                 member, &Provenance::error),
  };
}

/// What commands take that are told no machine: the host of the built-in catalog that says
/// `default: true`, and the fabric preset of its NICs.
struct DefaultMachine {
  std::string host;
  std::string fabric;
};

/// @throws ScenarioError when a host's file is broken, or not exactly one says so
[[nodiscard]] DefaultMachine default_machine();

/// The preset of the built-in catalog with the slowest NICs, which those of every host can run.
/// @throws ScenarioError when a fabric's file is broken
[[nodiscard]] std::string slowest_fabric();

}  // namespace foretrain
