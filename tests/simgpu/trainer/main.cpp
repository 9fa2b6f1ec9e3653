// SPDX-License-Identifier: Apache-2.0
//
// sim_trainer: an ordinary training program on the CUDA driver API, unaware of any profiler.
//
// Context:  main thread
// Owns:     worker threads and helper processes until the end of main
// Promises: stdout is the same for the same options, except with --progress; every fact is one
//           `result` line
// Not here: the step loop (worker.cpp)
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "trainer/host_work.hpp"
#include "trainer/kernel_names.hpp"
#include "trainer/options.hpp"
#include "trainer/own_profiler.hpp"
#include "trainer/ranges.hpp"
#include "trainer/worker.hpp"

namespace {

using trainer::Counters;
using trainer::Options;

std::uint64_t clock_ns(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

/// Prints the counts of what has certainly been done, at most every 20 ms.
void print_progress(const Counters& c) {
  static std::uint64_t next = 0;
  const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
  if (now < next) return;
  next = now + 20000000;
  std::printf("progress monotonic_ns %" PRIu64 " realtime_ns %" PRIu64
              " steps %ld kernels %ld launches %ld memcpys %ld\n",
              now, clock_ns(CLOCK_REALTIME), c.steps.load(), c.kernels.load(), c.launches.load(),
              c.copies[0] + c.copies[1] + c.copies[2] + c.copies[3]);
  std::fflush(stdout);
}

void print_results(const Options& o, const Counters& c) {
  static const char* const kKinds[trainer::kCopyKinds] = {"HtoD", "DtoH", "DtoD", "PtoP"};
  std::printf("result steps %ld\n", c.steps.load());
  std::printf("result kernels %ld\n", c.kernels.load());
  std::printf("result kernels_per_step %ld\n", (o.kernels + o.graph_nodes) * o.threads);
  for (int i = 0; i < trainer::kKernelNames; ++i)
    if (c.by_name[i] > 0)
      std::printf("result kernel %ld %s\n", c.by_name[i].load(), trainer::kNames[i]);
  for (int i = 0; i < trainer::kCopyKinds; ++i)
    if (c.copies[i] > 0)
      std::printf("result memcpy %s %ld bytes %ld\n", kKinds[i], c.copies[i].load(),
                  c.copy_bytes[i].load());
  std::printf("result memset %ld bytes %ld\n", c.memsets.load(), c.memset_bytes.load());
  std::printf("result graph_launches %ld\n", c.graph_launches.load());
  if (o.profile_until > o.profile_from)
    std::printf("result own_profiler_kernels %ld\n", trainer::own_profiler_kernels());
  std::printf("result devices %ld\nresult streams %ld\nresult threads %ld\nresult helpers %ld\n",
              o.devices, o.streams * o.threads, o.threads, o.helpers);
  std::fflush(stdout);
}

/// Children that burn a little CPU until the pipe closes, like data-loader workers.
std::vector<pid_t> start_helpers(long count, int read_end, int write_end) {
  std::vector<pid_t> children;
  for (long i = 0; i < count; ++i) {
    const pid_t pid = fork();
    if (pid != 0) {
      children.push_back(pid);
      continue;
    }
    close(write_end);
    char byte = 0;
    fd_set set;
    for (;;) {
      trainer::prepare_batch(1, 8);
      timeval wait{0, 9000};
      FD_ZERO(&set);
      FD_SET(read_end, &set);
      if (select(read_end + 1, &set, nullptr, nullptr, &wait) > 0 && read(read_end, &byte, 1) <= 0)
        _exit(0);
    }
  }
  return children;
}

void train_on_all_threads(const Options& o, Counters& c) {
  std::vector<std::thread> threads;
  for (int i = 1; i < o.threads; ++i) {
    threads.emplace_back([&o, &c, i] {
      trainer::name_thread(("trainer " + std::to_string(i)).c_str());
      trainer::train(o, i, c, nullptr);
    });
  }
  trainer::train(o, 0, c, o.progress ? print_progress : nullptr);
  for (std::thread& t : threads) t.join();
}

int leave(const std::string& how) {
  if (how == "exit") std::exit(7);
  if (how == "_exit") _exit(7);
  if (how == "abort") std::abort();
  if (how == "kill") raise(SIGKILL);
  if (how == "exception") throw std::runtime_error("sim_trainer was asked to end by an exception");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = trainer::parse(argc, argv);
  static Counters counters;
  trainer::use_ranges(!o.no_nvtx);
  int pipe_ends[2] = {-1, -1};
  if (o.helpers > 0 && pipe(pipe_ends) != 0) return 4;
  std::vector<pid_t> helpers;
  if (!o.helpers_late) helpers = start_helpers(o.helpers, pipe_ends[0], pipe_ends[1]);
  if (o.start_pause_ms > 0) usleep(static_cast<useconds_t>(o.start_pause_ms * 1000));

  if (trainer::cuda_devices() < o.devices) {
    std::fprintf(stderr, "sim_trainer: fewer than %ld devices\n", o.devices);
    return 3;
  }
  if (o.helpers_late) helpers = start_helpers(o.helpers, pipe_ends[0], pipe_ends[1]);
  const std::uint64_t range = trainer::start_training_range();
  train_on_all_threads(o, counters);
  trainer::end_training_range(range);

  if (o.helpers > 0) close(pipe_ends[1]);
  for (const pid_t pid : helpers) waitpid(pid, nullptr, 0);
  print_results(o, counters);
  return leave(o.exit_how);
}
