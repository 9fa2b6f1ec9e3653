// SPDX-License-Identifier: Apache-2.0
//
// What the simulator tests share: a segment, the room's door, the worker's turns.
//
// Context:  tests
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "gpuprof/base/clock.hpp"
#include "inject/cupti/cupti.hpp"
#include "sim_program.hpp"
#include "tests/fakes/in_process_segment.hpp"

namespace gpuprof::cupti {

class SimTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (dlsym(RTLD_DEFAULT, "gpuprof_simulated_gpu") == nullptr)
      GTEST_SKIP() << "not on the simulated GPU: start with gpusim-run";
    // The agent's worker: its calls are not recorded. This thread is the program's.
    hot::g_state.worker_tid.store(1);
    driver_seen();
  }

  void record() {
    hot::g_state.on.store(hot::kOnCuda | hot::kOnLaunchStacks);
    want(Wanted::kRecording, settings_);
  }
  // One turn of the worker, on a thread of its own as in the agent.
  void turn(int times = 1) {
    for (int i = 0; i < times; ++i) {
      std::thread([] {
        hot::g_state.worker_tid.store(static_cast<std::uint32_t>(gettid()));
        tick(base::mono_ns());
      }).join();
      segment_.drain();
    }
  }
  void turn_for(std::chrono::milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
      turn();
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
  }
  void finish() {
    program().wait();
    EXPECT_TRUE(flush(true, 5000));
    segment_.drain();
  }
  std::size_t kernels() { return segment_.all<wire::KernelExec>().size(); }

  static SimProgram& program() {
    static SimProgram program;
    return program;
  }
  static bool said(const std::string& part) {
    for (const auto& sentence : fakes::g_said)
      if (sentence.text.find(part) != std::string::npos) return true;
    return false;
  }
  static std::string everything_said() {
    std::string all;
    for (const auto& sentence : fakes::g_said) all += sentence.text + "\n";
    return all;
  }

  fakes::InProcessSegment segment_;
  Settings settings_;
};

}  // namespace gpuprof::cupti
