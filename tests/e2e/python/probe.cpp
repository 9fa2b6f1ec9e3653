// SPDX-License-Identifier: Apache-2.0
//
// Samples the Python program that loads it and writes every record to a file.
//
// Stands in for inject/sample and the daemon: perf task-clock (else CPU-clock timers) on every
// thread, inject/python in the handler, one thread that drains the ring buffers.
//
// Context:  tests
#include <fcntl.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <libunwind.h>

#include "gpuprof/base/clock.hpp"
#include "inject/hot/outbox.hpp"
#include "inject/hot/recorder.hpp"
#include "inject/python/frames/frames.hpp"
#include "tests/e2e/python/in_process_segment.hpp"

namespace gpuprof {
namespace {

std::atomic<bool> g_running{false};
std::atomic<std::uint64_t> g_samples{0}, g_faults{0}, g_python_ns{0};
thread_local sigjmp_buf t_escape;
thread_local volatile sig_atomic_t t_guarded = 0;
int g_signal = 0;
std::thread g_collector;

void on_fault(int signal_number, siginfo_t*, void*) {
  if (t_guarded != 0) siglongjmp(t_escape, 1);
  signal(signal_number, SIG_DFL);
}

struct Frames {
  wire::StackDef def;
  std::uint64_t tail[wire::kMaxNativeFrames + 2 * wire::kMaxPythonFrames];
};

void read_python(const hot::Guard& guard, Frames* frames, std::uint64_t now) {
  auto* python = reinterpret_cast<wire::PyFrame*>(frames->tail + frames->def.native_count);
  if (sigsetjmp(t_escape, 0) != 0) {
    t_guarded = 0;
    g_faults.fetch_add(1);
    frames->def.flags |= wire::kStackPythonPartial;
    return;
  }
  t_guarded = 1;
  const python::ReadResult read =
      python::read_current_frames(guard, python, wire::kMaxPythonFrames, now);
  t_guarded = 0;
  frames->def.python_count = static_cast<std::uint16_t>(read.count);
  frames->def.flags |= read.flags;
}

void on_signal(int, siginfo_t*, void* context) {
  if (!g_running.load()) return;
  const hot::Guard guard(hot::RingRole::kSignal);
  if (!guard) return;
  const std::uint64_t now = base::mono_ns();
  Frames frames{};
  void* native[wire::kMaxNativeFrames];
  auto* machine = static_cast<unw_context_t*>(context);
  const int depth = unw_backtrace2(native, wire::kMaxNativeFrames, machine, UNW_INIT_SIGNAL_FRAME);
  frames.def.native_count = static_cast<std::uint16_t>(depth < 0 ? 0 : depth);
  memcpy(frames.tail, native, frames.def.native_count * sizeof(void*));
  const std::uint64_t before = base::mono_ns();
  read_python(guard, &frames, now);
  g_python_ns.fetch_add(base::mono_ns() - before);
  const auto bytes = static_cast<std::uint32_t>(frames.def.native_count * 8 +
                                                frames.def.python_count * sizeof(wire::PyFrame));
  frames.def.id = base::hash_step(base::hash_bytes(frames.tail, bytes), frames.def.flags);
  hot::send_stack_def(guard, frames.def, frames.tail, bytes, now);
  hot::record(guard, wire::Sample{now, frames.def.id, guard.tid(), 0, 0}, now);
  g_samples.fetch_add(1);
}

/// A trigger on one thread of this process; false if the kernel refuses perf events.
bool trigger(pid_t tid, int rate_hz) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.sample_period = static_cast<std::uint64_t>(1'000'000'000 / rate_hz);
  attr.exclude_kernel = 1;
  const int fd =
      static_cast<int>(syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0) return false;
  const f_owner_ex owner{F_OWNER_TID, tid};
  return fcntl(fd, F_SETSIG, g_signal) == 0 && fcntl(fd, F_SETOWN_EX, &owner) == 0 &&
         fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0 && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0;
}

bool cpu_timer(pid_t tid, int rate_hz) {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = g_signal;
  event._sigev_un._tid = tid;
  timer_t timer;
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3) | 6);
  if (timer_create(clock, &event, &timer) != 0) return false;
  itimerspec every{};
  every.it_value.tv_nsec = every.it_interval.tv_nsec = 1'000'000'000 / rate_hz;
  return timer_settime(timer, 0, &every, nullptr) == 0;
}

class Drain {
 public:
  explicit Drain(FILE* to) : to_(to) {}
  void all() {
    for (std::uint32_t i = 0; i < hot::g_state.ring_count; ++i)
      if (hot::g_state.rings[i].state.load() != 0) one(i);
  }

 private:
  void one(std::uint32_t index) {
    const wire::RingEntry& entry = hot::g_state.rings[index];
    auto* header = entry.ring.resolve<wire::RingHeader>(hot::g_state.segment.load(),
                                                        hot::g_state.segment_bytes);
    auto [at, added] = readers_.try_emplace(
        index, header, reinterpret_cast<const std::byte*>(header) + wire::kRingDataOffset,
        entry.capacity_bytes);
    wire::RingReader& reader = at->second;
    const std::uint64_t limit = reader.head_position();
    wire::RingReader::Frame frame;
    while (reader.next(limit, scratch_, &frame) == wire::RingReader::Next::kFrame) {
      const std::uint32_t head[2] = {static_cast<std::uint32_t>(frame.kind), frame.payload_bytes};
      fwrite(head, sizeof head, 1, to_);
      fwrite(frame.payload, frame.payload_bytes, 1, to_);
    }
    reader.consume();
  }
  FILE* to_;
  std::map<std::uint32_t, wire::RingReader> readers_;
  alignas(8) std::byte scratch_[wire::kMaxFrameBytes];
};

void collect(std::string out) {
  FILE* file = fopen(out.c_str(), "wb");
  Drain drain(file);
  while (g_running.load()) {
    usleep(2000);
    drain.all();
  }
  usleep(50'000);
  drain.all();
  fclose(file);
  std::ofstream(out + ".maps") << std::ifstream("/proc/self/maps").rdbuf();
}

void print_fact(const char* key, const char* value) {
  fprintf(stderr, "probe: %s = %s\n", key, value);
}
void print_notice(wire::Feature, wire::NoticeLevel, std::uint32_t, const char* text) {
  fprintf(stderr, "probe: notice: %s\n", text);
}

}  // namespace
}  // namespace gpuprof

using namespace gpuprof;

/// Samples every thread that exists now; 0 when it works.
extern "C" __attribute__((visibility("default"))) int gpuprof_probe_start(const char* out,
                                                                          int rate_hz) {
  g_signal = SIGRTMAX - 6;
  hot::g_outbox.send_fact = print_fact;
  hot::g_outbox.send_notice = print_notice;
  if (!tests::open_in_process_segment(24, 8)) return 1;
  if (!python::find_runtime() || !python::ready()) return 2;
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  action.sa_sigaction = on_signal;
  sigaction(g_signal, &action, nullptr);
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  action.sa_sigaction = on_fault;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
  std::vector<pid_t> tids;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    tids.push_back(std::stoi(task.path().filename()));
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  g_running = true;
  g_collector = std::thread(collect, std::string(out));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (const pid_t tid : tids)
    if (!trigger(tid, rate_hz) && !cpu_timer(tid, rate_hz)) return 3;
  return 0;
}

extern "C" __attribute__((visibility("default"))) int gpuprof_probe_samples() {
  return static_cast<int>(g_samples.load());
}

extern "C" __attribute__((visibility("default"))) void gpuprof_probe_stop() {
  g_running = false;
  g_collector.join();
  const std::uint64_t samples = g_samples.load();
  fprintf(stderr, "probe: %lu samples, %lu faults, %lu dropped, python part %lu ns mean\n", samples,
          g_faults.load(), hot::g_state.stats->counters[0].load(),
          samples != 0 ? g_python_ns.load() / samples : 0);
}
