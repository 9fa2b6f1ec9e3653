// SPDX-License-Identifier: Apache-2.0
//
// how_read().
//
// Context:  cli through analysis/commands
#include "analysis/import/file_diagnostics.hpp"

#include <fmt/format.h>

#include <utility>

#include "support/text/text.hpp"

namespace gpuprof::importer {

std::vector<std::string> how_read(const std::string& path, const FileContent& content) {
  std::vector<std::string> told;
  if (!content.head.unread.empty())
    told.push_back(fmt::format("{} of {} cannot be read and {} left out",
                               support::listed(content.head.unread), path,
                               content.head.unread.size() == 1 ? "is" : "are"));
  for (std::string& sentence : sentences_of(path, content.account, content.far_times))
    told.push_back(std::move(sentence));
  for (const auto& [guess, count] : content.guessed)
    told.push_back(fmt::format("{} of {} {} of {}, which gpuprof does not know: read as {}",
                               support::counted(count, "event", "events"), path,
                               count == 1 ? "is" : "are",
                               guess.first == "(none)" ? std::string("no kind")
                                                       : "kind " + support::in_quotes(guess.first),
                               guess.second));
  if (content.bytes_behind != 0)
    told.push_back(fmt::format("{} behind the packed text of {} are no gzip data and were not read",
                               support::counted(content.bytes_behind, "byte", "bytes"), path));
  return told;
}

std::string nothing_shown(const std::string& path, std::size_t files,
                          const std::vector<std::string>& told) {
  std::string sentence = fmt::format(
      "{} {} nothing to show: no operator, range, step, call, GPU work, memory record or sample",
      path, files == 1 ? "has" : "and the other files have");
  for (const std::string& one : told) sentence += "; " + one;
  return sentence;
}

void HeldTwice::add(const std::string& first, const std::string& second, std::int64_t pid,
                    const std::string& rank) {
  files_.insert(second);
  if (!first_.empty()) return;
  first_ = fmt::format(
      "{} and {} both hold a process {}{} at the same time: each counts as one of its own; where "
      "one is a copy, or was merged of the others, name only one of them",
      first, second, pid, rank.empty() ? "" : fmt::format(" (rank {})", rank));
}

std::string HeldTwice::sentence() const {
  if (files_.size() < 2) return first_;
  return fmt::format("{} ({} files in all hold one that another file holds)", first_,
                     files_.size());
}

}  // namespace gpuprof::importer
