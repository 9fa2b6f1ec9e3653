/* SPDX-License-Identifier: Apache-2.0
 * As a debugger does: starts a program under ptrace and counts the realtime signals that stop it.
 *
 * usage: traced PROGRAM [ARGUMENT...] */
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* New threads and processes of it are traced, too. */
static void follow(pid_t child) {
  const long wanted = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                      PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  ptrace(PTRACE_SETOPTIONS, child, NULL, wanted);
}

int main(int argc, char** argv) {
  int status = 0, ours = 0;
  pid_t child, stopped;
  if (argc < 2) return 2;
  child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    execv(argv[1], argv + 1);
    _exit(99);
  }
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return 2;
  follow(child);
  ptrace(PTRACE_CONT, child, NULL, NULL);
  while ((stopped = waitpid(-1, &status, __WALL)) > 0) {
    int signal;
    if (stopped == child && (WIFEXITED(status) || WIFSIGNALED(status))) break;
    if (!WIFSTOPPED(status)) continue;
    signal = WSTOPSIG(status);
    if (signal >= SIGRTMIN) ++ours;
    /* Stops of ptrace's own are not told. */
    ptrace(PTRACE_CONT, stopped, NULL, (long)(signal == SIGTRAP || signal == SIGSTOP ? 0 : signal));
  }
  printf("stopped by realtime signals: %d, status %d\n", ours,
         WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  return 0;
}
