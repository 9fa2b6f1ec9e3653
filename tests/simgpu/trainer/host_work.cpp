// SPDX-License-Identifier: Apache-2.0
//
// The call tree.
//
// Context:  any thread
// Owns:     nothing
// Promises: see host_work.hpp
// Not here: device work
#include "trainer/host_work.hpp"

#include <cmath>
#include <ctime>

namespace trainer {
namespace {

#define SIM_FRAME __attribute__((noinline))

volatile double g_sink;

double cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

SIM_FRAME double tokenize(double until) {
  double x = 1;
  while (cpu_ms() < until)
    for (int i = 0; i < 200; ++i) x = std::sin(x) + 1.0;
  return x;
}

SIM_FRAME double augment_image(double until) {
  double x = 2;
  while (cpu_ms() < until)
    for (int i = 0; i < 200; ++i) x = std::sqrt(x + 1.5);
  return x;
}

SIM_FRAME double transform(long depth, double until) {
  if (depth > 0) {
    const double x = transform(depth - 1, until);
    g_sink = x;  // keeps the frame: not a tail call
    return x + 1;
  }
  const double half = (cpu_ms() + until) / 2;
  const double a = tokenize(half);
  const double b = augment_image(until);
  g_sink = a;
  return a + b;
}

struct DataPipeline {
  virtual ~DataPipeline() = default;
  SIM_FRAME virtual double collate(long depth, double until) {
    const double x = transform(depth, until);
    g_sink = x;
    return x * 2;
  }
};

}  // namespace

SIM_FRAME void prepare_batch(double milliseconds, long depth) {
  if (milliseconds <= 0) return;
  DataPipeline pipeline;
  g_sink = pipeline.collate(depth, cpu_ms() + milliseconds);
}

}  // namespace trainer
