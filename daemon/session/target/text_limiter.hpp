// SPDX-License-Identifier: Apache-2.0
//
// How many of the texts that one process sends reach its spool, and which of them.
//
// Context:  daemon (ingest thread)
// Owns:     what was written last of each thread, domain and fact; the newest sentences that found
//           no room
// Promises: bounded whatever a process sends; what is unchanged is not written again; names and
//           sentences do not take each other's room; of too many sentences those that close
//           another and the newest come through, and the rest are counted
// Not here: what the texts mean (target_messages.cpp)
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/base/notices.hpp"
#include "recording/model/events.hpp"

namespace gpuprof::session {

class TextLimiter {
 public:
  static constexpr std::uint64_t kMaxNames = 100'000;  // of threads and domains, and facts
  static constexpr std::uint64_t kMaxNotices = 10'000;
  static constexpr std::uint64_t kMaxClosing = 10'000;  // besides
  static constexpr std::size_t kMaxPending = 64;

  enum class Of : std::uint64_t { kThread = 1, kDomain, kFact };

  /// Whether what is said of `subject` is to be written: it is news, and there is room.
  bool admit(Of kind, std::uint64_t subject, std::string_view text, std::uint64_t flags = 0) {
    // Ids fill the low bits, hashes all of them.
    const std::uint64_t key = subject ^ (static_cast<std::uint64_t>(kind) << 60);
    const std::uint64_t reported = base::hash_bytes(text.data(), text.size()) ^ (flags << 32);
    const auto known = known_.find(key);
    if (known != known_.end() && known->second == reported) return false;
    if (written_ >= kMaxNames) {
      ++names_lost_;
      return false;
    }
    ++written_;
    known_[key] = reported;
    return true;
  }

  /// Whether a sentence is to be written now. Else it is held, or counted.
  bool admit(const model::Notice& notice) {
    const bool closes = (notice.code & base::kNoticeFinal) != 0;
    if (notices_ < kMaxNotices || (closes && closing_ < kMaxClosing)) {
      ++(notices_ < kMaxNotices ? notices_ : closing_);
      return true;
    }
    if (held_.size() >= kMaxPending) {
      held_.pop_front();
      ++notices_lost_;
    }
    held_.emplace_back(notice, std::string(notice.text));
    return false;
  }

  /// Gives the newest sentences that found no room to `write(notice)`. As often as there are
  /// windows, which are no process's to make.
  template <typename Write>
  void release_pending(const Write& write) {
    for (auto& [notice, text] : held_) {
      notice.text = text;
      write(notice);
    }
    held_.clear();
  }

  std::uint64_t names_lost() const { return names_lost_; }
  std::uint64_t notices_lost() const { return notices_lost_; }

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> known_;
  std::deque<std::pair<model::Notice, std::string>> held_;
  std::uint64_t written_ = 0, notices_ = 0, closing_ = 0;
  std::uint64_t names_lost_ = 0, notices_lost_ = 0;
};

}  // namespace gpuprof::session
