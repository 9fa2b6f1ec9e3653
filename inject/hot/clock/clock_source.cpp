// SPDX-License-Identifier: Apache-2.0
//
// Asks the kernel what it keeps time by.
//
// Context:  worker
// Owns:     nothing
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "inject/hot/clock/tsc_clock.hpp"

namespace gpuprof::hot {

void check_clocksource() {
  const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                      O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char text[16] = {};
  const ssize_t bytes = read(fd, text, sizeof text - 1);
  close(fd);
  const bool ticks = bytes > 0 && strcmp(text, "tsc\n") == 0;
  g_tsc_is_trusted.store(ticks, std::memory_order_relaxed);
}

}  // namespace gpuprof::hot
