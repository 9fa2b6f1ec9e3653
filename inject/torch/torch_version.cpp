// SPDX-License-Identifier: Apache-2.0
//
// torch/lib/libtorch_cpu.so → torch/version.py → __version__.
//
// Context:  worker
#include "inject/torch/torch_version.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace gpuprof::torch {

namespace {

// Cuts the last component. False: there is none.
bool go_up(char* path) {
  char* slash = strrchr(path, '/');
  if (slash == nullptr) return false;
  *slash = '\0';
  return true;
}

}  // namespace

void read_torch_version(const char* library_path, char* to, std::size_t room) {
  snprintf(to, room, "unknown");
  char path[600];
  snprintf(path, sizeof path - sizeof "/version.py", "%s", library_path);
  if (!go_up(path) || !go_up(path)) return;
  strcat(path, "/version.py");
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char text[512];
  const ssize_t bytes = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  text[bytes > 0 ? bytes : 0] = '\0';
  const char* at = strstr(text, "__version__ = '");
  if (at == nullptr) return;
  at += sizeof "__version__ = '" - 1;
  const std::size_t length = strcspn(at, "'");
  if (length != 0 && length < room) snprintf(to, room, "%.*s", static_cast<int>(length), at);
}

}  // namespace gpuprof::torch
