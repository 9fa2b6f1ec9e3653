// SPDX-License-Identifier: Apache-2.0
//
// How the process introduces itself to a daemon.
//
// Context:  worker
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "gpuprof/base/clock.hpp"
#include "inject/agent/core.hpp"

namespace gpuprof::agent {

namespace {

std::size_t read_file(const char* path, char* to, std::size_t room) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = ::read(fd, to, room);
  ::close(fd);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

// Field 22 of /proc/self/stat; the name in field 2 may hold anything, so count from its end.
std::uint64_t process_start_ticks() {
  char text[1024];
  const std::size_t bytes = read_file("/proc/self/stat", text, sizeof text - 1);
  text[bytes] = '\0';
  const char* at = strrchr(text, ')');
  if (at == nullptr) return 0;
  int field = 2;
  for (; *at != '\0' && field < 22; ++at)
    if (*at == ' ') ++field;
  std::uint64_t ticks = 0;
  for (; *at >= '0' && *at <= '9'; ++at) ticks = ticks * 10 + static_cast<std::uint64_t>(*at - '0');
  return ticks;
}

}  // namespace

bool send_hello() {
  wire::Hello hello{};
  char tail[4096 + 2048];
  const ssize_t exe = readlink("/proc/self/exe", tail, 4096);
  hello.exe_bytes = exe > 0 ? static_cast<std::uint32_t>(exe) : 0;
  hello.command_bytes =
      static_cast<std::uint32_t>(read_file("/proc/self/cmdline", tail + hello.exe_bytes, 2048));
  hello.major = wire::kWireMajor;
  hello.minor = wire::kWireMinor;
  const std::uint32_t woke = g_agent.wake_reasons.load(std::memory_order_acquire);
  hello.wake_reasons = g_agent.components_configured ? woke | wire::kWakeReconnect : woke;
  hello.pid = static_cast<std::uint32_t>(getpid());
  hello.ppid = static_cast<std::uint32_t>(getppid());
  hello.mono_ns = base::mono_ns();
  hello.real_ns = base::real_ns();
  hello.process_start_ticks = process_start_ticks();
  // What a daemon that came later can know begins when it came.
  hello.load_ns = g_agent.join_ns != 0 ? g_agent.join_ns : g_agent.load_ns;
  hello.session = g_agent.address.session;
  g_agent.reported_wake_reasons = woke;
  return g_agent.connection.send(hello, tail, hello.exe_bytes + hello.command_bytes);
}

}  // namespace gpuprof::agent
