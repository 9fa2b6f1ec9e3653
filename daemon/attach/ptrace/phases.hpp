// SPDX-License-Identifier: Apache-2.0
//
// The moments of an injection, by name: what a test may stop or kill us at.
//
// Context:  daemon | cli
// Owns:     nothing
#pragma once

#include <string>
#include <vector>

namespace gpuprof::attach {

/// In the order in which they are passed; each is announced when it is done.
enum class Phase {
  kChecked,       // everything was read, nothing is stopped
  kSeized,        // we are the tracer; the thread runs
  kStopped,       // the thread is stopped, unchanged
  kBreakpoint,    // step-out only: a breakpoint is set, the thread runs towards it
  kSteppedOut,    // step-out only: it stands there, the breakpoint is gone
  kFrameWritten,  // below its stack lies what restores it
  kMapCall,       // its registers are those of mmap, which returns into the restoring frame
  kMasked,        // signals wait
  kMapEntered,    // inside that mmap
  kMapped,        // mmap has returned
  kCodeMapped,    // the page for our few instructions is there
  kCodeWritten,   // instructions and their data are in place
  kStarted,       // its registers are those of our instructions: it would end alone now
  kFileMade,      // it has the empty memfd
  kFileWritten,   // the library is in it, the instructions may go on
  kLoading,       // dlopen runs
  kCalled,        // gpuprof_attach has returned; it waits a moment for us
  kHeld,          // stopped again, the answer is read
  kUnmapCall,     // its registers are those of munmap
  kUnmapped,      // what we mapped is gone
  kAtRest,        // stopped where the kernel can restart its own system call
  kVectors,       // vector registers are the program's
  kMask,          // the mask is the program's
  kRegisters,     // all registers are the program's
  kDetached,      // nobody traces it any more
};

/// `frame-written`, ...
const char* phase_name(Phase step);
/// All of them in order.
std::vector<Phase> all_phases();

/// For tests, when GPUPROF_ATTACH_STOP_AT names this step: stops this whole process (SIGSTOP).
void stop_if_requested(Phase step);

}  // namespace gpuprof::attach
