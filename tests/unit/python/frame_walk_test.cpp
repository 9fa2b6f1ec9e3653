// SPDX-License-Identifier: Apache-2.0
//
// Chains of frames, whole and broken, in each version's layout.
#include "inject/python/frames/frame_walk.hpp"

#include <gtest/gtest.h>

#include "tests/fakes/in_process_segment.hpp"
#include "tests/unit/python/fake_interpreter.hpp"

namespace gpuprof::python {
namespace {

using tests::FakeInterpreter;

/// What another thread's bytes cost: every look is a system call there.
struct CountedMemory : LocalMemory {
  static constexpr bool kOwn = false;
  explicit CountedMemory(int* counter) : looks(counter) {}

  const std::byte* view(std::uint64_t at, std::uint32_t, std::byte*) const { return keep(at, 0); }
  const std::byte* keep(std::uint64_t at, std::uint32_t bytes) const {
    ++*looks;
    return LocalMemory::keep(at, bytes);
  }

  int* looks;
};

struct Sent {
  wire::PyCodeDef def;
  std::string file, name, table;
};

/// The segment of one test, and what arrived in it.
class Rings {
 public:
  std::vector<Sent> codes() {
    std::vector<Sent> found;
    for (const auto& [def, tail, tid] : segment_.all<wire::PyCodeDef>())
      found.push_back(Sent{def, tail.substr(0, def.file_bytes),
                           tail.substr(def.file_bytes, def.name_bytes),
                           tail.substr(def.file_bytes + def.name_bytes, def.table_bytes)});
    return found;
  }

 private:
  fakes::InProcessSegment segment_{2, 2};
};

struct Result {
  ReadResult read;
  wire::PyFrame frames[wire::kMaxPythonFrames];
};

template <typename Memory>
Result walk_in(Memory& memory, FakeInterpreter& python, std::uint64_t state, std::uint32_t room) {
  Result result{};
  const hot::Guard guard(hot::RingRole::kSignal);
  EXPECT_TRUE(guard);
  result.read = FrameWalk<Memory>(memory, python.runtime, guard, 1).run(state, result.frames, room);
  return result;
}
Result walk(FakeInterpreter& python, std::uint64_t state,
            std::uint32_t room = wire::kMaxPythonFrames) {
  LocalMemory memory;
  return walk_in(memory, python, state, room);
}

class EachVersion : public testing::TestWithParam<int> {
 protected:
  /// inner ← middle ← outer, entered from C once, ended as this version ends chains.
  std::uint64_t three(FakeInterpreter& python, std::int32_t offset = 4) {
    const std::uint64_t bottom = GetParam() >= 12 ? python.shim(0) : 0;
    const std::uint64_t outer = python.frame(python.code("outer", 30), bottom, offset);
    if (GetParam() == 11) python.set_entry(outer);
    const std::uint64_t middle = python.frame(python.code("middle", 20), outer, offset);
    return python.frame(python.code("inner", 10), middle, offset);
  }
};

TEST_P(EachVersion, ReadsAWholeChainAndSendsEachCodeOnce) {
  Rings rings;
  FakeInterpreter python(static_cast<std::uint32_t>(GetParam()));
  const std::uint64_t state = python.state(three(python));

  const Result first = walk(python, state);
  const Result second = walk(python, state);

  EXPECT_EQ(first.read.count, GetParam() >= 12 ? 4u : 3u);
  EXPECT_EQ(first.read.flags, 0u);
  EXPECT_EQ(second.read.count, first.read.count);
  EXPECT_EQ(first.frames[0].instr_offset, 4);
  EXPECT_EQ(first.frames[2].flags, GetParam() <= 11 ? wire::kPyEntry : 0);
  EXPECT_EQ(first.frames[0].flags, GetParam() < 11 ? wire::kPyEntry : 0);
  if (GetParam() >= 12) {
    EXPECT_EQ(first.frames[3].flags, wire::kPyShim);
    EXPECT_EQ(first.frames[3].code_id, 0u);
  }
  const std::vector<Sent> codes = rings.codes();
  ASSERT_EQ(codes.size(), 3u);
  EXPECT_EQ(codes[0].name, "inner");
  EXPECT_EQ(codes[0].file, "train.py");
  EXPECT_EQ(codes[0].table, "\x02\x01");
  EXPECT_EQ(codes[0].def.first_line, 10);
  EXPECT_EQ(codes[0].def.py_minor, GetParam());
  EXPECT_EQ(codes[0].def.id, first.frames[0].code_id);
}

TEST_P(EachVersion, FlagsAChainWithoutItsProperEnd) {
  Rings rings;
  FakeInterpreter python(static_cast<std::uint32_t>(GetParam()));
  const std::uint64_t broken = python.frame(python.code("generator"), 0);
  const Result result = walk(python, python.state(broken));
  // Before 3.11 a chain has no other end than the null pointer.
  EXPECT_EQ(result.read.flags, GetParam() < 11 ? 0u : wire::kStackPythonPartial);
}

TEST_P(EachVersion, StopsAtWhatIsNoCodeObject) {
  Rings rings;
  FakeInterpreter python(static_cast<std::uint32_t>(GetParam()));
  const std::uint64_t bad = python.frame(python.make(512), three(python));
  const std::uint64_t top = python.frame(python.code("top"), bad);
  const Result result = walk(python, python.state(top));
  EXPECT_EQ(result.read.count, 1u);
  EXPECT_EQ(result.read.flags, wire::kStackPythonPartial);
}

TEST_P(EachVersion, LeavesALoop) {
  Rings rings;
  FakeInterpreter python(static_cast<std::uint32_t>(GetParam()));
  const std::uint64_t first = python.frame(python.code("a"), 0);
  const std::uint64_t second = python.frame(python.code("b"), first);
  python.put(first, python.runtime.offsets.frame_previous, second);
  const Result result = walk(python, python.state(second));
  EXPECT_LT(result.read.count, 10u);
  EXPECT_EQ(result.read.flags, wire::kStackPythonPartial);
}

TEST_P(EachVersion, CutsADeepChainAndSaysSo) {
  Rings rings;
  FakeInterpreter python(static_cast<std::uint32_t>(GetParam()));
  const std::uint64_t code = python.code("recursive");
  std::uint64_t top = three(python);
  for (int i = 0; i < 300; ++i) top = python.frame(code, top);
  const Result result = walk(python, python.state(top));
  EXPECT_EQ(result.read.count, wire::kMaxPythonFrames);
  EXPECT_EQ(result.read.flags, wire::kStackPythonDeep);
}

TEST_P(EachVersion, TellsAFrameThatHasNotStarted) {
  Rings rings;
  FakeInterpreter python(static_cast<std::uint32_t>(GetParam()));
  const Result result = walk(python, python.state(three(python, GetParam() < 11 ? -1 : -2)));
  EXPECT_LT(result.frames[0].instr_offset, 0);
}

TEST_P(EachVersion, MarksAnInstructionPointerOutsideTheCode) {
  if (GetParam() < 11) return;  // an index there, not a pointer
  Rings rings;
  FakeInterpreter python(static_cast<std::uint32_t>(GetParam()));
  EXPECT_EQ(walk(python, python.state(three(python, 4000))).frames[0].instr_offset, kOffsetUnknown);
  EXPECT_EQ(walk(python, python.state(three(python, -4000))).frames[0].instr_offset,
            kOffsetUnknown);
}

TEST_P(EachVersion, GivesNothingForAThreadOutsidePython) {
  Rings rings;
  FakeInterpreter python(static_cast<std::uint32_t>(GetParam()));
  const Result result = walk(python, python.state(0));
  EXPECT_EQ(result.read.count, 0u);
  EXPECT_EQ(result.read.flags, 0u);
}

INSTANTIATE_TEST_SUITE_P(Python, EachVersion, testing::Values(8, 9, 10, 11, 12, 13));

TEST(Walk, TakesTheOuterFramesWhileACframeIsNew) {
  for (const std::uint32_t minor : {11u, 12u}) {
    SCOPED_TRACE(minor);
    Rings rings;
    FakeInterpreter python(minor);
    const std::uint64_t bottom = minor == 12 ? python.shim(0) : 0;
    const std::uint64_t outer = python.frame(python.code("outer"), bottom);
    python.set_entry(outer);
    // What lay on the C stack before: a frame of an evaluation that has returned.
    const std::uint64_t stale =
        python.frame(python.code("stale"), minor == 12 ? python.shim(8) : 8);
    python.set_entry(stale);
    const Result with_stale = walk(python, python.state(stale, outer));
    const Result with_garbage = walk(python, python.state(python.make(256), outer));
    for (const Result& result : {with_stale, with_garbage}) {
      EXPECT_EQ(result.read.flags, 0u);
      EXPECT_EQ(result.read.count, minor == 12 ? 2u : 1u);
      EXPECT_EQ(result.frames[0].instr_offset, 4);
    }
    EXPECT_EQ(with_stale.frames[0].code_id, with_garbage.frames[0].code_id);
  }
}

TEST_P(EachVersion, TellsApartCodeObjectsThatUsedOneAddress) {
  Rings rings;
  FakeInterpreter python(static_cast<std::uint32_t>(GetParam()));
  const std::uint64_t file = python.ascii("<cell-1>");
  const std::uint64_t code = python.code(file, python.ascii("f"), 10);
  const std::uint64_t state = python.state(python.frame(code, 0));
  walk(python, state);
  // Its file's name is made where the last one's was.
  std::memcpy(reinterpret_cast<void*>(file + python.runtime.offsets.str_ascii_data), "<cell-2>", 8);
  python.number(code);
  walk(python, state);
  // Made by no compiler: its name alone tells.
  python.put(code, python.runtime.offsets.code_version, 0);
  python.put(code, code_name_offset(python.runtime.offsets), python.ascii("g"));
  walk(python, state);
  python.put(code, code_name_offset(python.runtime.offsets), python.ascii("h"));
  walk(python, state);
  const std::vector<Sent> codes = rings.codes();
  ASSERT_EQ(codes.size(), 4u);
  EXPECT_EQ(codes[1].file, "<cell-2>");
  EXPECT_EQ(codes[2].name, "g");
  EXPECT_EQ(codes[3].name, "h");
}

TEST(Walk, ReadsTheTextsOfACodeObjectOnce) {
  for (const std::uint32_t minor : {11u, 12u, 13u}) {
    SCOPED_TRACE(minor);
    Rings rings;
    FakeInterpreter python(minor);
    const std::uint64_t inner = python.code("inner"), outer = python.code("outer");
    const std::uint64_t below = python.frame(outer, minor >= 12 ? python.shim(0) : 0);
    if (minor == 11) python.set_entry(below);
    const std::uint64_t state = python.state(python.frame(inner, below));
    int looks[3] = {};
    Result results[3];
    for (int i = 0; i < 3; ++i) {
      CountedMemory memory(&looks[i]);
      results[i] = walk_in(memory, python, state, 8);
    }
    EXPECT_LT(looks[1], looks[0]);
    EXPECT_EQ(looks[2], looks[1]);
    const int chain = minor < 13 ? 4 : 1;  // the thread's state, and two cframes
    if (minor >= 12) {
      EXPECT_EQ(looks[1], chain + 2 + 2 + 1) << "a frame and its code each, and the shim";
    }
    EXPECT_EQ(results[1].frames[0].code_id, results[0].frames[0].code_id);
    EXPECT_EQ(results[1].frames[1].code_id, results[0].frames[1].code_id);
  }
}

TEST(Walk, SendsAnyNameAsUtf8) {
  Rings rings;
  FakeInterpreter python(12);
  const std::uint64_t file = python.ascii("f.py");
  using namespace std::string_literals;
  std::u16string torn = u"a";
  torn.push_back(static_cast<char16_t>(0xdc80));
  const std::uint64_t names[] = {
      python.wide("gr\xf6\xdf"s.append("e")),
      python.wide(u"函数"s),
      python.wide(U"𠮷野"s),
      python.wide(torn),
      python.ascii(std::string(5000, 'n')),
      python.wide(std::u16string(5000, u'函')),
  };
  std::uint64_t top = python.shim(0);
  for (const std::uint64_t name : names) top = python.frame(python.code(file, name, 1), top);
  walk(python, python.state(top));
  const std::vector<Sent> codes = rings.codes();
  ASSERT_EQ(codes.size(), 6u);
  EXPECT_EQ(codes[5].name, "größe");
  EXPECT_EQ(codes[4].name, "函数");
  EXPECT_EQ(codes[3].name, "𠮷野");
  EXPECT_EQ(codes[2].name, "a\xef\xbf\xbd") << "a lone surrogate is no UTF-8";
  EXPECT_EQ(codes[1].name, std::string(wire::kMaxNameBytes, 'n'));
  EXPECT_EQ(codes[0].name.size(), 4095u) << "cut at a character's border";
}

TEST(Walk, LeavesOutATableThatIsTooLong) {
  Rings rings;
  FakeInterpreter python(13);
  const std::uint64_t long_name = python.ascii(std::string(4096, 'x'));
  const std::uint64_t small = python.ascii("f");
  const std::string longest(wire::kMaxLineTableBytes, 'T');
  std::uint64_t top = python.shim(0);
  top = python.frame(python.code(small, small, 1, longest), top);
  top = python.frame(python.code(small, small, 2, longest + "T"), top);
  top = python.frame(python.code(long_name, long_name, 3, longest), top);
  walk(python, python.state(top));
  const std::vector<Sent> codes = rings.codes();
  ASSERT_EQ(codes.size(), 3u);
  EXPECT_EQ(codes[0].def.flags, wire::kCodeTableCut) << "names and table exceed a frame";
  EXPECT_EQ(codes[0].name.size(), 4096u);
  EXPECT_EQ(codes[1].def.flags, wire::kCodeTableCut);
  EXPECT_EQ(codes[1].table, "");
  EXPECT_EQ(codes[2].def.flags, 0u);
  EXPECT_EQ(codes[2].table, longest);
}

}  // namespace
}  // namespace gpuprof::python
