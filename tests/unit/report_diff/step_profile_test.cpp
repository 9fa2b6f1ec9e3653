// SPDX-License-Identifier: Apache-2.0
//
// Sums by name and step, from a spool.
#include "analysis/report/diff/read/step_profile_reader.hpp"

#include <gmock/gmock.h>

#include "analysis/report/diff/make_diff.hpp"
#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::report::diff {
namespace {

using testing::HasSubstr;

class SideTest : public gpuprof::test::ExportTest {
 protected:
  StepProfile read(bool ignore_steps = false) {
    auto profile =
        read_step_profile(session_, session_.processes.at(0), {window_}, {ignore_steps, {}});
    EXPECT_TRUE(profile.ok());
    return profile.take();
  }
  static const NameRow& row(const StepProfile& profile, const std::string& name) {
    for (const NameRow& one : profile.names)
      if (one.name == name) return one;
    ADD_FAILURE() << "no " << name;
    return profile.names.front();
  }
  static model::Operator child(model::Operator op, model::RangeId parent) {
    op.parent = parent;
    return op;
  }
};

TEST_F(SideTest, SelfTimeIsWithoutWhatIsCalled) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "outer"});
    to.on(model::StringDef{2, "inner"});
    to.on(child(op(2, 2, 20, 50), 1));
    to.on(op(1, 1, 10, 90));
    to.on(step(0, 0, 100));
  });
  const StepProfile profile = read();
  ASSERT_EQ(1u, profile.cells());
  EXPECT_FLOAT_EQ(50'000, row(profile, "outer").cells.at(0).self_ns);
  EXPECT_FLOAT_EQ(80'000, row(profile, "outer").cells.at(0).total_ns);
  EXPECT_FLOAT_EQ(30'000, row(profile, "inner").cells.at(0).self_ns);
  ASSERT_EQ(1u, profile.calls.size());
  EXPECT_EQ("outer", profile.names[profile.calls[0].parent].name);
  EXPECT_EQ("inner", profile.names[profile.calls[0].child].name);
  EXPECT_DOUBLE_EQ(1, profile.calls[0].calls);
}

TEST_F(SideTest, CallsOfManyNamesInOneAreEachCounted) {
  constexpr std::uint32_t kNames = 50;
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "outer"});
    for (std::uint32_t i = 0; i < kNames; ++i)
      to.on(model::StringDef{10 + i, "inner" + std::to_string(i)});
    for (std::uint32_t i = 0; i < 2 * kNames; ++i)
      to.on(child(op(100 + i, 10 + i % kNames, 20 + 2 * i, 21 + 2 * i), 1));
    to.on(op(1, 1, 10, 900));
    to.on(step(0, 0, 1000));
  });
  const StepProfile profile = read();
  ASSERT_EQ(kNames, profile.calls.size());
  for (const CallEdge& call : profile.calls) {
    EXPECT_EQ("outer", profile.names[call.parent].name);
    EXPECT_DOUBLE_EQ(2, call.calls);
    EXPECT_DOUBLE_EQ(2'000, call.ns);
  }
}

TEST_F(SideTest, KnownNamesKeepTheirRowsOnceThereIsNoRoomForNewOnes) {
  constexpr std::uint32_t kNew = 7;
  constexpr auto kFull = static_cast<std::uint32_t>(kMaxNames);
  window_.end_ns = kStart + 1'000'000'000;
  record([](model::EventSink& to) {
    model::RangeId id = 0;
    const auto run = [&](std::uint32_t name) {
      const auto at = static_cast<std::int64_t>(++id) * 10;
      to.on(op(id, name, at, at + 1));
    };
    for (std::uint32_t i = 1; i <= kFull + kNew; ++i)
      to.on(model::StringDef{i, "op" + std::to_string(i)});
    for (std::uint32_t i = 1; i <= kFull; ++i) run(i);
    for (std::uint32_t i = 1; i <= kNew; ++i) run(kFull + i);
    for (std::uint32_t i = 1; i <= kNew; ++i) run(kFull + i);
    run(1);
    run(kFull);
  });
  const StepProfile profile = read();
  EXPECT_EQ(kMaxNames + 1, profile.names.size());
  EXPECT_DOUBLE_EQ(2, row(profile, "op1").calls);
  EXPECT_DOUBLE_EQ(2, row(profile, "op" + std::to_string(kFull)).calls);
  EXPECT_DOUBLE_EQ(2 * kNew, row(profile, "(other)").calls);
  EXPECT_EQ(kNew, profile.other_names);
}

TEST_F(SideTest, AnOperatorThatCallsItselfIsCountedOnceInItsTotal) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "twice"});
    to.on(child(op(2, 1, 20, 50), 1));
    to.on(op(1, 1, 10, 90));
    to.on(op(3, 1, 92, 95));
    to.on(step(0, 0, 100));
  });
  const StepProfile profile = read();
  EXPECT_FLOAT_EQ(83'000, row(profile, "twice").cells.at(0).total_ns);
  EXPECT_FLOAT_EQ(83'000, row(profile, "twice").cells.at(0).self_ns);
  EXPECT_FLOAT_EQ(3, row(profile, "twice").cells.at(0).calls);
}

TEST_F(SideTest, WorkCountsToTheStepItBeganInAndGpuWorkToThatOfItsLaunch) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "mm"});
    to.on(model::StringDef{2, "gemm"});
    to.on(call(7, 20, 30, 1));
    to.on(op(1, 1, 10, 40));
    model::Kernel k = kernel(7, 150, 170, 1);  // while the next step runs
    k.name = 2;
    to.on(k);
    to.on(op(2, 1, 205, 210));  // between steps
    to.on(step(0, 0, 100));
    to.on(step(1, 100, 200));
    to.on(step(2, 300, 400));
  });
  const StepProfile profile = read();
  ASSERT_EQ(1u, row(profile, "gemm").cells.size());
  EXPECT_EQ(0u, row(profile, "gemm").cells.at(0).index);
  EXPECT_FLOAT_EQ(20'000, row(profile, "gemm").cells.at(0).total_device_ns);
  ASSERT_EQ(1u, row(profile, "mm").cells.size());
  EXPECT_FLOAT_EQ(20'000, row(profile, "mm").cells.at(0).total_device_ns);
  EXPECT_DOUBLE_EQ(20'000, profile.of(StepMeasure::kKernel).at(0));
  EXPECT_DOUBLE_EQ(20'000, profile.of(StepMeasure::kGpuBusy).at(1));  // when it ran
  EXPECT_DOUBLE_EQ(1, profile.of(StepMeasure::kKernels).at(0));
}

TEST_F(SideTest, GpuWorkThatIsToldBeforeItsLaunchFindsIt) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "mm"});
    to.on(model::StringDef{2, "outer"});
    to.on(kernel(7, 150, 170, 2));
    to.on(call(7, 20, 30, 2));
    to.on(child(op(2, 1, 10, 40), 1));
    to.on(op(1, 2, 5, 60));
    to.on(step(0, 0, 100));
    to.on(step(1, 100, 200));
  });
  const StepProfile profile = read();
  EXPECT_FLOAT_EQ(20'000, row(profile, "mm").cells.at(0).self_device_ns);
  EXPECT_FLOAT_EQ(20'000, row(profile, "outer").cells.at(0).total_device_ns);
  EXPECT_FLOAT_EQ(0, row(profile, "outer").cells.at(0).self_device_ns);
  EXPECT_DOUBLE_EQ(20'000, profile.of(StepMeasure::kKernel).at(0));
}

TEST_F(SideTest, SlowStepsAtTheBeginAreWarmUp) {
  record([](model::EventSink& to) {
    to.on(step(0, 0, 300));
    to.on(step(1, 300, 440));
    for (std::uint64_t i = 0; i < 10; ++i) to.on(step(i + 2, 440 + i * 50, 490 + i * 50));
  });
  EXPECT_EQ(2u, read().warm_up);
}

TEST_F(SideTest, ManyStepsBecomeCellsOfSeveral) {
  constexpr std::uint64_t kSteps = 3000;
  window_.end_ns = kStart + 1'000'000'000;
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "mm"});
    for (std::uint64_t i = 0; i < kSteps; ++i) {
      to.on(op(i + 1, 1, static_cast<std::int64_t>(i) * 10 + 1,
               static_cast<std::int64_t>(i) * 10 + 5));
      to.on(step(i, i * 10, i * 10 + 10));
    }
  });
  const StepProfile profile = read();
  EXPECT_EQ(kSteps, profile.steps);
  EXPECT_EQ(4u, profile.steps_per_cell);
  EXPECT_EQ(750u, profile.cells());
  for (const double length : profile.of(StepMeasure::kLength)) EXPECT_DOUBLE_EQ(10'000, length);
  ASSERT_EQ(750u, row(profile, "mm").cells.size());
  for (const StepCell& cell : row(profile, "mm").cells) {
    EXPECT_FLOAT_EQ(1, cell.calls);
    EXPECT_FLOAT_EQ(4'000, cell.total_ns);
  }
}

TEST_F(SideTest, WithoutStepsTheRecordingIsCutIntoSlices) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "mm"});
    for (int i = 0; i < 100; ++i)
      to.on(op(static_cast<model::RangeId>(i) + 1, 1, i * 10, i * 10 + 5));
  });
  const StepProfile profile = read();
  EXPECT_FALSE(profile.has_steps);
  EXPECT_EQ(kSliceCount, profile.cells());
  EXPECT_EQ(kSliceCount, row(profile, "mm").cells.size());
}

TEST_F(SideTest, RanksAreComparedWithTheirOwnAndTheOthersNamed) {
  const auto rank = [](const char* number) {
    return [number](model::EventSink& to) {
      to.on(model::Fact{"RANK", number});
      to.on(model::StringDef{1, "mm"});
      for (std::uint64_t i = 0; i < 10; ++i) {
        const auto at = static_cast<std::int64_t>(i) * 50;
        to.on(op(i + 1, 1, at + 1, at + 10));
        to.on(step(i, i * 50, i * 50 + 50));
      }
    };
  };
  record(rank("0"));
  record(rank("1"), kPid + 1);
  const std::vector<model::Window> windows{window_};
  spool::SessionView second = session_;
  second.processes.erase(second.processes.begin());
  const auto diff = make_diff({session_, windows, "a"}, {second, windows, "b"}, {});
  ASSERT_TRUE(diff.ok());
  ASSERT_EQ(1u, diff.value().processes.size());
  EXPECT_EQ(1, diff.value().processes[0].before.rank);
  EXPECT_THAT(diff.value().notes, testing::ElementsAre("only before, not compared: rank 0"));
  EXPECT_FALSE(make_diff({session_, windows, "a"}, {second, windows, "b"}, {{}, 0, {}}).ok());
}

TEST_F(SideTest, SimulatedAndRealGpusAreNotCompared) {
  const auto work = [](bool simulated) {
    return [simulated](model::EventSink& to) {
      if (simulated) to.on(model::Fact{"gpu.simulated", "1"});
      to.on(call(7, 20, 30));
      to.on(kernel(7, 40, 50));
    };
  };
  record(work(false));
  record(work(true), kPid + 1);
  const std::vector<model::Window> windows{window_};
  spool::SessionView real = session_, simulated = session_;
  real.processes.pop_back();
  simulated.processes.erase(simulated.processes.begin());
  const auto diff = make_diff({real, windows, "a"}, {simulated, windows, "b"}, {});
  ASSERT_FALSE(diff.ok());
  EXPECT_EQ(2, diff.error().exit_status);
  EXPECT_THAT(diff.error().message, HasSubstr("'b' has GPU work of a simulated GPU"));
}

TEST_F(SideTest, WorkThatLastsBeyondTheRecordingCountsForItsLastSlice) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "endless"});
    model::Kernel endless = kernel(7, 50, 60);
    endless.name = 1;
    endless.end_ns = kStart + (1ULL << 52);
    to.on(endless);
  });
  const StepProfile profile = read();
  EXPECT_FALSE(profile.has_steps);
  const std::vector<double>& busy = profile.of(StepMeasure::kGpuBusy);
  ASSERT_EQ(busy.size(), kSliceCount);
  EXPECT_GT(busy.back(), 1e15);
  EXPECT_LT(busy[kSliceCount - 2], 1e6);
}

}  // namespace
}  // namespace gpuprof::report::diff
