// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

// The one place that writes files and decides which ones may be written. Nothing is lost without
// being asked for: a file that this program reads is never written, whatever it is called; a file
// that is there already is replaced when it is a report of ours (planner/cli/output_file.cpp), or
// under --force.

/// What a file is for, and so what of it may be replaced without --force.
enum class FileUse {
  report,   ///< read by people and programs: an earlier report
  to_edit,  ///< scenarios, catalog files, scripts: never, for they may have been edited since
  rewrite,  ///< what the user asked to change in place, a baseline or a profile: always
};

/// Says that these options of a command name files to write, and adds its --force.
/// @pre the options are there
void guard_outputs(CLI::App& app, FileUse use, std::initializer_list<const char*> options);
/// Adds --out FILE, which takes a report instead of standard output, and guards it and `others`.
void add_report_output(CLI::App& app, std::string& out,
                       std::initializer_list<const char*> others = {});
/// Adds --force alone, where a command has none yet.
void add_force_option(CLI::App& app);
/// Whether the command line has a --force.
[[nodiscard]] bool force_given();

/// What earlier command lines of this process declared, forced and read counts no more.
void forget_command_line();

/// Refuses outputs of the parsed command before anything is computed: those that another argument
/// or standard input names too, and reports in place of other files.
/// @throws UsageError
void check_outputs(const CLI::App& program);

/// Refuses a file that is there and would be replaced. @throws UsageError
void refuse_to_replace(const std::filesystem::path& file);

/// Replaces `file` in one step, so that nobody sees half of it: written beside, synced, renamed.
/// What a link leads to is replaced, not the link; the file keeps its mode. Devices and pipes are
/// written to. Reports in words get a last line that says that they are ours.
/// @throws UsageError naming the file and the reason when it must not or cannot be written;
///   ClosedPipe when its reader went away
void write_file(const std::filesystem::path& file, std::string_view text,
                FileUse use = FileUse::report);

/// A text and where it goes.
struct TextFile {
  std::filesystem::path path;
  std::string text;
};

/// The same of files that belong together: all of them, or none where one must not or cannot be
/// written. Texts are written as they are.
void write_files(const std::vector<TextFile>& files, FileUse use);

}  // namespace foretrain
