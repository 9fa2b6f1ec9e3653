// SPDX-License-Identifier: Apache-2.0
//
// Option table of the sample training program.
//
// Context:  any
// Owns:     nothing
// Promises: an unknown option ends the program with status 2
// Not here: behaviour
#include "trainer/options.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <variant>

namespace trainer {
namespace {

using Target =
    std::variant<long Options::*, double Options::*, bool Options::*, std::string Options::*>;
struct Row {
  const char* name;
  Target target;
  const char* help;
};

const Row kRows[] = {
    {"--steps", &Options::steps, "steps to train (10)"},
    {"--kernels", &Options::kernels, "kernels per step and thread (24)"},
    {"--streams", &Options::streams, "streams per thread (2)"},
    {"--devices", &Options::devices, "devices in use; more than one adds peer copies (1)"},
    {"--threads", &Options::threads, "training threads, each with its own streams (1)"},
    {"--copies", &Options::copies, "host-to-device copies per step (1)"},
    {"--copy-bytes", &Options::copy_bytes, "bytes of each copy (1048576)"},
    {"--memsets", &Options::memsets, "memsets per step (1)"},
    {"--graph-nodes", &Options::graph_nodes,
     "replay a captured graph of N kernels each step (0 = no graph)"},
    {"--host-ms", &Options::host_ms, "CPU milliseconds per step burnt in a deep call tree (2)"},
    {"--host-depth", &Options::host_depth, "depth of that call tree (24)"},
    {"--step-ms", &Options::step_ms, "a step lasts at least this long (0)"},
    {"--launch-rate", &Options::launch_rate, "launches a second and thread (0 = unlimited)"},
    {"--start-pause-ms", &Options::start_pause_ms, "sleep before the first CUDA call (0)"},
    {"--helpers", &Options::helpers, "child processes that never touch CUDA (0)"},
    {"--helpers-late", &Options::helpers_late, "fork the helpers after CUDA is in use"},
    {"--forever", &Options::forever, "train until killed"},
    {"--progress", &Options::progress, "print counts and times every 20 ms"},
    {"--no-nvtx", &Options::no_nvtx, "no NVTX calls at all"},
    {"--no-sync", &Options::no_sync, "do not wait for the device at the end of a step"},
    {"--profile-from", &Options::profile_from,
     "first step (from 0) that the program profiles with CUPTI itself"},
    {"--profile-until", &Options::profile_until, "the step after the last one of those (0 = none)"},
    {"--profile-keeps-kernels", &Options::profile_keeps_kernels,
     "it leaves kernel records on, as it must where switching them off can hang"},
    {"--profile-subscribes", &Options::profile_subscribes,
     "it takes CUPTI's subscriber slot and keeps it, as PyTorch's did until August 2026"},
    {"--exit", &Options::exit_how, "return, exit, _exit, abort, kill or exception (return)"},
    {"--step-name", &Options::step_name, "name of the NVTX step range (step)"},
};

[[noreturn]] void help() {
  std::puts(
      "sim_trainer [options]: a small training loop on the CUDA driver API, meant for the "
      "simulated GPU\n");
  for (const Row& row : kRows) std::printf("  %-18s %s\n", row.name, row.help);
  std::exit(0);
}

[[noreturn]] void wrong(const char* what, const char* argument) {
  std::fprintf(stderr, "sim_trainer: %s '%s'\n", what, argument);
  std::exit(2);
}

/// Stores `text` in the option; returns false if it is not of the right form.
bool store(Options& o, const Target& target, const char* text) {
  char* end = nullptr;
  if (const auto* p = std::get_if<long Options::*>(&target)) {
    o.*(*p) = std::strtol(text, &end, 0);
    return end != text && *end == '\0' && o.*(*p) >= 0;
  }
  if (const auto* p = std::get_if<double Options::*>(&target)) {
    o.*(*p) = std::strtod(text, &end);
    return end != text && *end == '\0' && o.*(*p) >= 0;
  }
  o.*std::get<std::string Options::*>(target) = text;
  return true;
}

const Row* find(const char* name) {
  for (const Row& row : kRows)
    if (std::strcmp(row.name, name) == 0) return &row;
  return nullptr;
}

}  // namespace

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--help") == 0) help();
    const Row* row = find(argv[i]);
    if (row == nullptr) wrong("unknown option", argv[i]);
    if (const auto* flag = std::get_if<bool Options::*>(&row->target)) {
      o.*(*flag) = true;
      continue;
    }
    if (i + 1 == argc || !store(o, row->target, argv[i + 1])) wrong("bad value for", argv[i]);
    ++i;
  }
  return o;
}

}  // namespace trainer
