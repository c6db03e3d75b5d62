// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/own_report.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <regex>

#include "planner/version.hpp"

namespace foretrain {
namespace {

constexpr std::size_t head_bytes = 8192;
constexpr std::size_t tail_bytes = 512;
constexpr std::string_view gzip_magic{"\x1f\x8b", 2};

struct Ends {
  std::string head;
  std::string tail;
};

Ends ends_of(const std::filesystem::path& file) {
  Ends ends;
  std::ifstream in(file, std::ios::binary);
  ends.head.resize(head_bytes);
  in.read(ends.head.data(), static_cast<std::streamsize>(head_bytes));
  ends.head.resize(static_cast<std::size_t>(in.gcount()));
  in.clear();
  in.seekg(0, std::ios::end);
  const auto size = static_cast<std::streamoff>(in.tellg());
  in.seekg(std::max<std::streamoff>(0, size - static_cast<std::streamoff>(tail_bytes)));
  ends.tail.resize(tail_bytes);
  in.read(ends.tail.data(), static_cast<std::streamsize>(tail_bytes));
  ends.tail.resize(static_cast<std::size_t>(in.gcount()));
  return ends;
}

/// The first bytes of what a gzip file holds.
std::string unpacked_head(std::string_view packed) {
  constexpr int gzip_window = 15 + 16;
  z_stream stream{};
  if (inflateInit2(&stream, gzip_window) != Z_OK) return {};
  std::string input(packed);
  std::string output(head_bytes, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(output.data());
  stream.avail_out = static_cast<uInt>(output.size());
  inflate(&stream, Z_SYNC_FLUSH);
  output.resize(output.size() - stream.avail_out);
  inflateEnd(&stream);
  return output;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> marks) {
  return std::any_of(marks.begin(), marks.end(), [&](std::string_view mark) {
    return text.find(mark) != std::string_view::npos;
  });
}

bool is_json_of_ours(const std::string& head) {
  static const std::regex schema(R"re("schema": ?"[a-z-]+/[0-9]+")re");
  return has_any(head,
                 {R"("foretrain_version": ")", R"("foretrain":")", R"("name": "foretrain")"}) ||
         std::regex_search(head, schema);
}

/// The first line where it is one of a table: cells, and the line end of RFC 4180 or, as in
/// measured records, names alone.
std::string_view csv_header(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || end == 0) return {};
  const bool standard = text[end - 1] == '\r';
  const std::string_view line = text.substr(0, standard ? end - 1 : end);
  if (!standard && line.find(' ') != std::string_view::npos) return {};
  return line.find(',') == std::string_view::npos ? std::string_view{} : line;
}

bool ends_signed(std::string_view tail) {
  constexpr std::string_view mark = "foretrain ";
  if (tail.empty() || tail.back() != '\n') return false;
  tail.remove_suffix(1);
  const std::size_t line = tail.rfind('\n');
  const std::string_view last = line == std::string_view::npos ? tail : tail.substr(line + 1);
  return last.starts_with(mark) && last.size() > mark.size() && last[mark.size()] >= '0' &&
         last[mark.size()] <= '9';
}

bool is_of_ours(const Ends& ends) {
  const std::string& head = ends.head;
  if (head.empty()) return true;
  if (head.starts_with(gzip_magic)) return is_json_of_ours(unpacked_head(head));
  if (head.front() == '{') return is_json_of_ours(head);
  if (head.front() == '<')
    return has_any(head, {R"(content="foretrain")", "<!-- Drawn by foretrain. -->",
                          R"(<testsuite name="foretrain check")"});
  if (head.starts_with(".TH FORETRAIN")) return true;
  return ends_signed(ends.tail);
}

/// Formats that have no place for a line of ours at their end.
bool has_form(std::string_view text) {
  return text.empty() || text.starts_with(gzip_magic) ||
         std::string_view("{[<.").find(text.front()) != std::string_view::npos ||
         !csv_header(text).empty();
}

}  // namespace

std::string signed_report(std::string_view text) {
  std::string result(text);
  if (has_form(text) || ends_signed(text)) return result;
  return result + (text.back() == '\n' ? "\n" : "\n\n") + "foretrain " + version + "\n";
}

bool may_be_report(const std::filesystem::path& file) {
  const Ends ends = ends_of(file);
  return is_of_ours(ends) || !csv_header(ends.head).empty();
}

bool is_earlier_report(const std::filesystem::path& file, std::string_view text) {
  const Ends ends = ends_of(file);
  if (is_of_ours(ends)) return true;
  const std::string_view header = csv_header(text.substr(0, head_bytes));
  return !header.empty() && header == csv_header(ends.head);
}

}  // namespace foretrain
