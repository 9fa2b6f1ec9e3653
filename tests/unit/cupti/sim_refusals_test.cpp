// SPDX-License-Identifier: Apache-2.0
//
// What the room says and does when CUPTI or the program do not play along. Each case names, in
// CMakeLists.txt, the switches of gpusim-run it needs.
//
// Context:  tests
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "inject/cupti/room.hpp"
#include "sim_fixture.hpp"

namespace gpuprof::cupti {
namespace {

using namespace std::chrono_literals;
using wire::Counter;

class SimRefusals : public SimTest {};

TEST_F(SimRefusals, ATakenSlotIsNamedAndTheProgramGoesOn) {  // --slot-taken
  program();
  record();
  turn();
  program().launch(10);
  program().wait();
  turn(3);
  EXPECT_TRUE(said("Some Profiler")) << everything_said();
  EXPECT_EQ(kernels(), 0u);
  ASSERT_EQ(fakes::g_said.size(), 1u) << "one sentence, not one a try";
  EXPECT_EQ(fakes::g_said[0].level, wire::NoticeLevel::kMissing);
  EXPECT_EQ(fakes::g_said[0].code, 39u);
}

TEST_F(SimRefusals, AStubDriverIsToldWithItsPath) {  // --stub
  record();
  turn();
  EXPECT_TRUE(said("stub")) << everything_said();
  EXPECT_TRUE(said("LD_LIBRARY_PATH")) << everything_said();
}

TEST_F(SimRefusals, ADriverThatIsTooOldIsTriedAgain) {  // --errors cuptiSubscribe…:*:15
  program();
  record();
  turn();
  EXPECT_EQ(fakes::g_said.size(), 0u) << everything_said();
  turn_for(2500ms);
  EXPECT_TRUE(said("too old")) << everything_said();
  EXPECT_EQ(fakes::g_said[0].code, 15u);
}

TEST_F(SimRefusals, OneFailedTryIsNoFailure) {  // --errors cuptiSubscribe…:1:15
  program();
  record();
  turn_for(1300ms);
  program().launch(10);
  finish();
  EXPECT_EQ(kernels(), 10u);
  EXPECT_EQ(fakes::g_said.size(), 0u) << everything_said();
}

TEST_F(SimRefusals, PrivilegeIsNamed) {  // --errors cuptiSubscribe…:*:35
  program();
  record();
  turn();
  EXPECT_TRUE(said("35")) << everything_said();
  EXPECT_TRUE(said("privilege")) << everything_said();
}

TEST_F(SimRefusals, AKindThatRefusesIsNamedAndTheOthersCome) {  // --errors cuptiActivityEnable:…
  program();
  record();
  program().launch(10);
  program().copy();
  finish();
  turn();
  EXPECT_TRUE(said("CUPTI refused")) << everything_said();
  EXPECT_EQ(segment_.all<wire::ApiCall>().size() > 0, true);
}

TEST_F(SimRefusals, WithoutOptionalFunctionsTheRecordsStillCome) {  // --missing …
  program();
  record();
  program().launch(10);
  program().copy();
  finish();
  EXPECT_EQ(kernels(), 10u);
  for (const auto& call : segment_.all<wire::ApiCall>())
    EXPECT_NE(segment_.text(call.body.name_id), "cuCtxGetCurrent");
}

TEST_F(SimRefusals, AFlushThatHangsHoldsNothingUp) {  // --scenario flush-hangs:1
  program();
  record();
  program().launch(10);
  program().wait();
  turn(3);
  EXPECT_FALSE(flush(true, 200));
  before_exit();
  EXPECT_TRUE(hot::alive());
  EXPECT_EQ(segment_.counter(Counter::kLastFlushMissed), 1u);
}

// As where a thread of ours that is inside gets no processor.
TEST_F(SimRefusals, AnEndThatFindsTheRoomTakenIsCounted) {
  program();
  record();
  program().launch(10);
  program().wait();
  std::atomic<bool> taken{false}, over{false};
  std::thread inside([&] {
    const RoomLock lock(10'000);
    taken = static_cast<bool>(lock);
    taken.notify_one();
    over.wait(false);
  });
  taken.wait(false);
  before_exit();
  EXPECT_EQ(segment_.counter(Counter::kLastFlushMissed), 1u);
  over = true;
  over.notify_one();
  inside.join();
}

TEST_F(SimRefusals, UnknownKindsAreCountedAndTold) {  // --scenario unknown-kind
  program();
  record();
  program().launch(300);
  finish();
  turn();
  EXPECT_GT(segment_.counter(Counter::kCuptiUnknownKind), 0u);
  EXPECT_GE(segment_.counter(Counter::kCuptiUnknownBytes),
            40 * segment_.counter(Counter::kCuptiUnknownKind));
  EXPECT_TRUE(said("iterator")) << everything_said();
}

TEST_F(SimRefusals, BadTimesAreCountedFlaggedAndTold) {  // --scenario zero-times,end-before-start
  program();
  record();
  program().launch(100);
  finish();
  turn();
  std::size_t flagged = 0;
  for (const auto& kernel : segment_.all<wire::KernelExec>())
    if ((kernel.body.flags & wire::kGpuBadTime) != 0) ++flagged;
  EXPECT_EQ(kernels(), 100u);
  EXPECT_GT(flagged, 0u);
  EXPECT_EQ(segment_.counter(Counter::kCuptiBadTime), flagged);
  EXPECT_TRUE(said("valid times")) << everything_said();
}

TEST_F(SimRefusals, AnExhaustedPoolStopsNodeRecords) {  // --scenario pool-limit:40
  program();
  record();
  program().graph(10, 10);
  program().wait();
  turn_for(300ms);
  EXPECT_EQ(segment_.counter(Counter::kGraphBudgetStops), 1u);
  EXPECT_TRUE(said("graph nodes")) << everything_said();
  // Calls and launches go on.
  segment_.forget();
  program().launch(5);
  finish();
  EXPECT_EQ(kernels(), 0u);
  EXPECT_EQ(segment_.all<wire::Launch>().size() >= 5, true);
}

TEST_F(SimRefusals, DroppedRecordsAreCounted) {  // --scenario dropped:30
  program();
  record();
  program().launch(100);
  finish();
  EXPECT_EQ(kernels(), 70u);
  EXPECT_EQ(segment_.counter(Counter::kCuptiDropped), 30u);
}

TEST_F(SimRefusals, AForeignClockIsMarked) {  // --scenario tsc-clock:1
  program();
  record();
  program().launch(10);
  finish();
  std::this_thread::sleep_for(20ms);
  program().launch(1);  // the clock changes with a record
  finish();
  EXPECT_TRUE(flush(false, 1000));
  turn();
  bool foreign = false;
  for (const auto& clock : segment_.all<wire::ClockSync>())
    foreign = foreign || (clock.body.flags & wire::kClockForeign) != 0;
  EXPECT_TRUE(foreign);
  EXPECT_TRUE(said("clock")) << everything_said();
}

TEST_F(SimRefusals, KindsAreKeptOnBelowCuda130Update1) {  // --layout 12.4
  program();
  record();
  program().launch(10);
  program().wait();
  want(Wanted::kOff, settings_);
  EXPECT_TRUE(kinds_kept());
  turn_for(2500ms);
  segment_.forget();
  program().launch(10);
  program().wait();
  turn_for(1500ms);
  EXPECT_EQ(kernels(), 0u) << "recycled unread";
  EXPECT_EQ(segment_.counter(Counter::kCuptiAfterStop), 0u);
  EXPECT_TRUE(said("stay on")) << everything_said();
}

TEST_F(SimRefusals, NoMoreBuffersIsCountedAndTold) {
  program();
  settings_.buffer_bytes = 64 << 10;
  settings_.buffer_count = 0;
  record();
  program().launch(200);
  program().wait();
  flush(true, 1000);
  turn();
  EXPECT_GT(segment_.counter(Counter::kCuptiDiscardBuffer), 0u);
  EXPECT_TRUE(said("all buffers for CUPTI were in use")) << everything_said();
}

TEST_F(SimRefusals, AForkedChildTouchesNothing) {
  program();
  record();
  program().launch(10);
  program().wait();
  before_fork(0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    hot::g_state.alive.store(nullptr);
    after_fork_child();
    want(Wanted::kRecording, settings_);
    tick(base::mono_ns());
    before_exit();
    _exit(flush(true, 100) ? 1 : 0);
  }
  after_fork_parent();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  program().launch(10);
  finish();
  EXPECT_EQ(kernels(), 20u) << "the parent goes on";
}

}  // namespace
}  // namespace gpuprof::cupti
