// SPDX-License-Identifier: Apache-2.0
//
// The entry point of `gpuprof attach`: called after a remote dlopen, and again at each later
// attach.
//
// Context:  boundary (a thread of the program that was stopped at a safe place)
// Promises: returns at once; never throws, waits at most 100 ms for a worker on its way out
#include "inject/agent/agent.hpp"

#define GPUPROF_EXPORT extern "C" __attribute__((visibility("default")))

/// @param text  `armed;nonce=HEX;patience=MS`, NUL-terminated; copied.
/// @return agent::kAttachStarted, kAttachRunning, kAttachBadText, kAttachNoThread or kAttachNoTsc.
GPUPROF_EXPORT int gpuprof_attach(const char* text) { return gpuprof::agent::attach(text); }
