// SPDX-License-Identifier: Apache-2.0
//
// What is known of code objects between two sessions: nothing. A program of its own, for the
// tables are the process's.
#include <gtest/gtest.h>

#include "gpuprof/base/readable.hpp"
#include "inject/hot/recorder.hpp"
#include "inject/python/frames/code_id_cache.hpp"
#include "inject/python/frames/fast_frames.hpp"
#include "inject/python/frames/frames.hpp"
#include "inject/python/loops/code_loops.hpp"
#include "tests/fakes/daemon_segment.hpp"
#include "tests/unit/python/fake_interpreter.hpp"

namespace gpuprof::python {
namespace {

using fakes::count_mappings;
using tests::FakeInterpreter;

struct Published : FakeInterpreter {
  Published() : FakeInterpreter(12) { use(); }
  ~Published() { g_runtime.store(nullptr); }
  void use() { g_runtime.store(&runtime); }
};

TEST(Release, ForgetsCodeObjectsAndUnmapsTheirTable) {
  Published python;
  const std::uint64_t code = python.code("train");
  g_code_ids.add(code, 1, 42);
  const CodeLoops* loops = code_loops(code);
  ASSERT_NE(loops, nullptr);
  const std::uint64_t id = loops->id;
  const auto table = reinterpret_cast<std::uint64_t>(loops);
  EXPECT_TRUE(base::object_readable(table, 8));
  release();
  EXPECT_FALSE(base::object_readable(table, 8)) << "still mapped";
  EXPECT_FALSE(ready());
  EXPECT_EQ(code_loops(code), nullptr) << "there is no interpreter";
  EXPECT_EQ(g_code_ids.find(code, 1), 0u);
  // When a session comes again and other code lies at the same address
  python.use();
  python.put(code, python.runtime.offsets.code_first_line, 77);
  loops = code_loops(code);
  ASSERT_NE(loops, nullptr);
  EXPECT_NE(loops->id, id);
}

TEST(Release, LeavesTheTableToAThreadThatIsStillInside) {
  fakes::DaemonSegment segment;
  ASSERT_TRUE(segment.publish());
  Published python;
  const std::uint64_t code = python.code("train");
  {
    const hot::Guard guard(hot::RingRole::kCallback);
    ASSERT_TRUE(guard);
    const CodeLoops* loops = code_loops(code);
    ASSERT_NE(loops, nullptr);
    hot::unpublish_segment(1);
    release();
    EXPECT_EQ(loops->address, code) << "not unmapped under it";
  }
  release();
  EXPECT_EQ(count_mappings("daemon_segment"), 1);
}

}  // namespace
}  // namespace gpuprof::python
