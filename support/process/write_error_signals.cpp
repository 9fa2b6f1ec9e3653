// SPDX-License-Identifier: Apache-2.0
//
// The two signals that a failed write raises.
//
// Context:  daemon | cli
#include "support/process/write_error_signals.hpp"

#include <errno.h>
#include <signal.h>

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
      return "; free some space";
    case EDQUOT:
      return "; free some space, or have the quota raised";
    case EFBIG:
      return " (the limit on file sizes, ulimit -f); raise it, or record less at once with "
             "--active "
             "or --span-size";
    default:
      return "";
  }
}

}  // namespace gpuprof::support
