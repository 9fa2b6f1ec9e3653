// SPDX-License-Identifier: Apache-2.0
//
// Whose time it is that reading an operator's inputs takes. A program of its own: other tests make
// the observer give inputs up.
#include "gpuprof/base/clock.hpp"
#include "inject/torch/operators/observer.hpp"
#include "tests/unit/torch/observer_fixture.hpp"

namespace gpuprof::torch {
namespace {

using tests::Copy;
using tests::FakeValue;
using tests::Observed;

// Interrupted in one of them, a thread is in few of so many.
TEST(ManyInputs, OperatorsBeginWhenTheyHaveBeenRead) {
  Copy copy("torch-2.15");
  Observed observed;
  std::byte object[1024];
  copy.learn();
  const FakeValue list = copy.list(std::vector<FakeValue>(400, copy.tensor({2, 3})), true);
  const std::vector<FakeValue> inputs(16, list);
  int after_reading = 0;
  for (int i = 0; i < 21; ++i) {
    observed.segment.discard_records();
    const std::uint64_t before_ns = base::mono_ns();
    copy.torch().begin(object, {"aten::cat", -1, &inputs});
    const std::uint64_t after_ns = base::mono_ns();
    copy.torch().end(object);
    const auto begins = observed.begins();
    ASSERT_EQ(begins.size(), 1u);
    ASSERT_NE(begins[0].body.inputs_id, 0u);
    const std::uint64_t ts_ns = begins[0].body.ts_ns;
    after_reading += ts_ns - before_ns > 4 * (after_ns - ts_ns) ? 1 : 0;
  }
  EXPECT_GT(after_reading, 15);
}

}  // namespace
}  // namespace gpuprof::torch
