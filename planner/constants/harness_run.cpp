// SPDX-License-Identifier: Apache-2.0
#include "planner/constants/harness_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/sha256.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

constexpr double grace_s = 60.0;  // to finish a case that began within the budget
constexpr int no_gpu = 2;         // exit code of the harness' programs, beside one sentence

/// A program of the harness: in its folder, beside ours, or on the PATH.
std::string program_path(const std::string& name, const HarnessRequest& request) {
  std::vector<fs::path> folders;
  if (!request.programs.empty()) {
    folders.push_back(request.programs);
  } else {
    folders.push_back(request.own_folder);
    std::istringstream paths(std::getenv("PATH") == nullptr ? "" : std::getenv("PATH"));
    for (std::string folder; std::getline(paths, folder, ':');) folders.emplace_back(folder);
  }
  for (const fs::path& folder : folders)
    if (::access((folder / name).c_str(), X_OK) == 0 && !fs::is_directory(folder / name))
      return (folder / name).string();
  throw UsageError(name + " is not in " +
                   (request.programs.empty() ? "the folder of this program, nor on the PATH"
                                             : in_quotes(request.programs.string())) +
                   "; it is built with nvcc (calibration/harness/README.md), --programs names its "
                   "folder");
}

std::string seconds_text(double seconds) { return fmt::format("{:.0f}s", std::floor(seconds)); }

/// Ends a child, first politely.
void end_child(pid_t child) {
  ::kill(child, SIGTERM);
  for (int i = 0; i < 50; ++i) {
    if (::waitpid(child, nullptr, WNOHANG) == child) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

struct Ending {
  int code = 0;  ///< exit status; 128 + n for a signal
  bool timed_out = false;
  double seconds = 0.0;
};

Ending run_child(const HarnessCommand& command) {
  std::vector<char*> words;
  std::vector<std::string> copies = command.words;
  for (std::string& word : copies) words.push_back(word.data());
  words.push_back(nullptr);
  const auto begin = std::chrono::steady_clock::now();
  const auto used = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  // Nothing is written to standard output: that is ours.
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int failure = ::posix_spawn(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0)
    throw UsageError("cannot start " + in_quotes(command.words[0]) + ": " + std::strerror(failure));
  Ending ending;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) != child) {
    if (used() > command.limit_s) {
      end_child(child);
      return {124, true, used()};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ending.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ending.seconds = used();
  return ending;
}

std::string digest_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return in ? sha256_hex(text.str()) : "";
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "";
}

std::string joined_words(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

/// The programs that share the budget: kernels, then collectives.
/// @throws UsageError when a program is not there
std::vector<HarnessCommand> harness_commands(const HarnessRequest& request) {
  // Kernels take most of the shapes; collectives of one host are soon measured.
  constexpr double kernels = 0.6;
  const double first = std::max(1.0, request.budget_s * kernels);
  const double second = std::max(1.0, request.budget_s - first);
  std::vector<HarnessCommand> commands;
  commands.push_back({{program_path("foretrain-gpubench", request), "--budget", seconds_text(first),
                       "--out", (request.out / "gpubench.jsonl").string()},
                      first + grace_s});
  if (request.gpus != 1) {
    HarnessCommand command{
        {program_path("foretrain-ncclbench", request), "--budget", seconds_text(second), "--out",
         (request.out / "ncclbench.jsonl").string()},
        second + grace_s};
    if (request.gpus > 1) {
      command.words.emplace_back("--gpus");
      command.words.push_back(std::to_string(request.gpus));
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace

std::string harness_lines(const HarnessRequest& request, const std::string& launcher, int nodes,
                          int gpus_per_node) {
  const fs::path folder = request.programs;
  const std::string gpubench = (folder / "foretrain-gpubench").string();
  const std::string ncclbench = (folder / "foretrain-ncclbench").string();
  const std::string half = seconds_text(std::max(1.0, request.budget_s / 2.0));
  const std::string out = request.out.string();
  const int ranks = nodes * gpus_per_node;
  std::string text = "mkdir -p " + out +
                     "\nexport FORETRAIN_SECRET=$(openssl rand -hex 16)  # for its ranks alone\n";
  if (launcher == "mpirun")
    return text +
           fmt::format("mpirun -n 1 {} --budget {} --out {}/gpubench.jsonl\n", gpubench, half,
                       out) +
           fmt::format(
               "mpirun -n {} --npernode {} -x MASTER_ADDR=$(hostname) -x FORETRAIN_SECRET {} "
               "--budget {} --out "
               "{}/ncclbench.jsonl\n",
               ranks, gpus_per_node, ncclbench, half, out);
  return text +
         fmt::format("srun -N 1 -n 1 --gpus-per-node=1 {} --budget {} --out {}/gpubench.jsonl\n",
                     gpubench, half, out) +
         fmt::format(
             "srun -N {} --ntasks-per-node={} --gpus-per-node={} {} --budget {} --out "
             "{}/ncclbench.jsonl\n",
             nodes, gpus_per_node, gpus_per_node, ncclbench, half, out);
}

bool run_harness(const HarnessRequest& request,
                 const std::function<void(const std::string&)>& tell) {
  const std::vector<HarnessCommand> commands = harness_commands(request);
  std::error_code error;
  fs::create_directories(request.out, error);
  const fs::path told = request.out / "run.jsonl";
  if (fs::exists(told, error) && !request.replace)
    throw UsageError("the folder " + in_quotes(request.out.string()) +
                     " holds measurements already; name another one, or replace them with --force");
  std::ofstream log(told);
  if (!log) throw UsageError("cannot write into " + in_quotes(request.out.string()));
  bool fine = true;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const HarnessCommand& command = commands[i];
    tell(fmt::format("[{}/{}] {}", i + 1, commands.size(), joined_words(command.words)));
    const Ending ending = run_child(command);
    const fs::path written = command.words[4];
    Json line{{"record", "run"},
              {"schema", "calibrate-run/1"},
              {"date", request.date},
              {"foretrain", request.version},
              {"host", host_name()},
              {"command", command.words},
              {"exit_code", ending.code},
              {"timed_out", ending.timed_out},
              {"seconds", ending.seconds},
              {"file", written.filename().string()},
              {"sha256", digest_of(written)}};
    log << line.dump() << '\n' << std::flush;
    // The program has said in one sentence what is missing.
    if (i == 0 && ending.code == no_gpu)
      throw UsageError("nothing was measured: " + fs::path(command.words[0]).filename().string() +
                       " found no GPU to measure");
    fine = fine && ending.code == 0;
    tell(ending.timed_out
             ? "ended after its time was over; what it wrote is kept"
             : fmt::format("exit code {} after {:.0f} s", ending.code, ending.seconds));
  }
  return fine;
}

}  // namespace foretrain
