// SPDX-License-Identifier: Apache-2.0
//
// Addresses of this very process, named.
#include "analysis/symbols/native_symbolizer.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <filesystem>

#include "analysis/symbols/stack_symbolizer.hpp"

namespace gpuprof::symbols {

/// Something to find: external, so that it has a symbol of its own.
__attribute__((noinline)) int found_by_name(int x) { return x * 3 + 1; }

namespace {

struct Mapped {
  std::uint64_t bias, start, end;
  std::string path;
};

Mapped object_of(const void* address) {
  struct Search {
    std::uint64_t address;
    Mapped found;
  } search{reinterpret_cast<std::uint64_t>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        auto* want = static_cast<Search*>(to);
        std::uint64_t low = ~0ULL, high = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
          low = std::min(low, info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
          high = std::max(
              high, info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz);
        }
        if (want->address >= low && want->address < high)
          want->found = {info->dlpi_addr, low, high,
                         info->dlpi_name[0] != '\0'
                             ? info->dlpi_name
                             : std::filesystem::read_symlink("/proc/self/exe")};
        return 0;
      },
      &search);
  return search.found;
}

model::Module module_of(const Mapped& mapped, std::string_view build_id = {}) {
  return {mapped.bias, mapped.start, mapped.end, 1, build_id, mapped.path};
}

std::uint64_t pc_of(const void* function) { return reinterpret_cast<std::uint64_t>(function) + 1; }

DisplayFrame name_one(const model::Module& module, std::uint64_t pc, SymbolizerOptions options = {},
                      std::uint32_t pid = 0) {
  StackSymbolizer namer(options);
  if (pid != 0) namer.on(model::Process{pid, 1, 0, 0, 0, 0, {}, {}});
  namer.on(module);
  namer.on(model::StackDef{1, 0, std::span(&pc, 1), {}});
  return namer.symbolize(1).at(0);
}

const void* ours() { return reinterpret_cast<const void*>(&found_by_name); }

TEST(NativeSymbolizer, NameAndDemangleAFunction) {
  const DisplayFrame frame = name_one(module_of(object_of(ours())), pc_of(ours()));
  EXPECT_EQ(frame.name, "gpuprof::symbols::found_by_name(int)");
  EXPECT_EQ(frame.kind, FrameKind::kNative);
  EXPECT_EQ(format_frame(frame), frame.module + "!gpuprof::symbols::found_by_name(int)");
}

TEST(NativeSymbolizer, TellTheLineWhenAskedAndDwarfExists) {
  SymbolizerOptions options;
  options.native_lines = true;
  const DisplayFrame frame = name_one(module_of(object_of(ours())), pc_of(ours()), options);
  EXPECT_TRUE(frame.file.ends_with("native_symbolizer_test.cpp")) << frame.file;
  EXPECT_GT(frame.line, 15);
  EXPECT_LT(frame.line, 30);
}

TEST(NativeSymbolizer, NameAStrippedLibraryByItsExports) {
  const void* function = dlsym(RTLD_DEFAULT, "lfind");
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(name_one(module_of(object_of(function)), pc_of(function)).name, "lfind");
}

TEST(NativeSymbolizer, NeverTakeTheNearestFunction) {
  const Mapped mapped = object_of(ours());
  const DisplayFrame frame = name_one(module_of(mapped), mapped.start + 8);
  EXPECT_TRUE(frame.name.starts_with(frame.module + "+0x")) << frame.name;
  EXPECT_EQ(format_frame(frame), frame.name);
}

TEST(NativeSymbolizer, NameTheVdso) {
  const std::uint64_t base = getauxval(AT_SYSINFO_EHDR);
  if (base == 0) GTEST_SKIP() << "SKIPPED: no vdso";
  void* vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
  const void* function = vdso != nullptr ? dlsym(vdso, "__vdso_clock_gettime") : nullptr;
  if (function == nullptr) GTEST_SKIP() << "SKIPPED: vdso cannot be opened";
  const DisplayFrame frame =
      name_one({base, base, base + 0x4000, 1, {}, "[vdso]"}, pc_of(function));
  EXPECT_EQ(frame.module, "[vdso]");
  EXPECT_TRUE(frame.name.ends_with("clock_gettime")) << frame.name;
}

TEST(NativeSymbolizer, RefuseAFileWithAnotherBuildId) {
  const DisplayFrame frame =
      name_one(module_of(object_of(ours()), "not this build id!!!"), pc_of(ours()));
  EXPECT_TRUE(frame.name.starts_with(frame.module + "+0x")) << frame.name;
}

/// A copy of a library that is loaded, then deleted: only the running process still shows it.
TEST(NativeSymbolizer, FindADeletedFileThroughTheLivingProcess) {
  const Mapped libc = object_of(dlsym(RTLD_DEFAULT, "lfind"));
  const std::string copy = "/tmp/gpuprof-test-" + std::to_string(getpid()) + ".so";
  const std::filesystem::path source = std::filesystem::path(libc.path).parent_path() / "libz.so.1";
  if (!std::filesystem::exists(source)) GTEST_SKIP() << "SKIPPED: no libz here";
  std::filesystem::copy_file(source, copy);
  void* library = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::filesystem::remove(copy);
  ASSERT_NE(library, nullptr);
  const void* function = dlsym(library, "crc32_z");
  Mapped mapped = object_of(function);
  const std::uint64_t pc = pc_of(function);

  const DisplayFrame gone = name_one(module_of(mapped), pc);
  EXPECT_TRUE(gone.name.starts_with(gone.module + "+0x")) << gone.name;
  // map_files names each mapping by its own range; the first is the one with the ELF header.
  const DisplayFrame alive =
      name_one(module_of(mapped), pc, {}, static_cast<std::uint32_t>(getpid()));
  const bool may_look = access("/proc/self/map_files", R_OK) == 0 && geteuid() == 0;
  EXPECT_EQ(alive.name, may_look ? std::string("crc32_z") : gone.name);
  dlclose(library);
}

TEST(NativeSymbolizer, GiveUpTablesThatAreTooManyAndLoadThemAgain) {
  SymbolizerOptions options;
  options.max_symbols = 1;
  options.max_names = 1;
  StackSymbolizer namer(options);
  const void* libc = dlsym(RTLD_DEFAULT, "lfind");
  const Mapped a = object_of(ours()), b = object_of(libc);
  namer.on(module_of(a));
  namer.on(module_of(b));
  const std::uint64_t pcs[2] = {pc_of(ours()), pc_of(libc)};
  namer.on(model::StackDef{1, 0, std::span(&pcs[0], 1), {}});
  namer.on(model::StackDef{2, 0, std::span(&pcs[1], 1), {}});
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(namer.symbolize(1).at(0).name, "gpuprof::symbols::found_by_name(int)");
    EXPECT_EQ(namer.symbolize(2).at(0).name, "lfind");
  }
}

TEST(NativeSymbolizer, ShowAnAddressOutsideEveryModule) {
  const DisplayFrame frame = name_one({0, 4096, 8192, 1, {}, "/nowhere"}, 0x7000000);
  EXPECT_EQ(frame.name, "0x7000000");
  EXPECT_EQ(frame.kind, FrameKind::kUnknown);
}

}  // namespace
}  // namespace gpuprof::symbols
