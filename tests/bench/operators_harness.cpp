// SPDX-License-Identifier: Apache-2.0
//
// The operator observer in a Python process of its own making: loaded with ctypes, it writes into a
// segment of its own, and tells what came out. No daemon, no preload.
//
// Context:  tests
#include <cstdio>
#include <map>
#include <random>
#include <string>

#include "gpuprof/base/clock.hpp"
#include "gpuprof/wire/operator_inputs.hpp"
#include "inject/hot/recorder.hpp"
#include "inject/hot/state.hpp"
#include "inject/python/frames/frames.hpp"
#include "inject/torch/library.hpp"
#include "inject/torch/operators/observer.hpp"
#include "inject/torch/torch.hpp"
#include "tests/fakes/in_process_segment.hpp"

namespace {

using namespace gpuprof;

fakes::InProcessSegment& segment() {
  static fakes::InProcessSegment* made = new fakes::InProcessSegment;
  return *made;
}

void print_inputs(std::FILE* to, const std::string& tail, std::uint32_t count) {
  const auto* word = reinterpret_cast<const std::uint64_t*>(tail.data());
  std::fprintf(to, "[");
  for (std::uint32_t i = 0; i < count; ++i)
    std::fprintf(to, "%s%ld", i == 0 ? "" : ",", static_cast<long>(word[i]));
  std::fprintf(to, "]");
}

std::string text_of(const std::string& bytes) {
  std::string quoted = "\"";
  for (const char c : bytes) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

/// Definitions by id.
struct Known {
  std::map<std::uint64_t, std::string> texts, codes, modules, stacks;
  std::map<std::uint64_t, fakes::DrainedRecord<wire::InputsDef>> inputs;
};

std::string frames_of(const fakes::DrainedRecord<wire::StackDef>& def, const Known& known) {
  std::string out = "[";
  for (std::uint32_t i = 0; i < def.body.python_count; ++i) {
    wire::PyFrame frame;
    std::memcpy(&frame, def.tail.data() + def.body.native_count * 8 + i * sizeof frame,
                sizeof frame);
    const bool module = (frame.flags & wire::kPyModule) != 0;
    const auto& names = module ? known.modules : known.codes;
    const auto found = names.find(frame.code_id);
    out += i == 0 ? "" : ",";
    out += text_of((module ? "module:" : "") + (found == names.end() ? "?" : found->second));
  }
  return out + "]";
}

Known learn() {
  Known known;
  for (const auto& def : segment().all<wire::StringDef>())
    known.texts[def.body.id] = def.tail.substr(0, def.body.bytes);
  for (const auto& def : segment().all<wire::PyCodeDef>())
    known.codes[def.body.id] = def.tail.substr(def.body.file_bytes, def.body.name_bytes);
  for (const auto& def : segment().all<wire::TorchModuleDef>())
    known.modules[def.body.id] = def.tail.substr(0, def.body.name_bytes);
  for (const auto& def : segment().all<wire::InputsDef>()) known.inputs[def.body.id] = def;
  for (const auto& def : segment().all<wire::StackDef>())
    known.stacks[def.body.id] = frames_of(def, known);
  return known;
}

}  // namespace

extern "C" {

/// Begins; wanted as torch::Wanted, detail as wire::kTorch….
int operators_on(int wanted, unsigned detail) {
  segment();
  python::find_runtime();
  std::uint32_t bits = 0;
  if (wanted == 1) bits = hot::kOnOpSteps;
  if (wanted == 2) bits = hot::kOnOperators;
  hot::g_state.on.store(bits);
  torch::set_mode(static_cast<torch::ObserveMode>(wanted), detail);
  torch::tick(base::mono_ns());
  return fakes::g_facts["torch.layout"] == "known" ? 0 : 1;
}

void operators_off() {
  hot::g_state.on.store(0);
  torch::set_mode(torch::ObserveMode::kOff, 0);
}

/// Whether the calling thread measures what it spends on this (--max-overhead).
void operators_measure(int on) {
  segment();
  const hot::Guard guard(hot::RingRole::kCallback);
  guard.producer().overhead = hot::OverheadMeter();
  if (on == 0) return;
  hot::calibrate_clock_cost();
  guard.producer().overhead.begin(false, 1);
}

/// ns that the calling thread has measured so far.
unsigned long operators_own_ns() {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < hot::g_state.ring_count; ++i)
    if (auto* ring = hot::g_state.rings[i].ring.resolve<wire::RingHeader>(
            hot::g_state.segment, hot::g_state.segment_bytes))
      sum += ring->overhead_ns.load();
  return sum;
}

/// A callback that does nothing: what PyTorch itself pays for having one.
void operators_empty(int on, int inputs) {
  static std::uint64_t handle = 0;
  const torch::Functions& call = torch::g_libraries[0].call;
  if (handle != 0) call.remove(handle);
  handle = 0;
  if (on == 0) return;
  torch::RecordFunctionCallback callback = torch::callbacks_of(0);
  callback.start = [](const std::byte*) { return torch::NullObserverContext{}; };
  callback.end = [](const std::byte*, void*) {};
  callback.inputs = inputs != 0;
  handle = call.add_global(callback);
}

void operators_forget() { segment().discard_records(); }

/// Switches `times` times between all levels, off at the end. Not a line of Python between them.
void operators_switch(unsigned long times, unsigned seed) {
  std::minstd_rand random(seed);
  for (unsigned long i = 0; i < times; ++i) {
    if (i % 1024 == 0) segment().discard_records();
    if (i % 2 == 0)
      operators_on(static_cast<int>(1 + random() % 2), static_cast<unsigned>(random() % 32));
    else
      operators_off();
  }
  operators_off();
}

unsigned long operators_dropped() { return segment().counter(wire::Counter::kDroppedRingFull); }

/// One JSON object a line for each operator, and one for each end.
void operators_write(const char* path) {
  std::FILE* to = std::fopen(path, "w");
  const Known known = learn();
  for (const auto& op : segment().all<wire::OpBegin>()) {
    const auto name = known.texts.find(op.body.name_id);
    std::fprintf(to, "{\"name\":%s,\"seq\":%ld,\"forward\":%u,\"thread\":%u,\"tid\":%u,",
                 text_of(name == known.texts.end() ? "?" : name->second).c_str(),
                 static_cast<long>(op.body.sequence), op.body.forward_thread, op.body.thread,
                 op.tid);
    std::fprintf(to, "\"op\":%u,\"object\":%lu,\"scope\":%u,\"top\":%u,\"inputs\":", op.body.op_id,
                 static_cast<unsigned long>(op.body.object), op.body.scope, op.body.flags);
    const auto inputs = known.inputs.find(op.body.inputs_id);
    if (inputs == known.inputs.end())
      std::fprintf(to, op.body.inputs_id == 0 ? "null" : "\"?\"");
    else
      print_inputs(to, inputs->second.tail, inputs->second.body.words);
    const auto stack = known.stacks.find(op.body.stack_id);
    std::fprintf(to, ",\"stack\":%s}\n",
                 stack == known.stacks.end() ? (op.body.stack_id == 0 ? "null" : "\"?\"")
                                             : stack->second.c_str());
  }
  for (const auto& end : segment().all<wire::OpEnd>())
    std::fprintf(to, "{\"end\":%u,\"object\":%lu,\"tid\":%u}\n", end.body.op_id,
                 static_cast<unsigned long>(end.body.object), end.tid);
  for (const auto& output : fakes::g_notices)
    std::fprintf(to, "{\"said\":%s}\n", text_of(output.text).c_str());
  std::fclose(to);
}

}  // extern "C"
