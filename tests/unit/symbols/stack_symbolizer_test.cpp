// SPDX-License-Identifier: Apache-2.0
//
// Events of one process in, frames out.
#include "analysis/symbols/stack_symbolizer.hpp"

#include <gtest/gtest.h>

#include "analysis/symbols/module_map.hpp"

namespace gpuprof::symbols {
namespace {

model::Module module_at(std::uint64_t start, std::uint64_t end, std::uint64_t seen_ns,
                        std::string_view path) {
  return {start, start, end, seen_ns, {}, path};
}

void define_code(StackSymbolizer* namer, model::CodeId id, std::string_view name, std::int32_t line,
                 std::uint16_t flags = 0) {
  namer->on(model::StringDef{100 + id, name});
  namer->on(model::StringDef{99, "train.py"});
  // 3.9: two bytes on the first line, then the next one.
  namer->on(model::PythonCode{id, 99, 100 + id, line, 9, flags, std::string_view("\x02\x01", 2)});
}

void define_stack(StackSymbolizer* namer, model::StackId id, std::vector<std::uint64_t> native,
                  std::vector<model::PythonFrame> python, std::uint32_t flags = 0) {
  namer->on(model::StackDef{id, flags, native, python});
}

TEST(ModuleMap, TellsReusedAddressesApartByTime) {
  ModuleMap map;
  map.add(module_at(0x1000, 0x9000, 10, "/lib/a.so"));
  map.remove({0x1000, 0x1000, 20});
  map.add(module_at(0x1000, 0x5000, 30, "/lib/b.so"));
  EXPECT_EQ(map.find(0x2000, 15).module->name, "a.so");
  EXPECT_EQ(map.find(0x2000, 35).module->name, "b.so");
  EXPECT_EQ(map.find(0x2000, kStillMapped).module->name, "b.so");
  EXPECT_TRUE(map.find(0x2000, 15).ambiguous);
  EXPECT_FALSE(map.find(0x8000, kStillMapped).ambiguous);
  EXPECT_EQ(map.find(0x8000, kStillMapped).module->name, "a.so") << "all that was ever there";
  EXPECT_EQ(map.find(0x9000, kStillMapped).module, nullptr);
}

TEST(ModuleMap, FindsAnObjectBehindAShorterOneInsideIt) {
  ModuleMap map;
  map.add(module_at(0x1000, 0x10000, 1, "/lib/long.so"));
  map.add(module_at(0x2000, 0x3000, 1, "/lib/short.so"));
  EXPECT_EQ(map.find(0x4000, 5).module->name, "long.so");
}

TEST(StackSymbolizer, GivesPythonFramesTheirLines) {
  StackSymbolizer namer;
  define_code(&namer, 1, "step", 10);
  define_code(&namer, 2, "main", 50);
  define_stack(&namer, 7, {}, {{1, 4, model::kPyEntry}, {2, 0, model::kPyEntry}});
  const std::vector<DisplayFrame>& frames = namer.symbolize(7);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(format_frame(frames[0]), "train.py(11): step");
  EXPECT_EQ(format_frame(frames[1]), "train.py(50): main");
  EXPECT_FALSE(namer.partial(7));
}

TEST(StackSymbolizer, ShowsLineZeroWhereTheTableWasCut) {
  StackSymbolizer namer;
  define_code(&namer, 1, "step", 10, 1);
  define_stack(&namer, 7, {}, {{1, 4, model::kPyEntry}, {1, -1, model::kPyEntry}});
  EXPECT_EQ(namer.symbolize(7).at(0).line, 0);
  EXPECT_EQ(namer.symbolize(7).at(1).line, 10) << "not started: the first line is known";
}

TEST(StackSymbolizer, SaysWhatWasLost) {
  StackSymbolizer namer;
  EXPECT_EQ(namer.symbolize(5).at(0).name, "[stack lost]");
  namer.symbolize(5);
  EXPECT_EQ(namer.counts().lost, 1u);
  define_stack(&namer, 6, {}, {{44, 0, model::kPyEntry}});
  EXPECT_EQ(namer.symbolize(6).at(0).name, "[code lost]");
}

TEST(StackSymbolizer, HidesOurOwnAndTheDriversFramesOnTopOfALaunch) {
  StackSymbolizer namer;
  namer.on(module_at(0x10000, 0x20000, 1, "/x/libgpuprof_inject.so"));
  namer.on(module_at(0x20000, 0x30000, 1, "/x/libcupti.so.13"));
  namer.on(module_at(0x30000, 0x40000, 1, "/x/libcuda.so.1"));
  namer.on(module_at(0x40000, 0x50000, 1, "/x/libcudart.so.13"));
  const std::vector<std::uint64_t> pcs = {0x10010, 0x20010, 0x30010, 0x40010, 0x30020};
  define_stack(&namer, 1, pcs, {}, model::kStackInCall);
  define_stack(&namer, 2, pcs, {});
  ASSERT_EQ(namer.symbolize(1).size(), 2u);
  EXPECT_EQ(namer.symbolize(1).at(0).module, "libcudart.so.13");
  EXPECT_EQ(namer.symbolize(2).size(), 5u) << "a sample may well be inside the driver";
}

TEST(StackSymbolizer, HidesTheFrameThatChecksConstructors) {
  StackSymbolizer namer;
  namer.on(model::StringDef{1, "__init__"});
  namer.on(model::PythonCode{1, 1, 1, 0, 13, 0, {}});
  define_code(&namer, 2, "main", 3);
  define_stack(&namer, 1, {}, {{1, 0, 0}, {2, 0, 0}, {0, 0, model::kPyShim}});
  ASSERT_EQ(namer.symbolize(1).size(), 1u);
  EXPECT_EQ(namer.symbolize(1).at(0).name, "main");
}

TEST(StackSymbolizer, AnswersByTimeWhereAnAddressWasUsedTwice) {
  StackSymbolizer namer;
  namer.on(module_at(0x1000, 0x9000, 10, "/lib/a.so"));
  namer.on(model::ModuleUnload{0x1000, 0x1000, 20});
  namer.on(module_at(0x1000, 0x9000, 30, "/lib/b.so"));
  define_stack(&namer, 1, {0x2000}, {});
  EXPECT_EQ(namer.symbolize(1, 15).at(0).module, "a.so");
  EXPECT_EQ(namer.symbolize(1, 40).at(0).module, "b.so");
  EXPECT_EQ(namer.symbolize(1, 15).at(0).module, "a.so");
}

TEST(StackSymbolizer, StaysRightWhenItsCacheIsEmptied) {
  SymbolizerOptions options;
  options.max_frames = 3;
  StackSymbolizer namer(options);
  for (model::CodeId id = 1; id <= 9; ++id) {
    define_code(&namer, id, "f" + std::to_string(id), 1);
    define_stack(&namer, id, {}, {{id, 0, model::kPyEntry}, {id, 0, model::kPyEntry}});
  }
  for (int round = 0; round < 2; ++round)
    for (model::CodeId id = 1; id <= 9; ++id)
      EXPECT_EQ(namer.symbolize(id).at(0).name, "f" + std::to_string(id));
  EXPECT_EQ(namer.counts().symbolized, 9u);
}

TEST(StackSymbolizer, MakesNoFrameThatSplitsACallString) {
  EXPECT_EQ(format_frame({"f", "odd;name.py", 3, FrameKind::kPython, ""}), "odd,name.py(3): f");
}

}  // namespace
}  // namespace gpuprof::symbols
