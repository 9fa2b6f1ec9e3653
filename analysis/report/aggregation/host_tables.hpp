// SPDX-License-Identifier: Apache-2.0
//
// Threads, modules and lines of the program.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/timeline/stack_table.hpp"

namespace gpuprof::report {

struct ThreadRow {
  std::uint32_t tid = 0;
  std::string name;
  bool main = false;  // has the steps, or is the first
  std::uint64_t samples = 0, off_cpu_samples = 0;
  std::uint64_t cpu_ns = 0;                      // by samples
  std::uint64_t blocked_ns = 0;                  // by samples, as far as their period is known
  std::uint64_t operators = 0, operator_ns = 0;  // outermost ones
  std::uint64_t calls = 0, call_ns = 0;
};

/// A way into an nn.Module.
struct ModuleRow {
  std::string path;             // Net_0.Sequential_1.Conv2d_3
  std::string name;             // Conv2d_3
  std::uint32_t depth = 0;      // 0: outermost
  std::int32_t parent = -1;     // index among the rows
  std::uint64_t calls = 0;      // approximation from inside: from its first to its last operator
  std::uint64_t operators = 0;  // directly in it
  std::uint64_t host_ns = 0, self_host_ns = 0;      // of calls; without modules further in
  std::uint64_t device_ns = 0, self_device_ns = 0;  // of GPU work launched in it
};

/// A line of the program: innermost frame of its own code on the stacks, with all that was done
/// below. `operator` rows of sites say which operators these were.
struct LineCosts {
  std::uint64_t self_samples = 0;     // running, the line itself innermost of all Python frames
  std::uint64_t samples = 0;          // running
  std::uint64_t off_cpu_samples = 0;  // waiting
  std::uint64_t cpu_ns = 0, blocked_ns = 0;  // by samples
  std::uint64_t operators = 0;               // outermost ones
  std::uint64_t operator_ns = 0;             // their time, with what is in them
  std::uint64_t launches = 0, gpu_ns = 0;    // GPU work launched
  std::uint64_t waits = 0, wait_ns = 0;      // for a GPU
  std::uint64_t allocations = 0, allocated_bytes = 0;
  std::uint64_t steps = 0;  // in how many steps an operator of it ran
};

struct LineRow {
  FrameId frame = 0;
  LineCosts costs;
};

/// An operator called on a line (the outermost one there).
struct CallSiteRow {
  FrameId frame = 0;  // 0: line not known
  std::string name;
  LineCosts costs;  // samples are not told by operator
};

struct HostTables {
  std::vector<ThreadRow> threads;
  std::vector<ModuleRow> modules;      // parents before children
  std::vector<LineRow> lines;          // most samples or operator time first
  std::vector<CallSiteRow> sites;      // most operator time first
  std::uint64_t sample_period_ns = 0;  // CPU time between two samples of a thread; 0: not known
};

}  // namespace gpuprof::report
