// SPDX-License-Identifier: Apache-2.0
//
// A process that trains, as the ingest room would tell it.
#include <string>

#include "tests/unit/spool/every_event.hpp"

namespace gpuprof::test {
namespace {

void define(model::EventSink& sink) {
  sink.on(model::Process{4000, 1, 3, 1, 1'000'000'000, 1'700'000'000'000'000'000,
                         "/usr/bin/python3", "python3 train.py"});
  sink.on(model::ThreadName{4000, 0, 1'000'000'000, "python3"});
  for (std::uint32_t i = 1; i <= 200; ++i) {
    const std::string kernel =
        "_Z" + std::to_string(10 + i / 100) + "kernel_" + std::to_string(1000 + i) + "PfS_i";
    sink.on(model::StringDef{i, kernel});
  }
  sink.on(model::StringDef{201, "cudaLaunchKernel"});
  sink.on(model::StringDef{202, "cudaMemcpyAsync"});
  for (std::uint32_t i = 0; i < 60; ++i)
    sink.on(model::StringDef{300 + i, "layer " + std::to_string(i)});
  model::Device device{};
  device.name = 210;
  device.total_memory_bytes = 80ULL << 30;
  device.compute_major = 9;
  device.sm_count = 132;
  device.warp_size = 32;
  device.max_threads_per_sm = 2048;
  device.max_threads_per_block = 1024;
  device.max_blocks_per_sm = 32;
  device.registers_per_sm = device.registers_per_block = 65536;
  device.shared_per_sm_bytes = 233472;
  device.shared_reserved_bytes = 1024;
  sink.on(model::StringDef{210, "Simulated GPU"});
  sink.on(device);
  sink.on(model::Context{1, 0, 7});
  std::mt19937_64 random(7);
  for (std::uint32_t i = 1; i <= 500; ++i) {
    std::vector<std::uint64_t> frames(20 + random() % 20);
    for (auto& frame : frames) frame = 0x7f0000000000 + random() % 0x10000000;
    sink.on(model::StackDef{i, 0, frames, {}});
  }
}

class Trainer {
 public:
  explicit Trainer(model::EventSink& sink) : sink_(sink) {}

  std::uint64_t kernel() {
    const std::uint64_t call_at = now_;
    const auto call_ns = 3000 + random_() % 4000;
    const auto name = static_cast<std::uint32_t>(1 + random_() % 200);
    model::ApiCall call{};
    call.start_ns = call_at;
    call.end_ns = call_at + call_ns;
    call.range = range_;
    call.name = 201;
    call.tid = 4000;
    call.cbid = 211;
    call.api = 2;
    call.correlation = ++correlation_;
    call.stack = static_cast<std::uint32_t>(1 + random_() % 500);
    sink_.on(call);
    gpu_ = std::max(gpu_, call_at + 5000) + random_() % 1500;
    model::Kernel kernel{};
    kernel.start_ns = gpu_;
    kernel.end_ns = gpu_ += 2000 + random_() % 60'000;
    kernel.range = range_;
    kernel.name = name;
    kernel.correlation = correlation_;
    kernel.launch_tid = 4000;
    kernel.context = 1;
    kernel.stream = 7;
    kernel.grid = {64 + name * 3, 1 + name % 4, 1};
    kernel.block = {128u << (name % 3), 1, 1};
    kernel.registers = 32 + name % 64;
    kernel.dynamic_shared_bytes = 1024 * (name % 32);
    sink_.on(kernel);
    now_ = call.end_ns + 1000 + random_() % 8000;
    return 2;
  }

  std::uint64_t copy() {
    model::MemCopy copy{};
    copy.start_ns = gpu_;
    copy.bytes = 4096 << (random_() % 10);
    copy.end_ns = gpu_ += copy.bytes / 20 + 900;
    copy.range = range_;
    copy.correlation = ++correlation_;
    copy.launch_tid = 4000;
    copy.context = 1;
    copy.stream = 7;
    copy.copy_kind = 1;
    copy.src_kind = 1;
    copy.dst_kind = 3;
    model::ApiCall call{};
    call.start_ns = now_;
    call.end_ns = now_ + 5000;
    call.range = range_;
    call.name = 202;
    call.tid = 4000;
    call.cbid = 41;
    call.api = 2;
    call.correlation = correlation_;
    sink_.on(call);
    sink_.on(copy);
    now_ += 9000;
    return 2;
  }

  std::uint64_t range() {
    model::Range range{};
    range.start_ns = range_start_;
    range.end_ns = now_;
    range.id = range_++;
    range.name = static_cast<std::uint32_t>(300 + range_ % 60);
    range.tid = range.end_tid = 4000;
    range.stack = static_cast<std::uint32_t>(1 + random_() % 500);
    sink_.on(range);
    range_start_ = now_ += 700;
    return 1;
  }

  std::uint64_t sample() {
    if (now_ < next_sample_) return 0;
    next_sample_ = now_ + 10'000'000;
    for (std::uint32_t tid = 4000; tid < 4004; ++tid)
      sink_.on(model::Sample{now_ + tid, 10'000'000, tid,
                             static_cast<std::uint32_t>(1 + random_() % 500), 0});
    return 4;
  }

 private:
  model::EventSink& sink_;
  std::mt19937_64 random_{11};
  std::uint64_t now_ = 2'000'000'000, gpu_ = now_, next_sample_ = now_, range_start_ = now_;
  std::uint64_t range_ = 1;
  std::uint32_t correlation_ = 0;
};

}  // namespace

void send_training(std::uint64_t events, model::EventSink& sink) {
  define(sink);
  Trainer trainer(sink);
  for (std::uint64_t sent = 0, turn = 0; sent < events; ++turn) {
    sent += turn % 12 == 11 ? trainer.copy() : trainer.kernel();
    if (turn % 4 == 3) sent += trainer.range();
    sent += trainer.sample();
  }
}

}  // namespace gpuprof::test
