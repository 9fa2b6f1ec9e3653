/* SPDX-License-Identifier: Apache-2.0
 * Sleeps and timed waits are not cut short; errno of a loop of calls stays what it was. */
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(void) {
  int cut = 0;
  sem_t sem;
  sem_init(&sem, 0, 0);
  for (int i = 0; i < 20; ++i) {
    struct timespec t = {0, 20000000}, left, until;
    if (nanosleep(&t, &left) != 0) ++cut;
    if (poll(NULL, 0, 20) < 0) ++cut;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    if (until.tv_nsec >= 1000000000L) {
      until.tv_nsec -= 1000000000L;
      ++until.tv_sec;
    }
    if (sem_timedwait(&sem, &until) != 0 && errno != ETIMEDOUT) ++cut;
    errno = 0;
    for (volatile long k = 0; k < 3000000L; ++k) {
    }
    if (errno != 0) ++cut;
  }
  printf("cut short: %d\n", cut);
  return cut != 0;
}
