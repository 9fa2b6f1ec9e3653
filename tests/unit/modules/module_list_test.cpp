// SPDX-License-Identifier: Apache-2.0
//
// Modules that are being loaded by another thread, and those that are not.
#include "inject/modules/module_list.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "inject/modules/loader_lock.hpp"
#include "inject/modules/module_symbols.hpp"
#include "inject/modules/pinned_module.hpp"

namespace {
std::atomic<bool> g_waits{false}, g_go_on{false};
}

extern "C" __attribute__((visibility("default"))) void modules_test_wait() {
  g_waits.store(true);
  while (!g_go_on.load()) std::this_thread::yield();
}

namespace gpuprof::modules {
namespace {

constexpr char kName[] = "libmodules_arriving.so";
const std::string kPath = std::string(MODULES_FOLDER) + "/" + kName;

/// The library, opened by another thread that stays in its constructor until it is released.
class Arriving {
 public:
  Arriving() {
    g_waits.store(false);
    g_go_on.store(false);
    thread_ = std::thread([this] { handle_ = dlopen(kPath.c_str(), RTLD_NOW | RTLD_LOCAL); });
    while (!g_waits.load()) std::this_thread::yield();
  }
  ~Arriving() { arrive(); }
  void arrive() {
    g_go_on.store(true);
    if (thread_.joinable()) thread_.join();
  }
  void close() {
    arrive();
    ASSERT_NE(handle_, nullptr);
    EXPECT_EQ(dlclose(handle_), 0);
  }

 private:
  void* handle_ = nullptr;
  std::thread thread_;
};

int count_named(dl_phdr_info* module, std::size_t, void* count) {
  if (std::strcmp(file_name(*module), kName) == 0) ++*static_cast<int*>(count);
  return 0;
}

int listed() {
  int count = 0;
  visit_listed_modules(count_named, &count);
  return count;
}

TEST(LoaderLock, IsFoundAndFreeWhereNobodyLoads) {
  EXPECT_EQ(loader_lock_state(), LockState::kFree);
  EXPECT_TRUE(pending_loads_done());
}

TEST(LoaderLock, IsHeldAsLongAsAConstructorRuns) {
  Arriving library;
  EXPECT_EQ(loader_lock_state(), LockState::kHeld);
  EXPECT_FALSE(pending_loads_done());
  library.arrive();
  EXPECT_EQ(loader_lock_state(), LockState::kFree);
  EXPECT_TRUE(pending_loads_done());
  library.close();
}

TEST(LoaderLock, IsFreeForAThreadThatLoadsNothingItself) {
  std::thread([] { EXPECT_EQ(loader_lock_state(), LockState::kFree); }).join();
}

TEST(Visit, OfWhatIsLoadedComesLaterWhileSomethingIsBeingLoaded) {
  Arriving library;
  EXPECT_EQ(listed(), 1) << "it is in the list already";
  int count = 0;
  EXPECT_EQ(visit_loaded_modules(count_named, &count), VisitResult::kLoaderBusy);
  EXPECT_EQ(count, 0);
  library.arrive();
  base::LoaderCounts counts;
  EXPECT_EQ(visit_loaded_modules(count_named, &count, &counts), VisitResult::kDone);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(counts, base::loader_counts());
  library.close();
}

TEST(Visit, EndsWhereTheVisitorSaysSo) {
  int visits = 0;
  const auto one = [](dl_phdr_info*, std::size_t, void* data) {
    return ++*static_cast<int*>(data);
  };
  EXPECT_EQ(visit_loaded_modules(one, &visits), VisitResult::kDone);
  EXPECT_EQ(visits, 1);
}

TEST(Held, IsNothingThatIsBeingLoaded) {
  {
    Arriving library;
    EXPECT_FALSE(PinnedModule::pin(kPath.c_str()));
    library.close();
  }
  EXPECT_EQ(listed(), 0);
  EXPECT_FALSE(PinnedModule::pin(kPath.c_str())) << "it has gone";
}

TEST(Held, StaysWhenTheProgramLetsGo) {
  Arriving library;
  library.arrive();
  const PinnedModule held = PinnedModule::pin(kPath.c_str());
  ASSERT_TRUE(held);
  library.close();
  EXPECT_EQ(listed(), 1);
  EXPECT_EQ(held.function<int (*)()>("modules_test_is_loaded")(), 1);
  EXPECT_EQ(held.symbol("modules_test_no_such_name"), nullptr);
}

TEST(Modules, AreToldByTheirParts) {
  visit_listed_modules(
      [](dl_phdr_info* module, std::size_t, void*) {
        static const int s_constant = 7;
        static int s_variable = 7;
        const bool ours = contains_address(*module, &s_constant);
        EXPECT_EQ(is_mapped_in(*module, reinterpret_cast<std::uintptr_t>(&s_constant), 4, PF_R),
                  ours);
        EXPECT_FALSE(is_mapped_in(*module, reinterpret_cast<std::uintptr_t>(&s_constant), 4, PF_W));
        EXPECT_EQ(
            is_mapped_in(*module, reinterpret_cast<std::uintptr_t>(&s_variable), 4, PF_R | PF_W),
            ours);
        EXPECT_FALSE(
            is_mapped_in(*module, reinterpret_cast<std::uintptr_t>(&s_variable), 1u << 30, 0));
        return 0;
      },
      nullptr);
  EXPECT_GT(initial_module_count(), 1u);
}

TEST(Modules, TellTheirOwnNames) {
  static int s_named = 0;
  visit_listed_modules(
      [](dl_phdr_info* module, std::size_t, void*) {
        const char* name = ModuleSymbols(*module).soname();
        if (std::strncmp(file_name(*module), "libc.so.", 8) == 0) {
          EXPECT_STREQ(name, "libc.so.6");
          ++s_named;
        }
        if (module->dlpi_name[0] == '\0') {
          EXPECT_EQ(name, nullptr);
        }
        return 0;
      },
      nullptr);
  EXPECT_EQ(s_named, 1);
}

}  // namespace
}  // namespace gpuprof::modules
