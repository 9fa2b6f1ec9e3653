// SPDX-License-Identifier: Apache-2.0
//
// The launches of a process by correlation id: thread, range and stack of each.
//
// Context:  daemon (ingest thread)
// Owns:     a table of the latest launches, allocated in pieces as ids come
// Promises: one look-up is one index; an id that comes again (they are 32 bits wide and wrap)
//           means the newer launch
// Not here: the records that ask (correlator.hpp)
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/ingest/correlation/delivery_monitor.hpp"
#include "daemon/ingest/decode/limits.hpp"
#include "gpuprof/wire/records.hpp"
#include "recording/model/events.hpp"

namespace gpuprof::ingest {

/// What is known of one correlation id.
struct LaunchEntry {
  model::RangeId range = 0;
  std::uint64_t ts_ns = 0;  // of its Launch record; before that came, of its host call
  std::uint32_t correlation = 0;
  std::uint32_t tid = 0;
  model::StackId stack = 0;
  std::uint16_t api = 0;    // of the outermost call
  std::uint16_t flags = 0;  // kLaunch…
};
inline constexpr std::uint16_t kLaunchUsed = 1;
inline constexpr std::uint16_t kLaunchSeen = 2;      // its Launch record came
inline constexpr std::uint16_t kLaunchApiOut = 4;    // its host call was written
inline constexpr std::uint16_t kLaunchRan = 8;       // a GPU record of it came
inline constexpr std::uint16_t kLaunchRuns = 16;     // of a kernel or a graph
inline constexpr std::uint16_t kLaunchFailed = 32;   // its host call came first, and was refused
inline constexpr std::uint16_t kLaunchOwnCall = 64;  // its host call is from our callbacks

class CorrelationTable {
 public:
  explicit CorrelationTable(const Limits& limits) : mask_(limits.launches - 1) {
    pieces_.resize((limits.launches + kPiece - 1) / kPiece);
  }

  /// A Launch record. The driver's call inside a runtime call has the same id: the outer stays.
  void add(const wire::Launch& launch, model::RangeId range, model::StackId stack) {
    if (launch.correlation == 0) return;
    note_call_order(launch);
    LaunchEntry& entry = slot(launch.correlation);
    const bool same = (entry.flags & kLaunchUsed) != 0 && entry.correlation == launch.correlation;
    if (same && (entry.flags & kLaunchSeen) != 0 && entry.tid == launch.tid &&
        entry.api != launch.api) {
      if (entry.stack == 0) entry.stack = stack;
      return;
    }
    constexpr std::uint16_t kKept = kLaunchApiOut | kLaunchRan | kLaunchFailed;
    const auto kept = static_cast<std::uint16_t>(
        same && (entry.flags & kLaunchSeen) == 0 ? entry.flags & kKept : 0);
    entry = LaunchEntry{range,
                        launch.ts_ns,
                        launch.correlation,
                        launch.tid,
                        stack,
                        launch.api,
                        static_cast<std::uint16_t>(
                            kLaunchUsed | kLaunchSeen | kept |
                            ((launch.flags & wire::kLaunchDeviceWork) != 0 ? kLaunchRuns : 0))};
    if ((launch.flags & wire::kLaunchDeviceWork) == 0) return;
    answers_.launched(launch.ts_ns, (launch.flags & wire::kLaunchCaptured) != 0);
    if ((kept & kLaunchApiOut) != 0)
      answers_.on_api_record(launch.ts_ns, (kept & kLaunchFailed) != 0);
    if ((kept & kLaunchRan) != 0) answers_.on_gpu_record(launch.ts_ns);
  }

  /// Its host call has come.
  void called(LaunchEntry& entry, bool failed) {
    entry.flags |= kLaunchApiOut;
    if ((entry.flags & kLaunchRuns) != 0)
      answers_.on_api_record(entry.ts_ns, failed);
    else if (failed)
      entry.flags |= kLaunchFailed;
  }

  /// A GPU record of it has come.
  /// @param alone  Of work that is launched call by call, not of a graph's.
  void ran(LaunchEntry& entry, bool alone) {
    const bool first = (entry.flags & kLaunchRan) == 0;
    entry.flags |= kLaunchRan;
    constexpr std::uint16_t kBoth = kLaunchApiOut | kLaunchSeen;
    if (first && (entry.flags & kLaunchRuns) != 0) answers_.on_gpu_record(entry.ts_ns);
    if (first && alone && (entry.flags & kBoth) == kLaunchApiOut)
      answers_.on_unseen_launch(entry.ts_ns);
  }

  DeliveryMonitor& answers() { return answers_; }
  const DeliveryMonitor& answers() const { return answers_; }

  /// The entry of this id, or null.
  LaunchEntry* find(std::uint32_t correlation) {
    if (correlation == 0) return nullptr;
    const auto& piece = pieces_[(correlation & mask_) / kPiece];
    if (!piece) return nullptr;
    LaunchEntry& entry = (*piece)[(correlation & mask_) % kPiece];
    return (entry.flags & kLaunchUsed) != 0 && entry.correlation == correlation ? &entry : nullptr;
  }

  /// Launches of kernels and graphs of which CUPTI has told nothing, neither the host call nor what
  /// ran: those that it had not yet delivered. (A captured launch runs nothing, but is a call.)
  std::uint64_t undelivered() const {
    constexpr std::uint16_t kAll = kLaunchSeen | kLaunchRuns | kLaunchApiOut | kLaunchRan;
    std::uint64_t count = 0;
    for (const auto& piece : pieces_) {
      if (!piece) continue;
      count += static_cast<std::uint64_t>(
          std::count_if(piece->begin(), piece->end(), [](const LaunchEntry& entry) {
            return (entry.flags & kAll) == (kLaunchSeen | kLaunchRuns);
          }));
    }
    return count;
  }

  /// Ids count the calls of a process: when the nearest call before this one, whose callback was
  /// seen, began (direction -1), or the nearest after it (1). 0: none within reach.
  std::uint64_t neighbour_ns(std::uint32_t correlation, int direction) {
    constexpr int kReach = 128;
    for (int i = 1; i <= kReach; ++i) {
      const LaunchEntry* near = find(correlation + static_cast<std::uint32_t>(direction * i));
      if (near != nullptr && (near->flags & kLaunchSeen) != 0) return near->ts_ns;
    }
    return 0;
  }

  /// The entry of this id, made if need be; `correlation` must not be 0.
  LaunchEntry& find_or_add(std::uint32_t correlation, std::uint32_t tid) {
    if (LaunchEntry* entry = find(correlation)) return *entry;
    LaunchEntry& entry = slot(correlation);
    entry = LaunchEntry{};
    entry.correlation = correlation;
    entry.tid = tid;
    entry.flags = kLaunchUsed;
    return entry;
  }

 private:
  /// A thread that makes a call has returned from the one before it.
  void note_call_order(const wire::Launch& launch) {
    constexpr std::size_t kMaxThreads = 4096;
    if (newest_.size() > kMaxThreads) newest_.clear();
    const std::uint32_t before = std::exchange(newest_[launch.tid], launch.correlation);
    constexpr std::uint16_t kUnanswered = kLaunchSeen | kLaunchRuns;
    const LaunchEntry* entry = before == launch.correlation ? nullptr : find(before);
    if (entry != nullptr && entry->tid == launch.tid &&
        (entry->flags & (kUnanswered | kLaunchApiOut)) == kUnanswered)
      answers_.on_next_call(entry->ts_ns, launch.ts_ns);
  }

  static constexpr std::uint32_t kPiece = 1024;
  using Chunk = std::array<LaunchEntry, kPiece>;

  LaunchEntry& slot(std::uint32_t correlation) {
    auto& piece = pieces_[(correlation & mask_) / kPiece];
    if (!piece) piece = std::make_unique<Chunk>();
    return (*piece)[(correlation & mask_) % kPiece];
  }

  DeliveryMonitor answers_;
  std::unordered_map<std::uint32_t, std::uint32_t> newest_;  // call of each thread, by its id
  std::uint32_t mask_;
  std::vector<std::unique_ptr<Chunk>> pieces_;
};

}  // namespace gpuprof::ingest
