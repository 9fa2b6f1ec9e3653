// SPDX-License-Identifier: Apache-2.0
// Computes for some seconds: on the main thread, on two threads made while it had done nothing yet,
// or on a thread made late; or does nothing but ask the kernel. usage: worker
// main|threads|late|asks SECONDS
#include <sys/resource.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>

__attribute__((noinline)) double hot_native(double seconds) {
  timespec now;
  double sum = 0;
  do {
    for (int i = 0; i < 100000; ++i) sum += std::sqrt(static_cast<double>(i));
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while (static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) < seconds);
  return sum;
}

double in_seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

__attribute__((noinline)) void hot_native_asks(double seconds) {
  rusage used{};
  do {
    getrusage(RUSAGE_SELF, &used);
  } while (in_seconds(used.ru_utime) + in_seconds(used.ru_stime) < seconds);
}

int main(int count, char** words) {
  const char* how = count > 1 ? words[1] : "main";
  const double seconds = count > 2 ? std::atof(words[2]) : 1.0;
  if (std::strcmp(how, "threads") == 0) {
    std::thread one(hot_native, seconds), other(hot_native, seconds);
    one.join(), other.join();
  } else if (std::strcmp(how, "late") == 0) {
    hot_native(0.005);
    std::thread(hot_native, seconds).join();
  } else if (std::strcmp(how, "asks") == 0) {
    hot_native_asks(seconds);
  } else {
    hot_native(seconds);
  }
  std::puts("computed");
  return 7;
}
