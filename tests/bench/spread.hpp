// SPDX-License-Identifier: Apache-2.0
//
// Median and spread of repeated measurements.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace gpuprof::test {

template <typename F>
double seconds_of(F&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// CPU time of the whole process while `work` runs: what a busy machine does not change.
template <typename F>
double cpu_seconds_of(F&& work) {
  const auto now = [] {
    timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return static_cast<double>(ts.tv_sec) + static_cast<double>(ts.tv_nsec) * 1e-9;
  };
  const double start = now();
  work();
  return now() - start;
}

inline void print_spread(const char* what, std::vector<double> values, const char* unit) {
  std::sort(values.begin(), values.end());
  std::printf("%s median %.4g, from %.4g to %.4g %s (%zu repetitions)\n", what,
              values[values.size() / 2], values.front(), values.back(), unit, values.size());
}

}  // namespace gpuprof::test
