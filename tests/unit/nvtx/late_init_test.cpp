// SPDX-License-Identifier: Apache-2.0
//
// Copies of NVTX that looked for a tool before we came: this program's own, and made-up ones.
#include "inject/nvtx/late_init.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "inject/nvtx/nvtx.hpp"
#include "tests/fakes/in_process_segment.hpp"
#include "tests/unit/nvtx/late_program.hpp"

namespace gpuprof::nvtx {
namespace {

class NvtxLate : public ::testing::Test {
 protected:
  void TearDown() override {
    release();
    hot::g_state.on.store(0);
  }
  std::size_t pushes() {
    segment_.drain();
    return segment_.all<wire::RangePush>().size();
  }
  static void look() {
    static std::uint64_t s_now_ns = 1;
    for (int i = 0; i < 50; ++i) fill_late_tables(s_now_ns += 1'000'000'000);
  }
  fakes::InProcessSegment segment_;
};

TEST_F(NvtxLate, ACopyThatFoundNoToolIsFilledAndEmptiedAgain) {
  EXPECT_LT(late_push("before"), 0) << "NVTX without a tool";
  hot::g_state.on.store(hot::kOnNvtx);
  look();
  EXPECT_EQ(late_push("one"), 0);
  EXPECT_EQ(late_push("two"), 1);
  EXPECT_EQ(late_pop(), 1);
  EXPECT_EQ(pushes(), 2u);
  release();
  EXPECT_LT(late_push("after"), 0);
  EXPECT_LT(late_pop(), 0);
  EXPECT_EQ(pushes(), 2u);
  look();
  EXPECT_EQ(late_push("again"), 0) << "what was open when we went is forgotten";
  EXPECT_EQ(late_pop(), 0);
  EXPECT_EQ(pushes(), 3u);
}

TEST_F(NvtxLate, ManyTimes) {
  hot::g_state.on.store(hot::kOnNvtx);
  for (int i = 0; i < 100; ++i) {
    look();
    ASSERT_EQ(late_push("range"), 0) << i;
    ASSERT_EQ(late_pop(), 0);
    release();
    ASSERT_LT(late_push("range"), 0) << i;
  }
}

/// A valid object without a tool, in memory of this test.
struct Made {
  Made() {
    globals.state = kComplete;
    globals.callbacks = {sizeof(NvtxExportTableCallbacks),
                         [](NvtxCallbackModule, NvtxFunctionTable*, unsigned*) { return 0; }};
    globals.version.struct_size = sizeof(NvtxExportTableVersionInfo);
    globals.version.version = 3;
    fill(globals.core_table, globals.core);
    fill(globals.cuda_table, globals.cuda);
    fill(globals.opencl_table, globals.opencl);
    fill(globals.cudart_table, globals.cudart);
    fill(globals.core2_table, globals.core2);
    fill(globals.sync_table, globals.sync);
  }
  template <std::size_t M, std::size_t N>
  static void fill(NvtxFunctionPointer* (&table)[M], NvtxFunctionPointer (&functions)[N]) {
    for (std::size_t i = 0; i < N; ++i) table[i + 1] = &functions[i];
  }
  NvtxGlobals globals{};
};

TEST(NvtxGlobals, AValidOneIsKnown) {
  Made made;
  EXPECT_TRUE(valid_globals(made.globals));
  EXPECT_TRUE(has_no_tool(made.globals));
}

TEST(NvtxGlobals, OneWordThatIsNotAsItShouldBeRefusesIt) {
  // Every word that is not a function itself, nor the padding.
  const std::size_t functions = offsetof(NvtxGlobals, core) / 8,
                    tables = offsetof(NvtxGlobals, core_table) / 8;
  for (std::size_t word = 1; word < sizeof(NvtxGlobals) / 8; ++word) {
    if (word >= functions && word < tables) continue;
    if (word == 2 || word == functions - 1) continue;  // functions of the header's
    Made made;
    std::uint64_t value = 0;
    auto* at = reinterpret_cast<char*>(&made.globals) + word * 8;
    std::memcpy(&value, at, 8);
    value += std::uint64_t{1} << 40;
    std::memcpy(at, &value, 8);
    EXPECT_FALSE(valid_globals(made.globals)) << "word " << word;
  }
}

TEST(NvtxGlobals, ACopyOfAnObjectIsNone) {
  Made made;
  NvtxGlobals copy;
  std::memcpy(&copy, &made.globals, sizeof copy);
  EXPECT_TRUE(looks_like_globals(&copy));
  EXPECT_FALSE(valid_globals(copy)) << "its tables lead to the other one";
}

TEST(NvtxGlobals, AToolThatHasItIsSeen) {
  Made made;
  made.globals.core[3] = reinterpret_cast<NvtxFunctionPointer>(&made);
  EXPECT_TRUE(valid_globals(made.globals));
  EXPECT_FALSE(has_no_tool(made.globals));
}

}  // namespace
}  // namespace gpuprof::nvtx
