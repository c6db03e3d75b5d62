// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "models/base/too_large.hpp"
#include "planner/cli/command.hpp"
#include "planner/cli/program.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "sim/flows/plug_in_file.hpp"

namespace foretrain {
namespace {

int report_scenario_error(const ScenarioError& error) {
  for (const Diagnostic& diagnostic : error.diagnostics()) write_diagnostic(diagnostic.text());
  const std::size_t count = error.diagnostics().size();
  write_diagnostic(std::to_string(count) + (count == 1 ? " error" : " errors"));
  return exit_usage;
}

int out_of_memory() {
  write_diagnostic(
      "foretrain: out of memory: the system gives this process no more (ulimit -v, a container's "
      "limit)");
  return exit_out_of_memory;
}

}  // namespace
}  // namespace foretrain

int main(int argc, char** argv) {
  // A closed pipe must end us quietly: writes then fail with EPIPE, which deliver() knows.
  std::signal(SIGPIPE, SIG_IGN);
  // As must a limit on the size of files: the write that meets it fails, and we say so.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return foretrain::run_program(argc, argv);
  } catch (const foretrain::ScenarioError& error) {
    return foretrain::report_scenario_error(error);
  } catch (const foretrain::CannotRun& error) {
    foretrain::write_diagnostic(std::string("foretrain: ") + error.what());
    return foretrain::exit_infeasible;
  } catch (const foretrain::UsageError& error) {
    foretrain::write_diagnostic(std::string("foretrain: ") + error.what());
    return foretrain::exit_usage;
  } catch (const foretrain::PlugInMissing& error) {
    foretrain::write_diagnostic(std::string("foretrain: ") + error.what());
    return foretrain::exit_usage;
  } catch (const foretrain::TooLarge& error) {
    foretrain::write_diagnostic(std::string("foretrain: too large: ") + error.what());
    return foretrain::exit_usage;
  } catch (const std::bad_alloc&) {
    return foretrain::out_of_memory();
  } catch (const std::system_error& error) {
    // No thread without a stack.
    if (error.code() == std::errc::resource_unavailable_try_again ||
        error.code() == std::errc::not_enough_memory)
      return foretrain::out_of_memory();
    foretrain::write_diagnostic(std::string("foretrain: internal error: ") + error.what());
    return foretrain::exit_internal;
  } catch (const foretrain::SystemError& error) {
    foretrain::write_diagnostic(std::string("foretrain: ") + error.what());
    return foretrain::exit_internal;
  } catch (const foretrain::ClosedPipe&) {
    return foretrain::exit_closed_pipe;
  } catch (const std::exception& error) {
    foretrain::write_diagnostic(std::string("foretrain: internal error: ") + error.what());
    return foretrain::exit_internal;
  }
}
