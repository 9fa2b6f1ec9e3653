// SPDX-License-Identifier: Apache-2.0
//
// Puts what lasted a while into the order of begins and ends that a row of nested slices needs.
//
// Context:  daemon (export thread) | cli
// Owns:     the slices that wait, at most kMaxPending a row, and the outermost ones handed over, at
//           most kMaxRoots of them
// Promises: a reader that sorts what it is handed by time, keeping the order of equal times, finds
//           every end on top of its own begin; what cannot nest is handed over as overlapping
// Not here: what a slice looks like in a file (perfetto_*.cpp)
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::exporter {

/// One row.
class NestedSlices {
 public:
  static constexpr std::size_t kFlushCount = 1024;
  static constexpr std::size_t kMaxPending = 65'536;
  static constexpr std::size_t kMaxRoots = 65'536;

  /// Which of two slices of equal begin and end is around the other.
  enum class TieOrder : std::uint8_t { kLaterIsOuter, kLaterIsInner };

  class Sink {
   public:
    virtual void begin(std::uint64_t ns, std::string_view body) = 0;
    virtual void end(std::uint64_t ns) = 0;
    /// Crosses another one of the row.
    virtual void overlapping(std::uint64_t start_ns, std::uint64_t end_ns,
                             std::string_view body) = 0;

   protected:
    ~Sink() = default;
  };

  explicit NestedSlices(TieOrder equal = TieOrder::kLaterIsOuter) : equal_(equal) {}

  /// Mostly in the order they ended.
  ///
  /// @param body   What the file says of it; kept until it is handed over.
  /// @param closes Nothing that comes later is around what has come so far.
  void add(std::uint64_t start_ns, std::uint64_t end_ns, std::string_view body, bool closes,
           Sink& out) {
    slices_.push_back({start_ns, end_ns < start_ns ? start_ns : end_ns,
                       static_cast<std::uint32_t>(bodies_.size()),
                       static_cast<std::uint32_t>(body.size()),
                       static_cast<std::uint32_t>(slices_.size())});
    bodies_.append(body);
    if ((closes && slices_.size() >= kFlushCount) || slices_.size() >= kMaxPending ||
        bodies_.size() >= kMaxBodies)
      flush(out);
  }
  /// Hands over everything that waits.
  void flush(Sink& out);

 private:
  static constexpr std::size_t kMaxBodies = 4u << 20;
  struct Slice {
    std::uint64_t start_ns, end_ns;
    std::uint32_t body_at, body_bytes, order;
  };
  struct Root {
    std::uint64_t start_ns, end_ns;
  };

  void sort();
  bool overlaps_root(const Slice& slice) const;
  void remember_root(const Slice& slice);
  std::string_view body(const Slice& slice) const {
    return std::string_view(bodies_).substr(slice.body_at, slice.body_bytes);
  }

  TieOrder equal_;
  std::vector<Slice> slices_;
  std::string bodies_;
  std::vector<std::uint64_t> open_;  // ends of what is open while handing over
  std::vector<Slice> new_roots_;
  std::deque<Root> roots_;                 // outermost ones handed over, by time
  std::uint64_t roots_known_from_ns_ = 0;  // until when roots are not known any more
};

/// Rows for what may overlap: each takes what begins after all it holds.
class OverlapTracks {
 public:
  /// The row of the next one, from 0.
  std::size_t assign_track(std::uint64_t start_ns, std::uint64_t end_ns);

 private:
  static constexpr std::size_t kMaxProbes = 64;  // rows that are looked at
  std::vector<std::uint64_t> ends_;
};

}  // namespace gpuprof::exporter
