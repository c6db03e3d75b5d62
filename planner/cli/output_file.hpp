// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "planner/cli/command_row.hpp"

namespace foretrain {

// The one place that writes files and decides which ones may be written. Nothing is lost without
// being asked for: a file that this program reads is never written, whatever it is called; a file
// that is there already is replaced when it is a report of ours (planner/cli/output_file.cpp), or
// under --force.

/// Adds --out FILE, which takes a report instead of standard output.
void add_report_output(CommandRow& command, std::string& out);
/// Adds --out FILE and -o, which take what is edited afterwards.
void add_edited_output(CommandRow& command, std::string& out);
/// Adds --force, where a command has none yet.
void add_force_option(CommandRow& command);
/// Whether the command line has a --force.
[[nodiscard]] bool force_given();

/// What earlier command lines of this process declared, forced and read counts no more.
void forget_command_line();

/// Refuses outputs of the parsed command before anything is computed: those that another argument
/// or standard input names too, and reports in place of other files.
/// @param path from the program to the command
/// @throws UsageError
void check_outputs(const std::vector<const CommandRow*>& path);

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
