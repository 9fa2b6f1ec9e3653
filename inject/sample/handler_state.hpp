// SPDX-License-Identifier: Apache-2.0
//
// What the worker and the signal handler share.
//
// Context:  signal (read), worker (write)
// Owns:     nothing
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>

#include "inject/sample/handler.hpp"

namespace gpuprof::sample {

struct HandlerState {
  std::atomic<int> signal{0};
  std::atomic<bool> open{false};
  std::atomic<bool> held{false};
  std::atomic<std::uint32_t> run{0};
  HandlerSettings settings;
};

/// Its address is the cookie of our signals.
extern HandlerState g_handler;

void on_sample_signal(int signal, siginfo_t* info, void* context);

}  // namespace gpuprof::sample
