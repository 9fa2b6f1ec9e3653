// SPDX-License-Identifier: Apache-2.0
//
// Messages from the worker to the daemon, sent over the socket because they must not be lost.
//
// Context:  worker (one thread). Signal and callback code must not call any of this
// Owns:     nothing: the agent fills the table once
// Promises: never blocks: what the daemon does not take at once is kept for it, and counted until
//           it is taken (kMessagesUnsent); silently does nothing when there is no daemon (any more)
#pragma once

#include <cstdint>

#include "gpuprof/wire/messages.hpp"

namespace gpuprof::hot {

/// Set by the agent before any component is started.
struct Outbox {
  void (*send_notice)(wire::Feature feature, wire::NoticeLevel level, std::uint32_t code,
                      const char* text) = nullptr;
  void (*send_fact)(const char* key, const char* value) = nullptr;
  void (*thread)(const wire::Thread& thread, const char* name) = nullptr;
  void (*module)(const wire::Module& module, const void* build_id, const char* path) = nullptr;
  void (*module_unloaded)(const wire::ModuleUnloaded& gone) = nullptr;
  void (*domain)(std::uint32_t domain, const char* name) = nullptr;
};
extern Outbox g_outbox;

/// A sentence for the user: what, why, and what still works.
inline void send_notice(wire::Feature feature, wire::NoticeLevel level, std::uint32_t code,
                        const char* text) {
  if (g_outbox.send_notice != nullptr) g_outbox.send_notice(feature, level, code, text);
}
/// One key = value for the trace's metadata.
inline void send_fact(const char* key, const char* value) {
  if (g_outbox.send_fact != nullptr) g_outbox.send_fact(key, value);
}

}  // namespace gpuprof::hot
