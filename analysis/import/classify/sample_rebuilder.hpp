// SPDX-License-Identifier: Apache-2.0
//
// Rows of sampled stacks: begins and ends of frames back into samples.
//
// Context:  cli through analysis/commands
// Owns:     the frames open on each row
// Promises: a stretch without change is one sample that weighs as long; gaps are none; an event
//           that cannot change its row as that is changes nothing, and is said to
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <unordered_map>
#include <vector>

#include "analysis/import/store/parsed_event.hpp"

namespace gpuprof::importer {

class SampleRows {
 public:
  /// Gets the thread, the stretch and its stack.
  using Take = std::function<void(std::uint32_t tid, std::int64_t from_ns, std::int64_t to_ns,
                                  const SampleRecord& sample)>;

  SampleRows(Names& names, Take take) : names_(names), take_(std::move(take)) {}

  enum class Outcome : std::uint8_t { kTaken, kHalf, kDisorder };
  /// In the order of the file.
  Outcome change(std::uint32_t tid, bool begins, bool blocked, std::string_view name,
                 std::int64_t ts_ns);
  /// Begins whose end did not come: frames, and blocked times.
  struct Unended {
    std::uint64_t frames = 0, blocked = 0;
  };
  Unended unended() const;

 private:
  struct Open {
    Node node;
    std::uint32_t text;
  };
  struct Row {
    std::vector<Open> open;  // outermost first
    std::int64_t since_ns = std::numeric_limits<std::int64_t>::min();
    bool blocked = false, bare = false;  // bare: "(no stack)"
  };
  Outcome check(const Row& row, bool begins, bool blocked, bool bare, std::uint32_t text) const;

  static constexpr std::size_t kMaxRows = 100'000, kMaxOpen = 4096;

  Names& names_;
  Take take_;
  std::unordered_map<std::uint32_t, Row> rows_;
};

}  // namespace gpuprof::importer
