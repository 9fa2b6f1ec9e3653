// SPDX-License-Identifier: Apache-2.0
//
// The sampler without agent and daemon, for LD_PRELOAD: one thread takes the sampler's turns and
// empties the ring buffers. At exit it writes what it counted.
//
//   GPUPROF_PROBE=KIND:RATE[:FILE]    KIND perf, cpu-timer, tgkill or wall (where built)
//
// Context:  tests
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "gpuprof/base/clock.hpp"
#include "gpuprof/wire/segment.hpp"
#include "inject/hot/outbox.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/thread_block.hpp"
#include "inject/sample/sampler.hpp"

namespace {

using namespace gpuprof;

constexpr std::uint32_t kLarge = 8, kSmall = 180;

struct Probe {
  sample::Settings settings;
  const char* report = nullptr;
  std::uint8_t* base = nullptr;
  wire::SegmentLayout layout{};
  wire::RingReader readers[kLarge + kSmall];
  std::atomic<bool> go_on{true};
  std::atomic<bool> quit{false};
  pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;  // held in each turn and across a fork
  std::uint64_t samples = 0, truncated = 0, frames = 0, stacks = 0, corrupt = 0;
  std::uint64_t main_weight_ns = 0, main_samples = 0;
  std::uint32_t main_tid = 0;
};
Probe g_probe;

void lay_segment() {
  Probe& p = g_probe;
  p.layout = wire::segment_layout(kLarge, kSmall);
  p.base = static_cast<std::uint8_t*>(mmap(nullptr, p.layout.total_bytes, PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  auto* rings = reinterpret_cast<wire::RingEntry*>(p.base + p.layout.directory_offset);
  std::uint64_t at = p.layout.rings_offset;
  for (std::uint32_t i = 0; i < kLarge + kSmall; ++i) {
    const std::uint64_t bytes = wire::ring_bytes(i, kLarge);
    auto* entry = new (&rings[i]) wire::RingEntry{};
    auto* header = new (p.base + at) wire::RingHeader{};
    entry->ring.distance = p.base + at - reinterpret_cast<std::uint8_t*>(&entry->ring);
    entry->capacity_bytes = bytes;
    p.readers[i] = wire::RingReader(
        header, reinterpret_cast<std::byte*>(p.base + at + wire::kRingDataOffset), bytes);
    at += bytes + wire::kRingDataOffset;
  }
}

bool publish() {
  Probe& p = g_probe;
  auto& state = hot::g_state;
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || madvise(page, 4096, MADV_WIPEONFORK) != 0) return false;
  *static_cast<std::uint32_t*>(page) = 1;
  state.segment_bytes = p.layout.total_bytes;
  state.rings = reinterpret_cast<wire::RingEntry*>(p.base + p.layout.directory_offset);
  state.ring_count = kLarge + kSmall;
  state.large_rings = kLarge;
  state.plan = new (p.base + p.layout.plan_offset) wire::Plan{};
  state.stats = new (p.base + p.layout.stats_offset) wire::Stats{};
  state.segment.store(p.base);
  state.epoch.fetch_add(1);
  state.on.store(hot::kOnSamples);
  state.owner_page.store(static_cast<std::uint32_t*>(page));
  return hot::map_thread_blocks();
}

void keep(const wire::RingReader::Frame& frame) {
  Probe& p = g_probe;
  if (frame.kind == wire::Kind::kSample) {
    const auto sample = base::load<wire::Sample>(frame.payload);
    ++p.samples;
    if (sample.tid == p.main_tid && sample.state == 0) {
      ++p.main_samples;
      p.main_weight_ns += sample.weight_ns;
    }
  }
  if (frame.kind == wire::Kind::kStackDef) {
    const auto def = base::load<wire::StackDef>(frame.payload);
    ++p.stacks;
    p.frames += def.native_count;
    p.truncated += (def.flags & wire::kStackNativeTruncated) != 0;
  }
}

void drain() {
  alignas(8) static std::byte scratch[wire::kMaxFrameBytes];
  for (std::uint32_t i = 0; i < kLarge + kSmall; ++i) {
    wire::RingEntry& entry = hot::g_state.rings[i];
    const auto state = static_cast<wire::RingState>(entry.state.load(std::memory_order_acquire));
    if (state == wire::RingState::kFree) continue;
    wire::RingReader& reader = g_probe.readers[i];
    const std::uint64_t limit = reader.head_position();
    wire::RingReader::Frame frame;
    wire::RingReader::Next next;
    while ((next = reader.next(limit, scratch, &frame)) == wire::RingReader::Next::kFrame)
      keep(frame);
    if (next == wire::RingReader::Next::kCorrupt) {
      ++g_probe.corrupt;
      reader.skip_to(limit);
    }
    reader.consume();
    if (state == wire::RingState::kRetired)
      entry.state.store(static_cast<std::uint32_t>(wire::RingState::kFree),
                        std::memory_order_release);
  }
}

void* work(void*) {
  hot::g_state.worker_tid.store(static_cast<std::uint32_t>(syscall(SYS_gettid)));
  sample::prepare();
  sample::start(g_probe.settings);
  while (g_probe.go_on) {
    pthread_mutex_lock(&g_probe.turn);
    const std::uint32_t ms = sample::tick(base::mono_ns());
    drain();
    pthread_mutex_unlock(&g_probe.turn);
    usleep(ms * 1000);
  }
  sample::stop();
  drain();
  g_probe.quit = true;
  return nullptr;
}

void before_fork() {
  sample::before_fork();
  pthread_mutex_lock(&g_probe.turn);
}
void after_fork_parent() {
  pthread_mutex_unlock(&g_probe.turn);
  sample::after_fork_parent();
}
void after_fork_child() {
  pthread_mutex_unlock(&g_probe.turn);
  hot::g_state.owner_page.store(nullptr);
  hot::g_state.stats = nullptr;
  hot::reset_threads_after_fork();
  sample::after_fork_child();
  g_probe.main_tid = 0;
}

std::uint64_t counter(wire::Counter which) {
  return hot::g_state.stats->counters[static_cast<std::uint32_t>(which)].load();
}

bool read_settings(const char* text) {
  char kind[16] = "";
  unsigned rate = 0;
  int used = 0;
  if (sscanf(text, "%15[a-z-]:%u%n", kind, &rate, &used) != 2) return false;
  g_probe.settings.rate_hz = rate;
  g_probe.settings.kind = strcmp(kind, "perf") == 0        ? wire::SamplerKind::kPerf
                          : strcmp(kind, "cpu-timer") == 0 ? wire::SamplerKind::kCpuTimer
                          : strcmp(kind, "tgkill") == 0    ? wire::SamplerKind::kTgkill
                          : strcmp(kind, "wall") == 0      ? wire::SamplerKind::kWallTestOnly
                                                           : wire::SamplerKind::kAuto;
  if (text[used] == ':') g_probe.report = text + used + 1;
  return true;
}

__attribute__((constructor)) void begin() {
  const char* text = getenv("GPUPROF_PROBE");
  if (text == nullptr || !read_settings(text)) return;
  g_probe.main_tid = static_cast<std::uint32_t>(getpid());
  lay_segment();
  if (!publish()) return;
  hot::g_outbox.send_notice = [](wire::Feature, wire::NoticeLevel, std::uint32_t,
                                 const char* output) {
    if (getenv("GPUPROF_PROBE_SAY") != nullptr) fprintf(stderr, "probe: %s\n", output);
  };
  pthread_atfork(before_fork, after_fork_parent, after_fork_child);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  pthread_create(&thread, nullptr, work, nullptr);
  pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

__attribute__((destructor)) void end() {
  Probe& p = g_probe;
  if (p.main_tid != static_cast<std::uint32_t>(getpid())) return;
  p.go_on = false;
  for (int i = 0; i < 400 && !p.quit; ++i) usleep(5000);
  FILE* out = p.report == nullptr ? stderr : fopen(p.report, "w");
  if (out == nullptr) return;
  fprintf(out,
          "samples=%lu taken=%lu blocked=%lu torn=%lu late=%lu no_room=%lu unwind_faults=%lu "
          "python_faults=%lu truncated_stacks=%lu stacks=%lu frames=%lu dropped=%lu corrupt=%lu "
          "masked=%lu no_trigger=%lu no_lane=%lu main_samples=%lu main_weight_ms=%lu rate_mhz=%lu "
          "sampler=%lu\n",
          p.samples, counter(wire::Counter::kSamplesTaken), counter(wire::Counter::kSamplesBlocked),
          counter(wire::Counter::kBlockedTorn), counter(wire::Counter::kSamplesWhileOff),
          counter(wire::Counter::kSamplesNoStackRoom), counter(wire::Counter::kUnwindFaults),
          counter(wire::Counter::kPythonFaults), p.truncated, p.stacks, p.frames,
          counter(wire::Counter::kDroppedRingFull), p.corrupt,
          counter(wire::Counter::kThreadsBlockingSignal), counter(wire::Counter::kThreadsNoTrigger),
          counter(wire::Counter::kDroppedNoRing), p.main_samples, p.main_weight_ns / 1000000,
          hot::g_state.stats->effective_rate_mhz.load(), hot::g_state.stats->sampler.load());
  if (out != stderr) fclose(out);
}

}  // namespace
