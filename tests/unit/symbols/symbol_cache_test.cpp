// SPDX-License-Identifier: Apache-2.0
//
// Tables of files that are on this machine: libc, libm, the C++ runtime.
#include "analysis/symbols/symbol_cache.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <thread>
#include <vector>

namespace gpuprof::symbols {
namespace {

/// The mapped libraries that have a build id, as the daemon knows them.
std::vector<MappedModule> libraries() {
  std::vector<MappedModule> found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        if (info->dlpi_name[0] != '/') return 0;
        const std::string build_id = ElfFile::open(info->dlpi_name).build_id();
        if (!build_id.empty())
          static_cast<std::vector<MappedModule>*>(to)->push_back(
              {0, 0, 0, 0, kStillMapped, build_id, info->dlpi_name, "library"});
        return 0;
      },
      &found);
  return found;
}

TEST(SymbolCache, ReadsAFileOnce) {
  const auto all = libraries();
  ASSERT_GE(all.size(), 2u);
  SymbolCache store;
  const auto first = store.get(all[0], 0);
  EXPECT_GT(first->symbols.size(), 0u);
  EXPECT_EQ(store.get(all[0], 0), first);
  EXPECT_NE(store.get(all[1], 0), first);
}

TEST(SymbolCache, SharesNothingThatCannotBeToldApart) {
  MappedModule module = libraries().at(0);
  SymbolCache store;
  const auto known = store.get(module, 0);
  module.build_id.clear();
  EXPECT_NE(store.get(module, 0), known);
  module.build_id = "another build";
  EXPECT_EQ(store.get(module, 0)->symbols.size(), 0u) << "the file is not the one that was mapped";
}

TEST(SymbolCache, GivesUpTheOldestButNotWhatIsInUse) {
  const auto all = libraries();
  ASSERT_GE(all.size(), 2u);
  SymbolCache store(1);
  const auto first = store.get(all[0], 0);
  const std::size_t symbols = first->symbols.size();
  store.get(all[1], 0);
  EXPECT_EQ(store.cached_symbols(), 0u);
  EXPECT_EQ(first->symbols.size(), symbols);
  EXPECT_NE(store.get(all[0], 0), first) << "read anew";
}

TEST(SymbolCache, ServesSeveralThreads) {
  const auto all = libraries();
  SymbolCache store;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        for (const MappedModule& module : all)
          EXPECT_GT(store.get(module, 0)->symbols.size(), 0u) << module.path;
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace gpuprof::symbols
