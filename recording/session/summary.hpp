// SPDX-License-Identifier: Apache-2.0
//
// The result of a session: made by the daemon, printed and saved by the CLI.
//
// Context:  daemon | cli
// Owns:     nothing
// Promises: to_json and from_json are inverse; from_json ignores keys it does not know
// Not here: the words for people (cli/output/summary_text)
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/result.hpp"

namespace gpuprof::recording {

using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

struct SummaryFile {
  std::string path, format;
  std::uint32_t pid = 0, window = 0;
  std::uint64_t bytes = 0, events = 0, steps = 0;
};

struct SummaryWindow {
  std::uint32_t index = 0;
  std::uint64_t start_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t first_step = 0, steps = 0;
  std::string why;
};

/// One process that connected to the daemon. role: traced | launcher | helper | quiet.
struct SummaryProcess {
  std::uint32_t pid = 0, ppid = 0;
  std::string exe, command_line, role;
  std::uint32_t woke = 0;  // wire::kWake… bits
  std::uint64_t samples = 0, gpu_events = 0, api_calls = 0, ranges = 0, steps = 0;
  std::uint64_t operators = 0, allocations = 0;  // PyTorch's
  std::uint64_t cpu_ns = 0;                      // from sample weights
  std::string end;                               // exited | vanished | alive
};

/// What we cost, as measured inside the targets.
struct SummaryOverhead {
  std::uint64_t worker_cpu_ns = 0;  // CPU time of our threads, all processes
  std::uint64_t samples = 0;
  std::uint64_t launch_callbacks = 0, nvtx_calls = 0;
  std::string sampler;  // in force, of the first traced process
  double effective_rate_hz = 0;
  std::uint64_t daemon_cpu_ns = 0;
  std::uint64_t daemon_peak_bytes = 0;  // resident, over its whole life
  // With --max-overhead only: what threads measured of themselves, and their worst second.
  std::string limit;           // "3 %"
  std::uint64_t own_ns = 0;    // all threads of all processes
  double highest_percent = 0;  // of a thread's time, in any second
  double last_percent = 0;     // … and in the last one that was looked at
};

/// One thing that was left out to stay below --max-overhead.
struct SummaryReduction {
  std::uint32_t pid = 0, tid = 0;
  std::uint64_t since_ns = 0;  // CLOCK_MONOTONIC
  double percent = 0;          // of the thread's time until then
  std::string what;
};

struct Summary {
  std::string version, host, output;
  std::string name;          // of the session, as given with --name
  bool complete = true;      // every file asked for was written
  bool drops_known = true;   // false: a spool lacks its end, and nobody counted what is lost
  bool stopped = false;      // before its time: `gpuprof stop`, Ctrl-C of a capture
  bool terminated = false;   // the daemon, while there was something left to record
  bool nothing = false;      // a capture that wrote no file, as nothing was recorded
  bool simulated = false;    // a traced process used a simulated GPU
  std::string spool_folder;  // kept for `gpuprof export`, empty if removed
  std::uint64_t duration_ns = 0;
  std::vector<SummaryFile> files;
  std::vector<SummaryWindow> windows;
  Counts events_by_kind;
  Counts drops_by_reason;
  Counts ring_drops_by_kind;  // what "ring full" is made of, of the traced processes
  std::vector<SummaryProcess> processes;
  std::uint64_t processes_seen = 0, processes_traced = 0, peers_refused = 0;
  SummaryOverhead overhead;
  std::vector<SummaryReduction> left_out;
  std::vector<std::string> missing;    // sentences: what is missing and why
  std::vector<std::string> remarks;    // sentences: what else a reader should know
  std::vector<std::string> failures;   // sentences: what we could not do
  std::vector<std::string> open_with;  // command lines
};

std::string to_json(const Summary& summary);
support::Result<Summary> from_json(const std::string& text);

}  // namespace gpuprof::recording
