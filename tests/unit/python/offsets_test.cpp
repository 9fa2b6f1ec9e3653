// SPDX-License-Identifier: Apache-2.0
//
// The interpreter's own table of offsets, and the lookup of symbols.
#include "inject/python/runtime/offsets.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "inject/modules/module_symbols.hpp"
#include "inject/python/frames/str_object.hpp"

namespace gpuprof::python {
namespace {

/// `_Py_DebugOffsets` as 3.13 lays it out (71 words), with these offsets.
std::vector<std::uint64_t> debug_table(const Offsets& o, int minor) {
  std::vector<std::uint64_t> words = {0, 0x03000000u | static_cast<unsigned>(minor) << 16 | 0xf0,
                                      0};
  const auto add = [&words](std::initializer_list<std::uint64_t> more) {
    words.insert(words.end(), more);
  };
  std::memcpy(words.data(), "xdebugpy", 8);
  add({400000, o.runtime_finalizing, o.runtime_interpreters});
  add({300000, 8, o.interp_next, o.interp_threads});
  add({1, 2, 3, 4, 5, 6, 7, 8, 9});
  add({600, 0, o.thread_next, 16, o.thread_frame, o.thread_id, o.thread_native_id, 200, 40});
  add({88, o.frame_previous, o.frame_code, o.frame_instr, o.frame_locals, o.frame_owner});
  add({216, o.code_file, o.code_name, o.code_qualname, o.code_table, o.code_first_line, 52,
       o.code_locals, 104, o.code_bytes});
  add({16, o.object_type});
  add({416, 24, 88, 168});
  add({32, 24, 16});
  add({40, 24, 16});
  add({48, 32, 40});
  add({24, 16});
  add({32, 16, 24});
  add({40, o.bytes_length, o.bytes_data});
  add({64, o.str_state, o.str_length, o.str_ascii_data});
  words.resize(kDebugOffsetsBytes / 8);
  return words;
}

/// The words behind the cookie as Debian's CPython 3.14.10 holds them.
std::vector<std::uint64_t> table_of_314() {
  std::vector<std::uint64_t> words = {
      0,      51251952, 0,    // cookie, version, free-threaded
      316616, 784,      808,  // runtime
      225864, 7280,     7272, 7344, 7360, 7408, 7688, 7672, 7680, 16,      // interpreter
      7784,   0,        7800, 7792, 7992, 0,                               //
      832,    0,        8,    16,   72,   152,  160,  232,  32,            // thread
      88,     8,        0,    56,   80,   74,   64,   0,                   // frame
      216,    112,      120,  128,  136,  68,   52,   96,   104,  208, 0,  // code
      16,     8,        416,  24,   88,   168,  40,   32,   16,   40,  24,
      16,  // object, type, tuple, list
      200,    24,       40,   32,   48,   32,   40,   24,   16,   32,  16,
      24,                                             // set, dict, float, int
      40,     16,       32,   64,   32,   16,   40};  // bytes, text
  std::memcpy(words.data(), "xdebugpy", 8);
  words.resize(kDebugOffsetsBytes / 8);
  return words;
}

DebugOffsets parse(const std::vector<std::uint64_t>& words, std::uint32_t minor, Offsets* out) {
  return parse_debug_offsets(reinterpret_cast<const std::byte*>(words.data()), words.size() * 8,
                             minor, out);
}

TEST(Offsets, ComeFromTheTableOf313AsTheyAreBuiltIn) {
  Offsets out{};
  const Offsets& expected = *built_in_offsets(13);
  ASSERT_EQ(parse(debug_table(expected, 13), 13, &out), DebugOffsets::kOk);
  EXPECT_EQ(out, expected);
}

TEST(Offsets, ComeFromTheLongerTableOf314) {
  Offsets out{};
  ASSERT_EQ(parse(table_of_314(), 14, &out), DebugOffsets::kOk);
  EXPECT_EQ(out.runtime_finalizing, 784u);
  EXPECT_EQ(out.runtime_interpreters, 808u);
  EXPECT_EQ(out.interp_next, 7272u);
  EXPECT_EQ(out.interp_threads, 7344u);
  EXPECT_EQ(out.thread_next, 8u);
  EXPECT_EQ(out.thread_frame, 72u);
  EXPECT_EQ(out.thread_id, 152u);
  EXPECT_EQ(out.thread_native_id, 160u);
  EXPECT_EQ(out.frame_previous, 8u);
  EXPECT_EQ(out.frame_code, 0u);
  EXPECT_EQ(out.frame_instr, 56u);
  EXPECT_EQ(out.frame_locals, 80u);
  EXPECT_EQ(out.frame_owner, 74u);
  EXPECT_EQ(out.frame_top, 64u);
  EXPECT_EQ(out.code_qualname, 128u);
  EXPECT_EQ(out.code_table, 136u);
  EXPECT_EQ(out.code_first_line, 68u);
  EXPECT_EQ(out.code_locals, 96u);
  EXPECT_EQ(out.code_bytes, 208u);
  EXPECT_EQ(out.str_compact_data, 56u);
}

TEST(Offsets, AreRefusedWhenTheTableHasAWordMoreThanWeKnow) {
  Offsets out{};
  auto words = table_of_314();
  words.insert(words.begin() + 30, 40);
  words.pop_back();
  EXPECT_EQ(parse(words, 14, &out), DebugOffsets::kImplausible);
}

TEST(Offsets, AreRefusedWhenTheTableIsStrange) {
  Offsets out{};
  const Offsets& good = *built_in_offsets(13);
  auto words = debug_table(good, 13);
  words[0] ^= 1;
  EXPECT_EQ(parse(words, 13, &out), DebugOffsets::kNoCookie);
  words = debug_table(good, 13);
  EXPECT_EQ(parse(words, 14, &out), DebugOffsets::kOtherVersion);
  words[2] = 1;
  EXPECT_EQ(parse(words, 13, &out), DebugOffsets::kFreeThreaded);
  words = debug_table(good, 13);
  words[29] = ~0ULL;
  EXPECT_EQ(parse(words, 13, &out), DebugOffsets::kImplausible);
  words.resize(40);
  EXPECT_EQ(parse(words, 13, &out), DebugOffsets::kNoCookie);
  EXPECT_EQ(parse(debug_table(good, 15), 15, &out), DebugOffsets::kOtherVersion);
}

TEST(Offsets, AreBuiltInFor308To313) {
  for (std::uint32_t minor = 8; minor <= 13; ++minor) {
    ASSERT_NE(built_in_offsets(minor), nullptr);
    EXPECT_EQ(built_in_offsets(minor)->minor, minor);
    EXPECT_EQ(built_in_offsets(minor)->thread_native_id == kNone, minor < 11);
  }
  EXPECT_EQ(built_in_offsets(7), nullptr);
  EXPECT_EQ(built_in_offsets(14), nullptr);
}

TEST(Text, IgnoresBitsTheInterpreterLeavesUninitialised) {
  const std::uint32_t ascii = 1u << 6 | 1u << 5 | 1u << 2;
  for (const std::uint32_t garbage : {0u, 0xffffff00u, 0x00e50000u}) {
    const StrLayout shape = str_layout(garbage | ascii, 5, 100);
    EXPECT_TRUE(shape.ascii);
    EXPECT_EQ(shape.width, 1u);
    EXPECT_EQ(shape.units, 5u);
  }
}

TEST(Text, KnowsTheLayoutWithSixteenBitsForInterned) {
  const std::uint32_t state = 2u | (1u << 4 | 1u << 3 | 1u) << 16;
  const StrLayout shape = str_layout(state, 5, 100);
  EXPECT_TRUE(shape.ascii);
  EXPECT_EQ(shape.width, 1u);
}

TEST(Text, RefusesStringsThatAreNotCompact) { EXPECT_EQ(str_layout(1u << 2, 5, 100).width, 0u); }

TEST(ModuleSymbols, FindWhatTheLoaderFinds) {
  int found = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* module, std::size_t, void* count) {
        const modules::ModuleSymbols symbols(*module);
        for (const char* name : {"lfind", "lsearch", "hcreate_r"})
          if (std::uint64_t at = symbols.find(name); at != 0) {
            EXPECT_EQ(at, reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, name))) << name;
            ++*static_cast<int*>(count);
          }
        EXPECT_EQ(symbols.find("no_library_has_this_name"), 0u);
        return 0;
      },
      &found);
  EXPECT_EQ(found, 3);
}

}  // namespace
}  // namespace gpuprof::python
