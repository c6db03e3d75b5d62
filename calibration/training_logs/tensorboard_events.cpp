// SPDX-License-Identifier: Apache-2.0
#include "calibration/training_logs/log_file_reader.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace foretrain {
namespace {

constexpr std::size_t most_record_bytes = std::size_t{4} << 20;

/// One field of a message in protobuf's wire format.
struct WireField {
  unsigned number = 0;
  std::uint64_t value = 0;  ///< of varints and fixed ones
  std::string_view bytes;   ///< of those with a length
};

bool take_varint(std::string_view& text, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !text.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if ((byte & 0x80U) == 0) return true;
  }
  return false;
}

/// The next field of a message; false: its end, or it is damaged.
bool take_field(std::string_view& text, WireField& field) {
  std::uint64_t key = 0;
  if (!take_varint(text, key)) return false;
  field = {static_cast<unsigned>(key >> 3U), 0, {}};
  const auto kind = key & 7U;
  if (kind == 0) return take_varint(text, field.value);
  std::size_t size = kind == 1 ? 8 : 4;
  if (kind == 2) {
    std::uint64_t length = 0;
    if (!take_varint(text, length) || length > text.size()) return false;
    size = static_cast<std::size_t>(length);
  } else if (kind != 1 && kind != 5) {
    return false;
  }
  if (size > text.size()) return false;
  field.bytes = text.substr(0, size);
  if (kind != 2) std::memcpy(&field.value, field.bytes.data(), size);
  text.remove_prefix(size);
  return true;
}

double as_double(std::uint64_t bits) {
  double value = 0.0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float as_float(std::uint64_t bits) {
  const auto low = static_cast<std::uint32_t>(bits);
  float value = 0.0F;
  std::memcpy(&value, &low, sizeof value);
  return value;
}

std::string folded_tag(std::string_view tag) {
  std::string text;
  for (const char c : tag.substr(0, 200)) text += folded(c);
  return text;
}

bool holds_any(const std::string& text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return text.find(part) != std::string::npos; });
}

class EventReader {
 public:
  explicit EventReader(LogFile& file) : file_{file}, lines_{file} {
    const auto& all = log_grammars();
    const auto found = std::ranges::find_if(
        all, [](const LogGrammar& grammar) { return grammar.name == "tensorboard"; });
    grammar_ = static_cast<int>(found - all.begin());
  }

  void take(std::string_view event) {
    double stamp = 0.0;
    double step = 0.0;
    std::string_view summary;
    for (WireField field; take_field(event, field);) {
      if (field.number == 1) stamp = as_double(field.value);
      if (field.number == 2) step = static_cast<double>(field.value);
      if (field.number == 5) summary = field.bytes;
    }
    for (WireField field; take_field(summary, field);)
      if (field.number == 1) take_value(field.bytes, stamp, step);
  }

  void finish() { commit(); }

 private:
  /// A value of a summary: its tag, and a number or a tensor.
  void take_value(std::string_view value, double stamp, double step) {
    std::string_view tag;
    std::string_view tensor;
    float number = 0.0F;
    for (WireField field; take_field(value, field);) {
      if (field.number == 1) tag = field.bytes;
      if (field.number == 2) number = as_float(field.value);
      if (field.number == 8) tensor = field.bytes;
    }
    const std::string name = folded_tag(tag);
    if (name.find("text_summary") != std::string::npos) return take_text(tensor);
    for (WireField field; number == 0.0F && take_field(tensor, field);)
      if (field.number == 5 && field.bytes.size() >= 4)
        std::memcpy(&number, field.bytes.data(), sizeof number);
    const bool checks = holds_any(name, {"eval", "val", "test"});
    const bool times = holds_any(name, {"step_time", "step_timing", "iteration_time"});
    if (checks || !(times || holds_any(name, {"loss"}))) return;
    if (current_.step && *current_.step != step) commit();
    current_.step = step;
    if (stamp > 0.0) current_.stamp = stamp;
    if (times && number > 0.0F) current_.seconds = number;
  }

  void take_text(std::string_view tensor) {
    for (WireField field; take_field(tensor, field);) {
      if (field.number != 8) continue;
      for (std::string_view rest = field.bytes; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        lines_.take({++file_.stream.lines, line.substr(0, most_line_bytes)});
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      }
    }
  }

  void commit() {
    if (!current_.step) return;
    static_cast<void>(
        file_.series.try_emplace(grammar_, StepClock::stamps).first->second.add(current_));
    current_ = {};
  }

  LogFile& file_;
  LogFileReader lines_;
  StepRecord current_;
  int grammar_ = 0;
};

}  // namespace

bool is_event_file(std::string_view front) {
  return front.substr(0, 64).find("brain.Event:") != std::string_view::npos;
}

LogFile read_event_file(std::istream& input) {
  constexpr std::size_t head_bytes = 12;
  constexpr std::size_t foot_bytes = 4;
  LogFile file;
  EventReader reader(file);
  std::string record;
  std::array<char, head_bytes> head{};
  while (input.read(head.data(), head_bytes)) {
    std::uint64_t length = 0;
    std::memcpy(&length, head.data(), sizeof length);
    if (length > most_record_bytes) {
      ++file.stream.cut;
      input.ignore(static_cast<std::streamsize>(
          std::min<std::uint64_t>(length, std::uint64_t{1} << 40) + foot_bytes));
      continue;
    }
    record.resize(static_cast<std::size_t>(length) + foot_bytes);
    if (!input.read(record.data(), static_cast<std::streamsize>(record.size()))) break;
    reader.take(std::string_view(record).substr(0, record.size() - foot_bytes));
  }
  reader.finish();
  file.signed_name = "tensorboard";
  return file;
}

}  // namespace foretrain
