// SPDX-License-Identifier: Apache-2.0
//
// What the simulator tests share: a segment, the component's interface, the worker's turns.
//
// Context:  tests
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "gpuprof/base/clock.hpp"
#include "inject/cupti/activity/flush_thread.hpp"
#include "inject/cupti/cupti.hpp"
#include "sim_program.hpp"
#include "tests/fakes/in_process_segment.hpp"

namespace gpuprof::cupti {

inline constexpr std::uint32_t kTimeoutMs = 60'000;  // of a busy machine

class SimTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (dlsym(RTLD_DEFAULT, "gpuprof_simulated_gpu") == nullptr)
      GTEST_SKIP() << "not on the simulated GPU: start with gpusim-run";
    // The agent's worker: its calls are not recorded. This thread is the program's.
    hot::g_state.worker_tid.store(1);
    on_driver_initialised();
  }

  void start_recording() {
    hot::g_state.on.store(hot::kOnCuda | hot::kOnLaunchStacks);
    set_mode(Mode::kRecording, settings_);
  }
  // One turn of the worker, on a thread of its own as in the agent.
  void run_worker_tick(int times = 1) {
    for (int i = 0; i < times; ++i) {
      std::thread(turn_once).join();
      segment_.drain();
    }
  }
  // However long our threads get no processor. False: it never comes.
  template <typename F>
  bool turn_until(F has_come) {
    for (int i = 0; i < 2400 && !has_come(); ++i) {
      run_worker_tick();
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    return has_come();
  }
  void turn_for(std::chrono::milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
      run_worker_tick();
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
  }
  void finish() {
    program().wait();
    EXPECT_TRUE(flush(true, kTimeoutMs));
    segment_.drain();
  }
  std::size_t kernels() { return segment_.all<wire::KernelExec>().size(); }

  static SimProgram& program() {
    static SimProgram program;
    return program;
  }
  static int notice_count(const std::string& part) {
    int count = 0;
    for (const auto& message : fakes::g_notices)
      count += message.text.find(part) != std::string::npos ? 1 : 0;
    return count;
  }
  static bool has_notice(const std::string& part) { return notice_count(part) != 0; }
  static std::string all_notices() {
    std::string all;
    for (const auto& message : fakes::g_notices) all += message.text + "\n";
    return all;
  }

  fakes::InProcessSegment segment_;
  Settings settings_;

 private:
  static void turn_once() {
    hot::g_state.worker_tid.store(static_cast<std::uint32_t>(gettid()));
    tick(base::mono_ns());
    // A helper that got no processor in time goes on by itself; what it says then, the next one
    // sends.
    bool late = false;
    while (is_flush_thread_kept() && flush_started_ns() == 0 && !run_on_flush_thread([] {}, 100)) {
      late = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (late) tick(base::mono_ns());
  }
};

}  // namespace gpuprof::cupti
