// SPDX-License-Identifier: Apache-2.0
//
// Frames read for operators, in each version's layout, and what becomes of a layout that is wrong.
#include "inject/python/frames/fast_frames.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "inject/python/frames/frames.hpp"
#include "inject/python/frames/stack_fingerprint.hpp"
#include "inject/torch/operators/operator_stack.hpp"
#include "tests/fakes/in_process_segment.hpp"
#include "tests/unit/python/fake_interpreter.hpp"
#include "tests/unit/python/same_place.hpp"

namespace gpuprof::python {
namespace {

using tests::FakeInterpreter;

void* g_state = nullptr;

/// An interpreter that the calling thread is in.
class Inside {
 public:
  explicit Inside(std::uint32_t minor) : python(minor) {
    python.runtime.this_state = [] { return g_state; };
    g_runtime.store(&python.runtime);
  }
  ~Inside() { g_runtime.store(nullptr); }

  void at(std::uint64_t top) {
    const std::uint64_t state = python.state(top);
    python.put<std::uint64_t>(state, python.runtime.offsets.thread_native_id, hot::current_tid());
    g_state = reinterpret_cast<void*>(state);
  }
  /// A function of PyTorch's through which modules are called, in a module of this type.
  std::uint64_t module_frame(std::uint64_t previous, std::uint64_t object) {
    if (module_code_ == 0)
      module_code_ = python.code(python.ascii("/v/torch/nn/modules/module.py"),
                                 python.ascii("_wrapped_call_impl"), 7);
    return with_self(python.frame(module_code_, previous), object);
  }
  std::uint64_t with_self(std::uint64_t frame, std::uint64_t object) {
    const std::uint64_t tag = python.runtime.offsets.minor >= 14 ? 1 : 0;
    python.put(frame, python.runtime.offsets.frame_locals, object | tag);
    return frame;
  }
  std::uint64_t object(const char* type_name_of) {
    const std::uint64_t type = python.make(64), made = python.make(64);
    python.put(type, 24, reinterpret_cast<std::uint64_t>(type_name_of));
    python.put(made, python.runtime.offsets.object_type, type);
    return made;
  }

  FakeInterpreter python;

 private:
  std::uint64_t module_code_ = 0;
};

CodeInfo facts_of(const FakeInterpreter& python, std::uint64_t code) {
  CodeInfo facts{};
  load_code_info(python.runtime, code, CodeFingerprint(python.runtime.offsets).of(code), &facts);
  return facts;
}

std::uint32_t frames(FastFrame* to, std::uint32_t room = 64) {
  return read_fast_frames(hot::current_tid(), to, room);
}

/// Until frames are read without care.
void settle() {
  FastFrame found[64];
  for (int i = 0; i < 50; ++i) frames(found);
}

class QuickFrames : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, QuickFrames, testing::Values(8, 9, 10, 11, 12, 13));

TEST_P(QuickFrames, AreThoseOfTheCallingThread) {
  Inside inside(GetParam());
  FakeInterpreter& python = inside.python;
  const std::uint64_t outer_code = python.code("main"), inner_code = python.code("step");
  const std::uint64_t outer = python.frame(outer_code, 0, 8),
                      inner = python.frame(inner_code, outer, 6);
  inside.at(inner);
  FastFrame found[64];
  // With care first, then without.
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(frames(found), 2u);
    EXPECT_EQ(found[0].frame, inner);
    EXPECT_EQ(found[0].code, inner_code);
    EXPECT_EQ(found[0].instr_offset, 6);
    EXPECT_EQ(found[1].code, outer_code);
    EXPECT_EQ(found[1].instr_offset, 8);
  }
  EXPECT_EQ(frames(found, 1), 1u);
  g_state = nullptr;
  EXPECT_EQ(frames(found), 0u);
}

class QuickShims : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, QuickShims, testing::Values(12, 13));

TEST_P(QuickShims, AreToldFromFrames) {
  Inside inside(GetParam());
  FakeInterpreter& python = inside.python;
  inside.at(python.frame(python.code("step"), python.shim(python.frame(python.code("main"), 0))));
  FastFrame found[64];
  ASSERT_EQ(frames(found), 3u);
  EXPECT_EQ(found[1].code, 0u);
  EXPECT_EQ(found[1].flags, wire::kPyShim);
}

TEST_P(QuickFrames, EndWhereSomethingIsNoCodeObject) {
  Inside inside(GetParam());
  FakeInterpreter& python = inside.python;
  const std::uint64_t odd = python.frame(python.make(512), 0);
  inside.at(python.frame(python.code("step"), odd));
  FastFrame found[64];
  EXPECT_EQ(frames(found), 1u);
}

TEST_P(QuickFrames, KnowTheCallsOfModules) {
  Inside inside(GetParam());
  FakeInterpreter& python = inside.python;
  const std::uint64_t linear = inside.object("Linear");
  inside.at(inside.module_frame(0, linear));
  FastFrame found[64];
  ASSERT_EQ(frames(found), 1u);
  EXPECT_TRUE(facts_of(python, found[0].code).module_call);
  const Object self = first_local(python.runtime, found[0].frame);
  EXPECT_EQ(self.address, linear);
  EXPECT_STREQ(type_name(self.type), "Linear");
  EXPECT_FALSE(facts_of(python, python.code("_wrapped_call_impl")).module_call);
  EXPECT_FALSE(facts_of(python, python.code("forward")).module_call);
}

TEST_P(QuickFrames, BecomeTheStackOfAnOperator) {
  Inside inside(GetParam());
  FakeInterpreter& python = inside.python;
  const std::uint64_t main = python.frame(python.code("main"), 0);
  const std::uint64_t call = inside.module_frame(main, inside.object("Linear"));
  inside.at(python.frame(python.code("forward"), call));
  fakes::InProcessSegment segment(2, 2);
  const hot::Guard guard(hot::RingRole::kCallback);
  static torch::OperatorStack stack;
  stack.clear();
  const auto take = [&](std::uint32_t detail) {
    stack.capture(guard.tid(), 0);
    return stack.define(guard, detail, 1);
  };
  const std::uint32_t both = wire::kTorchStack | wire::kTorchModules;
  const std::uint64_t id = take(both);
  EXPECT_EQ(stack.module_level(), 1u);
  EXPECT_EQ(take(both), id);
  const auto defs = segment.all<wire::StackDef>();
  ASSERT_EQ(defs.size(), 1u);
  ASSERT_EQ(defs[0].body.python_count, 4u);
  wire::PyFrame sent[4];
  std::memcpy(sent, defs[0].tail.data(), sizeof sent);
  EXPECT_EQ(sent[2].flags, wire::kPyModule);
  const auto modules = segment.all<wire::TorchModuleDef>();
  ASSERT_EQ(modules.size(), 1u);
  EXPECT_EQ(modules[0].body.id, sent[2].code_id);
  EXPECT_EQ(modules[0].tail.substr(0, modules[0].body.name_bytes), "Linear");
  EXPECT_EQ(segment.all<wire::PyCodeDef>().size(), 3u);
  // The same call, another module.
  inside.with_self(call, inside.object("ReLU"));
  EXPECT_NE(take(both), id);
  EXPECT_EQ(segment.all<wire::TorchModuleDef>().size(), 2u);
  const std::uint64_t without = take(wire::kTorchStack);
  EXPECT_NE(without, id);
  EXPECT_EQ(segment.all<wire::StackDef>().back().body.python_count, 3u);
  take(wire::kTorchModules);
  EXPECT_EQ(segment.all<wire::StackDef>().back().body.python_count, 2u);
}

TEST_P(QuickFrames, StandStillWhileAnOperatorIsOpen) {
  Inside inside(GetParam());
  FakeInterpreter& python = inside.python;
  const std::uint32_t code_at = python.runtime.offsets.frame_code;
  const std::uint64_t outer = python.frame(python.code("main"), 0);
  const std::uint64_t inner = python.frame(python.code("step"), outer);
  inside.at(inner);
  settle();
  static torch::OperatorStack stack;
  stack.clear();
  stack.capture(hot::current_tid(), 0);
  const std::uint32_t version = stack.version();
  // Nobody looks outside of the innermost frame while an operator is open around this one …
  const std::uint64_t other = python.code("other");
  python.put(outer, code_at, other);
  stack.capture(hot::current_tid(), version);
  EXPECT_EQ(stack.version(), version);
  EXPECT_NE(stack.frames()[1].code, other);
  // … unless it began with another stack, …
  stack.capture(hot::current_tid(), version - 1);
  EXPECT_NE(stack.version(), version);
  EXPECT_EQ(stack.frames()[1].code, other);
  // … or called Python since.
  python.put(outer, code_at, python.code("main"));
  inside.at(python.frame(python.code("hook"), inner));
  stack.capture(hot::current_tid(), stack.version());
  ASSERT_EQ(stack.frame_count(), 3u);
  EXPECT_NE(stack.frames()[2].code, other);
}

TEST_P(QuickFrames, AreComparedOneByOne) {
  Inside inside(GetParam());
  FakeInterpreter& python = inside.python;
  const std::uint64_t outer_code = python.code("main"), inner_code = python.code("step");
  const std::uint64_t outer = python.frame(outer_code, 0, 8);
  const std::uint64_t inner = python.frame(inner_code, outer, 6);
  inside.at(inner);
  settle();
  FastFrame found[64];
  static torch::OperatorStack stack;
  stack.clear();
  stack.capture(hot::current_tid(), 0);
  const std::uint32_t version = stack.version();
  stack.capture(hot::current_tid(), 0);
  EXPECT_EQ(stack.version(), version);
  // Deeper, less deep, elsewhere: what is reported is what the frames are.
  const std::uint64_t tops[] = {python.frame(outer_code, inner, 2), outer,
                                python.frame(inner_code, outer, 4), inner};
  for (const std::uint64_t top : tops) {
    inside.at(top);
    const std::uint32_t count = frames(found);
    stack.capture(hot::current_tid(), 0);
    ASSERT_EQ(stack.frame_count(), count);
    for (std::uint32_t i = 0; i < count; ++i)
      EXPECT_TRUE(tests::same_frame(stack.frames()[i], found[i])) << i;
  }
}

TEST(Stack, WithoutModulesIsNoneWhereOnlyModulesAreWanted) {
  Inside inside(11);
  inside.at(inside.python.frame(inside.python.code("main"), 0));
  fakes::InProcessSegment segment(2, 2);
  const hot::Guard guard(hot::RingRole::kCallback);
  static torch::OperatorStack stack;
  stack.capture(guard.tid(), 0);
  EXPECT_EQ(stack.define(guard, wire::kTorchModules, 1), 0u);
  EXPECT_EQ(stack.module_level(), torch::kNoModule);
}

TEST(Stack, CodeAtTheSameAddressIsAnotherOne) {
  Inside inside(12);
  FakeInterpreter& python = inside.python;
  const std::uint64_t code = python.code("first", 3);
  inside.at(python.frame(code, 0));
  fakes::InProcessSegment segment(2, 2);
  const hot::Guard guard(hot::RingRole::kCallback);
  static torch::OperatorStack stack;
  // With care first, then without.
  for (int i = 0; i < 50; ++i) stack.capture(guard.tid(), 0);
  const std::uint64_t first = stack.define(guard, wire::kTorchStack, 1);
  python.put(code, python.runtime.offsets.code_qualname, python.ascii("second"));
  python.put<std::uint64_t>(code, 24, 8);  // its constants
  stack.capture(guard.tid(), 0);
  EXPECT_NE(stack.define(guard, wire::kTorchStack, 1), first);
}

/// Puts other code, made of objects at the same addresses, where `code` is.
void overwrite(Inside& inside, std::uint64_t code, std::string_view file, std::string_view table) {
  const Offsets& at = inside.python.runtime.offsets;
  const auto* bytes = reinterpret_cast<const std::byte*>(code);
  std::memcpy(
      reinterpret_cast<void*>(base::load<std::uint64_t>(bytes + at.code_file) + at.str_ascii_data),
      file.data(), file.size());
  std::memcpy(
      reinterpret_cast<void*>(base::load<std::uint64_t>(bytes + at.code_table) + at.bytes_data),
      table.data(), table.size());
  inside.python.number(code);
}

TEST_P(QuickFrames, OfCodeMadeOfOldAddressesAreOthers) {
  Inside inside(GetParam());
  FakeInterpreter& python = inside.python;
  const std::string long_table(400, '\x01');
  for (const std::string_view table :
       {std::string_view("\x02\x01"), std::string_view(long_table)}) {
    const std::uint64_t code =
        python.code(python.ascii("<cell-1>"), python.ascii("<module>"), 1, table);
    inside.at(python.frame(code, 0));
    fakes::InProcessSegment segment(2, 2);
    const hot::Guard guard(hot::RingRole::kCallback);
    static torch::OperatorStack stack;
    stack.clear();
    const auto take = [&] {
      stack.capture(guard.tid(), 0);
      return stack.define(guard, wire::kTorchStack, 1);
    };
    for (int i = 0; i < 50; ++i) take();
    const std::uint64_t first = take(), first_code = facts_of(python, code).id;
    overwrite(inside, code, "<cell-2>", table);
    const std::uint64_t second = take();
    EXPECT_NE(second, first);
    EXPECT_NE(stack.frames()[0].code_id, first_code);
    overwrite(inside, code, "<cell-2>", "\x03");
    EXPECT_NE(take(), second);
    // What comes back is what it was.
    overwrite(inside, code, "<cell-1>", table);
    EXPECT_EQ(take(), first);
    const auto defs = segment.all<wire::PyCodeDef>();
    ASSERT_EQ(defs.size(), 3u);
    EXPECT_EQ(defs[1].tail.substr(0, 8), "<cell-2>");
  }
}

/// A str object of a subclass, which keeps its characters elsewhere, at the end of what can be
/// read.
std::uint64_t subclassed(const Offsets& at) {
  auto* page = static_cast<std::byte*>(
      mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  EXPECT_EQ(mprotect(page + 4096, 4096, PROT_NONE), 0);
  std::byte* text = page + 4096 - at.str_compact_data - 8;
  base::store<std::uint64_t>(text + at.str_length, 64);
  base::store<std::uint32_t>(text + at.str_state, 1u << 2);  // not compact, a byte a character
  return reinterpret_cast<std::uint64_t>(text);
}

TEST_P(QuickFrames, OfAFileWhoseNameLiesElsewhereAreFollowed) {
  Inside inside(GetParam());
  FakeInterpreter& python = inside.python;
  const std::uint64_t file = subclassed(python.runtime.offsets);
  const std::uint64_t name = python.ascii("<module>");
  const CodeInfo first = facts_of(python, python.code(file, name, 1));
  EXPECT_NE(first.mark, facts_of(python, python.code(file, name, 2)).mark);
  EXPECT_NE(first.id, 0u);
}

/// Its state is freed then: nothing of it is read.
TEST_P(QuickFrames, AreNoneOnceAnotherThreadEndsPython) {
  Inside inside(GetParam());
  FakeInterpreter& python = inside.python;
  const std::uint64_t frame = python.frame(python.code("main"), 0);
  const std::uint32_t ends = python.runtime.offsets.runtime_finalizing;
  for (const bool settled : {false, true}) {
    inside.at(frame);
    settled ? settle() : reset_layout_validation();
    static torch::OperatorStack stack;
    stack.clear();
    stack.capture(hot::current_tid(), 0);
    EXPECT_EQ(stack.frame_count(), 1u);
    const std::uint32_t version = stack.version();
    StackFingerprint look;
    EXPECT_EQ(fingerprint_stack(&look), settled);
    // By this thread: its frames are there until the end.
    python.put(python.runtime.address, ends, reinterpret_cast<std::uint64_t>(g_state));
    stack.capture(hot::current_tid(), version);
    EXPECT_EQ(stack.frame_count(), 1u);
    EXPECT_EQ(fingerprint_stack(&look), settled);
    python.put(python.runtime.address, ends, python.state(0));
    python.put<std::uint64_t>(reinterpret_cast<std::uint64_t>(g_state),
                              python.runtime.offsets.thread_frame, 0x2bad00000000);
    for (const std::uint32_t around : {0u, version}) {
      stack.capture(hot::current_tid(), around);
      EXPECT_EQ(stack.frame_count(), 0u);
    }
    EXPECT_FALSE(fingerprint_stack(&look));
    FastFrame found[64];
    EXPECT_EQ(frames(found), 0u);
    EXPECT_FALSE(fast_frames_disabled());
    fakes::InProcessSegment segment(2, 2);
    wire::PyFrame read[4];
    const ReadResult own = read_current_frames(hot::Guard(hot::RingRole::kCallback), read, 4, 1);
    EXPECT_EQ(own.count, 0u);
    EXPECT_EQ(own.flags, wire::kStackPythonPartial);
    python.put<std::uint64_t>(python.runtime.address, ends, 0);
  }
}

TEST(Stack, IsDefinedOnceAllOfItFoundRoom) {
  Inside inside(11);
  inside.at(inside.python.frame(inside.python.code("main"), 0));
  fakes::InProcessSegment segment(2, 2);
  const hot::Guard guard(hot::RingRole::kCallback);
  static torch::OperatorStack stack;
  stack.capture(guard.tid(), 0);
  while (hot::record(guard, wire::RangePop{1, 0, 0}, 1)) {
  }
  stack.define(guard, wire::kTorchStack, 1);
  segment.discard_records();
  for (int i = 0; i < 2; ++i) stack.define(guard, wire::kTorchStack, 2);
  EXPECT_EQ(segment.all<wire::StackDef>().size(), 1u);
  EXPECT_EQ(segment.all<wire::PyCodeDef>().size(), 1u);
  // Another drop takes nothing of it back.
  while (hot::record(guard, wire::RangePop{1, 0, 0}, 1)) {
  }
  segment.discard_records();
  stack.define(guard, wire::kTorchStack, 3);
  EXPECT_EQ(segment.all<wire::StackDef>().size(), 0u);
}

}  // namespace
}  // namespace gpuprof::python
