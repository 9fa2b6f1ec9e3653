// SPDX-License-Identifier: Apache-2.0
//
// Our wrappers of PyTorch's memory reports on a fake libc10, each case in a process of its own:
// settings are made once in a process.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "gpuprof/wire/messages.hpp"
#include "inject/torch/memory/allocations.hpp"
#include "tests/fakes/in_process_segment.hpp"
#include "tests/unit/torch/fake_c10.hpp"

namespace gpuprof::torch {
namespace {

using fakes::FakeC10;
using fakes::Heard;

template <typename Body>
void in_own_process(bool under_gpuprof, Body body) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(600);
    if (under_gpuprof)
      setenv(wire::kSocketVariable, "/nowhere;session=1;pid=1", 1);
    else
      unsetenv(wire::kSocketVariable);
    body();
    fflush(stdout);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(child, waitpid(child, &status, 0));
  EXPECT_EQ(0, status) << "wait status of the case's own process";
}

void* load(const std::string& file) {
  void* handle = dlopen((std::string(FAKE_FOLDER) + "/" + file).c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(nullptr, handle) << dlerror();
  return handle;
}

const FakeC10& c10_of(void* handle) {
  return *reinterpret_cast<fakes::GetFakeC10>(dlsym(handle, "fake_c10"))();
}

const FakeC10& load_c10(const char* file = "libc10-one.so") { return c10_of(load(file)); }

std::vector<Heard> heard(const FakeC10& c10) {
  std::size_t count = 0;
  const Heard* all = c10.heard(&count);
  return {all, all + count};
}

std::vector<wire::Allocation> recorded(fakes::InProcessSegment& segment) {
  segment.drain();
  std::vector<wire::Allocation> all;
  for (const auto& read : segment.all<wire::Allocation>()) all.push_back(read.body);
  return all;
}

TEST(TorchMemory, LeavesAProgramAloneThatIsNotProfiled) {
  in_own_process(false, [] {
    const FakeC10& c10 = load_c10();
    c10.cpu_new(16, 100);
    c10.listen(true);
    c10.cpu_new(32, 200);
    c10.cpu_delete(16);
    c10.cpu_delete(32);
    const std::vector<Heard> wanted{{32, 200, 200, 0, 0, -1}, {32, -200, 0, 0, 0, -1}};
    EXPECT_EQ(wanted, heard(c10));
    EXPECT_EQ(1u, c10.unknown_sizes()) << "PyTorch's own sentence must come";
    EXPECT_FALSE(cpu_memory_ever_requested());
  });
}

TEST(TorchMemory, RecordsBlocksOfTheCpuFromTheFirstOn) {
  in_own_process(true, [] {
    fakes::InProcessSegment segment;
    const FakeC10& c10 = load_c10();
    c10.cpu_new(16, 100);  // before any setting is known
    decide_cpu_memory(true);
    hot::g_state.on.store(hot::kOnAllocations);
    c10.cpu_new(32, 200);
    c10.cpu_delete(16);
    hot::g_state.on.store(0);
    c10.cpu_delete(32);  // outside the window
    const auto all = recorded(segment);
    ASSERT_EQ(2u, all.size());
    EXPECT_EQ(32u, all[0].address);
    EXPECT_EQ(200, all[0].bytes);
    EXPECT_EQ(300u, all[0].total_allocated_bytes);
    EXPECT_EQ(0, all[0].device_type);
    EXPECT_EQ(-1, all[0].device);
    EXPECT_EQ(16u, all[1].address);
    EXPECT_EQ(-100, all[1].bytes);
    EXPECT_EQ(200u, all[1].total_allocated_bytes);
    EXPECT_EQ(0u, c10.unknown_sizes());
    EXPECT_TRUE(heard(c10).empty()) << "the program's profiler did not listen";
  });
}

TEST(TorchMemory, RecordsAndPassesOnWhatIsReportedWhoeverListens) {
  in_own_process(true, [] {
    fakes::InProcessSegment segment;
    const FakeC10& c10 = load_c10();
    hot::g_state.on.store(hot::kOnAllocations);
    c10.listen(true);
    c10.cuda(0x7f00, 512, 1024, 2'097'152, 3);
    const auto all = recorded(segment);
    ASSERT_EQ(1u, all.size());
    EXPECT_EQ(1, all[0].device_type);
    EXPECT_EQ(3, all[0].device);
    EXPECT_EQ(2'097'152u, all[0].total_reserved_bytes);
    EXPECT_EQ((std::vector<Heard>{{0x7f00, 512, 1024, 2'097'152, 1, 3}}), heard(c10));
  });
}

/// What a profiler hears of PyTorch's table that only it fills.
class WithoutUs {
 public:
  void take(std::uint64_t address, std::size_t bytes) {
    if (!listening) return;
    sizes_[address] = bytes;
    told.push_back({address, static_cast<std::int64_t>(bytes), allocated_ += bytes, 0, 0, -1});
  }
  void give_back(std::uint64_t address) {
    const auto found = sizes_.find(address);
    if (!listening) return;
    if (found == sizes_.end()) {
      ++unknown;
      return;
    }
    const std::size_t bytes = found->second;
    sizes_.erase(found);
    told.push_back({address, -static_cast<std::int64_t>(bytes), allocated_ -= bytes, 0, 0, -1});
  }
  bool listening = false;
  std::vector<Heard> told;
  std::size_t unknown = 0;

 private:
  std::unordered_map<std::uint64_t, std::size_t> sizes_;
  std::uint64_t allocated_ = 0;
};

TEST(TorchMemory, TheProgramsOwnProfilerHearsWhatItWouldHear) {
  in_own_process(true, [] {
    const FakeC10& c10 = load_c10();
    WithoutUs without;
    std::mt19937 random(7);
    std::vector<std::uint64_t> live, free;
    for (std::uint64_t i = 1; i <= 20'000; ++i) free.push_back(i * 64);
    for (int i = 0; i < 200'000; ++i) {
      // Long stretches with and without a listener, so that its table grows and holds leftovers.
      if (random() % 10'000 == 0) c10.listen(without.listening = !without.listening);
      const bool take = live.empty() || (!free.empty() && random() % 100 < 52);
      auto& from = take ? free : live;
      auto& to = take ? live : free;
      std::swap(from[random() % from.size()], from.back());
      const std::uint64_t address = from.back();
      from.pop_back();
      to.push_back(address);
      const std::size_t bytes = 1 + random() % 1000;
      take ? c10.cpu_new(address, bytes) : c10.cpu_delete(address);
      take ? without.take(address, bytes) : without.give_back(address);
    }
    EXPECT_GT(without.told.size(), 20'000u);
    EXPECT_EQ(without.told.size(), heard(c10).size());
    EXPECT_TRUE(without.told == heard(c10));
    EXPECT_GT(without.unknown, 0u);
    EXPECT_EQ(without.unknown, c10.unknown_sizes()) << "PyTorch complains of as many blocks";
  });
}

TEST(TorchMemory, BlocksFromWhenWeAskedStayUnknownToAProfilerThatComesLater) {
  in_own_process(true, [] {
    const FakeC10& c10 = load_c10();
    c10.cpu_new(16, 100);
    decide_cpu_memory(false);
    c10.listen(true);
    c10.cpu_delete(16);
    c10.cpu_new(32, 200);
    c10.cpu_delete(32);
    EXPECT_EQ((std::vector<Heard>{{32, 200, 200, 0, 0, -1}, {32, -200, 0, 0, 0, -1}}), heard(c10));
  });
}

TEST(TorchMemory, OnceToldNoItStaysSo) {
  in_own_process(true, [] {
    const FakeC10& c10 = load_c10();
    decide_cpu_memory(false);
    decide_cpu_memory(true);  // another daemon: blocks have been missed
    c10.cpu_new(16, 1);
    EXPECT_FALSE(cpu_memory_requested());
    c10.listen(true);
    c10.cpu_new(32, 1);
    EXPECT_EQ(1u, heard(c10).size());
  });
}

TEST(TorchMemory, EachCopyHearsOfItsOwn) {
  in_own_process(false, [] {
    const FakeC10& one = load_c10("libc10-one.so");
    const FakeC10& two = load_c10("two/libc10-two.so");
    one.listen(true);
    two.listen(true);
    using Reports = void (*)(std::uint64_t);
    for (const char* file : {"libextension-one.so", "two/libextension-two.so"})
      reinterpret_cast<Reports>(dlsym(load(file), "extension_reports"))(0x4000);
    two.cuda(0x8000, 1, 1, 1, 0);
    EXPECT_EQ(1u, heard(one).size());
    EXPECT_EQ(2u, heard(two).size());
  });
}

// dlsym would wait here for the lock of the dlopen that waits for the thread.
TEST(TorchMemory, IsFoundByAThreadThatAConstructorWaitsFor) {
  in_own_process(false, [] {
    setenv("FAKE_EXTENSION_WAITS", "1", 1);
    EXPECT_NE(nullptr, load("libextension-one.so"));
  });
}

TEST(TorchMemory, ManyThreadsAtOnce) {
  in_own_process(true, [] {
    fakes::InProcessSegment segment;
    const FakeC10& c10 = load_c10();
    hot::g_state.on.store(hot::kOnAllocations);
    std::vector<std::thread> threads;
    for (std::uint64_t t = 1; t <= 4; ++t)
      threads.emplace_back([&c10, t] {
        c10.listen(t % 2 == 0);
        for (std::uint64_t i = 0; i < 2000; ++i) {
          const std::uint64_t address = t << 32 | i << 4;
          c10.cpu_new(address, 8);
          if (i % 2 != 0) c10.cpu_delete(address);
        }
      });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(4u * 3000u, recorded(segment).size());
    const auto told = heard(c10);
    EXPECT_EQ(2u * 3000u, told.size());
  });
}

}  // namespace
}  // namespace gpuprof::torch
