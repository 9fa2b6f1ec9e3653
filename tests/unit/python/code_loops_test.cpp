// SPDX-License-Identifier: Apache-2.0
//
// What is remembered of code objects, and what becomes of those for which there is no room. A
// program of its own: the table is the process's, and full at its end.
#include "inject/python/loops/code_loops.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "tests/unit/python/fake_interpreter.hpp"

namespace gpuprof::python {
namespace {

using tests::FakeInterpreter;

/// An interpreter that is the process's own.
struct Published : FakeInterpreter {
  explicit Published(std::uint32_t minor) : FakeInterpreter(minor) { g_runtime.store(&runtime); }
  ~Published() { g_runtime.store(nullptr); }
};

TEST(CodeLoops, TellWhatNoCompilerMade) {
  Published python(13);
  const std::uint64_t init = python.ascii("__init__");
  const std::uint64_t put_in = python.code(init, init, 0);
  python.put(put_in, python.runtime.offsets.code_version, 0);
  ASSERT_NE(code_loops(put_in), nullptr);
  EXPECT_TRUE(code_loops(put_in)->inserted);
  // exec(compile("def train(): ...", "train", "exec")): one text serves as both.
  const std::uint64_t train = python.ascii("train");
  EXPECT_FALSE(code_loops(python.code(train, train, 1))->inserted);
  EXPECT_FALSE(code_loops(python.code("__init__"))->inserted);
}

TEST(CodeLoops, OfVersionsWithoutInsertedCodeAreNoneOfThose) {
  for (const std::uint32_t minor : {8u, 11u}) {
    Published python(minor);
    const std::uint64_t train = python.ascii("train");
    const std::uint64_t code = python.code(train, train, 1);
    python.put(code, python.runtime.offsets.code_string, python.bytes("dd"));
    ASSERT_NE(code_loops(code), nullptr);
    EXPECT_FALSE(code_loops(code)->inserted) << minor;
  }
}

/// A code object of 3.12 whose byte code lies on a page of its own.
class OnAPage {
 public:
  explicit OnAPage(FakeInterpreter& python) {
    auto* pages = static_cast<std::byte*>(
        mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    byte_code_ = pages + 4096;
    address = reinterpret_cast<std::uint64_t>(byte_code_) - python.runtime.offsets.code_bytes;
    become(python.code("first"));
  }
  ~OnAPage() { munmap(byte_code_ - 4096, 8192); }
  /// A copy of another code object lies here from now on.
  void become(std::uint64_t code) {
    std::memcpy(reinterpret_cast<void*>(address), reinterpret_cast<const void*>(code), 400);
  }
  void close() { ASSERT_EQ(mprotect(byte_code_, 4096, PROT_NONE), 0); }

  std::uint64_t address;

 private:
  std::byte* byte_code_;
};

/// With a loop of `units` code units.
std::uint64_t looping(FakeInterpreter& python, std::string_view name, int units) {
  const std::uint64_t code = python.code(name);
  std::string bytes(static_cast<std::size_t>(units) * 2, '\x09');
  bytes += "\x8c";  // JUMP_BACKWARD
  bytes += static_cast<char>(units);
  std::memcpy(reinterpret_cast<void*>(code + python.runtime.offsets.code_bytes), bytes.data(),
              bytes.size());
  return code;
}

TEST(CodeLoops, WithoutRoomAreNotReadAgain) {
  Published python(12);
  OnAPage gone(python), serves(python), late(python);
  ASSERT_NE(code_loops(gone.address), nullptr);
  serves.become(looping(python, "serves", 6));
  ASSERT_NE(code_loops(serves.address), nullptr);
  // Fills the table.
  std::uint64_t last = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t code = python.code("f");
    if (code_loops(code) == nullptr) break;
    last = code;
  }
  EXPECT_NE(code_loops(last), nullptr) << "what is known stays known";

  late.close();
  EXPECT_EQ(code_loops(late.address), nullptr);

  // The next code at an address that is known: read once, …
  gone.become(looping(python, "next", 9));
  EXPECT_EQ(code_loops(gone.address), nullptr);
  gone.close();
  EXPECT_EQ(code_loops(gone.address), nullptr);

  // … and taken where it is the same as before.
  python.number(serves.address);
  ASSERT_NE(code_loops(serves.address), nullptr);
  EXPECT_EQ(code_loops(serves.address)->count, 1);
  serves.close();
  EXPECT_NE(code_loops(serves.address), nullptr);
}

}  // namespace
}  // namespace gpuprof::python
