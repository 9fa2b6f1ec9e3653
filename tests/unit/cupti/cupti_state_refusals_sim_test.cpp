// SPDX-License-Identifier: Apache-2.0
//
// What the component says and does when CUPTI or the program do not play along. Each case names, in
// CMakeLists.txt, the switches of gpusim-run it needs.
//
// Context:  tests
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/interpose/program_profiler.hpp"
#include "inject/cupti/subscribe/cupti_state.hpp"
#include "sim_fixture.hpp"

namespace gpuprof::cupti {
namespace {

using namespace std::chrono_literals;
using wire::Counter;

class SimRefusals : public SimTest {};

TEST_F(SimRefusals, ATakenSlotIsNamedAndTheProgramGoesOn) {  // --slot-taken
  program();
  start_recording();
  run_worker_tick();
  program().launch(10);
  program().wait();
  run_worker_tick(3);
  EXPECT_TRUE(has_notice("Some Profiler")) << all_notices();
  EXPECT_EQ(kernels(), 0u);
  ASSERT_EQ(fakes::g_notices.size(), 1u) << "one sentence, not one a try";
  EXPECT_EQ(fakes::g_notices[0].level, wire::NoticeLevel::kMissing);
  EXPECT_EQ(fakes::g_notices[0].code, 39u);
}

TEST_F(SimRefusals, AStubDriverIsToldWithItsPath) {  // --stub
  start_recording();
  run_worker_tick();
  EXPECT_TRUE(has_notice("stub")) << all_notices();
  EXPECT_TRUE(has_notice("LD_LIBRARY_PATH")) << all_notices();
}

TEST_F(SimRefusals, ADriverThatIsTooOldIsTriedAgain) {  // --errors cuptiSubscribe…:*:15
  program();
  start_recording();
  run_worker_tick();
  EXPECT_EQ(fakes::g_notices.size(), 0u) << all_notices();
  EXPECT_TRUE(turn_until([] { return has_notice("too old"); })) << all_notices();
  EXPECT_EQ(fakes::g_notices[0].code, 15u);
}

TEST_F(SimRefusals, OneFailedTryIsNoFailure) {  // --errors cuptiSubscribe…:1:15
  program();
  start_recording();
  EXPECT_TRUE(turn_until([] {
    const CuptiLock lock(kTimeoutMs);
    return g_cupti.recording;
  }));
  program().launch(10);
  finish();
  EXPECT_EQ(kernels(), 10u);
  EXPECT_EQ(fakes::g_notices.size(), 0u) << all_notices();
}

TEST_F(SimRefusals, PrivilegeIsNamed) {  // --errors cuptiSubscribe…:*:35
  program();
  start_recording();
  run_worker_tick();
  EXPECT_TRUE(has_notice("35")) << all_notices();
  EXPECT_TRUE(has_notice("privilege")) << all_notices();
}

TEST_F(SimRefusals, AKindThatRefusesIsNamedAndTheOthersCome) {  // --errors cuptiActivityEnable:…
  program();
  start_recording();
  program().launch(10);
  program().copy();
  finish();
  run_worker_tick();
  EXPECT_TRUE(has_notice("CUPTI refused")) << all_notices();
  EXPECT_EQ(segment_.all<wire::ApiCall>().size() > 0, true);
}

TEST_F(SimRefusals, WithoutOptionalFunctionsTheRecordsStillCome) {  // --missing …
  program();
  start_recording();
  program().launch(10);
  program().copy();
  finish();
  EXPECT_EQ(kernels(), 10u);
  for (const auto& call : segment_.all<wire::ApiCall>())
    EXPECT_NE(segment_.text(call.body.name_id), "cuCtxGetCurrent");
}

TEST_F(SimRefusals, AFlushThatHangsHoldsNothingUp) {  // --scenario flush-hangs:1
  program();
  start_recording();
  program().launch(10);
  program().wait();
  run_worker_tick(3);
  EXPECT_FALSE(flush(true, 200));
  EXPECT_EQ(segment_.counter(Counter::kFlushTimeouts), 1u);
  before_exit();
  EXPECT_TRUE(hot::is_owner_process());
  EXPECT_EQ(segment_.counter(Counter::kFinalFlushTimedOut), 1u);
}

// As where a thread of ours that is inside gets no processor.
class Taken {
 public:
  Taken() { taken_.wait(false); }
  ~Taken() {
    over_ = true;
    over_.notify_one();
    inside_.join();
  }

 private:
  std::atomic<bool> taken_{false}, over_{false};
  std::thread inside_{[this] {
    const CuptiLock lock(kTimeoutMs);
    taken_ = static_cast<bool>(lock);
    taken_.notify_one();
    over_.wait(false);
  }};
};

TEST_F(SimRefusals, AnEndThatFindsTheRoomTakenIsCounted) {
  program();
  start_recording();
  program().launch(10);
  program().wait();
  const Taken taken;
  before_exit();
  EXPECT_EQ(segment_.counter(Counter::kFinalFlushTimedOut), 1u);
}

TEST_F(SimRefusals, AnOnThatFindsTheRoomTakenIsAskedForAgainAndCounted) {
  program();
  {
    const Taken taken;
    start_recording();
    EXPECT_TRUE(is_mode_pending());
    start_recording();
    EXPECT_TRUE(is_mode_pending());
    EXPECT_GT(segment_.counter(Counter::kCuptiEnableDelayNs), 0u)
        << "told by whoever is killed now, too";
  }
  start_recording();
  EXPECT_FALSE(is_mode_pending());
  program().launch(10);
  finish();
  EXPECT_EQ(kernels(), 10u);
}

TEST_F(SimRefusals, AnOffThatFindsTheRoomTakenIsAskedForAgain) {
  program();
  start_recording();
  {
    const Taken taken;
    set_mode(Mode::kOff, settings_);
    EXPECT_TRUE(is_mode_pending());
  }
  EXPECT_TRUE(g_cupti.recording);
  set_mode(Mode::kOff, settings_);
  EXPECT_FALSE(is_mode_pending());
  EXPECT_FALSE(g_cupti.recording);
  EXPECT_EQ(segment_.counter(Counter::kCuptiEnableDelayNs), 0u) << "nothing is missing";
}

TEST_F(SimRefusals, ACallOfAnotherProfilerThatFindsTheRoomTakenIsCounted) {
  program();
  start_recording();
  {
    const Taken taken;
    on_program_subscribed(true, SubscribeVersion::kV1);
  }
  EXPECT_EQ(segment_.counter(Counter::kProgramCuptiCallsMissed), 1u);
  on_program_subscribed(true, SubscribeVersion::kV1);
  EXPECT_EQ(segment_.counter(Counter::kProgramCuptiCallsMissed), 1u);
  EXPECT_EQ(program_subscribe_version(), SubscribeVersion::kV1);
}

TEST_F(SimRefusals, LettingGoWaitsForWhoeverIsInside) {
  program();
  start_recording();
  auto taken = std::make_unique<Taken>();
  std::thread leaves([&taken] {
    std::this_thread::sleep_for(700ms);  // longer than one try
    taken.reset();
  });
  EXPECT_TRUE(release(kTimeoutMs));
  leaves.join();
  EXPECT_FALSE(g_cupti.recording);
}

// As where the helper gets no processor for so long.
TEST_F(SimRefusals, AWindowsRecordsComeHoweverLateItIsFlushed) {
  program();
  start_recording();
  program().launch(10);
  program().wait();
  set_mode(Mode::kOff, settings_);
  const std::uint64_t off_ns = base::mono_ns();
  while (base::mono_ns() <= off_ns + kLingerNs) std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(flush(true, kTimeoutMs));
  segment_.drain();
  EXPECT_EQ(kernels(), 10u);
  EXPECT_EQ(segment_.counter(Counter::kCuptiAfterStop), 0u);
}

TEST_F(SimRefusals, AnEndDuringAFlushThatHangsIsCounted) {  // --scenario flush-hangs:1
  constexpr std::uint64_t kHungNs = 5'000'000'000;
  program();
  start_recording();
  program().launch(10);
  program().wait();
  EXPECT_TRUE(turn_until([] {
    const std::uint64_t since_ns = flush_started_ns();
    return since_ns != 0 && base::mono_ns() - since_ns > kHungNs;
  }));
  before_exit();
  EXPECT_EQ(segment_.counter(Counter::kFinalFlushTimedOut), 1u);
}

TEST_F(SimRefusals, UnknownKindsAreCountedAndTold) {  // --scenario unknown-kind
  program();
  start_recording();
  program().launch(300);
  finish();
  run_worker_tick();
  EXPECT_GT(segment_.counter(Counter::kCuptiUnknownKind), 0u);
  EXPECT_GE(segment_.counter(Counter::kCuptiUnknownBytes),
            40 * segment_.counter(Counter::kCuptiUnknownKind));
  EXPECT_TRUE(has_notice("iterator")) << all_notices();
}

TEST_F(SimRefusals, BadTimesAreCountedFlaggedAndTold) {  // --scenario zero-times,end-before-start
  program();
  start_recording();
  program().launch(100);
  finish();
  run_worker_tick();
  std::size_t flagged = 0;
  for (const auto& kernel : segment_.all<wire::KernelExec>())
    if ((kernel.body.flags & wire::kGpuBadTime) != 0) ++flagged;
  EXPECT_EQ(kernels(), 100u);
  EXPECT_GT(flagged, 0u);
  EXPECT_EQ(segment_.counter(Counter::kCuptiBadTimestamp), flagged);
  EXPECT_TRUE(has_notice("valid times")) << all_notices();
}

TEST_F(SimRefusals, DroppedRecordsAreCounted) {  // --scenario dropped:30
  program();
  start_recording();
  program().launch(100);
  finish();
  EXPECT_EQ(kernels(), 70u);
  EXPECT_EQ(segment_.counter(Counter::kCuptiDropped), 30u);
}

TEST_F(SimRefusals, AForeignClockIsMarked) {  // --scenario tsc-clock:1
  program();
  start_recording();
  program().launch(10);
  finish();
  std::this_thread::sleep_for(20ms);
  program().launch(1);  // the clock changes with a record
  finish();
  EXPECT_TRUE(flush(false, kTimeoutMs));
  run_worker_tick();
  bool foreign = false;
  for (const auto& clock : segment_.all<wire::ClockSync>())
    foreign = foreign || (clock.body.flags & wire::kClockForeign) != 0;
  EXPECT_TRUE(foreign);
  EXPECT_TRUE(has_notice("clock")) << all_notices();
}

TEST_F(SimRefusals, KindsAreKeptOnBelowCuda130Update1) {  // --layout 12.4
  program();
  start_recording();
  program().launch(10);
  program().wait();
  set_mode(Mode::kOff, settings_);
  EXPECT_TRUE(is_activity_left_enabled());
  EXPECT_TRUE(turn_until([] { return g_callback_state.accept_until_ns.load() < base::mono_ns(); }));
  segment_.discard_records();
  program().launch(10);
  program().wait();
  turn_for(1500ms);
  EXPECT_EQ(kernels(), 0u) << "recycled unread";
  EXPECT_EQ(segment_.counter(Counter::kCuptiAfterStop), 0u);
  EXPECT_TRUE(has_notice("stay on")) << all_notices();
}

TEST_F(SimRefusals, NoMoreBuffersIsCountedAndTold) {
  program();
  settings_.buffer_bytes = 64 << 10;
  settings_.buffer_count = 0;
  start_recording();
  program().launch(200);
  program().wait();
  flush(true, kTimeoutMs);
  run_worker_tick();
  EXPECT_GT(segment_.counter(Counter::kCuptiNoBuffer), 0u);
  EXPECT_TRUE(has_notice("all CUPTI buffers were in use")) << all_notices();
}

TEST_F(SimRefusals, AGraphThatBeginsOnTheHostIsOnItsDevice) {  // --scenario graph-on-host
  program();
  settings_.graph_nodes = false;
  start_recording();
  program().graph(5, 3);
  finish();
  const auto graphs = segment_.all<wire::GraphExec>();
  const auto contexts = segment_.all<wire::ContextInfo>();
  ASSERT_EQ(graphs.size(), 3u);
  ASSERT_EQ(contexts.size(), 1u);
  for (const auto& graph : graphs) {
    EXPECT_EQ(graph.body.device, contexts[0].body.device);
    EXPECT_EQ(graph.body.context, contexts[0].body.context);
  }
}

TEST_F(SimRefusals, AForkedChildTouchesNothing) {
  program();
  start_recording();
  program().launch(10);
  program().wait();
  before_fork(0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(300);
    hot::g_state.owner_page.store(nullptr);
    after_fork_child();
    set_mode(Mode::kRecording, settings_);
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
