// SPDX-License-Identifier: Apache-2.0
#include "daemon/attach/process/thread_candidates.hpp"

#include <gtest/gtest.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/io/files.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::attach {
namespace {

/// Until the thread has told its number and sleeps in a call.
void wait_until_asleep(const std::atomic<pid_t>& tid) {
  while (tid == 0) std::this_thread::yield();
  const std::string stat = "/proc/self/task/" + std::to_string(tid) + "/stat";
  while (support::parse_process_stat(support::read_small_file(stat)).state != 'S')
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(Threads, ReadsTheRowOfASleepingCall) {
  const BlockedSyscall call =
      parse_syscall("202 0x7f00 0x189 0x0 0x0 0x0 0xffffffff 0x7ffd1230 0x7f12345\n");
  EXPECT_EQ(call.number, 202);
  EXPECT_EQ(call.stack_pointer, 0x7ffd1230U);
}

TEST(Threads, ACallThatMayHaveMovedAPartIsKnown) {
  const auto amid = [](const char* line) { return parse_syscall(line).in_transfer; };
  EXPECT_TRUE(amid("1 0x1 0x7f00 0x40000 0x0 0x0 0x0 0x7ffd1230 0x7f12345\n"));   // write
  EXPECT_FALSE(amid("0 0x0 0x7f00 0x40000 0x0 0x0 0x0 0x7ffd1230 0x7f12345\n"));  // read
  EXPECT_TRUE(amid("45 0x5 0x7f00 0x400 0x100 0x0 0x0 0x7ffd1230 0x7f12345\n"));  // MSG_WAITALL
  EXPECT_FALSE(amid("45 0x5 0x7f00 0x400 0x40 0x100 0x0 0x7ffd1230 0x7f12345\n"));
  EXPECT_TRUE(amid("47 0x5 0x7f00 0x100 0x0 0x0 0x0 0x7ffd1230 0x7f12345\n"));
  EXPECT_FALSE(amid("47 0x5 0x7f00 0x0 0x100 0x0 0x0 0x7ffd1230 0x7f12345\n"));
  EXPECT_FALSE(amid("202 0x100 0x100 0x100 0x100 0x100 0x100 0x7ffd1230 0x7f12345\n"));
}

TEST(Threads, AWriterThatWaitsForItsReaderComesLast) {
  // given: a thread that writes more than a pipe holds, and this one, which runs
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::atomic<pid_t> writer{0};
  ssize_t put = 0;
  std::vector<char> bytes(256 << 10);
  std::thread thread([&] {
    writer = static_cast<pid_t>(syscall(SYS_gettid));
    put = write(ends[1], bytes.data(), bytes.size());
    close(ends[1]);
  });
  wait_until_asleep(writer);
  // when
  const std::vector<ThreadCandidate> threads = threads_by_stop_cost(getpid());
  std::vector<char> taken(bytes.size());
  while (read(ends[0], taken.data(), taken.size()) > 0) continue;
  thread.join();
  close(ends[0]);
  // then
  ASSERT_FALSE(threads.empty());
  EXPECT_EQ(threads.back().tid, writer);
  EXPECT_TRUE(threads.back().in_transfer);
  EXPECT_FALSE(threads.front().in_transfer);
  EXPECT_EQ(put, static_cast<ssize_t>(bytes.size()));
}

TEST(Threads, ARunningThreadIsInNoCall) {
  EXPECT_EQ(parse_syscall("running\n").number, -1);
  EXPECT_EQ(parse_syscall("").number, -1);
  EXPECT_EQ(parse_syscall("-1 0x7ffd1230 0x7f12345\n").number, -1);
}

TEST(Threads, TheSleeperComesFirst) {
  // given: a thread in a futex, and this one, which runs
  sem_t end;
  sem_init(&end, 0, 0);
  std::atomic<pid_t> sleeper{0};
  std::thread thread([&] {
    sleeper = static_cast<pid_t>(syscall(SYS_gettid));
    sem_wait(&end);
  });
  wait_until_asleep(sleeper);
  // when
  const std::vector<ThreadCandidate> threads = threads_by_stop_cost(getpid());
  sem_post(&end);
  thread.join();
  // then
  const auto place = [&threads](pid_t tid) {
    return std::find_if(threads.begin(), threads.end(),
                        [tid](const ThreadCandidate& one) { return one.tid == tid; }) -
           threads.begin();
  };
  EXPECT_LT(place(sleeper), place(getpid()));
  EXPECT_LT(place(getpid()), static_cast<std::ptrdiff_t>(threads.size()));
  EXPECT_NE(threads[static_cast<std::size_t>(place(sleeper))].stack_pointer, 0U);
}

TEST(Threads, OneThatIsOnlyCalledAsOursIsTheirs) {
  // given: this process has no library of ours
  std::atomic<pid_t> named{0};
  std::atomic<bool> over{false};
  std::thread thread([&] {
    prctl(PR_SET_NAME, "gpuprof", 0, 0, 0);
    named = static_cast<pid_t>(syscall(SYS_gettid));
    while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  while (named == 0) std::this_thread::yield();
  // when
  const std::vector<ThreadCandidate> threads = threads_by_stop_cost(getpid());
  over = true;
  thread.join();
  // then
  EXPECT_TRUE(std::any_of(threads.begin(), threads.end(),
                          [&](const ThreadCandidate& one) { return one.tid == named; }));
}

}  // namespace
}  // namespace gpuprof::attach
