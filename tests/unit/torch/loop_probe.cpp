// SPDX-License-Identifier: Apache-2.0
//
// A library for ctypes: a call of probe_mark() stands for a top-level operator, so that the rule
// can be tried with every interpreter, PyTorch or not.
//
// Context:  tests
#include <string.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/wire/records.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/thread_block.hpp"
#include "inject/python/frames/fast_frames.hpp"
#include "inject/python/frames/frames.hpp"
#include "inject/torch/loops/iterations.hpp"
#include "inject/torch/operators/operator_stack.hpp"
#include "tests/unit/python/same_place.hpp"

namespace {

using namespace gpuprof;

/// One loop and how often it went round.
struct Counted {
  std::uint64_t code;  // address
  std::uint64_t target;
  std::uint64_t level;
  std::uint64_t strong, weak, first;
};

std::mutex g_mutex;
std::map<std::uint64_t, Counted> g_counted;
/// Not thread-local: what a library loaded late may have of that is little.
std::map<std::uint32_t, torch::Iterations> g_iterations;

std::map<std::uint32_t, std::unique_ptr<torch::OperatorStack>> g_stacks;
unsigned g_differences = 0;

/// What is compared with the operator before must say what is read anew.
void compare(const python::FastFrame* frames, std::uint32_t count) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  std::unique_ptr<torch::OperatorStack>& stack = g_stacks[hot::current_tid()];
  if (stack == nullptr) stack.reset(new torch::OperatorStack());
  stack->capture(hot::current_tid(), 0);
  bool same = stack->frame_count() == count;
  for (std::uint32_t i = 0; same && i < count; ++i)
    same = tests::same_frame(stack->frames()[i], frames[i]);
  g_differences += same ? 0 : 1;
}

torch::Iterations& iterations(std::uint32_t tid) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  return g_iterations[tid];
}

void count(const torch::TopLevelOp& op, const torch::ActiveLoop& loop) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  Counted& counted = g_counted[loop.id()];
  counted.code = op.frames[op.frame_count - 1 - loop.level].code;
  counted.target = static_cast<std::uint64_t>(loop.span.target);
  counted.level = loop.depth;
  if ((loop.flags & wire::kMarkLoopEntry) != 0)
    ++counted.first;
  else if ((loop.flags & wire::kMarkInferred) != 0)
    ++counted.weak;
  else
    ++counted.strong;
}

}  // namespace

extern "C" {

/// 0: no interpreter that can be read.
int probe_start() { return python::find_runtime() && python::ready() ? 1 : 0; }

/// The operator `name` begins on this thread. Returns how many frames were seen.
unsigned probe_mark(const char* name) {
  python::FastFrame frames[torch::kMaxLevels + 1];
  const std::uint32_t frame_count =
      python::read_fast_frames(hot::current_tid(), frames, torch::kMaxLevels + 1);
  if (frame_count == 0 || frame_count > torch::kMaxLevels) return 0;
  compare(frames, frame_count);
  const torch::TopLevelOp op{
      1,   base::hash_bytes(name, strlen(name)),        0, frames, frame_count,
      ~0u, strncmp(name, "autograd::engine::", 18) == 0};
  torch::ActiveLoop begun[torch::kMaxLoops];
  const std::uint32_t begin_count =
      iterations(hot::current_tid()).next(op, torch::FrameProbes{}, begun);
  for (std::uint32_t i = 0; i < begin_count; ++i) count(op, begun[i]);
  return frame_count;
}

/// How often a stack that was compared was another one than the thread's frames.
unsigned probe_differences() { return g_differences; }

/// Copies at most `room` loops and forgets everything. Returns how many there were.
unsigned probe_take(Counted* to, unsigned room) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  unsigned written = 0;
  for (const auto& [id, counted] : g_counted)
    if (written < room) to[written++] = counted;
  g_counted.clear();
  g_iterations.clear();
  return written;
}
}
