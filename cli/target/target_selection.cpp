// SPDX-License-Identifier: Apache-2.0
//
// Which running processes a command line means.
//
// Context:  cli
#include "cli/target/target_selection.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <span>

#include "cli/messages/target_selection.hpp"
#include "daemon/client/attach.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/process/procfs.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

using support::error;
using support::in_quotes;

/// 0: no process's id.
std::uint32_t id_of(const std::string& word) {
  if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos) return 0;
  const auto number = support::parse_unsigned(word);
  return number && number.value() <= (1U << 22) ? static_cast<std::uint32_t>(number.value()) : 0;
}

void add(std::vector<std::uint32_t>& pids, std::uint32_t pid) {
  if (std::find(pids.begin(), pids.end(), pid) == pids.end()) pids.push_back(pid);
}

/// `7` or `7,8`; empty: not of ids alone.
std::vector<std::uint32_t> ids_of(const std::string& word) {
  std::vector<std::uint32_t> ids;
  for (const std::string& part : support::split(word, ',')) {
    if (id_of(part) == 0) return {};
    ids.push_back(id_of(part));
  }
  return ids;
}

/// Grows while it is walked: children of children.
void add_children(std::vector<std::uint32_t>& pids) {
  for (std::size_t i = 0; i < pids.size(); ++i)
    for (const pid_t child : support::children_of(static_cast<pid_t>(pids[i])))
      if (support::process_stat(child).state != 'Z') add(pids, static_cast<std::uint32_t>(child));
}

support::Error no_process_argument_error(const char* command) {
  return error(fmt::format(messages::target_selection::kNeedsProcess, command));
}

support::Error no_process_selector_error(const char* command) {
  return error(fmt::format(messages::target_selection::kNeedsSelector, command));
}

bool is_there(std::uint32_t pid) { return kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM; }

support::Error no_process(std::uint32_t pid) {
  return error(fmt::format(messages::target_selection::kNoProcess, pid));
}

support::Error no_library_error(std::uint32_t pid) {
  if (!is_there(pid)) return no_process(pid);
  if (kill(static_cast<pid_t>(pid), 0) != 0)
    return error(fmt::format(messages::target_selection::kOtherUser, pid));
  if (client::has_library(static_cast<pid_t>(pid)))
    return error(fmt::format(messages::target_selection::kNoResponse, pid));
  return error(fmt::format(messages::target_selection::kNoLibrary, pid));
}

support::Result<control::TargetStatus> status_of(std::uint32_t pid, bool* silent) {
  *silent = false;
  const control::ControlSocket control_socket = control::control_socket_of(pid);
  if (control_socket.path.empty()) return no_library_error(pid);
  return control::request_status(control_socket, silent);
}

/// The library's thread, which answers, may be gone for a moment, for a fork of the program.
support::Result<control::TargetStatus> retry_status(std::uint32_t pid, bool* silent) {
  constexpr std::uint64_t kMaxRetryNs = 1'000'000'000;
  const std::uint64_t deadline_ns = base::mono_ns() + kMaxRetryNs;
  for (;;) {
    const bool last = base::mono_ns() >= deadline_ns;
    auto status = status_of(pid, silent);
    if (status || last || !client::has_library(static_cast<pid_t>(pid))) return status;
    usleep(5000);
  }
}

/// Of the children only those that have the library in them, and go on.
///
/// @param asked  Set to those that need not be asked again.
support::Result<ProcessSelection> found_by_id(std::vector<std::uint32_t> pids, bool children,
                                              std::vector<std::uint32_t>& asked) {
  const std::size_t named = pids.size();
  if (children) add_children(pids);
  ProcessSelection meant;
  for (std::size_t i = 0; i < pids.size(); ++i) {
    if (i >= named && control::control_socket_of(pids[i]).path.empty()) continue;
    bool silent = false;
    const auto status = retry_status(pids[i], &silent);
    if (status)
      meant.selected.push_back({status.value(), i < named});
    else if (i < named || (!silent && !control::control_socket_of(pids[i]).path.empty()))
      return status.error();
    else if (silent)
      meant.unresponsive.push_back(status.error().message);
    asked.push_back(pids[i]);
  }
  return meant;
}

/// A name that several have is a job's: its launchers and helpers get a file where those of a run
/// would.
///
/// @param found  Those found by a name.
void apply_role_rules_to_jobs(std::span<SelectedProcess> found) {
  std::map<std::string, int> names;
  for (const SelectedProcess& one : found) ++names[one.name];
  for (SelectedProcess& one : found) one.named = one.named && names[one.name] == 1;
}

/// What does not answer cannot say its name.
void add_found_by_name(ProcessSelection& meant, const std::vector<std::uint32_t>& asked,
                       const std::vector<std::string>& names, bool all) {
  const std::size_t by_id = meant.selected.size();
  for (const control::ControlSocket& control_socket : control::find_control_sockets()) {
    if (std::find(asked.begin(), asked.end(), control_socket.pid) != asked.end()) continue;
    bool silent = false;
    const auto status = control::request_status(control_socket, &silent);
    if (silent) (all ? meant.unresponsive : meant.maybe_named).push_back(status.error().message);
    if (!status) continue;
    const bool named = std::find(names.begin(), names.end(), status.value().name) != names.end();
    if (named || all) meant.selected.push_back({status.value(), named});
  }
  apply_role_rules_to_jobs(std::span(meant.selected).subspan(by_id));
}

/// Sentences of processes, as a part of one.
std::string first_and_count(const std::vector<std::string>& messages) {
  if (messages.size() == 1) return messages.front();
  return fmt::format(messages::target_selection::kOneOfMany, messages.front(), messages.size());
}

/// Whoever does not answer may have the name.
support::Error unknown_name_error(const std::string& name, const ProcessSelection& meant) {
  std::vector<std::string> silent = meant.unresponsive;
  silent.insert(silent.end(), meant.maybe_named.begin(), meant.maybe_named.end());
  if (silent.empty())
    return error(fmt::format(messages::target_selection::kUnknownName, in_quotes(name)));
  return error(fmt::format(messages::target_selection::kUnknownNameUnless, in_quotes(name),
                           first_and_count(silent)));
}

}  // namespace

support::Result<void> check_not_recording(const control::TargetStatus& status) {
  if (!status.in_session || status.state == "armed") return {};
  return error(fmt::format(messages::target_selection::kBeingRecorded, status.control_socket.pid,
                           status.daemon_pid));
}

support::Result<std::vector<std::uint32_t>> select_pids(const Options& options,
                                                        const char* command) {
  std::vector<std::uint32_t> pids;
  for (const std::uint32_t pid : options.pids) add(pids, pid);
  for (const std::string& word : options.arguments) {
    const std::vector<std::uint32_t> ids = ids_of(word);
    if (ids.empty())
      return error(fmt::format(messages::target_selection::kNotAnId, in_quotes(word), command));
    for (const std::uint32_t pid : ids) add(pids, pid);
  }
  if (pids.empty()) return no_process_argument_error(command);
  for (const std::uint32_t pid : pids)
    if (!is_there(pid)) return no_process(pid);
  if (options.children) add_children(pids);
  return pids;
}

support::Result<ProcessSelection> select_processes(const Options& options, const char* command) {
  std::vector<std::uint32_t> pids;
  std::vector<std::string> names;
  for (const std::uint32_t pid : options.pids) add(pids, pid);
  for (const std::string& word : options.arguments) {
    const std::vector<std::uint32_t> ids = ids_of(word);
    for (const std::uint32_t pid : ids) add(pids, pid);
    if (ids.empty()) names.push_back(word);
  }
  if (pids.empty() && names.empty() && !options.all) return no_process_selector_error(command);
  std::vector<std::uint32_t> asked;
  GPUPROF_TRY(meant, found_by_id(pids, options.children, asked));
  if (names.empty() && !options.all) return meant;
  add_found_by_name(meant, asked, names, options.all);
  const auto& found = meant.selected;
  for (const std::string& name : names)
    if (std::none_of(found.begin(), found.end(), [&](const auto& one) { return one.name == name; }))
      return unknown_name_error(name, meant);
  if (const auto silent = unresponsive_error(meant); silent && found.empty()) return *silent;
  if (found.empty()) return error(messages::target_selection::kNoneOfUser);
  return meant;
}

std::vector<std::string> selection_notes(const ProcessSelection& meant) {
  std::vector<std::string> notes;
  for (const std::string& message : meant.maybe_named)
    notes.push_back(fmt::format(messages::target_selection::kMaybeNamed, message));
  return notes;
}

std::optional<support::Error> unresponsive_error(const ProcessSelection& meant) {
  if (meant.unresponsive.empty()) return {};
  return error(first_and_count(meant.unresponsive));
}

void print_selection_notes(const ProcessSelection& meant) {
  for (const std::string& note : selection_notes(meant))
    fprintf(stderr, "gpuprof: note: %s\n", note.c_str());
}

}  // namespace gpuprof::cli
