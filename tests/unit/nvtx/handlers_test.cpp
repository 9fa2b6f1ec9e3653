// SPDX-License-Identifier: Apache-2.0
//
// Programs use NVTX through NVIDIA's own header; what they do comes out of the ring buffers.
//
// Context:  tests
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include <thread>

#include "inject/nvtx/nvtx.hpp"
#include "tests/fakes/in_process_segment.hpp"

namespace gpuprof::nvtx {
namespace {

using fakes::InProcessSegment;
using wire::AgentState;

class NvtxHandlers : public ::testing::Test {
 protected:
  void SetUp() override { hot::g_state.on.store(hot::kOnNvtx); }
  void TearDown() override {
    hot::g_state.on.store(0);
    set_step_pattern("");
  }
  void count_steps(const char* name) {
    segment_.plan().mode.store(static_cast<std::uint32_t>(AgentState::kCounting));
    segment_.plan().on_step.store(wire::kNever);
    set_step_pattern(name);
    hot::g_state.on.store(hot::kOnNvtxSteps);
  }
  std::vector<std::pair<std::uint64_t, std::uint32_t>> steps() {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> found;
    for (const auto& mark : segment_.all<wire::StepMark>())
      found.emplace_back(mark.body.number, mark.body.flags);
    return found;
  }

  InProcessSegment segment_;
};

TEST_F(NvtxHandlers, PushAndPopAnswerDepthsAndCarryTheMessage) {
  EXPECT_EQ(nvtxRangePushA("outer"), 0);
  EXPECT_EQ(nvtxRangePushA("inner"), 1);
  EXPECT_EQ(nvtxRangePop(), 1);
  EXPECT_EQ(nvtxRangePop(), 0);

  const auto pushes = segment_.all<wire::RangePush>();
  ASSERT_EQ(pushes.size(), 2u);
  EXPECT_EQ(segment_.text(pushes[0].body.message_id), "outer");
  EXPECT_EQ(segment_.text(pushes[1].body.message_id), "inner");
  EXPECT_LE(pushes[0].body.ts_ns, pushes[1].body.ts_ns);
  EXPECT_EQ(segment_.all<wire::RangePop>().size(), 2u);
}

TEST_F(NvtxHandlers, PopWithoutPushAnswersNegativeAndRecordsNothing) {
  EXPECT_LT(nvtxRangePop(), 0);
  EXPECT_TRUE(segment_.all<wire::RangePop>().empty());
}

TEST_F(NvtxHandlers, DepthsGoOnWhileNothingIsRecorded) {
  hot::g_state.on.store(0);
  EXPECT_EQ(nvtxRangePushA("unseen"), 0);
  hot::g_state.on.store(hot::kOnNvtx);
  EXPECT_EQ(nvtxRangePushA("seen"), 1);
  EXPECT_EQ(nvtxRangePop(), 1);
  EXPECT_EQ(nvtxRangePop(), 0);  // of the unseen one: the daemon tolerates it
  EXPECT_EQ(segment_.all<wire::RangePush>().size(), 1u);
  EXPECT_EQ(segment_.all<wire::RangePop>().size(), 2u);
}

TEST_F(NvtxHandlers, AResourceThatSaysLessThanItIsOrHoldsAnUnknownTextNamesNoThread) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("resources");
  nvtxResourceAttributes_t resource{};
  resource.version = NVTX_VERSION;
  resource.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
  resource.identifierType = NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE;
  resource.identifier.ullValue = 4711;
  resource.messageType = NVTX_MESSAGE_UNKNOWN;
  resource.message.ascii = reinterpret_cast<const char*>(8);  // nobody may look there
  nvtxDomainResourceCreate(domain, &resource);
  resource.messageType = NVTX_MESSAGE_TYPE_ASCII;
  resource.message.ascii = "too short";
  resource.size = 4;
  nvtxDomainResourceCreate(domain, &resource);
  fakes::g_thread_names.clear();
  tick();
  for (const auto& [tid, name] : fakes::g_thread_names) EXPECT_NE(name, "too short");
  resource.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
  resource.message.ascii = "whole";
  nvtxDomainResourceCreate(domain, &resource);
  tick();
  ASSERT_FALSE(fakes::g_thread_names.empty());
  EXPECT_EQ(fakes::g_thread_names.back().second, "whole");
}

TEST_F(NvtxHandlers, AttributesOfAnEventArrive) {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.category = 7;
  event.colorType = NVTX_COLOR_ARGB;
  event.color = 0xFF00FF00;
  event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  event.payload.dValue = 2.5;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = "batch";
  nvtxMarkEx(&event);

  const auto marks = segment_.all<wire::NvtxMark>();
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(segment_.text(marks[0].body.message_id), "batch");
  EXPECT_EQ(marks[0].body.category, 7u);
  EXPECT_EQ(marks[0].body.color, 0xFF00FF00u);
  EXPECT_EQ(marks[0].body.payload_type, static_cast<std::uint32_t>(NVTX_PAYLOAD_TYPE_DOUBLE));
  double payload;
  std::memcpy(&payload, &marks[0].body.payload, sizeof payload);
  EXPECT_EQ(payload, 2.5);
}

TEST_F(NvtxHandlers, AnEventShorterThanItsStructIsNotRead) {
  nvtxEventAttributes_t event{};
  event.size = 8;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = reinterpret_cast<const char*>(16);
  nvtxMarkEx(&event);
  nvtxMarkEx(nullptr);
  ASSERT_EQ(segment_.all<wire::NvtxMark>().size(), 2u);
  EXPECT_EQ(segment_.text(segment_.all<wire::NvtxMark>()[0].body.message_id), "");
}

TEST_F(NvtxHandlers, WideMessagesBecomeUtf8) {
  nvtxMarkW(L"Größe \U0001F600");
  const auto marks = segment_.all<wire::NvtxMark>();
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(segment_.text(marks[0].body.message_id),
            "Gr\xC3\xB6\xC3\x9F"
            "e \xF0\x9F\x98\x80");
}

TEST_F(NvtxHandlers, RangesEndOnAnotherThread) {
  const nvtxRangeId_t range = nvtxRangeStartA("over there");
  std::thread([range] { nvtxRangeEnd(range); }).join();
  const auto starts = segment_.all<wire::RangeStart>();
  const auto ends = segment_.all<wire::RangeEnd>();
  ASSERT_EQ(starts.size(), 1u);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(starts[0].body.range_id, ends[0].body.range_id);
  EXPECT_NE(starts[0].tid, ends[0].tid);
}

TEST_F(NvtxHandlers, DomainsAndRegisteredStringsAreNamed) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("nccl");
  EXPECT_EQ(nvtxDomainCreateA("nccl"), domain);
  const nvtxStringHandle_t text = nvtxDomainRegisterStringA(domain, "allreduce");
  nvtxEventAttributes_t event{};
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = text;
  EXPECT_EQ(nvtxDomainRangePushEx(domain, &event), 0);
  EXPECT_EQ(nvtxDomainRangePop(domain), 0);
  tick();

  const auto pushes = segment_.all<wire::RangePush>();
  ASSERT_EQ(pushes.size(), 1u);
  EXPECT_EQ(segment_.text(pushes[0].body.message_id), "allreduce");
  ASSERT_EQ(fakes::g_domains.size(), 1u);
  EXPECT_EQ(fakes::g_domains[0].first, pushes[0].body.domain);
  EXPECT_EQ(fakes::g_domains[0].second, "nccl");
  tick();
  EXPECT_EQ(fakes::g_domains.size(), 1u) << "a name is told once";
}

TEST_F(NvtxHandlers, NamesOfThreadsAreTold) {
  nvtxNameOsThreadA(4242, "loader");
  tick();
  ASSERT_EQ(fakes::g_thread_names.size(), 1u);
  EXPECT_EQ(fakes::g_thread_names[0], (std::pair<std::uint32_t, std::string>{4242, "loader"}));
}

TEST_F(NvtxHandlers, OffRecordsAndCountsNothing) {
  hot::g_state.on.store(0);
  nvtxRangePushA("x");
  nvtxMarkA("x");
  nvtxRangeEnd(nvtxRangeStartA("x"));
  nvtxRangePop();
  EXPECT_TRUE(segment_.all<wire::RangePush>().empty());
  EXPECT_TRUE(segment_.all<wire::StringDef>().empty());
  EXPECT_EQ(segment_.counter(wire::Counter::kNvtxCalls), 0u);
}

TEST_F(NvtxHandlers, PushesOfTheStepsNameAreSteps) {
  count_steps("train_*");
  for (int i = 0; i < 2; ++i) {
    nvtxRangePushA("train_step");
    nvtxRangePushA("forward");
    nvtxRangePop();
    nvtxRangePop();
  }
  using Mark = std::pair<std::uint64_t, std::uint32_t>;
  EXPECT_EQ(
      steps(),
      (std::vector<Mark>{
          {0, wire::kStepBegin}, {0, wire::kStepEnd}, {1, wire::kStepBegin}, {1, wire::kStepEnd}}));
  EXPECT_TRUE(segment_.all<wire::RangePush>().empty()) << "counting records no ranges";
}

TEST_F(NvtxHandlers, AStepEndsWithItsOwnDomainsPop) {
  const nvtxDomainHandle_t other = nvtxDomainCreateA("other");
  count_steps("step");
  nvtxEventAttributes_t event{};
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  nvtxRangePushA("step");
  nvtxDomainRangePushEx(other, &event);
  nvtxRangePop();  // crosses the other domain's range
  nvtxDomainRangePop(other);
  using Mark = std::pair<std::uint64_t, std::uint32_t>;
  EXPECT_EQ(steps(), (std::vector<Mark>{{0, wire::kStepBegin}, {0, wire::kStepEnd}}));
}

TEST_F(NvtxHandlers, MarksBeginStepsAndRangesEndThem) {
  count_steps("it");
  nvtxMarkA("it");
  const nvtxRangeId_t range = nvtxRangeStartA("it");
  nvtxRangeEnd(nvtxRangeStartA("other"));
  nvtxRangeEnd(range);
  using Mark = std::pair<std::uint64_t, std::uint32_t>;
  EXPECT_EQ(steps(),
            (std::vector<Mark>{{0, wire::kStepBegin}, {1, wire::kStepBegin}, {1, wire::kStepEnd}}));
}

TEST_F(NvtxHandlers, ManyThreadsMayBeginAtOnce) {
  segment_.start_drainer();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([t] {
      const nvtxDomainHandle_t domain = nvtxDomainCreateA(t % 2 == 0 ? "even" : "odd");
      for (int i = 0; i < 500; ++i) {
        nvtxRangePushA("work");
        nvtxDomainRegisterStringA(domain, "text");
        nvtxRangePop();
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(segment_.all<wire::RangePush>().size(), 4000u);
  EXPECT_EQ(segment_.all<wire::RangePop>().size(), 4000u);
}

}  // namespace
}  // namespace gpuprof::nvtx
