// SPDX-License-Identifier: Apache-2.0
//
// Builds the tail of a StackDef and its id.
//
// Context:  signal | callback
// Owns:     nothing
#include "inject/sample/unwind/stack_capture.hpp"

#include "gpuprof/base/bytes.hpp"
#include "inject/sample/fault_guard/fault_guard.hpp"

namespace gpuprof::sample {

namespace {

struct Tail {
  std::uint64_t native[wire::kMaxNativeFrames];
  wire::PyFrame python_room[wire::kMaxPythonFrames];  // frames follow the native ones directly
};
static_assert(sizeof(Tail) <= sizeof(hot::RingProducer::scratch));

struct Job {
  const hot::Guard* guard;
  const StackRequest* request;
  Tail* tail;
  std::uint64_t ts_ns;
  UnwindResult walk;
  python::ReadResult python;
};

wire::PyFrame* python_frames(const Job& job) {
  return reinterpret_cast<wire::PyFrame*>(job.tail->native + job.walk.count);
}

void walk_native(void* argument) {
  Job& job = *static_cast<Job*>(argument);
  const StackRequest& request = *job.request;
  job.walk = unwind(request.start, request.interrupted, request.copy, job.tail->native,
                    wire::kMaxNativeFrames,
                    request.taken != nullptr ? &request.taken->footprint : nullptr);
}

void read_python(void* argument) {
  Job& job = *static_cast<Job*>(argument);
  const StackRequest& request = *job.request;
  wire::PyFrame* frames = python_frames(job);
  job.python =
      request.read_python == nullptr
          ? python::read_current_frames(*job.guard, frames, wire::kMaxPythonFrames, job.ts_ns)
          : request.read_python(*job.guard, request.blocked_tid, frames, wire::kMaxPythonFrames,
                                job.ts_ns);
}

void take_native(Job& job) {
  if (!job.request->parts.native) return;
  if (is_guard_active() && call_guarded(walk_native, &job)) return;
  if (is_guard_active()) hot::count(wire::Counter::kUnwindFaults);
  // The program counter at least is known.
  job.tail->native[0] = program_counter(job.request->start);
  job.walk = UnwindResult{1, wire::kStackNativeTruncated};
}

void take_python(Job& job) {
  if (!job.request->parts.python || !python::ready() || !is_guard_active()) return;
  if (call_guarded(read_python, &job)) return;
  hot::count(wire::Counter::kPythonFaults);
  job.python = python::ReadResult{0, wire::kStackPythonPartial};
}

std::uint64_t id_of(const Tail* tail, std::uint32_t bytes, std::uint32_t flags) {
  const std::uint64_t id = base::hash_words(tail->native, bytes / sizeof(std::uint64_t), flags);
  return id == 0 ? 1 : id;
}

}  // namespace

std::uint64_t capture_stack(const hot::Guard& guard, const StackRequest& request,
                            std::uint64_t ts_ns) {
  const std::uint32_t drops = guard.producer().ring.drop_count();
  Job job{&guard, &request, reinterpret_cast<Tail*>(guard.producer().scratch), ts_ns, {}, {}};
  take_native(job);
  take_python(job);
  if (request.taken != nullptr) {
    request.taken->python_count = job.python.count;
    request.taken->python_whole = job.python.flags == 0;
  }
  if ((job.walk.flags & wire::kStackNativeTruncated) != 0)
    hot::count(wire::Counter::kUnwindTruncated);
  if ((job.python.flags & wire::kStackPythonPartial) != 0)
    hot::count(wire::Counter::kPythonPartial);
  const std::uint32_t bytes =
      job.walk.count * 8 + job.python.count * static_cast<std::uint32_t>(sizeof(wire::PyFrame));
  if (bytes == 0) return 0;
  const std::uint32_t flags = job.walk.flags | job.python.flags | request.flags;
  const wire::StackDef def{id_of(job.tail, bytes, flags),
                           static_cast<std::uint16_t>(job.walk.count),
                           static_cast<std::uint16_t>(job.python.count), flags};
  // A stack is sent once: it waits for the next sample where one of its code objects found no room.
  if (guard.producer().ring.drop_count() == drops)
    hot::send_stack_def(guard, def, job.tail, bytes, ts_ns);
  return def.id;
}

}  // namespace gpuprof::sample
