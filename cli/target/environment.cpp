// SPDX-License-Identifier: Apache-2.0
//
// The environment of the program and of the daemon.
//
// Context:  cli
#include "cli/target/environment.hpp"

#include <fmt/format.h>

#include "cli/messages/target_environment.hpp"
#include "gpuprof/wire/messages.hpp"
#include "support/io/files.hpp"
#include "support/process/subprocess.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

using support::environment_get;
using support::environment_remove;
using support::environment_set;

constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";

bool is_own_library(const std::string& path) { return support::base_name(path) == kLibraryName; }

/// LD_PRELOAD without libraries of ours; the loader splits at blanks and colons.
std::string foreign_preloads(const std::string& value) {
  std::string kept, word;
  for (std::size_t i = 0; i <= value.size(); ++i) {
    const bool end = i == value.size() || value[i] == ' ' || value[i] == ':';
    if (!end) {
      word += value[i];
      continue;
    }
    if (!word.empty() && !is_own_library(word)) kept += (kept.empty() ? "" : ":") + word;
    word.clear();
  }
  return kept;
}

void set_injection(ProgramEnvironment& env, const char* name, const std::string& library) {
  const std::string message = foreign_injection_note(env.variables, name);
  if (message.empty())
    environment_set(env.variables, name, library);
  else
    env.notes.push_back(message);
}

}  // namespace

std::string foreign_injection_note(const std::vector<std::string>& words, const std::string& name) {
  const std::string present = environment_get(words, name);
  if (present.empty() || is_own_library(present)) return "";
  return name == kNvtxInjection
             ? fmt::format(messages::target_environment::kForeignNvtxInjection, name, present)
             : fmt::format(messages::target_environment::kForeignCudaInjection, name, present);
}

ProgramEnvironment program_environment(const std::vector<std::string>& original,
                                       const Installation& installation, const std::string& preload,
                                       const std::string& address) {
  ProgramEnvironment env;
  env.variables = original;
  const std::string outer = environment_get(original, wire::kSocketVariable);
  if (!outer.empty() && outer.rfind(wire::kArmedAddress, 0) != 0) {
    env.notes.emplace_back(messages::target_environment::kInnerSession);
  }
  const std::string foreign = foreign_preloads(environment_get(original, "LD_PRELOAD"));
  if (preload.empty()) {
    // Not to be profiled, by an outer session either: it would fail in the same way.
    environment_remove(env.variables, wire::kSocketVariable);
    if (support::environment_has(original, "LD_PRELOAD")) {
      environment_set(env.variables, "LD_PRELOAD", foreign);
    }
    return env;
  }
  environment_set(env.variables, "LD_PRELOAD", preload + (foreign.empty() ? "" : ":" + foreign));
  set_injection(env, "CUDA_INJECTION64_PATH", installation.library);
  set_injection(env, kNvtxInjection, installation.library);
  // Programs built with AddressSanitizer refuse to start behind another preloaded library.
  const std::string asan = environment_get(original, "ASAN_OPTIONS");
  environment_set(env.variables, "ASAN_OPTIONS",
                  asan + (asan.empty() ? "" : ":") + "verify_asan_link_order=0");
  environment_set(env.variables, wire::kSocketVariable, address);
  return env;
}

void append_target_pid(std::vector<std::string>& words, std::uint32_t pid) {
  const std::string address = environment_get(words, wire::kSocketVariable);
  if (address.empty()) return;
  environment_set(words, wire::kSocketVariable, fmt::format("{};pid={}", address, pid));
}

std::vector<std::string> daemon_environment(const std::vector<std::string>& original) {
  std::vector<std::string> words = original;
  environment_remove(words, wire::kSocketVariable);
  const std::string foreign = foreign_preloads(environment_get(original, "LD_PRELOAD"));
  environment_remove(words, "LD_PRELOAD");
  if (!foreign.empty()) environment_set(words, "LD_PRELOAD", foreign);
  return words;
}

}  // namespace gpuprof::cli
