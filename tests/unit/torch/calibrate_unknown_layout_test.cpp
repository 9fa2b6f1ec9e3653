// SPDX-License-Identifier: Apache-2.0
//
// Copies of libtorch laid out as none is: names and times, and nothing read that may not be there.
#include <sys/mman.h>

#include "inject/torch/operators/observer.hpp"
#include "tests/unit/torch/observer_fixture.hpp"

namespace gpuprof::torch {
namespace {

using tests::Copy;
using tests::FakeValue;
using tests::Observed;

class Unknown : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, Unknown,
                         testing::Values("torch-shifted", "torch-twice", "torch-swapped"));

TEST_P(Unknown, GivesNamesAndTimesOnly) {
  Copy copy(GetParam());
  Observed observed;
  std::byte object[1024];
  const std::vector<FakeValue> inputs = {copy.list({copy.tensor({2, 3})}, true),
                                         copy.tensor({2, 3})};
  for (int i = 0; i < 100; ++i) {
    copy.torch().begin(object, {"aten::cat", 5, &inputs, 6, 1});
    copy.torch().end(object);
  }
  const auto begins = observed.begins();
  ASSERT_EQ(begins.size(), 100u);
  EXPECT_EQ(observed.ends().size(), 100u);
  for (const auto& begin : begins) {
    EXPECT_EQ(observed.segment.text(begin.body.name_id), "aten::cat");
    EXPECT_EQ(begin.body.sequence, -1);
    EXPECT_EQ(begin.body.forward_thread, 0u);
    EXPECT_EQ(begin.body.thread, 0u);
    EXPECT_EQ(begin.body.inputs_id, 0u);
  }
  EXPECT_EQ(copy.torch().boxed(), 0u);
}

TEST(UnknownLayout, IsSaidOnce) {
  fakes::g_notices.clear();
  Copy copy("torch-shifted-too");
  Observed observed;
  observed.record();
  std::size_t output = 0;
  for (const auto& message : fakes::g_notices)
    if (message.text.find("the layout of PyTorch") != std::string::npos) ++output;
  EXPECT_EQ(output, 1u);
  EXPECT_NE(fakes::g_facts["torch.layout"], "known");
}

}  // namespace
}  // namespace gpuprof::torch
