// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/cli/terminal.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

// How a report of Foretrain is known as such: JSON by its "schema" ("prediction/1"), version or
// tool; pages and pictures by their generator; gzip by what is in it; CSV by its header, which must
// be that of the new file; manual pages by their title; everything else by a last line
// "foretrain VERSION".

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
  return std::ranges::any_of(
      marks, [&](std::string_view mark) { return text.find(mark) != std::string_view::npos; });
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

/// The text as it goes into a file: a report in words gets its last line.
std::string signed_report(std::string_view text) {
  std::string result(text);
  if (has_form(text) || ends_signed(text)) return result;
  return result + (text.back() == '\n' ? "\n" : "\n\n") + "foretrain " + version + "\n";
}

/// Whether a file may hold a report: CSV of anybody still may. Empty files count.
bool may_be_report(const std::filesystem::path& file) {
  const Ends ends = ends_of(file);
  return is_of_ours(ends) || !csv_header(ends.head).empty();
}

/// Whether a file is an earlier report that `text` may replace.
bool is_earlier_report(const std::filesystem::path& file, std::string_view text) {
  const Ends ends = ends_of(file);
  if (is_of_ours(ends)) return true;
  const std::string_view header = csv_header(text.substr(0, head_bytes));
  return !header.empty() && header == csv_header(ends.head);
}

namespace fs = std::filesystem;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): one command line a process
bool forced = false;

[[noreturn]] void fail(const fs::path& file, int error) {
  if (error == EPIPE) throw ClosedPipe();
  throw UsageError("cannot write " + escaped(file.string()) + ": " + std::strerror(error));
}

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (file_ >= 0) ::close(file_);
  }
  [[nodiscard]] int get() const { return file_; }
  /// @return 0 or an error: some file systems tell only here that the disk is full
  [[nodiscard]] int close() {
    const int result = ::close(file_) == 0 ? 0 : errno;
    file_ = -1;
    return result;
  }

 private:
  int file_;
};

/// @return 0 or an error
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written >= 0)
      text.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      return errno;
  }
  return 0;
}

std::optional<struct stat> status_of(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return std::nullopt;
  return status;
}

bool is_plain(const std::optional<struct stat>& status) {
  return status && S_ISREG(status->st_mode);
}

/// Writes what is there already and no plain file: a device, a pipe.
void write_through(const fs::path& file, std::string_view text) {
  Descriptor out(::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (out.get() < 0) fail(file, errno);
  if (const int error = write_all(out.get(), text)) fail(file, error);
  if (const int error = out.close()) fail(file, error);
}

/// The mode that a new file gets: all but what the umask takes away.
mode_t usual_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return static_cast<mode_t>(0666U & ~mask);
}

/// A file beside `target` that goes away unless it takes the target's place. It is new, and no
/// link that somebody has planted leads elsewhere.
class Draft {
 public:
  explicit Draft(const fs::path& target)
      : target_(target),
        name_(target.string() + ".XXXXXX.part"),
        file_(::mkostemps(name_.data(), 5, O_CLOEXEC)) {
    if (file_.get() < 0) {
      const int error = errno;
      name_.clear();
      fail(target, error);
    }
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  void fill(std::string_view text, const std::optional<struct stat>& before) {
    if (const int error = write_all(file_.get(), text)) fail(target_, error);
    // Who owns it is kept where we may; the mode always, and last, for a change of owner clears
    // bits of it.
    if (before && before->st_uid != ::geteuid() &&
        ::fchown(file_.get(), before->st_uid, before->st_gid) != 0 && errno != EPERM)
      fail(target_, errno);
    if (::fchmod(file_.get(), before ? before->st_mode & 07777U : usual_mode()) != 0)
      fail(target_, errno);
    if (::fsync(file_.get()) != 0 && errno != EINVAL) fail(target_, errno);
    if (const int error = file_.close()) fail(target_, error);
  }

  void take_place() {
    if (::rename(name_.c_str(), target_.c_str()) != 0) fail(target_, errno);
    name_.clear();
  }

 private:
  fs::path target_;
  std::string name_;
  Descriptor file_;
};

std::string shown(const std::string& option, const fs::path& file) {
  return (option.empty() ? "" : option + " ") + escaped(file.string());
}

[[noreturn]] void refuse_input(const std::string& option, const fs::path& file) {
  throw UsageError(shown(option, file) + ": this command reads that file; write to another one");
}

[[noreturn]] void refuse_replacing(const std::string& option, const fs::path& file,
                                   const char* why) {
  throw UsageError(shown(option, file) + " is there already" + why + "; --force replaces it");
}

constexpr const char* not_ours = ", and Foretrain did not write it";

bool holds(const fs::path& file, std::string_view text) {
  std::ifstream in(file, std::ios::binary);
  const std::string there{std::istreambuf_iterator<char>(in), {}};
  return there.empty() || there == text;
}

/// Whether a plain file that is there may be replaced. @throws UsageError
void check_replaced(const fs::path& file, std::string_view text, FileUse use) {
  if (::access(file.c_str(), W_OK) != 0) fail(file, errno);
  if (use == FileUse::rewrite) return;
  if (was_read(file)) refuse_input("", file);
  if (forced || holds(file, text)) return;
  if (use == FileUse::to_edit) refuse_replacing("", file, "");
  if (!is_earlier_report(file, text)) refuse_replacing("", file, not_ours);
}

/// A value of the command line that names a plain file, or one that is not there yet.
struct NamedFile {
  std::string option;
  fs::path name;
  std::optional<struct stat> status;
  std::optional<FileUse> output;  ///< absent: read

  [[nodiscard]] bool same_as(const NamedFile& other) const {
    if (status && other.status)
      return status->st_dev == other.status->st_dev && status->st_ino == other.status->st_ino;
    std::error_code ignored;
    return !status && !other.status &&
           fs::weakly_canonical(name, ignored) == fs::weakly_canonical(other.name, ignored);
  }
};

void add_named_files(const CommandRow& command, std::vector<NamedFile>& files) {
  for (const OptionRow& option : command.options) {
    if (!command.has(option.name())) continue;
    std::vector<std::string> values = command.given->at(option.name());
    // "--emit 1 FILE": the file is the last one.
    if (option.writes && values.size() > 1) values.erase(values.begin(), values.end() - 1);
    for (const std::string& value : values) {
      const auto status = value.empty() ? std::nullopt : status_of(value);
      if (is_plain(status) || (option.writes && !status && !value.empty()))
        files.push_back({option.name(), value, status, option.writes});
    }
  }
}

void check_output(const NamedFile& output, const std::vector<NamedFile>& all) {
  for (const NamedFile& other : all) {
    if (&other == &output || !other.same_as(output)) continue;
    if (!other.output) refuse_input(output.option, output.name);
    throw UsageError(output.option + " and " + other.option + " name the same file, " +
                     escaped(output.name.string()));
  }
  if (output.status && output.output == FileUse::report && !forced && !may_be_report(output.name))
    refuse_replacing(output.option, output.name, not_ours);
}

}  // namespace

void add_force_option(CommandRow& command) {
  if (command.find("--force") == nullptr)
    command.flag("--force", forced, "Overwrite existing files");
}

bool force_given() { return forced; }

void add_report_output(CommandRow& command, std::string& out) {
  command.option("--out", out, "FILE", "Write to a file instead of standard output",
                 {.writes = FileUse::report});
}

void add_edited_output(CommandRow& command, std::string& out) {
  command.option("-o,--out", out, "FILE", "Write to a file instead of standard output",
                 {.writes = FileUse::to_edit});
}

void forget_command_line() {
  forced = false;
  forget_read_files();
}

void check_outputs(const std::vector<const CommandRow*>& path) {
  std::vector<NamedFile> files;
  for (const CommandRow* command : path) add_named_files(*command, files);
  struct stat input {};
  if (::fstat(STDIN_FILENO, &input) == 0 && S_ISREG(input.st_mode))
    files.push_back({"standard input", "-", input, std::nullopt});
  for (const NamedFile& file : files)
    if (file.output) check_output(file, files);
}

void refuse_to_replace(const fs::path& file) {
  std::error_code ignored;
  if (!forced && fs::exists(fs::symlink_status(file, ignored))) refuse_replacing("", file, "");
}

void write_files(const std::vector<TextFile>& files, FileUse use) {
  std::vector<std::optional<struct stat>> before;
  for (const TextFile& file : files) {
    before.push_back(status_of(file.path));
    if (is_plain(before.back())) check_replaced(file.path, file.text, use);
  }
  std::vector<std::unique_ptr<Draft>> drafts;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const fs::path& path = files[i].path;
    // A new file in place of /dev/null would take it from everybody on the machine.
    if (before[i] && !is_plain(before[i])) {
      write_through(path, files[i].text);
      continue;
    }
    std::error_code failure;
    // What a link leads to is replaced, not the link.
    const bool link = before[i] && fs::is_symlink(path, failure);
    drafts.push_back(std::make_unique<Draft>(link ? fs::canonical(path) : path));
    drafts.back()->fill(files[i].text, before[i]);
  }
  for (const auto& draft : drafts) draft->take_place();
}

void write_file(const fs::path& file, std::string_view text, FileUse use) {
  write_files({{file, use == FileUse::report ? signed_report(text) : std::string(text)}}, use);
}

}  // namespace foretrain
