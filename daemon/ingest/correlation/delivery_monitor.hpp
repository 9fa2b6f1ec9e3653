// SPDX-License-Identifier: Apache-2.0
//
// Compares what CUPTI must deliver with what it delivers: launches seen by callbacks, records of
// their calls, records of their GPU work. A source that is switched on and delivers nothing is
// silent.
//
// Context:  daemon (ingest thread)
// Owns:     counts and a few times of one process, since its recording went on
// Promises: a source is silent only for what is due: CUPTI was asked after it, half a second has
//           passed, and for GPU records the program has waited for the GPU since, or in turn with
//           launches for a stream
// Not here: the records (correlator.hpp), the sentences (session/target/target_delivery.cpp)
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace gpuprof::ingest {

/// One source of records.
enum class CuptiSource : std::uint8_t { kApiCalls, kGpuActivity, kCallbacks };
inline constexpr std::size_t kCuptiSources = 3;

class DeliveryMonitor {
 public:
  /// Recording went off then: what is launched later begins anew, and may be reported before
  /// this.
  void ended(std::uint64_t ts_ns) { ended_ns_ = ts_ns; }
  /// What was launched until then is expected of nobody: another profiler had CUPTI.
  void reset(std::uint64_t ts_ns) {
    *this = DeliveryMonitor{};
    begun_ns_ = ts_ns;
  }

  /// A callback saw a launch of a kernel or a graph.
  /// @param captured  Into a graph: it runs nothing now.
  void launched(std::uint64_t ts_ns, bool captured) {
    begin_anew_from(ts_ns);
    if (ts_ns <= begun_ns_) return;
    of(CuptiSource::kCallbacks).deliver(ts_ns);
    ++of(CuptiSource::kApiCalls).expected;
    if (captured) return;
    of(CuptiSource::kGpuActivity).expect(ts_ns);
    if (on_stream_ns_ != 0 && again_ns_ == 0 && ts_ns > on_stream_ns_) again_ns_ = ts_ns;
  }
  /// The thread made its next call then, and no record of that launch's has come: until then it may
  /// stand inside. Where recording went off between the two, none may come.
  void on_next_call(std::uint64_t launched_ns, std::uint64_t next_ns) {
    const bool off_between = launched_ns <= ended_ns_ && next_ns > ended_ns_;
    if (launched_ns > begun_ns_ && !off_between) of(CuptiSource::kApiCalls).due(launched_ns);
  }
  /// A record of that launch's call has come.
  /// @param failed  The call was refused: it runs nothing.
  void on_api_record(std::uint64_t launched_ns, bool failed) {
    if (launched_ns <= begun_ns_) return;
    of(CuptiSource::kApiCalls).deliver(launched_ns);
    if (!failed) return;
    of(CuptiSource::kGpuActivity).withdraw();
    on_stream_ns_ = again_ns_ = 0;
  }
  /// A record of what it ran has come, the first one.
  void on_gpu_record(std::uint64_t launched_ns) {
    if (launched_ns <= begun_ns_) return;
    of(CuptiSource::kGpuActivity).deliver(launched_ns);
    if (of(CuptiSource::kGpuActivity).first_overdue_ns == 0) on_stream_ns_ = again_ns_ = 0;
  }
  /// A GPU record has come, and the record of its call, but no callback saw the launch.
  void on_unseen_launch(std::uint64_t called_ns) {
    begin_anew_from(called_ns);
    if (called_ns > begun_ns_) of(CuptiSource::kCallbacks).expect(called_ns);
  }
  /// A wait for all of a GPU that began then is over.
  void on_context_sync(std::uint64_t began_ns) { waited_ns_ = std::max(waited_ns_, began_ns); }
  /// A wait for one stream is over. What runs on another one may go on for long (a collective that
  /// waits for a slower rank), and a launch's stream is not known: waits count where something was
  /// launched between two of them and nothing was answered, and at the end where nothing ever was.
  void on_stream_sync(std::uint64_t began_ns) {
    last_waited_ns_ = std::max(last_waited_ns_, began_ns);
    const std::uint64_t since_ns = of(CuptiSource::kGpuActivity).first_overdue_ns;
    if (since_ns == 0 || began_ns <= since_ns) return;
    if (again_ns_ == 0)
      on_stream_ns_ = std::max(on_stream_ns_, began_ns);
    else if (began_ns > again_ns_)
      on_context_sync(began_ns);
  }
  /// CUPTI's clock was read then, as it is before and behind each flush.
  void on_flush(std::uint64_t ts_ns) {
    asked_ns_ = flushes_[1];
    flushes_[1] = flushes_[0];
    flushes_[0] = ts_ns;
  }

  /// Whether records of `source` are due and none has come for them.
  /// @param last  A forced flush has ended, and nothing more is expected.
  bool is_silent(CuptiSource source, std::uint64_t now_ns, bool last = false) const;
  /// Since when, by the launch that was the first without an answer.
  std::uint64_t silent_since_ns(CuptiSource source) const { return of(source).first_overdue_ns; }
  std::uint64_t expected(CuptiSource source) const { return of(source).expected; }
  std::uint64_t delivered(CuptiSource source) const { return of(source).answers; }

 private:
  struct Tally {
    std::uint64_t expected = 0, answers = 0;
    std::uint64_t first_overdue_ns =
        0;  // the first that was asked for since the last answer; 0: none

    void expect(std::uint64_t ts_ns) {
      ++expected;
      due(ts_ns);
    }
    void due(std::uint64_t ts_ns) {
      if (first_overdue_ns == 0 && ts_ns > answered_ns) first_overdue_ns = ts_ns;
    }
    void deliver(std::uint64_t ts_ns) {
      ++answers;
      answered_ns = std::max(answered_ns, ts_ns);
      if (ts_ns >= first_overdue_ns) first_overdue_ns = 0;
    }
    void withdraw() {
      expected -= expected != 0 ? 1 : 0;
      first_overdue_ns = 0;
    }

    std::uint64_t answered_ns = 0;
  };

  void begin_anew_from(std::uint64_t ts_ns) {
    if (ended_ns_ != 0 && ts_ns > ended_ns_) reset(ended_ns_);
  }

  Tally& of(CuptiSource source) { return tallies_[static_cast<std::size_t>(source)]; }
  const Tally& of(CuptiSource source) const { return tallies_[static_cast<std::size_t>(source)]; }

  std::array<Tally, kCuptiSources> tallies_;
  std::uint64_t begun_ns_ = 0;  // what was launched before is of an earlier recording
  std::uint64_t ended_ns_ = 0;
  std::uint64_t waited_ns_ = 0;
  std::uint64_t last_waited_ns_ = 0;  // for a stream
  std::uint64_t on_stream_ns_ = 0;    // the first wait for a stream without an answer; 0: none
  std::uint64_t again_ns_ = 0;        // the first launch after it; 0: none
  std::array<std::uint64_t, 2> flushes_{};
  std::uint64_t asked_ns_ = 0;  // before this, all that was complete has been delivered
};

}  // namespace gpuprof::ingest
