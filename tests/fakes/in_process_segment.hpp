// SPDX-License-Identifier: Apache-2.0
//
// A segment in this very process, with the test as its daemon: rooms of inject/ write into it, the
// test reads what came out.
//
// Context:  tests
// Owns:     the mapping and the global state of inject/hot, for the life of the object
// Promises: every frame is checked by the real reader; a corrupt ring buffer fails the test
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpuprof/wire/codec.hpp"
#include "gpuprof/wire/ring_buffer.hpp"
#include "gpuprof/wire/segment.hpp"
#include "inject/hot/outbox.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/thread_block.hpp"

namespace gpuprof::fakes {

/// One record as it came out of a ring buffer.
template <typename R>
struct DrainedRecord {
  R body;
  std::string tail;
  std::uint32_t tid;  // of the ring buffer's owner
};

/// What rooms said through the outbox.
struct SentNotice {
  wire::NoticeLevel level;
  std::uint32_t code;
  std::string text;
};
inline std::vector<SentNotice> g_notices;
inline std::map<std::string, std::string> g_facts;
inline std::vector<std::pair<std::uint32_t, std::string>> g_domains;
inline std::vector<std::pair<std::uint32_t, std::string>> g_thread_names;

class InProcessSegment {
 public:
  explicit InProcessSegment(std::uint32_t large_rings = 48, std::uint32_t small_rings = 16)
      : layout_(wire::segment_layout(large_rings, small_rings)) {
    base_ = static_cast<std::uint8_t*>(mmap(nullptr, layout_.total_bytes, PROT_READ | PROT_WRITE,
                                            MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    lay_rings(large_rings, small_rings);
    publish(large_rings, large_rings + small_rings);
    capture_outbox();
  }
  ~InProcessSegment() {
    draining_ = false;
    if (drainer_.joinable()) drainer_.join();
    hot::g_state.on.store(0);
    alive_ = 0;
    hot::g_state.owner_page.store(nullptr);
    hot::g_outbox = {};
    hot::g_state.stats = nullptr;
    // The mapping stays: a callback of a library may still be on its way.
  }
  InProcessSegment(const InProcessSegment&) = delete;
  InProcessSegment& operator=(const InProcessSegment&) = delete;

  /// Empties all ring buffers; what was read before is kept. Any thread.
  void drain() {
    const std::lock_guard<std::mutex> lock(mutex_);
    alignas(8) static std::byte scratch[wire::kMaxFrameBytes];
    for (std::uint32_t i = 0; i < hot::g_state.ring_count; ++i) {
      wire::RingReader& reader = readers_[i];
      const std::uint64_t limit = reader.head_position();
      wire::RingReader::Frame frame;
      wire::RingReader::Next next;
      while ((next = reader.next(limit, scratch, &frame)) == wire::RingReader::Next::kFrame)
        keep(frame, hot::g_state.rings[i].tid.load());
      EXPECT_NE(next, wire::RingReader::Next::kCorrupt) << "ring buffer " << i;
      reader.consume();
    }
  }

  /// From now on the ring buffers are emptied all the time, as a daemon does.
  void start_drainer() {
    draining_ = true;
    drainer_ = std::thread([this] {
      while (draining_) {
        drain();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }

  /// All records of one kind read so far (drains first).
  template <typename R>
  std::vector<DrainedRecord<R>> all() {
    drain();
    std::vector<DrainedRecord<R>> found;
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Frame& frame : frames_) {
      if (frame.kind != R::kKind) continue;
      DrainedRecord<R> read{};
      EXPECT_GE(frame.payload.size(), sizeof(R));
      std::memcpy(&read.body, frame.payload.data(), sizeof(R));
      read.tail = frame.payload.substr(sizeof(R));
      read.tid = frame.tid;
      found.push_back(read);
    }
    return found;
  }

  /// Text behind a string id; "?" if its definition never came.
  std::string text(std::uint64_t id) {
    for (const auto& def : all<wire::StringDef>())
      if (def.body.id == id) return def.tail.substr(0, def.body.bytes);
    return "?";
  }

  void discard_records() {
    drain();
    const std::lock_guard<std::mutex> lock(mutex_);
    frames_.clear();
  }

  std::uint64_t counter(wire::Counter which) const {
    return hot::g_state.stats->counters[static_cast<std::uint32_t>(which)].load();
  }
  wire::Plan& plan() { return *hot::g_state.plan; }

 private:
  struct Frame {
    wire::Kind kind;
    std::string payload;
    std::uint32_t tid;
  };

  void keep(const wire::RingReader::Frame& frame, std::uint32_t tid) {
    frames_.push_back(
        {frame.kind, std::string(reinterpret_cast<const char*>(frame.payload), frame.payload_bytes),
         tid});
  }

  void lay_rings(std::uint32_t large_rings, std::uint32_t small_rings) {
    auto* rings = reinterpret_cast<wire::RingEntry*>(base_ + layout_.directory_offset);
    std::uint64_t at = layout_.rings_offset;
    for (std::uint32_t i = 0; i < large_rings + small_rings; ++i) {
      const std::uint64_t bytes = wire::ring_bytes(i, large_rings);
      auto* entry = new (&rings[i]) wire::RingEntry{};
      auto* header = new (base_ + at) wire::RingHeader{};
      entry->ring.distance = base_ + at - reinterpret_cast<std::uint8_t*>(&entry->ring);
      entry->capacity_bytes = bytes;
      readers_.emplace_back(
          header, reinterpret_cast<std::byte*>(base_ + at + wire::kRingDataOffset), bytes);
      at += bytes + wire::kRingDataOffset;
    }
  }

  void publish(std::uint32_t large_rings, std::uint32_t rings) {
    auto& state = hot::g_state;
    hot::map_thread_blocks();
    hot::retire_threads([](std::uint32_t tid, void*) { return hot::thread_exited(tid); }, nullptr);
    state.segment_bytes = layout_.total_bytes;
    state.rings = reinterpret_cast<wire::RingEntry*>(base_ + layout_.directory_offset);
    state.ring_count = rings;
    state.large_rings = large_rings;
    state.plan = new (base_ + layout_.plan_offset) wire::Plan{};
    state.stats = new (base_ + layout_.stats_offset) wire::Stats{};
    state.segment.store(base_);
    state.epoch.fetch_add(1);
    alive_ = 1;
    state.owner_page.store(&alive_);
  }

  static void capture_outbox() {
    g_notices.clear();
    g_facts.clear();
    g_domains.clear();
    g_thread_names.clear();
    hot::g_outbox.send_notice = [](wire::Feature, wire::NoticeLevel level, std::uint32_t code,
                                   const char* text) {
      g_notices.push_back({level, code, text});
    };
    hot::g_outbox.send_fact = [](const char* key, const char* value) { g_facts[key] = value; };
    hot::g_outbox.domain = [](std::uint32_t domain, const char* name) {
      g_domains.emplace_back(domain, name);
    };
    hot::g_outbox.thread = [](const wire::Thread& thread, const char* name) {
      g_thread_names.emplace_back(thread.tid, name);
    };
  }

  wire::SegmentLayout layout_;
  std::uint8_t* base_;
  std::vector<wire::RingReader> readers_;
  std::vector<Frame> frames_;
  std::mutex mutex_;
  std::atomic<bool> draining_{false};
  std::thread drainer_;
  static inline std::uint32_t alive_ = 0;
};

}  // namespace gpuprof::fakes
