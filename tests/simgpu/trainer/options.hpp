// SPDX-License-Identifier: Apache-2.0
//
// Command line of the sample training program.
//
// Context:  any
// Owns:     nothing
// Promises: one table gives parsing and --help
// Not here: what the options do (main.cpp)
#pragma once

#include <string>

namespace trainer {

/// What to train, and how to end.
struct Options {
  long steps = 10;
  long kernels = 24;  ///< per step and thread
  long streams = 2;   ///< per thread
  long devices = 1;
  long threads = 1;
  long copies = 1;  ///< host to device, per step
  long copy_bytes = 1 << 20;
  long memsets = 1;
  long graph_nodes = 0;  ///< > 0: replay a captured graph of that many kernels each step
  double host_ms = 2;    ///< CPU burnt per step in the call tree
  long host_depth = 24;
  double step_ms = 0;      ///< a step lasts at least this long
  double launch_rate = 0;  ///< launches a second and thread, 0 = as fast as possible
  double start_pause_ms = 0;
  long helpers = 0;
  bool helpers_late = false;  ///< fork helpers after CUDA is in use
  bool forever = false;
  bool progress = false;
  bool no_nvtx = false;
  bool no_sync = false;                      ///< no synchronize at the end of a step
  long profile_from = 0, profile_until = 0;  ///< steps that the program profiles itself
  bool profile_keeps_kernels = false;        ///< its kernel records stay on afterwards
  bool profile_subscribes = false;           ///< it takes the subscriber slot, and keeps it
  std::string exit_how = "return";
  std::string step_name = "step";
};

/// Parses; prints help or an error and exits the process where needed.
Options parse(int argc, char** argv);

}  // namespace trainer
