// SPDX-License-Identifier: Apache-2.0
//
// Events of a trace into records: which category means what, in all spellings.
//
// Context:  cli through analysis/commands
// Owns:     what it must remember of a file: rows, begun spans; bounded
// Promises: every event is counted once, by what became of it (import_stats.hpp)
// Not here: who is whose parent and what launched what (emit.hpp)
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/import/classify/event_categories.hpp"
#include "analysis/import/classify/sample_rebuilder.hpp"
#include "analysis/import/classify/step_dedup.hpp"
#include "analysis/import/json/json_events.hpp"
#include "analysis/import/store/import_stats.hpp"
#include "analysis/import/store/parsed_event.hpp"
#include "analysis/import/store/pid_tracks.hpp"
#include "analysis/import/store/sorter.hpp"
#include "analysis/import/store/trace_metadata.hpp"
#include "analysis/import/time/time_outliers.hpp"

namespace gpuprof::importer {

/// ParsedEvent::process where the file tells none.
inline constexpr std::uint16_t kNoProcess = 0xffff;

/// Threads that are no numbers, or too large ones, get these.
inline constexpr std::uint32_t kFirstSyntheticTid = 4'000'000'000;

/// What a file has beside its records.
struct FileContent {
  explicit FileContent(const std::string& folder) : sorter(folder) {}

  TraceMetadata head;
  Sorter sorter;
  std::vector<PidTrack> tracks;                                        // by ParsedEvent::process
  std::map<std::pair<std::int64_t, std::int64_t>, bool> null_streams;  // device, stream
  std::int64_t first_ns = 0, last_ns = 0;  // of the records that become events
  ImportStats account;
  /// Kinds that are not known, and what they were read as by their shape.
  std::map<std::pair<std::string, std::string>, std::uint64_t> guessed;
  /// GPU work that tells no launch, and arrows that were not kept, though they may.
  std::uint64_t without_launch_id = 0, dropped_flows = 0;
  bool keeps_flows = false;
  TimeHistogram times;               // of all records
  std::uint64_t trailing_bytes = 0;  // packed text, unread
  std::string outlier_times;         // which were set aside, and between which the rest lies
  /// gpuprof's steps count from 0 in the session and have labels beside that; 0: no step is known.
  std::uint64_t label_minus_number = 0;
  bool steps_known = false;
  bool whole_us = true;  // no time in it has a fraction
  bool any_samples = false, any_frames = false, any_inputs = false;
};

/// What a first reading found out that has to be known from the beginning.
struct FirstPassHints {
  std::map<std::string, TrackRole> roles;  // by the text of the pid
  bool keep_flows = false;
};

class Classifier final : public TraceListener {
 public:
  /// @param foreseen Null: nothing; read for the first time.
  Classifier(InternedTables& names, FileContent& content, std::string path,
             std::function<void()> progress, const FirstPassHints* foreseen = nullptr);

  support::Result<void> on_member(std::string_view key, std::string_view json) override {
    return content_.head.take(key, json, path_);
  }
  void on_event(const RawEvent& event) override;
  void on_other_value() override {
    content_.account.count_skipped(SkipReason::kNotAnObject, "(no event)");
  }
  void on_repaired(RepairKind mending, std::uint64_t places) override {
    content_.account.count_repairs(mending, places);
  }
  void on_progress() override { progress_(); }
  /// To be called when all events have come. What to read the file again with; none where every
  /// event was taken for what it is.
  std::optional<FirstPassHints> finish();

 private:
  /// Of an event; kPending: decided in finish().
  enum class Outcome : std::uint8_t { kImported, kDuplicate, kSkipped, kPending };
  /// What a category is; `guessed`: only by the end of its name, or not at all.
  struct CategoryMatch {
    EventCategory kind;
    bool guessed;
  };
  struct CachedCategory {
    std::string category;
    CategoryMatch sort;
  };
  struct OpenSpan {
    ParsedEvent record;
    std::string category;
  };

  CategoryMatch category_of(std::string_view category);
  EventCategory kind_of(std::string_view category) { return category_of(category).kind; }
  bool times(const RawEvent& e, bool needs_duration, ParsedEvent& to);
  ParsedEvent* start(const RawEvent& e, ParsedKind kind, bool needs_duration);
  void add_current();
  void update_bounds(const ParsedEvent& record);
  void add_step(const RawEvent& e);
  void emit_steps();
  void skip(const RawEvent& e, SkipReason reason);
  void count_duplicate(std::string_view kind);
  std::uint16_t process_of(const RawEvent& e);
  std::uint16_t add_row(std::string_view text, std::optional<std::int64_t> pid);
  std::uint32_t tid_of(const RawEvent& e);

  void dispatch(const RawEvent& e);
  void complete(const RawEvent& e);
  void instant(const RawEvent& e);
  void duration(const RawEvent& e, bool begins);
  void pair(const RawEvent& e, bool begins);
  void backward_flow(const RawEvent& e, bool begins);
  void launch_flow(const RawEvent& e, bool begins);
  void counter(const RawEvent& e);
  void metadata(const RawEvent& e);
  void set_role_by_name(const RawEvent& e, std::string_view name);

  /// What a row is, for an event that does not tell by itself.
  TrackRole role_of(std::uint16_t row);
  TrackRole current_role(const PidTrack& row) const;
  bool looks_like_gpu_work(const RawEvent& e);
  void take(const RawEvent& e, EventCategory kind);
  void take_by_shape(const RawEvent& e);
  void take_by_track(const RawEvent& e, TrackRole role);
  void take_task(const RawEvent& e);
  void count_guess(std::string_view category, std::string_view as);
  void skip_guesses();

  void take_operator(const RawEvent& e, ParsedKind kind, bool own_range);
  void take_step(const RawEvent& e, std::uint64_t label);
  void take_frame(const RawEvent& e);
  void take_call(const RawEvent& e, EventCategory kind);
  void take_host_wait(const RawEvent& e);
  void take_collective(const RawEvent& e, bool on_device);
  void take_kernel(const RawEvent& e, bool talks = false);
  void take_copy(const RawEvent& e);
  void take_set(const RawEvent& e);
  void take_sync(const RawEvent& e);
  void take_overhead(const RawEvent& e);
  bool take_gpu(const RawEvent& e, ParsedKind kind);
  std::uint32_t device_of(const RawEvent& e, const PidTrack& row) const;
  std::uint32_t stream_of(const RawEvent& e, const PidTrack& row);
  std::uint32_t handle(std::string_view text);
  std::uint32_t correlation_of(const RawEvent& e);
  std::uint64_t bytes_moved(const RawEvent& e);
  void take_memory(const RawEvent& e);
  void range_details(const RawEvent& e, OperatorFields& op);
  std::uint32_t inputs(const RawEvent& e);

  InternedTables& names_;
  FileContent& content_;
  std::string path_;
  std::function<void()> progress_;
  ParsedEvent record_;  // being made
  std::vector<CachedCategory> categories_;
  const FirstPassHints* hints_;
  Outcome outcome_ = Outcome::kDuplicate;  // of the event at hand
  std::string repeated_kind_;              // of the last ones, which are often of one kind
  std::uint64_t repeated_ = 0;
  bool any_host_ = false;                          // a row is a process, by its events or its name
  std::map<std::string, std::uint64_t> counters_;  // "C" events, by what they count
  std::unordered_map<std::int64_t, std::uint16_t> pids_;
  std::unordered_map<std::string, std::uint16_t> named_pids_;
  std::unordered_map<std::string, std::uint32_t> named_tids_;
  std::unordered_map<std::uint64_t, OpenSpan> begun_;         // spans, by category, row and id
  std::unordered_map<std::uint64_t, std::uint32_t> flows_;    // thread an arrow begins on
  std::unordered_map<std::string, std::uint32_t> handles_;    // addresses of queues, numbered
  std::unordered_map<std::int64_t, std::uint32_t> long_ids_;  // correlations of more than 32 bits
  bool newer_flows_ = false;
  bool guessed_ = false;    // the event at hand was taken by its shape
  bool any_known_ = false;  // some event was not
  bool any_ = false;
  std::uint16_t last_row_ = kNoProcess;
  std::string last_pid_;
  SampleRebuilder samples_;
  StepDeduplicator steps_;
};

}  // namespace gpuprof::importer
