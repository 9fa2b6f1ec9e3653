// SPDX-License-Identifier: Apache-2.0
//
// Which processes get a file.
//
// Context:  daemon; pure
// Owns:     nothing
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gpuprof::session {

/// A process: its number, which another one gets later, and its begin (/proc/PID/stat).
using ProcessId = std::pair<std::uint32_t, std::uint64_t>;

struct Candidate {
  std::uint32_t pid = 0, ppid = 0;
  std::uint64_t start_ticks = 0;
  bool requested = false;  // a running process that somebody asked for by id or name
  bool cuda = false;       // initialised CUDA
  bool gpu = false;        // made a context, launched, or has GPU events
  bool serves = false;     // a data loader's or compiler's worker
  std::string rank;        // which one of a job it is, as its launcher said; "": none
  std::uint64_t operators = 0, steps = 0, ranges = 0, samples = 0, cpu_ns = 0;

  ProcessId id() const { return {pid, start_ticks}; }
};

/// Indices of those that get a file, in the order given: who was named, who used CUDA, who ran
/// operators and does not only serve another process, or had steps or ranges without operators and
/// without being the child of a process that used CUDA; where nobody did, the one with the most CPU
/// time, and of two that used none the later (a wrapper loses to its child); where that is a rank
/// of a job, each rank of it. To use CUDA is to have worked on a GPU; only where nobody did,
/// operators, steps or ranges beside an initialised CUDA, and where nobody had those either, having
/// initialised it (a launcher that counts the devices does no more). Of the images that execs gave
/// one process, each that worked on a GPU, ran operators or had steps or ranges; where none did,
/// the one that qualifies best.
///
/// @param all --all-processes.
std::vector<std::size_t> select_processes(const std::vector<Candidate>& candidates, bool all);

/// What the summary calls it: traced, launcher (has a traced child), helper (a child of a traced
/// process, or one that only serves), quiet.
std::string role_of(const std::vector<Candidate>& candidates,
                    const std::vector<std::size_t>& selected, std::size_t index);

}  // namespace gpuprof::session
