// SPDX-License-Identifier: Apache-2.0
//
// Ranks that meet in collectives without NCCL: one process for each, forked before any of them
// touches the driver. For the tests of pending operations.
//
//   sim_ranks RANKS late|kill|leave|full      rank 1 comes 20 ms after all others, dies, leaves,
//   comes
//                                             while rank 0 fills its queue
//   sim_ranks 1 host                          host functions and default-stream rules
//
// Context:  tests
// Owns:     its child processes
// Promises: prints `key value` rows; exit code 0 if every rank that lives came to its end
// Not here: checks of times: they are read from the truth log
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/clock.hpp"
#include "core/collective/collective.hpp"
#include "core/driver.hpp"
#include "core/handles.hpp"
#include "core/work/library_kernel.hpp"
#include "core/work/timeline.hpp"

using namespace gpusim;

namespace {

constexpr std::size_t kCount = 16;

/// How many ranks have gone as far as they get without rank 1; shared by the processes.
std::atomic<int>* g_waiting;

struct Rank {
  RankState state;
  Context* context;
  Stream* stream;
  Stream* side;
  float* values;
  float* host;
};

void* memory(Context* context, MemoryKind kind, std::size_t bytes) {
  std::uintptr_t address = 0;
  if (allocate(context, kind, bytes, &address) != 0) std::exit(3);
  return reinterpret_cast<void*>(address);
}

Rank start(const char* key, int ranks, int rank) {
  Rank r;
  if (set_runtime_device(rank) != 0) std::exit(4);
  r.context = runtime_context();
  r.stream = create_stream(r.context, 1, 0);
  r.side = create_stream(r.context, 1, 0);
  r.values = static_cast<float*>(memory(r.context, kDeviceMemory, kCount * sizeof(float)));
  r.host = static_cast<float*>(memory(r.context, kPinned, kCount * sizeof(float)));
  r.state.segment = RankSegment::join(key, ranks, rank);
  if (r.state.segment == nullptr || !r.state.segment->wait_for_all()) std::exit(5);
  return r;
}

void launch(Stream* stream, const char* name, std::unique_ptr<Rendezvous> rendezvous = nullptr) {
  const LibraryKernel kernel{name, {1, 1, 1}, {256, 1, 1}, {0, 0, 0}, 32, 0, 0, 0, 0, 0, 0};
  launch_library_kernel(stream, kernel, std::move(rendezvous));
}

void sum(Rank& r, const char* name) {
  Collective c{};
  c.kind = CollectiveKind::kAllReduce;
  c.from = c.to = r.values;
  c.count = kCount;
  c.number = Number::kFloat;
  launch(r.stream, name, next_round(r.state, c));
}

void copy_down(Rank& r, Stream* stream) {
  DeviceOp op{};
  op.kind = OpKind::kMemcpy;
  op.async = true;
  op.copy_kind = kDtoH;
  op.src_kind = kDeviceMemory;
  op.dst_kind = kPinned;
  op.bytes = kCount * sizeof(float);
  submit(stream, op,
         {.to = reinterpret_cast<std::uintptr_t>(r.host),
          .from = reinterpret_cast<std::uintptr_t>(r.values),
          .bytes = op.bytes});
}

/// What stands behind a collective: an event, a copy on another stream, a wait.
int follow(Rank& r, int rank) {
  Event* event = create_event(r.context, 0);
  record_event(event, r.stream);
  wait_event(r.side, event);
  copy_down(r, r.side);
  launch(r.stream, "behind");
  std::printf("asked rank %d event_known %d stream_known %d\n", rank,
              event_time_ns(event) != kNever ? 1 : 0, tail_ns(r.side) != kNever ? 1 : 0);
  g_waiting->fetch_add(1);
  synchronize_event(event);
  const bool event_done = event_time_ns(event) <= now_ns();
  synchronize_stream(r.side);
  synchronize_context(r.context);
  std::printf("result rank %d value %g event_done %d\n", rank, static_cast<double>(r.host[3]),
              event_done ? 1 : 0);
  return 0;
}

int run_rank(const char* mode, const char* key, int ranks, int rank) {
  Rank r = start(key, ranks, rank);
  for (std::size_t i = 0; i < kCount; ++i) r.values[i] = static_cast<float>(rank + 1);
  sum(r, "first");
  synchronize_stream(r.stream);
  const bool is = rank == 1;
  if (is && std::strcmp(mode, "kill") == 0) kill(getpid(), SIGKILL);
  if (is && std::strcmp(mode, "leave") == 0) {
    r.state.segment->leave();
    return 0;
  }
  const bool late = std::strcmp(mode, "late") == 0, full = std::strcmp(mode, "full") == 0;
  while (is && (late || full) && g_waiting->load() < ranks - 1) usleep(1000);
  if (is) usleep(20000);
  sum(r, "second");
  if (full && rank == 0) {
    g_waiting->fetch_add(1);
    for (int i = 0; i < 1500; ++i) launch(r.stream, "storm");
    std::printf("storm queued_after %zu\n", r.stream->queue.size());
  }
  return follow(r, rank);
}

struct Held {
  std::atomic<bool> over{false};
  std::uint64_t returned = 0;
};

void called(void* user) {
  auto& held = *static_cast<Held*>(user);
  while (!held.over) usleep(1000);
  held.returned = now_ns();
}

/// One host function holds up its own stream and the default stream, and nothing else.
int run_host(const char* key) {
  Rank r = start(key, 1, 0);
  Stream* blocking = create_stream(r.context, 0, 0);
  Held held;
  launch(blocking, "before");
  enqueue_host_function(blocking, called, &held);
  launch(blocking, "after");
  launch(&r.context->null_stream, "default");
  launch(r.stream, "free");
  const bool known = tail_ns(blocking) != kNever;
  synchronize_stream(r.stream);
  held.over = true;
  synchronize_stream(&r.context->null_stream);
  std::printf("host known %d returned %llu\n", known ? 1 : 0,
              static_cast<unsigned long long>(held.returned));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int ranks = std::atoi(argv[1]);
  char key[32];
  std::snprintf(key, sizeof key, "test%d", getpid());
  std::printf("key name %s\n", key);
  std::fflush(stdout);
  g_waiting = static_cast<std::atomic<int>*>(
      mmap(nullptr, sizeof *g_waiting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (std::strcmp(argv[2], "host") == 0) return run_host(key);
  for (int rank = 0; rank < ranks; ++rank)
    if (fork() == 0) std::exit(run_rank(argv[2], key, ranks, rank));
  int failed = 0;
  for (int status = 0; wait(&status) > 0;)
    failed += WIFEXITED(status) && WEXITSTATUS(status) != 0 ? 1 : 0;
  return failed;
}
