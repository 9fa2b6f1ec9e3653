// SPDX-License-Identifier: Apache-2.0
//
// What a file of any format shows of one process in one window: each event once, cut at the window,
// placed among the steps, with its name and the operator it belongs to.
//
// Context:  daemon (export thread) | cli
// Owns:     nothing: what is handed over is borrowed for the length of one call
// Promises: every format that is written from here holds the same events as the JSON files
// Not here: the selection itself (prescan.hpp), the formats (NAME_writer.cpp), tables
//           (analysis/report)
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/export/labels/operator_names.hpp"
#include "analysis/export/labels/stack_formatter.hpp"
#include "analysis/export/prescan/file_request.hpp"
#include "analysis/export/prescan/prescan.hpp"
#include "analysis/export/resolve/backward_links.hpp"
#include "analysis/export/resolve/module_calls.hpp"

namespace gpuprof::exporter {

/// No sample stands for more time; a damaged one must not paint a whole row.
inline constexpr std::uint64_t kMaxSampleNs = 10'000'000'000;

/// How a range or operator fits into those around it.
enum class Nesting : std::uint8_t {
  kNests,        // an operator as the viewers understand it
  kEnclosing,    // nests, but around whole steps, or it is what the step was made from
  kOverlapping,  // crosses another or lies too deep: to be drawn on a row of its own
};

struct ResolvedStep {
  const model::Step& event;
  std::string_view where;  // file:line of the loop; empty: none
};
struct ResolvedOperator {
  const model::Operator& event;
  Interval interval;
  std::string_view name;
  OpKind kind;
  Nesting nesting;
  model::RangeId parent;     // operator or range around it in this file; 0: none
  ModulePaths::Path module;  // innermost module it ran in, for a node that of its forward; 0
  const BackwardLink* link;  // of the range around a node of the backward pass; null: none
};
struct ResolvedRange {
  const model::Range& event;
  Interval interval;  // of a mark: both equal
  std::string_view name, domain;
  Nesting nesting;  // kOverlapping for spans; of no meaning for marks
  model::RangeId parent;
};
struct ResolvedApiCall {
  const model::ApiCall& event;
  std::string_view name;
  model::RangeId owner;  // operator or range of this file it ran in; 0: none
  bool nested;           // inside another call with the same correlation id
  bool has_gpu_work;     // something on a GPU belongs to it
};
/// E: model::Kernel, MemCopy, MemSet or GraphExec.
template <typename E>
struct ResolvedGpuEvent {
  const E& event;
  std::string_view name;  // demangled
  std::uint32_t device;
  model::RangeId owner;  // operator or range of this file that launched it; 0: none
  bool has_launch;       // its host call is in the file
  bool first_of_launch;  // of those its host call launched
};
struct ResolvedSync {
  const model::Sync& event;
  std::string_view name;
  std::uint32_t device;
  model::RangeId owner;
};
struct ResolvedOverhead {
  const model::Overhead& event;
  std::string_view name;
};
struct ResolvedSample {
  const model::Sample& event;  // "as before" is resolved: state is 0 (running) or 1 (blocked)
  std::span<const StackFormatter::Frame> frames;  // innermost first
};

/// Receives resolved events, in the order of the spool: within a thread as things ended, innermost
/// first. Override what you want.
class ResolvedSink {
 public:
  virtual ~ResolvedSink() = default;
  virtual void on(const ResolvedStep&) {}  // all steps come before everything else
  virtual void on(const ResolvedOperator&) {}
  virtual void on(const ResolvedRange&) {}
  virtual void on(const ResolvedApiCall&) {}
  virtual void on(const ResolvedGpuEvent<model::Kernel>&) {}
  virtual void on(const ResolvedGpuEvent<model::MemCopy>&) {}
  virtual void on(const ResolvedGpuEvent<model::MemSet>&) {}
  virtual void on(const ResolvedGpuEvent<model::GraphExec>&) {}
  virtual void on(const ResolvedSync&) {}
  virtual void on(const ResolvedOverhead&) {}
  virtual void on(const ResolvedSample&) {}
  virtual void on(const model::Allocation&) {}
  virtual void on(const ModuleCall&) {}  // an approximation from inside (module_calls.hpp)
};

/// The first pass of one file, done: what a writer may ask before and while events come.
class EventResolver {
 public:
  ~EventResolver();
  /// Reads the spool once. Texts are plain, not escaped for JSON.
  ///
  /// Errors: a spool that cannot be read.
  static support::Result<std::unique_ptr<EventResolver>> open(const FileRequest& request);

  const FileRequest& request() const { return request_; }
  /// Names, threads, devices, contexts, facts, notices, losses, steps, counts, inputs, modules.
  Prescan& prescan() { return prescan_; }
  const Prescan& prescan() const { return prescan_; }
  /// Frames of samples, operators and launches.
  StackFormatter& stacks() { return stacks_; }
  /// Sentences: what is missing from this file and why.
  const std::vector<std::string>& missing() const { return missing_; }
  bool has_simulated_gpu() const;

  /// Reads the spool again and hands over every event. May be called several times.
  support::Result<void> replay(ResolvedSink& sink);

  /// What write() of a format returns.
  WrittenFile make_written_file(std::string_view format, std::uint64_t bytes) const;

 private:
  explicit EventResolver(const FileRequest& request);

  const FileRequest& request_;
  Prescan prescan_{TextEncoding::kUtf8};
  StackFormatter stacks_{TextEncoding::kUtf8};
  std::vector<std::string> missing_;
};

}  // namespace gpuprof::exporter
