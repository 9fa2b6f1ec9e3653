// SPDX-License-Identifier: Apache-2.0
//
// Sorted records of a file into the spools of its processes: nesting, owners, launches.
//
// Context:  cli through analysis/commands
// Owns:     what is open on the threads, and what was launched lately; bounded but for the former
// Promises: events come in the order in which they end, of those that end together the inner first
// Not here: reading and sorting (classify.hpp, sorter.hpp)
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "analysis/import/classify/classify.hpp"
#include "analysis/import/emit/open_frames.hpp"
#include "analysis/import/emit/session_process.hpp"
#include "analysis/import/emit/track_owners.hpp"
#include "analysis/import/emit/two_generation_map.hpp"
#include "analysis/import/import.hpp"

namespace gpuprof::importer {

class Emitter {
 public:
  /// @param processes By row; null: it is no process of its own.
  /// @param owners    Of the same file, its votes counted.
  /// @param add_ns    To the file's times, to make them the session's.
  /// @param window    The file's, on the session's line.
  Emitter(Names& names, FileContent& content, Owners& owners,
          std::vector<SessionProcess*> processes, std::int64_t add_ns, const model::Window& window,
          std::vector<PythonCall>& python);

  support::Result<void> run();
  /// GPU events, of files with several processes, of which nothing tells whose they are.
  std::uint64_t unowned() const { return unowned_; }
  /// What a table shows.
  std::uint64_t events() const { return events_; }

 private:
  struct Thread {
    OpenFrames frames;
    std::vector<std::uint32_t> open;  // operators and ranges, outermost first
    std::uint32_t last_call = 0;      // place in `pool_`, + 1
    std::uint64_t last_call_order = 0;
  };
  struct Process {
    SessionProcess* session = nullptr;
    std::unordered_map<std::uint32_t, Thread> threads;
    std::uint32_t last_tid = 0;
    Thread* last = nullptr;
    std::uint32_t first_launched = 0;  // lowest correlation of a call so far; 0: none came
    std::uint64_t unlaunched = 0;      // GPU events whose launch the file does not tell
  };
  /// What ends later: a place in `pool_`.
  struct Ending {
    std::int64_t end_ns;
    std::uint64_t order;  // the later it began, the sooner of two that end together
    std::uint32_t slot;
  };
  struct EndsLater {
    bool operator()(const Ending& a, const Ending& b) const {
      return a.end_ns != b.end_ns ? a.end_ns > b.end_ns : a.order < b.order;
    }
  };
  struct Launch {
    std::uint32_t correlation = 0, tid = 0;
    model::RangeId range = 0;
    std::int64_t start_ns = 0;
    std::uint16_t process = kNoProcess;
  };
  /// What an arrow leads to.
  struct Led {
    std::uint32_t tid = 0;
    std::int64_t ns = 0;
    std::uint64_t id = 0;
  };
  /// Of what came last so much is remembered at least, each by its number.
  static constexpr std::size_t kMostRemembered = 1u << 17;
  static constexpr std::size_t kMaxNested = 10'000;
  /// "Record function id"s of operators, beside their external ids.
  static constexpr std::uint64_t kRecordIds = 1ULL << 62;
  /// Below this many, ranges and operators are drawn apart: viewers give up.
  static constexpr std::size_t kDeepFrom = 100;

  /// What the window's readers take: by their begin; ranges and operators that reach into it.
  bool inside(std::int64_t start_ns) const {
    return start_ns >= window_from_ns_ && start_ns < window_to_ns_;
  }
  bool reaches(const Record& r) const {
    return r.start_ns < window_to_ns_ &&
           (r.end_ns > window_from_ns_ || r.start_ns >= window_from_ns_);
  }
  bool gpu_reaches(const Record& r, const Launch& launch) const;
  /// Is in no table, and so not written.
  void outside(const Record& r) {
    content_.account.withdraw(Reason::kOutside, word_of(r.kind));
    events_ -= is_event(r.kind) ? 1 : 0;
  }
  std::uint64_t at(std::int64_t ns) const { return static_cast<std::uint64_t>(ns + add_ns_); }
  Thread& thread(Process& process, std::uint32_t tid);
  void take(const Record& given);
  void tell_of_no_launches(const Process& process);
  void call(const Record& r);
  /// The call that began last on a thread and has not ended; null: none.
  OpenOperator* open_call(const Thread& own);
  void launch_arrow(const Record& r);
  void work_arrow(const Record& r);
  void frame(const Record& r);
  void open(const Record& r);
  void span(const Record& r);
  void arrow(const Record& r);
  void step_operator(const Record& r);
  std::uint32_t hold(const Record& r);
  void flush(std::int64_t until_ns);
  void close(std::uint32_t slot);
  void remember(const Record& r, model::RangeId id);
  model::RangeId range_of(std::uint16_t process, std::uint64_t external_id, const Thread* thread);
  static std::uint64_t place_on_line(const Record& r) {
    return static_cast<std::uint64_t>(r.start_ns) * 31 + r.tid;
  }
  const Launch* launch_of(std::uint16_t process, std::uint32_t correlation) const;
  const Launch* linked(const Record& r) const;
  Launch find_launch(const Record& r);
  std::uint32_t forward_tid(const Record& r) const;

  void write_operator(const OpenOperator& o);
  void write_range(const OpenOperator& o, model::RangeKind kind);
  void write_call(const OpenOperator& o);
  void write_step(const Record& r);
  void write_allocation(const Record& r);
  void write_sample(const Record& r);
  void write_overhead(const Record& r);
  void write_gpu(const Record& r);
  std::uint32_t shown_correlation(const Record& r, const Launch& launch);
  template <typename E>
  void write_gpu_event(const Record& r, const Launch& launch, SessionProcess& to, E e);

  Names& names_;
  FileContent& content_;
  Owners& owners_;
  std::vector<Process> processes_;
  std::int64_t add_ns_;
  std::int64_t window_from_ns_, window_to_ns_;  // on the file's line
  std::vector<PythonCall>& python_;
  std::vector<OpenOperator> pool_;
  std::vector<std::uint32_t> free_;
  std::priority_queue<Ending, std::vector<Ending>, EndsLater> endings_;
  std::uint64_t order_ = 1;
  Recent<model::RangeId> ranges_{kMostRemembered};   // by external id
  Recent<Launch> launches_{kMostRemembered};         // by correlation
  Recent<std::uint32_t> forwards_{kMostRemembered};  // threads by sequence number
  Recent<Launch> links_{kMostRemembered};            // what an arrow comes from, by its number
  Recent<Led> led_{kMostRemembered};                 // by place_on_line()
  std::uint32_t made_correlation_ = kGivenToCalls;
  std::uint64_t unowned_ = 0, events_ = 0;
  std::uint32_t numbers_given_ = 0;  // to GPU events that no launch was found of
};

}  // namespace gpuprof::importer
