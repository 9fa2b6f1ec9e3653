// SPDX-License-Identifier: Apache-2.0
//
// Records of API calls, where CUPTI takes what is switched on and delivers nothing. Each case
// names, in CMakeLists.txt, the switches of gpusim-run it needs.
//
// Context:  tests
#include "inject/cupti/live.hpp"
#include "inject/cupti/subscribe/room.hpp"
#include "sim_fixture.hpp"

namespace gpuprof::cupti {
namespace {

class SimCalls : public SimTest {
 protected:
  std::size_t launch_records() {
    std::size_t count = 0;
    for (const auto& call : segment_.all<wire::ApiCall>())
      count += segment_.text(call.body.name_id) == "cuLaunchKernel" ? 1 : 0;
    return count;
  }
  static Calls way() {
    const RoomLock lock(kPatienceMs);
    return g_room.calls;
  }
  /// Launches, with a turn of the worker after each, until the way is another one.
  bool launch_until_way_is(Calls wanted) {
    for (int i = 0; i < 2400 && way() != wanted; ++i) {
      program().launch(1);
      program().wait();
      turn();
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    return way() == wanted;
  }
  static bool stated(const std::string& value) {
    const auto fact = fakes::g_facts.find("cupti_calls");
    return fact != fakes::g_facts.end() && fact->second.find(value) != std::string::npos;
  }
};

TEST_F(SimCalls, OnceCudaIsUpWholeKindsAreOn) {
  program();
  record();
  program().launch(10);
  finish();
  EXPECT_EQ(way(), Calls::kKinds);
  EXPECT_EQ(kernels(), 10u);
  EXPECT_EQ(launch_records(), 10u);
  for (const auto& call : segment_.all<wire::ApiCall>())
    EXPECT_NE(segment_.text(call.body.name_id), "cuCtxGetCurrent") << "not of interest";
}

TEST_F(SimCalls, FiltersThatDeliverNothingAreLeftForWholeKinds) {
  program();
  set_cuda_begins(true);  // and yet it is too late
  record();
  set_cuda_begins(false);
  ASSERT_EQ(way(), Calls::kFilters);
  ASSERT_TRUE(launch_until_way_is(Calls::kKinds));
  EXPECT_EQ(launch_records(), 0u);
  program().launch(10);
  finish();
  EXPECT_EQ(launch_records(), 10u);
  turn();
  EXPECT_TRUE(stated("filters delivered no record"));
  want(Wanted::kOff, settings_);
  record();
  EXPECT_EQ(way(), Calls::kKinds) << "in the next window, too";
}

TEST_F(SimCalls, WholeKindsThatDeliverNothingAreLeftForFilters) {  // --scenario deaf-whole-kinds
  program();
  record();
  ASSERT_EQ(way(), Calls::kKinds);
  ASSERT_TRUE(launch_until_way_is(Calls::kFilters));
  program().launch(10);
  finish();
  EXPECT_EQ(launch_records(), 10u);
  turn();
  EXPECT_TRUE(stated("whole kinds delivered no record"));
}

TEST_F(SimCalls, WhereNeitherDeliversItIsNotTriedForEver) {  // --scenario deaf-api
  program();
  record();
  ASSERT_TRUE(launch_until_way_is(Calls::kFilters));
  ASSERT_TRUE(launch_until_way_is(Calls::kKinds));
  turn_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(stated("neither"));
  for (int i = 0; i < 60; ++i) {
    program().launch(1);
    program().wait();
    turn();
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    ASSERT_EQ(way(), Calls::kKinds);
  }
  finish();
  EXPECT_GT(kernels(), 60u);
}

}  // namespace
}  // namespace gpuprof::cupti
