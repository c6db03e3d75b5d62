// SPDX-License-Identifier: Apache-2.0
#include "scenarios/text_file.hpp"

#include <array>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

namespace foretrain {
namespace {

/// Length of the UTF-8 sequence at `at`, 0 when malformed, overlong, a surrogate or out of range.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead < 0xF0) {
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
    return tail(1) && tail(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead < 0xF5) {
    const bool overlong = lead == 0xF0 && byte(1) < 0x90;
    const bool beyond = lead == 0xF4 && byte(1) >= 0x90;
    return tail(1) && tail(2) && tail(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool check_encoding(std::string_view text, Mark mark, Diagnostics& diagnostics) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t length = sequence_length(text, at);
    const bool control =
        (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F;
    if (length == 0 || control) {
      diagnostics.add(mark, {},
                      length == 0 ? "not UTF-8 text; save the file in the encoding UTF-8"
                                  : fmt::format("control character 0x{:02x}", byte));
      return false;
    }
    if (byte == '\n') {
      ++mark.line;
      mark.column = 1;
    } else {
      ++mark.column;
    }
    at += length;
  }
  return true;
}

std::optional<std::string> read_text_file(const std::filesystem::path& file,
                                          const std::string& name, std::size_t max_bytes,
                                          Diagnostics& diagnostics, const FileRequest& asked_by) {
  const auto fail = [&](const std::string& why) {
    if (asked_by.mark.file)
      diagnostics.add(asked_by.mark, asked_by.path,
                      fmt::format("cannot read {}: {}", in_quotes(name), why));
    else
      diagnostics.add({name, 0, 0, {}, why});
    return std::nullopt;
  };
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) return fail("no such file");
  if (std::filesystem::is_directory(status)) return fail("it is a folder, not a file");
  if (!std::filesystem::is_regular_file(status)) return fail("it is not a regular file");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return fail("permission denied, or it cannot be opened");
  // Reads on past the limit rather than trusting the size that the system reports.
  std::string text;
  std::array<char, 16384> piece{};
  do {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
  } while (stream && text.size() <= max_bytes);
  if (stream.bad()) return fail("reading failed");
  if (text.size() > max_bytes)
    return fail(fmt::format("it is larger than {} bytes, which is the limit", max_bytes));
  return text;
}

}  // namespace foretrain
