// SPDX-License-Identifier: Apache-2.0
//
// The restoring frame and the ways into it, in a child of this test that is traced.
#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "daemon/attach/arch/arch.hpp"
#include "daemon/attach/process/maps.hpp"
#include "daemon/attach/process/process_memory.hpp"
#include "daemon/attach/ptrace/tracee.hpp"
#include "gpuprof/base/clock.hpp"

namespace gpuprof::attach {
namespace {

// A busy machine keeps the child from running, not for ever.
constexpr std::uint64_t kTimeoutNs = 300'000'000'000;

/// Counts in memory both see; ends with status 5 once told to.
struct Shared {
  volatile std::uint64_t count, end;
};

/// Never with another stack pointer: a sanitizer's functions would have one.
__attribute__((noinline, no_sanitize("thread", "address", "undefined"))) void count_until_reported(
    Shared* shared) {
  while (shared->end == 0) shared->count = shared->count + 1;
}

class Frame : public testing::Test {
 protected:
  void SetUp() override {
    shared_ = static_cast<Shared*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    child_ = fork();
    if (child_ == 0) {
      count_until_reported(shared_);
      _exit(5);
    }
    if (tracee_.seize(child_) != 0) GTEST_SKIP() << "this machine does not let us trace a child";
    while (shared_->count == 0) usleep(1000);
    ASSERT_EQ(tracee_.stop(base::mono_ns() + kTimeoutNs), StopReason::kTrap);
    for (const Mapping& mapping : read_maps(child_)) {
      if (!mapping.executable || !is_glibc(file_name(mapping))) continue;
      arch::find_gadgets(memory().read_some(mapping.start, mapping.end - mapping.start),
                         mapping.start, gadgets_);
    }
    ASSERT_TRUE(arch::save(child_, saved_));
    ASSERT_NE(gadgets_.call, 0U);
    ASSERT_NE(gadgets_.restore, 0U);
  }
  void TearDown() override {
    shared_->end = 1;
    if (tracee_.is_stopped()) tracee_.detach();
    int status = 0;
    waitpid(child_, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << "status " << status;
    munmap(shared_, 4096);
  }
  ProcessMemory memory() const { return ProcessMemory(child_); }
  bool counts_on() const {
    const std::uint64_t before = shared_->count;
    const std::uint64_t until_ns = base::mono_ns() + kTimeoutNs;
    while (shared_->count == before && base::mono_ns() < until_ns) usleep(1000);
    return shared_->count != before;
  }

  Shared* shared_ = nullptr;
  pid_t child_ = 0;
  Tracee tracee_;
  arch::Gadgets gadgets_;
  arch::Saved saved_;
};

TEST_F(Frame, ACallReturnsIntoTheProgramAlone) {
  // given: a thread made to call getppid for us
  const arch::Frame frame = arch::frame_below(saved_, gadgets_);
  ASSERT_EQ(frame.address % 16, 0U);
  ASSERT_LT(frame.address + frame.bytes.size(), arch::sp(saved_.registers));
  ASSERT_TRUE(memory().write(frame.address, frame.bytes, child_));
  ASSERT_TRUE(arch::set_call(child_, saved_, gadgets_, frame, SYS_getppid, {}));
  ASSERT_TRUE(arch::write_mask(child_, ~std::uint64_t{0}));
  // when: the tracer goes away
  ASSERT_TRUE(tracee_.detach());
  // then: it counts on with its own mask, and (TearDown) ends as it would
  EXPECT_TRUE(counts_on());
  ASSERT_EQ(tracee_.seize(child_), 0);
  ASSERT_EQ(tracee_.stop(base::mono_ns() + kTimeoutNs), StopReason::kTrap);
  arch::Saved now;
  ASSERT_TRUE(arch::save(child_, now));
  EXPECT_EQ(now.mask, saved_.mask);
  EXPECT_EQ(arch::sp(now.registers), arch::sp(saved_.registers));
}

TEST_F(Frame, TheAnswerOfACallIsSeen) {
  const arch::Frame frame = arch::frame_below(saved_, gadgets_);
  ASSERT_TRUE(memory().write(frame.address, frame.bytes, child_));
  ASSERT_TRUE(arch::set_call(child_, saved_, gadgets_, frame, SYS_getppid, {}));
  arch::Registers registers{};
  for (int half = 0; half < 2; ++half) {
    ASSERT_TRUE(tracee_.resume(true));
    ASSERT_EQ(tracee_.wait(base::mono_ns() + kTimeoutNs), StopReason::kCall);
    ASSERT_TRUE(arch::read_registers(child_, registers));
    EXPECT_EQ(registers.call, SYS_getppid);
  }
  EXPECT_EQ(arch::result(registers), static_cast<std::uint64_t>(getpid()));
}

TEST_F(Frame, VectorsSurviveTheFrame) {
  // given: vector registers that are full
  arch::Saved full = saved_;
  for (std::size_t at = 160; at < 416; ++at) full.vectors[at] = static_cast<std::uint8_t>(at);
  full.vectors[512] |= 2;  // the SSE registers are in use
  ASSERT_TRUE(arch::write_vectors(child_, full));
  ASSERT_TRUE(arch::save(child_, saved_));
  const arch::Frame frame = arch::frame_below(saved_, gadgets_);
  ASSERT_TRUE(memory().write(frame.address, frame.bytes, child_));
  ASSERT_TRUE(arch::set_call(child_, saved_, gadgets_, frame, SYS_getppid, {}));
  // when: all of them are cleared, and the frame puts them back
  arch::Saved empty = saved_;
  std::fill(empty.vectors.begin() + 160, empty.vectors.begin() + 416, std::uint8_t{0});
  ASSERT_TRUE(arch::write_vectors(child_, empty));
  ASSERT_TRUE(tracee_.detach());
  EXPECT_TRUE(counts_on());
  // then
  ASSERT_EQ(tracee_.seize(child_), 0);
  ASSERT_EQ(tracee_.stop(base::mono_ns() + kTimeoutNs), StopReason::kTrap);
  arch::Saved now;
  ASSERT_TRUE(arch::save(child_, now));
  // The loop that counts uses none of them.
  EXPECT_EQ(memcmp(now.vectors.data() + 160, full.vectors.data() + 160, 256), 0);
}

TEST(Stub, IsPositionIndependentCodeOfOnePage) {
  EXPECT_GT(arch::stub().size(), 100U);
  EXPECT_LT(arch::stub().size(), 4096U);
}

}  // namespace
}  // namespace gpuprof::attach
