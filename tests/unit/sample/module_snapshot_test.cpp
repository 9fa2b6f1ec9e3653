// SPDX-License-Identifier: Apache-2.0
//
// Module snapshots: what they hold, when they are freed, what the daemon is told.
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "inject/sample/modules/module_snapshot.hpp"
#include "inject/sample/modules/snapshot_build.hpp"
#include "tests/unit/sample/sampler_fixture.hpp"

namespace gpuprof::sample {
namespace {

bool mapped(const void* at) {
  unsigned char there;
  auto* page =
      reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(at) & ~std::uintptr_t{4095});
  return mincore(page, 4096, &there) == 0;
}

std::uintptr_t address_of(void (*function)()) { return reinterpret_cast<std::uintptr_t>(function); }
void somewhere() {}

TEST(Snapshot, FindsTheModuleOfAnAddress) {
  publish_snapshot(build_snapshot());
  const Snapshot* snapshot = current_snapshot();

  const SnapshotModule* own = find_module(snapshot, address_of(somewhere));
  const SnapshotModule* libc =
      find_module(snapshot, reinterpret_cast<std::uintptr_t>(&gnu_get_libc_version));

  ASSERT_NE(own, nullptr);
  ASSERT_NE(libc, nullptr);
  EXPECT_STREQ(own->info.dlpi_name, "");
  EXPECT_NE(std::strstr(libc->info.dlpi_name, "libc"), nullptr);
  EXPECT_TRUE(own->has_table);
  EXPECT_TRUE(libc->has_table);
  EXPECT_EQ(libc->build_id_bytes, 20u);
  EXPECT_FALSE(own->is_go);
  EXPECT_EQ(find_module(snapshot, 0x1000), nullptr);
}

TEST(Snapshot, CopiesProgramHeaders) {
  publish_snapshot(build_snapshot());
  const SnapshotModule* libc =
      find_module(current_snapshot(), reinterpret_cast<std::uintptr_t>(&gnu_get_libc_version));
  ASSERT_NE(libc, nullptr);

  const auto headers = reinterpret_cast<std::uintptr_t>(libc->info.dlpi_phdr);

  EXPECT_FALSE(headers >= libc->begin && headers < libc->end);
}

TEST(Snapshot, AnswersTheUnwinderOnlyForTheModuleItAsksAbout) {
  publish_snapshot(build_snapshot());
  struct Query {
    std::uintptr_t address;
    int calls;
    std::uintptr_t base;
  } query{address_of(somewhere), 0, 0};
  const auto callback = [](dl_phdr_info* info, std::size_t, void* data) {
    auto* asked = static_cast<Query*>(data);
    ++asked->calls;
    asked->base = info->dlpi_addr;
    return 7;
  };

  EXPECT_EQ(iterate_snapshot_phdr(callback, &query), 7);
  EXPECT_EQ(query.calls, 1);
  query.address = 0x2000;
  EXPECT_EQ(iterate_snapshot_phdr(callback, &query), 0);
  EXPECT_EQ(query.calls, 1);
}

TEST(Snapshot, StaysWholeWhileSomebodyReadsIt) {
  publish_snapshot(build_snapshot());
  const Snapshot* old = nullptr;
  {
    SnapshotReader use;
    old = current_snapshot();

    publish_snapshot(build_snapshot());
    publish_snapshot(build_snapshot());

    EXPECT_GE(reclaim_snapshots(), 1u);
    ASSERT_TRUE(mapped(old));
    EXPECT_NE(find_module(old, address_of(somewhere)), nullptr);
  }

  EXPECT_EQ(reclaim_snapshots(), 0u);
}

TEST(Snapshot, FreesWhatNobodyReads) {
  publish_snapshot(build_snapshot());
  const Snapshot* old = current_snapshot();

  publish_snapshot(build_snapshot());

  EXPECT_EQ(reclaim_snapshots(), 0u);
  EXPECT_NE(current_snapshot(), old);
}

TEST(Snapshot, SurvivesReadersOfEveryAge) {
  publish_snapshot(build_snapshot());
  std::atomic<bool> go_on{true};
  std::atomic<long> lost{0}, found{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      while (go_on) {
        SnapshotReader use;
        const Snapshot* snapshot = current_snapshot();
        const bool there = find_module(snapshot, address_of(somewhere)) != nullptr;
        ++(there ? found : lost);
      }
    });

  for (int i = 0; i < 300 || found == 0; ++i) publish_snapshot(build_snapshot());
  go_on = false;
  for (std::thread& reader : readers) reader.join();

  EXPECT_EQ(lost, 0);
  EXPECT_GT(found, 0);
  EXPECT_EQ(reclaim_snapshots(), 0u);
}

class Modules : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::lock_guard<std::mutex> lock(g_seen_mutex);
    g_seen_modules.clear();
    g_gone_modules.clear();
  }
};

TEST_F(Modules, AreReportedWithPathBuildIdAndBias) {
  SamplerFixture sampler;

  const std::lock_guard<std::mutex> lock(g_seen_mutex);
  const auto named = [](const char* part) {
    return std::find_if(g_seen_modules.begin(), g_seen_modules.end(), [part](const SeenModule& m) {
      return m.path.find(part) != std::string::npos;
    });
  };
  ASSERT_NE(named("sample_module_snapshot_test"), g_seen_modules.end());
  ASSERT_NE(named("[vdso]"), g_seen_modules.end());
  ASSERT_NE(named("/libc.so"), g_seen_modules.end());
  const SeenModule& own = *named("sample_module_snapshot_test");
  EXPECT_EQ(own.path[0], '/');
  EXPECT_GE(address_of(somewhere), own.module.start);
  EXPECT_LT(address_of(somewhere), own.module.end);
  EXPECT_EQ(named("/libc.so")->build_id.size(), 20u);
}

TEST_F(Modules, AreFollowedThroughLoadAndClose) {
  SamplerFixture sampler;
  const auto times_seen = [] {
    const std::lock_guard<std::mutex> lock(g_seen_mutex);
    return std::count_if(g_seen_modules.begin(), g_seen_modules.end(), [](const SeenModule& m) {
      return m.path.find("libanl") != std::string::npos ||
             m.path.find("libBrokenLocale") != std::string::npos;
    });
  };
  void* library = dlopen("libBrokenLocale.so.1", RTLD_NOW);
  if (library == nullptr) GTEST_SKIP() << "no library to load here";
  sampler.on_worker([] { refresh_modules(); });
  EXPECT_EQ(times_seen(), 1);

  sampler.on_worker([] { refresh_modules(); });  // nothing changed
  dlclose(library);
  sampler.on_worker([] { refresh_modules(); });

  EXPECT_EQ(times_seen(), 1);
  const std::lock_guard<std::mutex> lock(g_seen_mutex);
  EXPECT_EQ(g_gone_modules.size(), 1u);
}

}  // namespace
}  // namespace gpuprof::sample
