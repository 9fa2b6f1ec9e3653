// SPDX-License-Identifier: Apache-2.0
//
// XPlane files: memory, samples, what is said of GPUs and of the file.
#include <array>

#include "tests/unit/export/xplane_fixture.hpp"

namespace gpuprof::exporter {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST_F(XplaneTest, MemoryIsToldWithTheOperatorThatTookIt) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "aten::empty"});
    to.on(model::StringDef{90, "GPU of a test"});
    to.on(device());
    for (const auto& [us, bytes, total] : std::initializer_list<std::array<std::int64_t, 3>>{
             {20, 512, 512}, {30, 512, 1024}, {60, -512, 512}}) {
      model::Allocation a{};
      a.start_ns = a.end_ns = kStart + static_cast<std::uint64_t>(us) * 1000;
      a.address = 0x1000;
      a.bytes = bytes;
      a.total_allocated_bytes = static_cast<std::uint64_t>(total);
      a.total_reserved_bytes = 2048;
      a.tid = kPid;
      a.device_type = 1;
      to.on(a);
    }
    to.on(op(5, 1, 10, 40));
    to.on(kernel(1, 50, 51));
  });
  write();
  expect_sorted_and_nested();
  const auto taken = named("MemoryAllocation"), freed = named("MemoryDeallocation");
  ASSERT_THAT(taken, SizeIs(2));
  ASSERT_THAT(freed, SizeIs(1));
  EXPECT_EQ(taken[1].stat("tf_op"), "empty/memory:allocation");
  EXPECT_EQ(taken[1].stat("bytes_allocated"), "1024");
  EXPECT_EQ(taken[1].stat("bytes_available"), std::to_string((1 << 30) - 1024));
  EXPECT_EQ(taken[1].stat("allocator_name"), "GPU:0");
  EXPECT_EQ(freed[0].stat("peak_bytes_in_use"), "1024");
  EXPECT_EQ(freed[0].stat("requested_bytes"), "512");
  EXPECT_EQ(freed[0].stat("tf_op"), "none");
  EXPECT_THAT(named("memory allocated (bytes)"), SizeIs(3));
}

TEST_F(XplaneTest, SamplesInARowAreOneNestedSlice) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "train.py"});
    to.on(model::StringDef{2, "step"});
    to.on(model::PythonCode{5, 1, 2, 12, 11, 0, ""});
    const model::PythonFrame frame{5, -1, 0};
    to.on(model::StackDef{9, 0, {}, {&frame, 1}});
    for (const std::uint64_t us : {10, 20, 30})
      to.on(model::Sample{kStart + us * 1000, 10'000, kPid, 9, us == 20 ? 1u : 0u});
  });
  write();
  expect_sorted_and_nested();
  const auto frames = named("frame train.py(12): step");
  ASSERT_THAT(frames, SizeIs(1));
  EXPECT_EQ(frames[0].shown, "train.py(12): step");
  EXPECT_EQ(frames[0].end_ps - frames[0].start_ps, 30'000'000u);
  EXPECT_THAT(named("(blocked)"), SizeIs(1));
}

TEST_F(XplaneTest, AGpuTellsWhatItCanDoAndTheFileWhenAndWhatIsMissing) {
  record([](model::EventSink& to) {
    send_step(to, kernel(7, 50, 60), op(2, 1, 20, 40));
    to.on(model::Loss{1, 0, 3, kStart + 10, kStart + 20});
  });
  write();
  const auto gpu = facts("/device:GPU:0");
  EXPECT_EQ(gpu.at("device_vendor"), "Nvidia");
  EXPECT_EQ(gpu.at("gpu_device_name"), "GPU of a test");
  EXPECT_EQ(gpu.at("core_count"), "132");
  EXPECT_EQ(gpu.at("memory_bandwidth"), "3352320000000");
  EXPECT_EQ(plane("/device:GPU:0").id(), 0);
  const auto environment = facts("Task Environment");
  EXPECT_EQ(environment.at("profile_start_time"), std::to_string(window_.stamp_real_ns));
  EXPECT_GT(environment.at("profile_stop_time"), environment.at("profile_start_time"));
  EXPECT_THAT(space_.hostnames(), ElementsAre("host_4000"));
  EXPECT_TRUE(written_.path.ends_with("/host_4000.xplane.pb")) << written_.path;
  EXPECT_EQ(std::vector<std::string>(space_.warnings().begin(), space_.warnings().end()),
            written_.missing);
  EXPECT_THAT(written_.missing, Contains(HasSubstr("3 ")));
}

TEST_F(XplaneTest, IdsFromTheFirstToTheLastThereCanBeTakeNoRoom) {
  record([](model::EventSink& to) {
    send_step(to, kernel(7, 50, 60, ~0ULL), op(~0ULL, 1, 20, 40));
    to.on(op(0, 1, 10, 15));
  });
  write();
  EXPECT_GT(written_.events, 2u);
}

}  // namespace
}  // namespace gpuprof::exporter
