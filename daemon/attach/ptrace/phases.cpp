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

constexpr std::pair<Step, const char*> kNames[] = {
    {Step::kChecked, "checked"},
    {Step::kSeized, "seized"},
    {Step::kStopped, "stopped"},
    {Step::kBreakpoint, "breakpoint"},
    {Step::kSteppedOut, "stepped-out"},
    {Step::kFrameWritten, "frame-written"},
    {Step::kMapCall, "map-call"},
    {Step::kMasked, "masked"},
    {Step::kMapEntered, "map-entered"},
    {Step::kMapped, "mapped"},
    {Step::kCodeMapped, "code-mapped"},
    {Step::kCodeWritten, "code-written"},
    {Step::kStarted, "started"},
    {Step::kFileMade, "file-made"},
    {Step::kFileWritten, "file-written"},
    {Step::kLoading, "loading"},
    {Step::kCalled, "called"},
    {Step::kHeld, "held"},
    {Step::kUnmapCall, "unmap-call"},
    {Step::kUnmapped, "unmapped"},
    {Step::kAtRest, "at-rest"},
    {Step::kVectors, "vectors"},
    {Step::kMask, "mask"},
    {Step::kRegisters, "registers"},
    {Step::kDetached, "detached"},
};

}  // namespace

const char* step_name(Step step) {
  for (const auto& [known, name] : kNames)
    if (known == step) return name;
  return "";
}

std::vector<Step> all_steps() {
  std::vector<Step> steps;
  for (const auto& [step, name] : kNames) steps.push_back(step);
  return steps;
}

void stop_here_if_asked(Step step) {
  const char* asked = getenv("GPUPROF_ATTACH_STOP_AT");
  // To this thread: it stops before it does anything else.
  if (asked != nullptr && strcmp(asked, step_name(step)) == 0) raise(SIGSTOP);
}

}  // namespace gpuprof::attach
