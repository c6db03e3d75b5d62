// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/base/provenance.hpp"
#include "scenarios/catalog/catalog.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/fields/field_binding.hpp"

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
template <class T>
std::vector<Bound<T>> head_keys(bool title_required) {
  Field schema = schema_field();
  schema.own = true;
  std::vector<Bound<T>> keys{
      unbound<T>(std::move(schema)),
      unbound<T>({.path = "name",
                  .help = "What scenarios call it; the file is named the same.",
                  .example = "my-entry",
                  .required = true,
                  .own = true}),
      unbound<T>({.path = "title",
                  .help = "What reports call it.",
                  .example = "My entry",
                  .required = title_required,
                  .own = true}),
  };
  if constexpr (!std::is_same_v<T, LlmShape>)
    keys.push_back(
        unbound<T>({.path = "like",
                    .help = "Entry of the same kind that gives whatever this file does not.",
                    .example = "megatron-core",
                    .own = true}));
  return keys;
}

/// sources: who says so, and when, for every value of the file.
template <class T>
std::vector<Bound<T>> source_keys() {
  return {
      unbound<T>({.path = "sources",
                  .kind = FieldKind::list,
                  .help = "Where the values come from; together they cover every value.",
                  .required = true,
                  .own = true}),
      unbound<T>({.path = "sources[].covers",
                  .kind = FieldKind::text_list,
                  .help = "Keys, or groups of keys, that this source vouches for.",
                  .example = "[layers, hidden]",
                  .required = true}),
      unbound<T>({.path = "sources[].cite",
                  .help = "Document and place, or how the value was inferred.",
                  .example = "arXiv 2307.09288 Table 1",
                  .required = true}),
      unbound<T>({.path = "sources[].date",
                  .help = "Date of the source.",
                  .example = "2023-07-18",
                  .required = true}),
  };
}

/// provenance: of a fitted profile.
template <class T>
std::vector<Bound<T>> provenance_keys(Provenance T::*member) {
  return {
      unbound<T>({.path = "provenance",
                  .kind = FieldKind::group,
                  .help = "Where the constants come from and how well they fit.",
                  .required = true,
                  .own = true}),
      bind<T>({.path = "provenance.trust",
               .help = "How far the constants can be trusted.",
               .example = "measured",
               .required = true},
              member, &Provenance::trust),
      bind<T>({.path = "provenance.source",
               .help = "What was measured, by whom.",
               .example = "nccl sweeps of 8 GPUs",
               .required = true},
              member, &Provenance::source),
      bind<T>({.path = "provenance.date",
               .help = "Date of the source or of the fit.",
               .example = "2026-11-21",
               .required = true},
              member, &Provenance::date),
      bind<T>({.path = "provenance.error",
               .help = "Median relative error against the source; left out when not known.",
               .example = "0.05",
               .min = 0,
               .max = 1},
              member, &Provenance::error),
  };
}

/// deviations: of what a fit gave.
template <class T>
std::vector<Bound<T>> deviation_keys() {
  return {unbound<T>({.path = "deviations",
                      .kind = FieldKind::tree,
                      .help = "Posterior standard deviations of the logarithms of fitted values, "
                              "by key (`foretrain calibrate fit`)."})};
}

}  // namespace foretrain
