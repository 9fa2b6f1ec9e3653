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

class SampleRebuilder {
 public:
  /// Gets the thread, the stretch and its stack.
  using Callback = std::function<void(std::uint32_t tid, std::int64_t from_ns, std::int64_t to_ns,
                                      const SampleFields& sample)>;

  SampleRebuilder(InternedTables& names, Callback take) : names_(names), take_(std::move(take)) {}

  enum class Outcome : std::uint8_t { kTaken, kUnpaired, kOutOfOrder };
  /// In the order of the file.
  Outcome change(std::uint32_t tid, bool begins, bool off_cpu, std::string_view name,
                 std::int64_t ts_ns);
  /// Begins whose end did not come: frames, and blocked times.
  struct Unended {
    std::uint64_t frames = 0, off_cpu = 0;
  };
  Unended unended() const;

 private:
  struct Open {
    StackNode node;
    std::uint32_t text;
  };
  struct Track {
    std::vector<Open> open;  // outermost first
    std::int64_t since_ns = std::numeric_limits<std::int64_t>::min();
    bool off_cpu = false, without_stack = false;  // without_stack: "(no stack)"
  };
  Outcome check(const Track& row, bool begins, bool off_cpu, bool without_stack,
                std::uint32_t text) const;

  static constexpr std::size_t kMaxRows = 100'000, kMaxOpen = 4096;

  InternedTables& names_;
  Callback take_;
  std::unordered_map<std::uint32_t, Track> rows_;
};

}  // namespace gpuprof::importer
