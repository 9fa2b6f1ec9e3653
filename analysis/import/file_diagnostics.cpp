// SPDX-License-Identifier: Apache-2.0
//
// file_diagnostics().
//
// Context:  cli through analysis/commands
#include "analysis/import/file_diagnostics.hpp"

#include <fmt/format.h>

#include <utility>

#include "support/text/text.hpp"

namespace gpuprof::importer {

std::vector<std::string> file_diagnostics(const std::string& path, const FileContent& content) {
  std::vector<std::string> reported;
  if (!content.head.invalid_members.empty())
    reported.push_back(fmt::format("{} of {} cannot be read and {} left out",
                                   support::join_with_and(content.head.invalid_members), path,
                                   content.head.invalid_members.size() == 1 ? "is" : "are"));
  for (std::string& message : import_messages(path, content.account, content.outlier_times))
    reported.push_back(std::move(message));
  for (const auto& [guess, count] : content.guessed)
    reported.push_back(fmt::format(
        "{} of {} {} of {}, which gpuprof does not know: read as {}",
        support::count_with_unit(count, "event", "events"), path, count == 1 ? "is" : "are",
        guess.first == "(none)" ? std::string("no kind")
                                : "kind " + support::in_quotes(guess.first),
        guess.second));
  if (content.trailing_bytes != 0)
    reported.push_back(
        fmt::format("{} behind the packed text of {} are no gzip data and were not read",
                    support::count_with_unit(content.trailing_bytes, "byte", "bytes"), path));
  return reported;
}

std::string nothing_imported_message(const std::string& path, std::size_t files,
                                     const std::vector<std::string>& reported) {
  std::string message = fmt::format(
      "{} {} nothing to show: no operator, range, step, call, GPU work, memory record or sample",
      path, files == 1 ? "has" : "and the other files have");
  for (const std::string& one : reported) message += "; " + one;
  return message;
}

void DuplicateProcesses::add(const std::string& first, const std::string& second, std::int64_t pid,
                             const std::string& rank) {
  files_.insert(second);
  if (!first_.empty()) return;
  first_ = fmt::format(
      "{} and {} both hold a process {}{} at the same time: each counts as one of its own; where "
      "one is a copy, or was merged of the others, name only one of them",
      first, second, pid, rank.empty() ? "" : fmt::format(" (rank {})", rank));
}

std::string DuplicateProcesses::message() const {
  if (files_.size() < 2) return first_;
  return fmt::format("{} ({} files in all hold one that another file holds)", first_,
                     files_.size());
}

}  // namespace gpuprof::importer
