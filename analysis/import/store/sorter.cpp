// SPDX-License-Identifier: Apache-2.0
//
// Sorter: runs of kRunLength records and a merge of them.
//
// Context:  cli through analysis/commands
#include "analysis/import/store/sorter.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "analysis/messages/import_files.hpp"
#include "recording/messages/spool.hpp"

namespace gpuprof::importer {
namespace {

constexpr std::size_t kHeld = 2048;  // records of a run in memory while runs are merged

/// Operators and ranges share a row; of two that begin and end together the one that got its
/// number first is the outer one.
int rank_of(ParsedKind kind) {
  return static_cast<int>(kind == ParsedKind::kOperator ? ParsedKind::kRange : kind);
}
std::uint64_t id_of(const ParsedEvent& r) {
  const bool has = r.kind == ParsedKind::kRange || r.kind == ParsedKind::kOperator;
  return has ? r.op.external_id : 0;
}

bool before(const ParsedEvent& a, const ParsedEvent& b) {
  const std::int64_t at_a = sort_key_ns(a), at_b = sort_key_ns(b);
  if (at_a != at_b) return at_a < at_b;
  const std::int64_t length_a = a.end_ns - a.start_ns, length_b = b.end_ns - b.start_ns;
  if (length_a != length_b) return length_a > length_b;
  if (rank_of(a.kind) != rank_of(b.kind)) return rank_of(a.kind) < rank_of(b.kind);
  if (id_of(a) != id_of(b)) return id_of(a) < id_of(b);
  return a.sequence < b.sequence;
}

struct Key {
  std::int64_t at;
  std::uint32_t index;
};

}  // namespace

std::string disk_full_message(const std::string& folder, int failure) {
  const char* const why = std::strerror(failure);
  if (failure == EFBIG) return fmt::format(messages::import_files::kFileTooLarge, folder, why);
  if (failure == EMFILE || failure == ENFILE)
    return fmt::format(messages::import_files::kTooManyFiles, folder, why);
  return fmt::format(messages::import_files::kNoSpace, folder, why);
}

void Sorter::sort_part() {
  const auto order = [](const ParsedEvent& a, const ParsedEvent& b) { return before(a, b); };
  if (std::is_sorted(run_.begin(), run_.end(), order)) return;
  // Records are large: their keys are sorted, and each record is moved once.
  std::vector<Key> keys(run_.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    keys[i] = {sort_key_ns(run_[i]), static_cast<std::uint32_t>(i)};
  std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
    return a.at != b.at ? a.at < b.at : before(run_[a.index], run_[b.index]);
  });
  std::vector<ParsedEvent> sorted;
  sorted.reserve(run_.size());
  for (const Key& key : keys) sorted.push_back(run_[key.index]);
  run_.swap(sorted);
}

bool Sorter::open() {
  const std::string path = folder_ + "/records";
  fd_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd_) failure_ = fmt::format(messages::spool::kCannotCreate, path, std::strerror(errno));
  ::unlink(path.c_str());
  return failure_.empty();
}

void Sorter::spill() {
  sort_part();
  if (failure_.empty() && (fd_ || open())) {
    const auto* at = reinterpret_cast<const char*>(run_.data());
    std::size_t left = run_.size() * sizeof(ParsedEvent);
    while (left != 0) {
      const ssize_t n = ::write(fd_.get(), at, left);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        failure_ = disk_full_message(folder_, n < 0 ? errno : ENOSPC);
        break;
      }
      at += n;
      left -= static_cast<std::size_t>(n);
    }
    runs_.push_back({written_, run_.size(), written_, run_.size(), {}, 0});
    written_ += run_.size();
  }
  run_.clear();
}

bool Sorter::fill(SortedRun& run) {
  if (run.used < run.held.size()) return true;
  const std::size_t count = std::min<std::uint64_t>(run.left, kHeld);
  run.held.resize(count);
  run.used = 0;
  auto* to = reinterpret_cast<char*>(run.held.data());
  std::size_t left = count * sizeof(ParsedEvent);
  std::uint64_t at = run.at * sizeof(ParsedEvent);
  while (left != 0) {
    const ssize_t n = ::pread(fd_.get(), to, left, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      failure_ = fmt::format(messages::import_files::kCannotReadBack, folder_,
                             n < 0 ? std::strerror(errno) : messages::import_files::kFileTooShort);
      run.left = 0;
      run.held.clear();
      return false;
    }
    to += n;
    at += static_cast<std::uint64_t>(n);
    left -= static_cast<std::size_t>(n);
  }
  run.at += count;
  run.left -= count;
  return count != 0;
}

support::Result<void> Sorter::rewind() {
  if (!failure_.empty()) return support::error(failure_);
  sort_part();
  // What is still held is a run of its own that needs no file.
  if (!run_.empty()) runs_.push_back({written_, 0, written_, 0, std::move(run_), 0});
  run_ = {};
  heap_.clear();
  for (SortedRun& run : runs_) {
    if (run.count == 0) continue;
    run.at = run.from;
    run.left = run.count;
    run.held.clear();
    run.used = 0;
  }
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (fill(runs_[i])) heap_.push_back(i);
  const auto later = [this](std::size_t a, std::size_t b) {
    return before(runs_[b].held[runs_[b].used], runs_[a].held[runs_[a].used]);
  };
  std::make_heap(heap_.begin(), heap_.end(), later);
  if (!failure_.empty()) return support::error(failure_);
  return {};
}

const ParsedEvent* Sorter::next() {
  if (heap_.empty()) return nullptr;
  const auto later = [this](std::size_t a, std::size_t b) {
    return before(runs_[b].held[runs_[b].used], runs_[a].held[runs_[a].used]);
  };
  if (heap_.size() > 1) std::pop_heap(heap_.begin(), heap_.end(), later);
  SortedRun& run = runs_[heap_.back()];
  current_ = run.held[run.used++];
  if (!fill(run)) {
    heap_.pop_back();
  } else if (heap_.size() > 1) {
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  return failure_.empty() ? &current_ : nullptr;
}

}  // namespace gpuprof::importer
