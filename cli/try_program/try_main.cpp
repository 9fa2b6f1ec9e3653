// SPDX-License-Identifier: Apache-2.0
//
// gpuprof-try: the program that `gpuprof doctor --try` records. It works for a while, on a GPU
// where there is one, and says what it did as JSON.
//
// usage: gpuprof-try MILLISECONDS | gpuprof-try until-eof
//
// Context:  a process of its own
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "cli/messages/doctor_trial.hpp"
#include "cli/try_program/try_gpu.hpp"

namespace {

using gpuprof::tried::GpuStatus;

std::uint64_t cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

bool stdin_ended() {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(0, &set);
  timeval none{0, 0};
  char byte = 0;
  return select(1, &set, nullptr, nullptr, &none) > 0 && read(0, &byte, 1) <= 0;
}

volatile double g_result = 1;

const char* word(GpuStatus found) {
  return found == GpuStatus::kUsable ? "used" : found == GpuStatus::kNone ? "none" : "broken";
}

}  // namespace

/// What is to be found by name in stacks: two milliseconds on a processor.
extern "C" __attribute__((noinline, visibility("default"))) void gpuprof_try_work() {
  const std::uint64_t until_ns = cpu_ns() + 2'000'000;
  while (cpu_ns() < until_ns)
    for (int i = 0; i < 1000; ++i) g_result = g_result * 1.0000001 + 0.5;
}

int main(int argc, char** argv) {
  const bool until_eof = argc > 1 && strcmp(argv[1], "until-eof") == 0;
  const long time_ms = argc > 1 ? strtol(argv[1], nullptr, 10) : 0;
  if (!until_eof && time_ms <= 0) {
    fputs(gpuprof::messages::doctor_trial::kUsage, stderr);
    return 2;
  }
  gpuprof::tried::Gpu gpu;
  const char* why = "";
  GpuStatus found = gpu.open(&why);
  const auto work = [&] {
    if (found == GpuStatus::kUsable && !gpu.run_workload())
      found = GpuStatus::kBroken, why = gpuprof::messages::doctor_trial::kCallFailed;
  };
  if (until_eof) {
    work();
    // Whoever reads it may attach now.
    puts("works");
    fflush(stdout);
  }
  const std::uint64_t end_ns = cpu_ns() + static_cast<std::uint64_t>(time_ms) * 1'000'000;
  while (until_eof ? !stdin_ended() : cpu_ns() < end_ns) {
    gpuprof_try_work();
    work();
  }
  const auto& did = gpu.counts();
  printf("{\"gpu\":\"%s\",\"why\":\"%s\",\"kernels\":%llu,\"copies\":%llu,\"sets\":%llu}\n",
         word(found), why, static_cast<unsigned long long>(did.kernels),
         static_cast<unsigned long long>(did.copies), static_cast<unsigned long long>(did.sets));
  return 0;
}
