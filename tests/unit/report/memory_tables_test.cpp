// SPDX-License-Identifier: Apache-2.0
//
// Memory: peak, what was alive then, churn, the curve.
#include "analysis/report/aggregation/memory_tables.hpp"

#include "tests/unit/report/report_fixture.hpp"

namespace gpuprof::report {
namespace {

using test::ReportTest;

class MemoryTest : public ReportTest {};

TEST_F(MemoryTest, WhatIsAliveAtThePeakIsTold) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "aten::empty"});
    to.on(model::StringDef{2, "aten::clone"});
    to.on(step(0, 0, 100));
    to.on(allocation(10, 100, 1, 100, 0));
    to.on(allocation(22, 700, 2, 800, 0));
    to.on(child(op(2, 1, 21, 25), 1));
    to.on(op(1, 2, 20, 30));
    to.on(allocation(40, -100, 1, 700, 0));
    to.on(allocation(50, 300, 3, 1000, 0));
    to.on(allocation(60, -700, 2, 300, 0));
  });
  const ProcessReport a = analysis();
  ASSERT_EQ(1u, a.memory.devices.size());
  const DeviceMemory& gpu = a.memory.devices[0];
  EXPECT_EQ(1000u, gpu.peak_allocated_bytes);
  EXPECT_EQ(2000u, gpu.peak_reserved_bytes);
  EXPECT_EQ(kStart + 50'000, gpu.peak_ns);
  ASSERT_EQ(2u, gpu.at_peak.size());
  EXPECT_EQ(700u, gpu.at_peak[0].bytes);
  EXPECT_EQ("aten::clone", gpu.at_peak[0].owner);
  EXPECT_EQ(300u, gpu.at_peak[1].bytes);
  ASSERT_EQ(2u, gpu.churn.size());
  EXPECT_EQ("aten::clone", gpu.churn[0].owner);
  EXPECT_EQ(1u, gpu.churn[0].freed_in_step);
  EXPECT_EQ(3u, gpu.allocations);
  EXPECT_EQ(2u, gpu.frees);
  EXPECT_FALSE(gpu.relative);
}

TEST_F(MemoryTest, ALongCurveKeepsItsPeak) {
  constexpr std::uint64_t kCount = 50'000, kPeakAt = 33'333;
  record([](model::EventSink& to) {
    for (std::uint64_t i = 0; i < kCount; ++i) {
      model::Allocation a = allocation(0, 16, i + 1, i == kPeakAt ? 999'999 : 16 + i % 100);
      a.start_ns = a.end_ns = kStart + i * 10;
      to.on(a);
    }
  });
  const ProcessReport a = analysis();
  const DeviceMemory& host = a.memory.devices.at(0);
  EXPECT_LE(host.curve.size(), DeviceMemory::kMaxPoints);
  EXPECT_GE(host.curve.size(), DeviceMemory::kMaxPoints / 4);
  EXPECT_TRUE(std::any_of(host.curve.begin(), host.curve.end(), [](const MemoryPoint& p) {
    return p.allocated_bytes == 999'999 && p.ts_ns == kStart + kPeakAt * 10;
  }));
}

TEST_F(MemoryTest, WithoutTotalsLevelsAreCountedFromTheLowest) {
  record([](model::EventSink& to) {
    to.on(allocation(10, -500, 1, 0));
    to.on(allocation(20, 800, 2, 0));
    to.on(allocation(30, -800, 2, 0));
  });
  const ProcessReport a = analysis();
  EXPECT_TRUE(a.memory.devices.at(0).relative);
  EXPECT_EQ(800u, a.memory.devices.at(0).peak_allocated_bytes);
}

}  // namespace
}  // namespace gpuprof::report
