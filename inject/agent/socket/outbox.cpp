// SPDX-License-Identifier: Apache-2.0
//
// What the components send to the daemon, over the session socket.
//
// Context:  worker
#include "inject/hot/outbox.hpp"

#include <string.h>

#include "gpuprof/base/clock.hpp"
#include "inject/agent/core.hpp"

namespace gpuprof::agent {

namespace {

// Two strings behind one another; what does not fit is cut from the second.
struct Pair {
  char bytes[8192];
  std::uint32_t first, second;

  Pair(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
    first = static_cast<std::uint32_t>(a_bytes < 4096 ? a_bytes : 4096);
    second = static_cast<std::uint32_t>(b_bytes < 4096 ? b_bytes : 4096);
    if (first != 0) memcpy(bytes, a, first);
    if (second != 0) memcpy(bytes + first, b, second);
  }
  std::uint32_t total() const { return first + second; }
};

void send_notice(wire::Feature feature, wire::NoticeLevel level, std::uint32_t code,
                 const char* text) {
  const auto bytes = static_cast<std::uint32_t>(strnlen(text, 2048));
  send_message(wire::Notice{static_cast<std::uint32_t>(feature), static_cast<std::uint32_t>(level),
                            code, bytes, base::mono_ns()},
               text, bytes);
}

void send_fact(const char* key, const char* value) {
  const Pair pair(key, strlen(key), value, strlen(value));
  send_message(wire::Fact{pair.first, pair.second}, pair.bytes, pair.total());
}

void send_thread(const wire::Thread& thread, const char* name) {
  wire::Thread message = thread;
  message.name_bytes = static_cast<std::uint32_t>(strnlen(name, 256));
  send_message(message, name, message.name_bytes);
}

void send_module(const wire::Module& module, const void* build_id, const char* path) {
  wire::Module message = module;
  const Pair pair(build_id, module.build_id_bytes, path, strlen(path));
  message.build_id_bytes = pair.first;
  message.path_bytes = pair.second;
  send_message(message, pair.bytes, pair.total());
}

void send_module_gone(const wire::ModuleUnloaded& gone) { send_message(gone); }

void send_domain(std::uint32_t domain, const char* name) {
  const auto bytes = static_cast<std::uint32_t>(strnlen(name, 1024));
  send_message(wire::DomainName{domain, bytes}, name, bytes);
}

}  // namespace

void install_outbox() {
  hot::g_outbox =
      hot::Outbox{send_notice, send_fact, send_thread, send_module, send_module_gone, send_domain};
}

}  // namespace gpuprof::agent
