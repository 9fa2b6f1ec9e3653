// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/tensorboard/scripted_session.hpp"

#include <array>
#include <initializer_list>

namespace gpuprof::test {
namespace {

enum Names : model::StringId {
  kLoader = 1,
  kLinear,
  kMm,
  kCopyIn,
  kSide,
  kLaunch,
  kDriverLaunch,
  kCopyAsync,
  kSetAsync,
  kDeviceSync,
  kGemm,
  kTriton,
  kOddKernel,
  kDeviceName,
  kFile,
  kMain,
  kTrain,
  kForward,
  kCrossing,
  kSpan,
  kMark,
  kEpoch,
  kLinearClass,
  kBackwardRoot,
  kBackwardNode,
  kLoop
};
enum Stacks : model::StackId { kInForward = 1, kInTrain, kInMain, kInModule };

class Script {
 public:
  Script(std::uint32_t pid, model::EventSink& sink) : pid_(pid), sink_(sink) {}

  static std::uint64_t at(std::uint64_t us) { return kScriptStart + us * 1000; }

  void names() {
    const std::pair<model::StringId, std::string_view> all[] = {
        {kLoader, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"},
        {kLinear, "aten::linear"},
        {kMm, "aten::mm"},
        {kCopyIn, "copy_in"},
        {kSide, "side"},
        {kLaunch, "cudaLaunchKernel"},
        {kDriverLaunch, "cuLaunchKernel"},
        {kCopyAsync, "cudaMemcpyAsync"},
        {kSetAsync, "cudaMemsetAsync"},
        {kDeviceSync, "cudaDeviceSynchronize"},
        {kGemm, "sm80_xmma_gemm_f32f32_tn_n"},
        {kTriton, "_Z10triton_addPfS_S_i"},
        {kOddKernel, "weird \"name\" [with]\nlines \xff"},
        {kDeviceName, "Scripted GPU"},
        {kFile, "train.py"},
        {kMain, "main"},
        {kTrain, "train"},
        {kForward, "forward"},
        {kCrossing, "crossing"},
        {kSpan, "request 7"},
        {kMark, "checkpoint"},
        {kEpoch, "epoch"},
        {kLinearClass, "Linear"},
        {kBackwardRoot, "autograd::engine::evaluate_function: MmBackward0"},
        {kBackwardNode, "MmBackward0"},
        {kLoop, "train.py:40"}};
    for (const auto& [id, text] : all) sink_.on(model::StringDef{id, text});
  }

  void process(std::uint32_t rank) {
    sink_.on(model::Process{pid_, 1, 7, 1, kScriptStart - 1'000'000'000,
                            kScriptReal - 1'000'000'000, "/usr/bin/python3", "python3 train.py"});
    sink_.on(model::ThreadName{pid_, 0, kScriptStart, "python3"});
    sink_.on(model::ThreadName{pid_ + 1, 0, kScriptStart, "loader"});
    const std::string rank_text = std::to_string(rank);
    sink_.on(model::Fact{"rank", rank_text});
    sink_.on(model::Fact{"world_size", "2"});
    sink_.on(model::Notice{kScriptStart, 1, 0, 0, "everything was scripted"});
    sink_.on(model::ClockSnapshot{kScriptStart, kScriptReal, kScriptStart, kScriptReal, 40});
    sink_.on(model::Loss{1, pid_, 3, at(950), at(960)});
  }

  void devices() {
    for (std::uint32_t index = 0; index < 2; ++index) {
      model::Device d{};
      d.device = index;
      d.name = kDeviceName;
      d.total_memory_bytes = 80ULL << 30;
      d.compute_major = 9;
      d.sm_count = 132;
      d.warp_size = 32;
      d.max_threads_per_block = 1024;
      d.max_threads_per_sm = 2048;
      d.max_blocks_per_sm = 32;
      d.registers_per_block = d.registers_per_sm = 65536;
      d.shared_per_block_bytes = 49152;
      d.shared_per_sm_bytes = 233472;
      d.shared_per_block_optin_bytes = 232448;
      d.shared_reserved_bytes = 1024;
      sink_.on(d);
      sink_.on(model::Context{index + 1, index, index == 0 ? 7u : 13u});
    }
  }

  void stacks() {
    sink_.on(model::PythonCode{1, kFile, kMain, 70, 11, 1, ""});
    sink_.on(model::PythonCode{2, kFile, kTrain, 40, 11, 1, ""});
    sink_.on(model::PythonCode{3, kFile, kForward, 10, 11, 1, ""});
    const std::array<model::PythonFrame, 3> frames = {
        {{3, -1, 0}, {2, -1, 0}, {1, -1, model::kPyEntry}}};
    const std::span<const model::PythonFrame> all(frames);
    sink_.on(model::StackDef{kInForward, 0, {}, all});
    sink_.on(model::StackDef{kInTrain, 0, {}, all.subspan(1)});
    sink_.on(model::StackDef{kInMain, 0, {}, all.subspan(2)});
    sink_.on(model::TorchModule{1, kLinearClass, 0x7f00'0000'1000, 0x7f00'0000'2000});
    const std::array<model::PythonFrame, 4> in_module = {
        {{3, -1, 0}, {1, -1, model::kPyModule}, {2, -1, 0}, {1, -1, model::kPyEntry}}};
    sink_.on(model::StackDef{kInModule, 0, {}, in_module});
    // Two tensors of floats, as wire/operator_inputs.hpp codes them, a list of two and a number.
    const std::array<std::uint64_t, 13> words = {1 | 6 << 8 | 2 << 16,
                                                 64,
                                                 256,
                                                 1 | 6 << 8 | 2 << 16,
                                                 256,
                                                 256,
                                                 2 | 2 << 16 | 2ULL << 32,
                                                 1 | 15 << 8 | 1 << 16,
                                                 8,
                                                 1 | 4 << 8 | 0 << 16,
                                                 3,
                                                 7,
                                                 0};
    sink_.on(model::Inputs{1, 0, words});
  }

  void range(model::RangeId id, model::StringId name, std::uint64_t from, std::uint64_t to,
             model::StackId stack = 0, std::uint32_t flags = 0) {
    model::Range r{};
    r.start_ns = at(from);
    r.end_ns = at(to);
    r.id = id;
    r.name = name;
    r.tid = r.end_tid = pid_;
    r.stack = stack;
    r.flags = flags;
    sink_.on(r);
  }

  model::Operator op(model::RangeId id, model::StringId name, std::uint64_t from, std::uint64_t to,
                     model::StackId stack = 0) {
    model::Operator o{};
    o.start_ns = at(from);
    o.end_ns = at(to);
    o.id = id;
    o.sequence = -1;
    o.name = name;
    o.tid = o.end_tid = pid_;
    o.stack = stack;
    return o;
  }

  void memory(std::uint64_t us, std::int32_t device, std::int64_t bytes, std::uint64_t total) {
    sink_.on(model::Allocation{at(us), at(us), 0x1000, bytes, total, 2 * total, pid_,
                               device < 0 ? 0 : 1, device});
  }

  void call(std::uint32_t correlation, model::StringId name, std::uint64_t from, std::uint64_t to,
            model::RangeId range, std::uint32_t api = 2, model::StackId stack = 0) {
    model::ApiCall c{};
    c.start_ns = at(from);
    c.end_ns = at(to);
    c.range = range;
    c.name = name;
    c.tid = pid_;
    c.cbid = 211;
    c.api = api;
    c.correlation = correlation;
    c.stack = stack;
    sink_.on(c);
  }

  void kernel(std::uint32_t correlation, model::StringId name, std::uint64_t from, std::uint64_t to,
              model::RangeId range, std::uint32_t device = 0) {
    model::Kernel k{};
    k.start_ns = at(from);
    k.end_ns = at(to);
    k.range = range;
    k.name = name;
    k.correlation = correlation;
    k.launch_tid = pid_;
    k.device = device;
    k.context = device + 1;
    k.stream = device == 0 ? 7 : 13;
    k.grid = {66, 1, 1};
    k.block = {128, 1, 1};
    k.registers = 64;
    k.static_shared_bytes = 1024;
    k.dynamic_shared_bytes = 15360;
    sink_.on(k);
  }

  void copy(std::uint32_t correlation, std::uint8_t kind, std::uint64_t from, std::uint64_t to,
            model::RangeId range) {
    model::MemCopy c{};
    c.start_ns = at(from);
    c.end_ns = at(to);
    c.bytes = (to - from) * 2048;  // 2.048 GB/s
    c.range = range;
    c.correlation = correlation;
    c.launch_tid = pid_;
    c.context = 1;
    c.stream = 7;
    c.copy_kind = kind;
    c.src_kind = kind == 1 ? 1 : 3;
    c.dst_kind = kind == 1 ? 3 : 2;
    sink_.on(c);
  }

  void step(std::uint64_t number, std::uint64_t from, std::uint64_t to) {
    model::Step s{};
    s.start_ns = at(from);
    s.end_ns = at(to);
    s.number = s.label = number;
    s.where = kLoop;
    s.tid = pid_;
    s.source = 3;
    s.confidence = 95;
    sink_.on(s);
  }

  void step_one() {
    range(2, kLoader, 15, 50);
    call(1001, kLaunch, 80, 90, 3);
    memory(70, 0, 65536, 65536);
    memory(75, -1, 4096, 4096);
    model::Operator linear = op(3, kLinear, 60, 170, kInModule);
    linear.sequence = 41;
    linear.inputs = 1;
    sink_.on(linear);
    kernel(1001, kGemm, 100, 180, 3);
    call(1002, kCopyAsync, 190, 200, 4);
    range(4, kCopyIn, 185, 205);
    copy(1002, 1, 210, 230, 4);
    call(1003, kLaunch, 240, 250, 5);
    range(5, kSide, 235, 260);
    kernel(1003, kOddKernel, 260, 320, 5, 1);
    step(1, 10, 400);
  }
  void step_two() {
    call(1004, kLaunch, 430, 440, 6);
    call(1005, kDriverLaunch, 445, 450, 6, 1);
    sink_.on(op(6, kMm, 420, 480, kInTrain));
    // On another thread, while the operator runs: the backward of step 1's.
    model::Operator root = op(8, kBackwardRoot, 442, 472), node = op(9, kBackwardNode, 444, 470);
    root.tid = root.end_tid = node.tid = node.end_tid = pid_ + 1;
    root.sequence = node.sequence = 41;
    node.parent = 8;
    node.scope = model::kScopeBackward;
    node.forward_tid = pid_;
    sink_.on(node);
    sink_.on(root);
    kernel(1004, kGemm, 450, 550, 6);
    kernel(1005, kTriton, 560, 580, 6);
    call(1006, kSetAsync, 490, 495, 0, 2, kInMain);
    model::MemSet set{};
    set.start_ns = at(585);
    set.end_ns = at(590);
    set.bytes = 4096;
    set.correlation = 1006;
    set.launch_tid = pid_;
    set.context = 1;
    set.stream = 7;
    set.memory_kind = 3;
    sink_.on(set);
    step(2, 400, 700);
  }
  void step_three() {
    call(1007, kLaunch, 730, 740, 7);
    call(1008, kDriverLaunch, 745, 750, 7, 1);
    range(7, kMm, 720, 780, kInTrain);
    kernel(1007, kGemm, 750, 850, 7);
    kernel(1008, kTriton, 860, 880, 7);
    call(1009, kCopyAsync, 790, 800, 0);
    copy(1009, 2, 885, 895, 0);
    call(1010, kDeviceSync, 900, 950, 0);
    sink_.on(model::Sync{at(901), at(949), 0, 4, 1010, pid_, 1, model::kNoObject, 0});
    step(3, 700, 1000);
  }

  /// What must not disturb the above.
  void oddities() {
    // A launch before the window, its kernel inside.
    call(900, kLaunch, 0, 1, 0);
    range(100, kCrossing, 300, 410, 0, model::kRangeCrossing);
    // Nests with its neighbours but reaches from step 1 into step 2.
    range(101, kCrossing, 350, 410);
    model::Range span{};
    span.start_ns = at(330);
    span.end_ns = at(860);
    span.id = 102;
    span.name = kSpan;
    span.tid = pid_;
    span.end_tid = pid_ + 1;
    span.kind = model::RangeKind::kStartEnd;
    span.payload_type = 1;
    span.payload = 77;
    sink_.on(span);
    span.start_ns = span.end_ns = at(600);
    span.id = 103;
    span.name = kMark;
    span.kind = model::RangeKind::kMark;
    span.end_tid = pid_;
    sink_.on(span);
    sink_.on(model::Overhead{at(960), at(970), 1u << 16, 2, pid_, 0});
  }

  void samples() {
    const model::StackId stacks[] = {kInMain, kInTrain, kInForward, kInForward, kInTrain};
    std::uint64_t us = 50;
    for (const model::StackId stack : stacks) {
      sink_.on(model::Sample{at(us), 100'000, pid_, stack, 0});
      us += 100;
    }
    sink_.on(model::Sample{at(100), 200'000, pid_ + 1, kInMain, 1});
    sink_.on(model::Sample{at(300), 200'000, pid_ + 1, 0, 2});
    sink_.on(model::Sample{at(900), 100'000, pid_ + 1, 0, 0});
  }

 private:
  std::uint32_t pid_;
  model::EventSink& sink_;
};

}  // namespace

void send_script(std::uint32_t pid, std::uint32_t rank, model::EventSink& sink) {
  Script script(pid, sink);
  script.names();
  script.process(rank);
  script.devices();
  script.stacks();
  script.oddities();
  script.step_one();
  script.step_two();
  script.step_three();
  script.samples();
  // Open during the whole window: cut at its borders.
  model::Range epoch{};
  epoch.start_ns = kScriptStart - 500'000;
  epoch.end_ns = kScriptStart + 9'000'000;
  epoch.id = 1;
  epoch.name = kEpoch;
  epoch.tid = epoch.end_tid = pid;
  sink.on(epoch);
}

support::Result<spool::SessionView> write_script(const std::string& folder,
                                                 const std::string& output) {
  recording::SessionOptions options;
  options.output = output;
  options.version = "scripted";
  GPUPROF_TRY(log, spool::SessionLog::create(folder, options, "nodeA"));
  for (const std::uint32_t rank : {0u, 1u}) {
    const std::uint32_t pid = 4000 + 100 * rank;
    const std::string path = folder + "/" + std::to_string(pid) + ".spool";
    GPUPROF_TRY(writer, spool::ProcessWriter::create(path));
    send_script(pid, rank, *writer);
    writer->flush();
    log->process(pid, path);
  }
  log->window(script_window());
  log->remark("script", "a remark for everyone");
  log->selected({4000, 4100}, {});
  log->ended("scripted");
  return spool::open_session(folder);
}

model::Window script_window() {
  return {0, kScriptStart, kScriptStart + 1'000'000, kScriptReal, 1, 1, 3, "schedule"};
}

}  // namespace gpuprof::test
