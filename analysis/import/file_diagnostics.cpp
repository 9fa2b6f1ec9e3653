// SPDX-License-Identifier: Apache-2.0
//
// file_diagnostics().
//
// Context:  cli through analysis/commands
#include "analysis/import/file_diagnostics.hpp"

#include <fmt/format.h>

#include <utility>

#include "analysis/messages/import_events.hpp"
#include "support/text/text.hpp"

namespace gpuprof::importer {
namespace {

std::string invalid_members_message(const std::string& path,
                                    const std::vector<std::string>& members) {
  const std::string names = support::join_with_and(members);
  return members.size() == 1 ? fmt::format(messages::import_events::kMemberInvalid, names, path)
                             : fmt::format(messages::import_events::kMembersInvalid, names, path);
}

std::string guessed_message(const std::string& path, const std::string& category,
                            const std::string& kind, std::uint64_t count) {
  const std::string events = support::count_with_unit(count, "event", "events");
  if (category == "(none)")
    return count == 1 ? fmt::format(messages::import_events::kNoCategoryOne, events, path, kind)
                      : fmt::format(messages::import_events::kNoCategoryMany, events, path, kind);
  const std::string quoted = support::in_quotes(category);
  return count == 1
             ? fmt::format(messages::import_events::kUnknownCategoryOne, events, path, quoted, kind)
             : fmt::format(messages::import_events::kUnknownCategoryMany, events, path, quoted,
                           kind);
}

std::string trailing_bytes_message(const std::string& path, std::uint64_t count) {
  const std::string bytes = support::count_with_unit(count, "byte", "bytes");
  return count == 1 ? fmt::format(messages::import_events::kTrailingByte, bytes, path)
                    : fmt::format(messages::import_events::kTrailingBytes, bytes, path);
}

}  // namespace

std::vector<std::string> file_diagnostics(const std::string& path, const FileContent& content) {
  std::vector<std::string> reported;
  if (!content.head.invalid_members.empty())
    reported.push_back(invalid_members_message(path, content.head.invalid_members));
  for (std::string& message : import_messages(path, content.account, content.outlier_times))
    reported.push_back(std::move(message));
  for (const auto& [guess, count] : content.guessed)
    reported.push_back(guessed_message(path, guess.first, guess.second, count));
  if (content.trailing_bytes != 0)
    reported.push_back(trailing_bytes_message(path, content.trailing_bytes));
  return reported;
}

std::string nothing_imported_message(const std::string& path, std::size_t files,
                                     const std::vector<std::string>& reported) {
  std::string message = files == 1
                            ? fmt::format(messages::import_events::kNothingToShow, path)
                            : fmt::format(messages::import_events::kNothingToShowInAll, path);
  for (const std::string& one : reported) message += "; " + one;
  return message;
}

std::string assigned_events_message(const std::string& path, std::uint64_t count) {
  const std::string events = support::count_with_unit(count, "GPU event", "GPU events");
  return count == 1 ? fmt::format(messages::import_events::kGpuEventAssigned, events, path)
                    : fmt::format(messages::import_events::kGpuEventsAssigned, events, path);
}

std::string dropped_inputs_message(std::uint64_t count) {
  const std::string sets = support::count_with_unit(count, "set", "sets");
  return count == 1 ? fmt::format(messages::import_events::kInputSetSkipped, sets)
                    : fmt::format(messages::import_events::kInputSetsSkipped, sets);
}

void DuplicateProcesses::add(const std::string& first, const std::string& second, std::int64_t pid,
                             const std::string& rank) {
  files_.insert(second);
  if (!first_.empty()) return;
  first_ = fmt::format(messages::import_events::kSameProcess, first, second, pid,
                       rank.empty() ? "" : fmt::format(messages::import_events::kOfRank, rank));
}

std::string DuplicateProcesses::message() const {
  if (files_.size() < 2) return first_;
  return fmt::format(messages::import_events::kMoreSameProcesses, first_, files_.size());
}

}  // namespace gpuprof::importer
