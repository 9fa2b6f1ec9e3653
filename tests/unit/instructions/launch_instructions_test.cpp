// SPDX-License-Identifier: Apache-2.0
//
// What a launch costs the thread that makes it, in instructions of ours: what was won stays won.
#include <gtest/gtest.h>

#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/callbacks/api_callback.hpp"
#include "tests/fakes/at_depth.hpp"
#include "tests/fakes/instructions.hpp"
#include "tests/unit/sample/sampler_fixture.hpp"

namespace gpuprof {
namespace {

using fakes::at_depth;

CUptiResult CUPTIAPI name_of(CUpti_CallbackDomain, std::uint32_t, const char** name) {
  *name = "cuLaunchKernel";
  return CUPTI_SUCCESS;
}

class Launches : public testing::Test {
 protected:
  void SetUp() override {
    cupti::g_callback_state.api.cuptiGetCallbackName = name_of;
    data_.functionReturnValue = &result_;
    sampler_.on_worker([] { sample::tick(base::mono_ns()); });
  }
  /// @param kernels  So many take turns at the place.
  std::uint64_t of_a_launch(std::uint32_t on, int depth, int kernels = 1) {
    static const char* const kNames[] = {"one", "two", "three"};
    hot::g_state.on.store(on);
    const auto launch = [&](int times) {
      for (int i = 0; i < times; ++i) {
        data_.correlationId = ++correlation_;
        data_.symbolName = kNames[i % kernels];
        for (const auto site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
          data_.callbackSite = site;
          cupti::api_callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API,
                              CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data_);
        }
      }
    };
    std::optional<std::uint64_t> each;
    auto body = [&] {
      launch(4 * kernels);
      each = fakes::instructions_each(launch);
    };
    at_depth(depth, body);
    RecordProperty("instructions", each ? std::to_string(*each) : "not counted");
    if (each) std::printf("%lu instructions a launch\n", static_cast<unsigned long>(*each));
    return each.value_or(0);
  }

  sample::SamplerFixture sampler_;
  int result_ = 0;
  CUpti_CallbackData data_{};
  std::uint32_t correlation_ = 0;
};

constexpr std::uint32_t kWithStacks = hot::kOnCuda | hot::kOnLaunchStacks;

TEST_F(Launches, WithoutAStack) { EXPECT_LE(of_a_launch(hot::kOnCuda, 10), 710u); }

// Two words a frame here, where each has its frame pointer.
TEST_F(Launches, AKnownStackIsOnlyCompared) {
  const std::uint64_t shallow = of_a_launch(kWithStacks, 10), deep = of_a_launch(kWithStacks, 60);
  EXPECT_LE(shallow, 1600u);
  EXPECT_LE(deep, shallow + 50 * 28);
}

TEST_F(Launches, WithStacksThatTakeTurns) { EXPECT_LE(of_a_launch(kWithStacks, 10, 3), 1600u); }

}  // namespace
}  // namespace gpuprof
