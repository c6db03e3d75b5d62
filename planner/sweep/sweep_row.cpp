// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep_row.hpp"

#include <array>
#include <cstring>
#include <limits>

#include "models/base/require.hpp"

namespace foretrain {
namespace {

template <class T>
void put(std::string& bytes, T value) {
  std::array<char, sizeof(T)> raw;
  std::memcpy(raw.data(), &value, sizeof(T));
  bytes.append(raw.data(), raw.size());
}

void put_text(std::string& bytes, const std::string& text) {
  put(bytes, static_cast<std::uint32_t>(text.size()));
  bytes += text;
}

/// Reads the fields of one row, in the order that they were put.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  T take() {
    FORETRAIN_REQUIRE(rest_.size() >= sizeof(T));
    T value;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return value;
  }

  std::string take_text() {
    const auto size = take<std::uint32_t>();
    FORETRAIN_REQUIRE(rest_.size() >= size);
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }

 private:
  std::string_view rest_;
};

SweepRow decode_row(std::string_view bytes) {
  Fields fields(bytes);
  SweepRow row;
  row.point = fields.take<std::int64_t>();
  row.status = static_cast<PointStatus>(fields.take<std::int32_t>());
  row.hash = fields.take_text();
  row.rule = fields.take_text();
  row.reason = fields.take_text();
  row.metrics.resize(fields.take<std::uint32_t>());
  for (auto& metric : row.metrics)
    if (fields.take<char>() != 0) metric = fields.take<double>();
  return row;
}

}  // namespace

void encode_row(const SweepRow& row, std::string& bytes) {
  const std::size_t start = bytes.size();
  put(bytes, std::uint32_t{0});
  put(bytes, row.point);
  put(bytes, static_cast<std::int32_t>(row.status));
  put_text(bytes, row.hash);
  put_text(bytes, row.rule);
  put_text(bytes, row.reason);
  put(bytes, static_cast<std::uint32_t>(row.metrics.size()));
  for (const auto& metric : row.metrics) {
    put(bytes, metric ? '\1' : '\0');
    if (metric) put(bytes, *metric);
  }
  const auto length = static_cast<std::uint32_t>(bytes.size() - start - sizeof(std::uint32_t));
  std::memcpy(bytes.data() + start, &length, sizeof(length));
}

std::vector<SweepRow> decode_rows(std::string& bytes) {
  std::vector<SweepRow> rows;
  std::string_view rest = bytes;
  std::uint32_t length = 0;
  while (rest.size() >= sizeof(length)) {
    std::memcpy(&length, rest.data(), sizeof(length));
    if (rest.size() - sizeof(length) < length) break;
    rows.push_back(decode_row(rest.substr(sizeof(length), length)));
    rest.remove_prefix(sizeof(length) + length);
  }
  bytes.erase(0, bytes.size() - rest.size());
  return rows;
}

}  // namespace foretrain
