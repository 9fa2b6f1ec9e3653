// SPDX-License-Identifier: Apache-2.0
//
// gpuprof env: the variables for programs that `gpuprof run` cannot start.
//
// Context:  cli
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "cli/messages/command_processes.hpp"
#include "cli/options/command_table.hpp"
#include "cli/output/output_location.hpp"
#include "cli/output/stdout_writer.hpp"
#include "cli/target/environment.hpp"
#include "cli/target/installation.hpp"
#include "gpuprof/wire/messages.hpp"
#include "support/io/files.hpp"
#include "support/process/subprocess.hpp"
#include "support/text/json.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

using Variable = std::pair<std::string, std::string>;

std::vector<Variable> variables(const Installation& installation, const std::string& name) {
  const std::string armed = wire::kArmedAddress + (name.empty() ? "" : ";name=" + name);
  return {{"LD_PRELOAD", installation.library},
          {"CUDA_INJECTION64_PATH", installation.library},
          {"NVTX_INJECTION64_PATH", installation.library},
          {wire::kSocketVariable, armed}};
}

/// What is preloaded already stays, behind ours.
std::string shell_line(const Variable& variable) {
  const auto& [name, value] = variable;
  const std::string rest = name == "LD_PRELOAD" ? "\"${LD_PRELOAD:+:$LD_PRELOAD}\"" : "";
  return fmt::format("export {}={}{}\n", name, support::shell_join({value}), rest);
}

/// What this shell has for another tool stays, as under `gpuprof run`.
void leave_other_tools(std::vector<Variable>& all, const std::vector<std::string>& environment) {
  std::erase_if(all, [&](const Variable& variable) {
    if (!variable.first.ends_with("_INJECTION64_PATH")) return false;
    const std::string message = foreign_injection_note(environment, variable.first);
    if (!message.empty()) std::fprintf(stderr, "gpuprof: note: %s\n", message.c_str());
    return !message.empty();
  });
}

std::string text_of(const std::vector<Variable>& all, const Options& options) {
  std::string text;
  if (options.json) {
    support::JsonWriter json;
    json.begin_object();
    for (const auto& [name, value] : all) json.member(name, value);
    json.end_object();
    return json.text() + "\n";
  }
  for (const Variable& variable : all)
    text += options.shell ? shell_line(variable) : variable.first + "=" + variable.second + "\n";
  return text;
}

}  // namespace

support::Result<int> env_command(Options& options) {
  if (!options.arguments.empty())
    return support::error(fmt::format(messages::command_processes::kEnvTakesNoArguments,
                                      support::in_quotes(options.arguments[0]),
                                      options.arguments[0]));
  GPUPROF_TRY(installation, find_installation(support::executable_path(), ""));
  const std::string& library = installation.library;
  if (library.find_first_of(" :$") != std::string::npos)
    return support::error(
        fmt::format(messages::command_processes::kPathNotForPreload, support::in_quotes(library)));
  std::vector<Variable> all = variables(installation, options.session.name);
  if (options.shell && !options.json) leave_other_tools(all, current_run_context().environment);
  const std::string text = text_of(all, options);
  GPUPROF_CHECK(write_stdout(text, "the variables"));
  return 0;
}

}  // namespace gpuprof::cli
