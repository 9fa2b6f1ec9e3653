// SPDX-License-Identifier: Apache-2.0
//
// Symbols of modules whose tables are right, and of some whose tables are not. What is mapped of a
// module ends at a page that cannot be read.
#include "inject/modules/module_symbols.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gpuprof::modules {
namespace {

/// All of a module that a look-up reads; `_first` and `_other` share the one bucket.
struct Image {
  ElfW(Dyn) dynamic[4];
  struct {
    std::uint32_t buckets, symbols, bucket, chain[3];
  } hash;
  char strings[16];
  ElfW(Sym) symbols[3];
};

class ElfLookup : public ::testing::Test {
 protected:
  void SetUp() override {
    page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* pages =
        mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    memory_ = static_cast<std::byte*>(pages);
    ASSERT_EQ(mprotect(memory_ + page_, page_, PROT_NONE), 0);
    image_ = reinterpret_cast<Image*>(memory_ + page_ - sizeof(Image));
    std::memcpy(image_->strings, "\0_first\0_other\0", 15);
    image_->symbols[1] = symbol(1, 0x100);
    image_->symbols[2] = symbol(8, 0x200);
    image_->hash = {1, 3, 1, {0, 2, 0}};
    image_->dynamic[0] = entry(DT_SYMTAB, offsetof(Image, symbols));
    image_->dynamic[1] = entry(DT_STRTAB, offsetof(Image, strings));
    image_->dynamic[2] = entry(DT_HASH, offsetof(Image, hash));
    parts_[0].p_type = PT_LOAD;
    parts_[0].p_memsz = sizeof(Image);
    parts_[1].p_type = PT_DYNAMIC;
    parts_[1].p_memsz = sizeof image_->dynamic;
  }
  void TearDown() override { munmap(memory_, 2 * page_); }

  static ElfW(Sym) symbol(std::uint32_t name, std::uint64_t value) {
    ElfW(Sym) made{};
    made.st_name = name;
    made.st_value = value;
    made.st_shndx = 1;
    return made;
  }
  static ElfW(Dyn) entry(std::int64_t tag, std::uint64_t at) {
    ElfW(Dyn) made{};
    made.d_tag = tag;
    made.d_un.d_ptr = at;
    return made;
  }
  std::uint64_t bias() const { return reinterpret_cast<std::uint64_t>(image_); }
  std::uint64_t find(const char* name) const {
    dl_phdr_info module{};
    module.dlpi_addr = bias();
    module.dlpi_phdr = parts_;
    module.dlpi_phnum = 2;
    return ModuleSymbols(module).find(name);
  }

  std::size_t page_ = 0;
  std::byte* memory_ = nullptr;
  Image* image_ = nullptr;
  ElfW(Phdr) parts_[2]{};
};

TEST_F(ElfLookup, ASymbolIsFoundWhereTheTablesSay) {
  EXPECT_EQ(find("_first"), bias() + 0x100);
  EXPECT_EQ(find("_other"), bias() + 0x200);
  EXPECT_EQ(find("_none"), 0u);
}

TEST_F(ElfLookup, AnUndefinedSymbolIsNone) {
  image_->symbols[1].st_shndx = SHN_UNDEF;
  EXPECT_EQ(find("_first"), 0u);
}

TEST_F(ElfLookup, AChainThatLeadsInCirclesEnds) {
  image_->hash.chain[2] = 1;
  EXPECT_EQ(find("_none"), 0u);
  EXPECT_EQ(find("_other"), bias() + 0x200);
}

TEST_F(ElfLookup, ATableOfDynamicEntriesNeedsNoEnd) {
  image_->dynamic[3] = entry(DT_DEBUG, 0);
  EXPECT_EQ(find("_first"), bias() + 0x100);
}

TEST_F(ElfLookup, TablesThatLieOutsideAreNotRead) {
  for (const std::int64_t tag : {DT_SYMTAB, DT_STRTAB, DT_HASH})
    for (const std::uint64_t at : {sizeof(Image), sizeof(Image) - 2, std::size_t{1} << 40}) {
      const ElfW(Dyn) before = image_->dynamic[3];
      image_->dynamic[3] = entry(tag, at);
      EXPECT_EQ(find("_other"), 0u) << tag << " at " << at;
      image_->dynamic[3] = before;
    }
}

TEST_F(ElfLookup, NumbersOfTheTablesThatLeadOutsideAreNotFollowed) {
  image_->symbols[1].st_name = 0xffffffff;
  EXPECT_EQ(find("_first"), 0u);
  image_->hash.bucket = 0x7fffffff;
  image_->hash.symbols = 0xffffffff;
  EXPECT_EQ(find("_other"), 0u);
  image_->hash.buckets = 0xffffffff;
  EXPECT_EQ(find("_other"), 0u);
  image_->hash.buckets = 0;
  EXPECT_EQ(find("_other"), 0u);
}

TEST_F(ElfLookup, ATableOfTheGnuKindThatLeadsOutsideIsNotFollowed) {
  image_->dynamic[2].d_tag = DT_GNU_HASH;
  for (const std::uint32_t words : {0u, 1u, 0xffffffffu}) {
    image_->hash = {1, 1, words, {6, 1, 0xfffffff0}};
    EXPECT_EQ(find("_first"), 0u) << words;
  }
}

TEST_F(ElfLookup, WithoutDynamicEntriesThereIsNothing) {
  parts_[1].p_type = PT_NOTE;
  EXPECT_EQ(find("_first"), 0u);
}

// Of this process: the table of the GNU kind that the linker made.
TEST(ElfLookupHere, AModuleOfThisProcessHasWhatTheLoaderFinds) {
  struct Search {
    std::uint64_t found = 0;
    void* wanted = dlsym(RTLD_DEFAULT, "getppid");
  } search;
  dl_iterate_phdr(
      [](dl_phdr_info* module, std::size_t, void* argument) {
        const std::uint64_t at = ModuleSymbols(*module).find("getppid");
        auto* looking = static_cast<Search*>(argument);
        if (at == reinterpret_cast<std::uint64_t>(looking->wanted)) looking->found = at;
        return 0;
      },
      &search);
  EXPECT_NE(search.found, 0u);
}

}  // namespace
}  // namespace gpuprof::modules
