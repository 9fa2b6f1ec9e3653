// SPDX-License-Identifier: Apache-2.0
//
// Events of a trace into records: which category means what, in all spellings.
//
// Context:  cli through daemon/api
// Owns:     what it must remember of a file: rows, begun spans; bounded
// Promises: every event is counted: as understood, as meant for viewers only, or as left out
// Not here: who is whose parent and what launched what (emit.hpp)
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/import/head.hpp"
#include "daemon/import/json_events.hpp"
#include "daemon/import/record.hpp"
#include "daemon/import/sample_rows.hpp"
#include "daemon/import/sorter.hpp"

namespace gpuprof::importer {

/// Record::process of GPU rows and the like: whoever launched it.
inline constexpr std::uint16_t kNoProcess = 0xffff;

/// What a file has beside its records.
struct FileContent {
  explicit FileContent(const std::string& folder) : sorter(folder) {}

  struct Process {
    std::int64_t pid = 0;
    std::string name;
    std::uint64_t records = 0;
    std::map<std::uint32_t, std::string> threads;  // names, by tid
  };

  Head head;
  Sorter sorter;
  std::vector<Process> processes;                                      // by Record::process
  std::map<std::pair<std::int64_t, std::int64_t>, bool> null_streams;  // device, stream
  std::int64_t first_ns = 0, last_ns = 0;  // of the records that become events
  std::uint64_t understood = 0;
  std::map<std::string, std::uint64_t> unknown;  // events left out, by category
  std::uint64_t without_time = 0;
  /// gpuprof's steps count from 0 in the session and have labels beside that; 0: no step is known.
  std::uint64_t label_minus_number = 0;
  bool steps_known = false;
  bool whole_us = true;  // no time in it has a fraction
  bool any_samples = false, any_frames = false, any_inputs = false;
};

class Classifier final : public TraceListener {
 public:
  Classifier(Names& names, FileContent& content, std::string path, std::function<void()> progress);

  support::Result<void> on_member(std::string_view key, std::string_view json) override {
    return content_.head.take(key, json, path_);
  }
  void on_event(const RawEvent& event) override;
  void on_progress() override { progress_(); }

 private:
  enum class Kind : std::uint8_t {
    kUnknown,
    kIgnored,
    kOperator,
    kOwnRange,
    kFrame,
    kRange,
    kRuntime,
    kDriver,
    kInner,
    kKernel,
    kMemCopy,
    kMemSet,
    kSync,
    kOverhead,
    kSpan,
    kCrossing,
    kDeep,
    kOperatorCrossing,
    kOperatorDeep,
    kMark,
    kSample,
    kSampleBlocked,
    kArrow,
    kOlderArrow,
  };
  struct Known {
    std::string category;
    Kind kind;
  };
  struct Begun {
    Record record;
  };

  Kind kind_of(std::string_view category);
  bool times(const RawEvent& e, bool needs_duration, Record& to);
  Record* start(const RawEvent& e, RecordKind kind, bool needs_duration);
  void keep();
  void left_out(const RawEvent& e);
  std::uint16_t process_of(const RawEvent& e);
  std::uint32_t tid_of(const RawEvent& e);

  void complete(const RawEvent& e);
  void instant(const RawEvent& e);
  void duration(const RawEvent& e, bool begins);
  void pair(const RawEvent& e, bool begins);
  void arrow(const RawEvent& e, bool begins);
  void metadata(const RawEvent& e);

  void take_operator(const RawEvent& e, RecordKind kind, bool own_range);
  void take_step(const RawEvent& e, std::uint64_t label);
  void take_frame(const RawEvent& e);
  void take_call(const RawEvent& e, Kind kind);
  void take_kernel(const RawEvent& e);
  void take_copy(const RawEvent& e);
  void take_set(const RawEvent& e);
  void take_sync(const RawEvent& e);
  void take_overhead(const RawEvent& e);
  bool take_gpu(const RawEvent& e, RecordKind kind);
  void take_memory(const RawEvent& e);
  void range_details(const RawEvent& e, OperatorRecord& op);
  std::uint32_t inputs(const RawEvent& e);

  Names& names_;
  FileContent& content_;
  std::string path_;
  std::function<void()> progress_;
  Record record_;  // being made
  std::vector<Known> categories_;
  std::unordered_map<std::int64_t, std::uint16_t> pids_;
  std::unordered_map<std::string, std::uint16_t> named_pids_;
  std::unordered_map<std::string, std::uint32_t> named_tids_;
  std::unordered_map<std::uint64_t, Begun> begun_;          // spans, by category and id
  std::unordered_map<std::int64_t, std::uint32_t> arrows_;  // thread an arrow begins on
  bool newer_arrows_ = false;
  bool any_ = false;
  SampleRows samples_;
};

}  // namespace gpuprof::importer
