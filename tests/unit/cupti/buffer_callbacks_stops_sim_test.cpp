// SPDX-License-Identifier: Apache-2.0
//
// GPU work that stops coming amid a window, and what is reported of it. Each case names, in
// CMakeLists.txt, the switches of gpusim-run it needs.
//
// Context:  tests
#include <cupti.h>

#include "sim_fixture.hpp"

namespace gpuprof::cupti {
namespace {

using wire::Counter;

class SimStops : public SimTest {};

TEST_F(SimStops, AnExhaustedPoolStopsNodeRecords) {  // --scenario pool-limit:40
  program();
  start_recording();
  program().graph(10, 10);
  program().wait();
  EXPECT_TRUE(turn_until([] {
    return has_notice("no kernel, copy or memory set is recorded until");
  })) << all_notices();
  EXPECT_EQ(segment_.counter(Counter::kGraphBudgetStops), 1u);
  EXPECT_TRUE(flush(true, kTimeoutMs));
  // Calls and launches go on.
  segment_.discard_records();
  program().launch(5);
  finish();
  EXPECT_EQ(kernels(), 0u);
  EXPECT_EQ(segment_.all<wire::Launch>().size() >= 5, true);
}

// Kernels cannot be switched off safely there.
TEST_F(SimStops, AnExhaustedPoolLeavesOutNodeRecordsWhereKernelsStayOn) {  // --layout 12.4
  program();
  start_recording();
  program().graph(10, 10);
  program().wait();
  EXPECT_TRUE(turn_until([] {
    return has_notice("no further ones are recorded until the window ends");
  })) << all_notices();
  EXPECT_TRUE(flush(true, kTimeoutMs));
  segment_.drain();
  segment_.discard_records();
  program().graph(10, 3);
  program().launch(5);
  program().copy();
  program().set();
  finish();
  EXPECT_EQ(kernels(), 5u);
  EXPECT_EQ(segment_.all<wire::MemCopy>().size(), 1u);
  EXPECT_EQ(segment_.all<wire::MemSet>().size(), 1u);
  EXPECT_EQ(segment_.counter(Counter::kGraphNodesSkipped), 30u);

  set_mode(Mode::kOff, settings_);
  start_recording();
  segment_.discard_records();
  program().graph(10, 1);
  finish();
  EXPECT_EQ(kernels(), 10u) << "the next window begins anew";
}

// By a program that finds CUPTI's function in a way that does not lead through us.
TEST_F(SimStops, CallbacksThatWereReplacedUnseenAreTold) {  // --layout 13.2
  program();
  start_recording();
  program().launch(10);
  finish();
  void* const cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(cupti, nullptr);
  const auto set = reinterpret_cast<CUptiResult (*)(CUpti_BuffersCallbackRequestFunc,
                                                    CUpti_BuffersCallbackCompleteFunc)>(
      dlsym(cupti, "cuptiActivityRegisterCallbacks"));
  static std::uint8_t s_buffer[1 << 16];
  ASSERT_EQ(set(
                [](std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
                  *buffer = s_buffer;
                  *bytes = sizeof s_buffer;
                  *records = 0;
                },
                [](CUcontext, std::uint32_t, std::uint8_t*, std::size_t, std::size_t) {}),
            CUPTI_SUCCESS);
  EXPECT_TRUE(turn_until([] {
    program().launch(1);
    program().wait();
    return has_notice("replaced gpuprof's CUPTI callbacks");
  })) << all_notices();
  set_mode(Mode::kOff, settings_);
  start_recording();
  segment_.discard_records();
  // What is in its buffer is lost; the next one is ours again.
  EXPECT_TRUE(turn_until([this] {
    program().launch(1);
    program().wait();
    return kernels() != 0;
  })) << "the next window";
}

}  // namespace
}  // namespace gpuprof::cupti
