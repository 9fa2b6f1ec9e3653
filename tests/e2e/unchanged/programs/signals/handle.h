/* SPDX-License-Identifier: Apache-2.0
 * One handler with its flags, and an empty mask. */
#pragma once
#include <signal.h>
#include <string.h>

static void handle(int number, void (*handler)(int), int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(number, &action, NULL);
}
