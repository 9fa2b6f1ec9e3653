// SPDX-License-Identifier: Apache-2.0
//
// Uses a given amount of the main thread's CPU time, with as many sleeping threads as asked for.
//
// usage: sampler_busy CPU_SECONDS [SLEEPERS]   prints CPU seconds of the main thread, of the
// process and its context switches
//
// Context:  tests
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace {

double seconds_of(clockid_t clock) {
  timespec at;
  clock_gettime(clock, &at);
  return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) * 1e-9;
}

__attribute__((noinline)) void compute(double cpu_s) {
  const double end = seconds_of(CLOCK_THREAD_CPUTIME_ID) + cpu_s;
  volatile unsigned long x = 1;
  while (seconds_of(CLOCK_THREAD_CPUTIME_ID) < end)
    for (int i = 0; i < 50000; ++i) x = x * 3 + 1;
}

}  // namespace

int main(int argc, char** argv) {
  const double cpu_s = argc > 1 ? std::atof(argv[1]) : 1;
  const int sleepers = argc > 2 ? std::atoi(argv[2]) : 0;
  std::mutex mutex;
  std::condition_variable wake;
  bool done = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < sleepers; ++i)
    threads.emplace_back([&] {
      std::unique_lock<std::mutex> lock(mutex);
      wake.wait(lock, [&] { return done; });
    });
  if (cpu_s < 0)
    sleep(static_cast<unsigned>(-cpu_s));
  else
    compute(cpu_s);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("main_cpu=%.3f process_cpu=%.3f switches=%ld\n", seconds_of(CLOCK_THREAD_CPUTIME_ID),
              seconds_of(CLOCK_PROCESS_CPUTIME_ID), usage.ru_nvcsw + usage.ru_nivcsw);
  {
    const std::lock_guard<std::mutex> lock(mutex);
    done = true;
  }
  wake.notify_all();
  for (std::thread& thread : threads) thread.join();
  return 0;
}
