// SPDX-License-Identifier: Apache-2.0
//
// The notices of one process; of too many the newest.
//
// Context:  daemon, cli
// Owns:     the texts
// Promises: bounded; no notice twice; a final one replaces the provisional one; notices for
//           information only are removed first; how many were left out is known
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpuprof/base/notices.hpp"
#include "recording/messages/recording_notices.hpp"
#include "support/text/text.hpp"

namespace gpuprof::model {

class NoticeLog {
 public:
  static constexpr std::size_t kMaxNotices = 200;
  /// Levels from here on say that something is missing.
  static constexpr std::uint32_t kMissing = 1;

  struct Entry {
    std::uint32_t feature, level, code;
    std::string text;
  };

  void add(std::uint32_t feature, std::uint32_t level, std::uint32_t code, std::string_view text) {
    std::erase_if(kept_, [&](const Entry& kept) {
      return kept.feature == feature && base::supersedes(code, kept.code);
    });
    for (const Entry& kept : kept_)
      if (kept.feature == feature && kept.text == text) return;
    if (kept_.size() >= kMaxNotices) make_room();
    kept_.push_back({feature, level, code, std::string(text)});
  }

  auto begin() const { return kept_.begin(); }
  auto end() const { return kept_.end(); }

  /// Notices about missing data, and, where notices were left out, how many.
  std::vector<std::string> missing(std::uint32_t pid) const {
    std::vector<std::string> texts;
    if (left_out_ == 1)
      texts.push_back(fmt::format(messages::recording_notices::kOneDropped, pid, kMaxNotices));
    if (left_out_ > 1)
      texts.push_back(fmt::format(messages::recording_notices::kManyDropped,
                                  support::human_count(left_out_), pid, kMaxNotices));
    for (const Entry& kept : kept_)
      if (kept.level >= kMissing) texts.push_back(kept.text);
    return texts;
  }

 private:
  void make_room() {
    const auto reported_only =
        std::find_if(kept_.begin(), kept_.end(), [](const Entry& k) { return k.level < kMissing; });
    kept_.erase(reported_only != kept_.end() ? reported_only : kept_.begin());
    ++left_out_;
  }

  std::vector<Entry> kept_;  // oldest first
  std::uint64_t left_out_ = 0;
};

}  // namespace gpuprof::model
