// SPDX-License-Identifier: Apache-2.0
//
// The moments of an injection, by name.
//
// Context:  daemon | cli
#include "daemon/attach/ptrace/phases.hpp"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <utility>

namespace gpuprof::attach {
namespace {

constexpr std::pair<Phase, const char*> kNames[] = {
    {Phase::kChecked, "checked"},
    {Phase::kSeized, "seized"},
    {Phase::kStopped, "stopped"},
    {Phase::kBreakpoint, "breakpoint"},
    {Phase::kSteppedOut, "stepped-out"},
    {Phase::kFrameWritten, "frame-written"},
    {Phase::kMapCall, "map-call"},
    {Phase::kMasked, "masked"},
    {Phase::kMapEntered, "map-entered"},
    {Phase::kMapped, "mapped"},
    {Phase::kCodeMapped, "code-mapped"},
    {Phase::kCodeWritten, "code-written"},
    {Phase::kStarted, "started"},
    {Phase::kFileMade, "file-made"},
    {Phase::kFileWritten, "file-written"},
    {Phase::kLoading, "loading"},
    {Phase::kCalled, "called"},
    {Phase::kHeld, "held"},
    {Phase::kUnmapCall, "unmap-call"},
    {Phase::kUnmapped, "unmapped"},
    {Phase::kAtRest, "at-rest"},
    {Phase::kVectors, "vectors"},
    {Phase::kMask, "mask"},
    {Phase::kRegisters, "registers"},
    {Phase::kDetached, "detached"},
};

}  // namespace

const char* phase_name(Phase step) {
  for (const auto& [known, name] : kNames)
    if (known == step) return name;
  return "";
}

std::vector<Phase> all_phases() {
  std::vector<Phase> steps;
  for (const auto& [step, name] : kNames) steps.push_back(step);
  return steps;
}

void stop_if_requested(Phase step) {
  const char* asked = getenv("GPUPROF_ATTACH_STOP_AT");
  // To this thread: it stops before it does anything else.
  if (asked != nullptr && strcmp(asked, phase_name(step)) == 0) raise(SIGSTOP);
}

}  // namespace gpuprof::attach
