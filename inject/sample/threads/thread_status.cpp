// SPDX-License-Identifier: Apache-2.0
//
// Parses /proc/self/task/TID/status.
//
// Context:  worker
// Owns:     nothing
#include "inject/sample/threads/thread_status.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/sample/proc_files.hpp"
#include "inject/sample/signals/kernel_sigaction.hpp"

namespace gpuprof::sample {

namespace {

std::uint64_t mask_after(const char* text, const char* key) {
  const char* at = strstr(text, key);
  std::uint64_t mask = 0;
  if (at != nullptr) parse_hex(at + strlen(key), &mask);
  return mask;
}

std::uint64_t number_after(const char* text, const char* key) {
  const char* at = strstr(text, key);
  std::uint64_t number = 0;
  if (at != nullptr) parse_decimal(at + strlen(key), &number);
  return number;
}

}  // namespace

void parse_thread_status(const char* text, ThreadStatus* to) {
  memset(to, 0, sizeof *to);
  if (strncmp(text, "Name:\t", 6) == 0) {
    const char* name = text + 6;
    const std::size_t bytes = strcspn(name, "\n");
    memcpy(to->name, name, bytes < sizeof to->name ? bytes : sizeof to->name - 1);
  }
  const char* state = strstr(text, "\nState:\t");
  to->runnable = state != nullptr && state[strlen("\nState:\t")] == 'R';
  // A name may hold a line of its own making only in escaped form: the keys are unique.
  to->blocked = mask_after(text, "\nSigBlk:\t");
  to->pending = mask_after(text, "\nSigPnd:\t");
  to->shared = mask_after(text, "\nShdPnd:\t");
  to->tracer = number_after(text, "\nTracerPid:\t");
  to->seccomp_mode = number_after(text, "\nSeccomp:\t");
  to->filters = number_after(text, "\nSeccomp_filters:\t");
}

bool read_thread_status(pid_t tid, ThreadStatus* to) {
  char path[64], text[4096];
  task_path(path, sizeof path, tid, "status");
  if (read_small_file(path, text, sizeof text) <= 0) return false;
  parse_thread_status(text, to);
  return true;
}

bool read_own_status(ThreadStatus* to) {
  return read_thread_status(static_cast<pid_t>(::syscall(SYS_gettid)), to);
}

bool is_pending_for_process(int signal) {
  ThreadStatus own;
  return read_own_status(&own) && (own.shared & signal_bit(signal)) != 0;
}

bool is_pending_for_a_thread(int signal) {
  const int folder = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return true;
  bool found = false;
  alignas(8) char buffer[4096];
  long bytes = 0;
  while (!found && (bytes = ::syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0) {
    for (long at = 0; at < bytes && !found;) {
      const auto* item = reinterpret_cast<const dirent64*>(buffer + at);
      at += item->d_reclen;
      std::uint64_t tid = 0;
      parse_decimal(item->d_name, &tid);
      ThreadStatus status;
      found = tid != 0 && read_thread_status(static_cast<pid_t>(tid), &status) &&
              (status.pending & signal_bit(signal)) != 0;
    }
  }
  ::close(folder);
  return found || bytes < 0;
}

}  // namespace gpuprof::sample
