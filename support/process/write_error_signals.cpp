// SPDX-License-Identifier: Apache-2.0
//
// The two signals that a failed write raises.
//
// Context:  daemon | cli
#include "support/process/write_error_signals.hpp"

#include <errno.h>
#include <signal.h>

#include "support/messages/process.hpp"

namespace gpuprof::support {
namespace {

struct Taken {
  int signal;
  struct sigaction before;
};
Taken g_taken[] = {{SIGPIPE, {}}, {SIGXFSZ, {}}};
bool g_ignored = false;

}  // namespace

void ignore_write_error_signals() {
  if (g_ignored) return;
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (Taken& taken : g_taken) sigaction(taken.signal, &ignore, &taken.before);
  g_ignored = true;
}

void restore_write_error_signals() {
  if (!g_ignored) return;
  for (const Taken& taken : g_taken) sigaction(taken.signal, &taken.before, nullptr);
}

const char* write_error_hint(int failure) {
  switch (failure) {
    case ENOSPC:
      return messages::process::kFreeSpace;
    case EDQUOT:
      return messages::process::kFreeSpaceOrQuota;
    case EFBIG:
      return messages::process::kRaiseFileSizeLimit;
    default:
      return "";
  }
}

}  // namespace gpuprof::support
