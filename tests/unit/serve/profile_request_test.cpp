// SPDX-License-Identifier: Apache-2.0
#include "serve/profile_request.hpp"

#include <gtest/gtest.h>

#include "gpuprof/wire/messages.hpp"

namespace gpuprof::serve {
namespace {

constexpr std::uint64_t kNowNs = 1'800'000'000'000'000'000;
constexpr std::uint64_t kSecondNs = 1'000'000'000;

RequestedProfile levels(std::uint32_t host, std::uint32_t device, std::uint32_t python) {
  RequestedProfile ask;
  ask.version = 1;
  ask.host_level = host;
  ask.device_level = device;
  ask.python_level = python;
  ask.duration_ms = 1000;
  return ask;
}

std::uint32_t sources_of(const RequestedProfile& ask, std::uint32_t allowed = wire::kTraceAll) {
  Rejection refused;
  const auto plan = make_capture_plan(ask, allowed, kNowNs, std::nullopt, &refused);
  return plan ? plan->trace : ~0U;
}

TEST(InjectRequest, LevelsSayWhichSourcesAreRecorded) {
  EXPECT_EQ(sources_of(levels(0, 0, 0)), 0U);
  EXPECT_EQ(sources_of(levels(1, 0, 0)), wire::kTraceNvtx);
  EXPECT_EQ(sources_of(levels(2, 0, 0)), wire::kTraceNvtx | wire::kTraceTorch | wire::kTraceNative);
  EXPECT_EQ(sources_of(levels(0, 1, 0)), wire::kTraceCuda);
  EXPECT_EQ(sources_of(levels(0, 0, 1)), wire::kTracePython);
  EXPECT_EQ(sources_of(levels(3, 1, 1)), wire::kTraceAll);
}

TEST(InjectRequest, WithoutAVersionTheLevelsAreTheUsualOnes) {
  RequestedProfile ask = levels(0, 0, 1);
  ask.version = 0;
  EXPECT_EQ(sources_of(ask), wire::kTraceAll & ~wire::kTracePython);
}

TEST(InjectRequest, AnotherKindOfDeviceIsNoGpu) {
  RequestedProfile ask = levels(1, 1, 0);
  for (const std::uint32_t type : {0U, 2U}) {
    ask.device_type = type;
    EXPECT_EQ(sources_of(ask), wire::kTraceCuda | wire::kTraceNvtx) << type;
  }
  for (const std::uint32_t type : {1U, 3U, 4U, 77U}) {
    ask.device_type = type;
    EXPECT_EQ(sources_of(ask), wire::kTraceNvtx) << type;
  }
}

TEST(InjectRequest, RecordsNoMoreThanTheCommandLineAllows) {
  EXPECT_EQ(sources_of(levels(2, 1, 1), wire::kTraceCuda | wire::kTraceTorch),
            wire::kTraceCuda | wire::kTraceTorch);
}

TEST(InjectRequest, WaitsUntilTheTimeItIsGiven) {
  Rejection refused;
  RequestedProfile ask = levels(2, 1, 0);
  ask.start_ns = kNowNs + 3 * kSecondNs;
  EXPECT_EQ(make_capture_plan(ask, wire::kTraceAll, kNowNs, std::nullopt, &refused)->wait_ns,
            3 * kSecondNs);
  ask.start_ns = kNowNs - 3 * kSecondNs;
  EXPECT_EQ(make_capture_plan(ask, wire::kTraceAll, kNowNs, std::nullopt, &refused)->wait_ns, 0U);
}

TEST(InjectRequest, EndsBeforeTheClientStopsWaiting) {
  Rejection refused;
  RequestedProfile ask = levels(2, 1, 0);
  ask.duration_ms = 60'000;
  ask.start_ns = kNowNs + 2 * kSecondNs;
  const auto plan = make_capture_plan(ask, wire::kTraceAll, kNowNs, 20 * kSecondNs, &refused);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->wait_ns, 2 * kSecondNs);
  EXPECT_EQ(plan->record_ns, 14 * kSecondNs);  // a fifth of the time is for the answer
  ask.duration_ms = 1000;
  EXPECT_EQ(make_capture_plan(ask, wire::kTraceAll, kNowNs, 20 * kSecondNs, &refused)->record_ns,
            kSecondNs);
}

TEST(InjectRequest, IsRefusedWhereTheClientDoesNotWaitLongEnough) {
  Rejection refused;
  RequestedProfile ask = levels(2, 1, 0);
  for (const std::uint64_t remaining_ns : {std::uint64_t{0}, kSecondNs}) {
    EXPECT_FALSE(make_capture_plan(ask, wire::kTraceAll, kNowNs, remaining_ns, &refused));
    EXPECT_EQ(refused.kind, RejectReason::kTooLate);
    EXPECT_NE(refused.message.find("too short"), std::string::npos);
  }
  ask.start_ns = kNowNs + 30 * kSecondNs;
  EXPECT_FALSE(make_capture_plan(ask, wire::kTraceAll, kNowNs, 20 * kSecondNs, &refused));
  EXPECT_EQ(refused.kind, RejectReason::kTooLate);
}

TEST(InjectRequest, IsRefusedWithoutADurationOrWithAnAbsurdOne) {
  Rejection refused;
  RequestedProfile ask = levels(2, 1, 0);
  for (const std::uint64_t duration_ms :
       {std::uint64_t{0}, std::uint64_t{3'600'001}, ~std::uint64_t{0}}) {
    ask.duration_ms = duration_ms;
    EXPECT_FALSE(make_capture_plan(ask, wire::kTraceAll, kNowNs, std::nullopt, &refused));
    EXPECT_EQ(refused.kind, RejectReason::kBadRequest);
  }
  ask.duration_ms = 1;
  ask.start_ns = ~0ULL;
  EXPECT_FALSE(make_capture_plan(ask, wire::kTraceAll, kNowNs, std::nullopt, &refused));
  EXPECT_NE(refused.message.find("clocks"), std::string::npos);
}

}  // namespace
}  // namespace gpuprof::serve
