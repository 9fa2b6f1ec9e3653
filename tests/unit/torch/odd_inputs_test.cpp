// SPDX-License-Identifier: Apache-2.0
//
// Inputs that are not laid out as any version has them, before anything is known and at the exit.
#include <sys/mman.h>

#include "inject/torch/observer.hpp"
#include "tests/unit/torch/observer_fixture.hpp"

namespace gpuprof::torch {
namespace {

using tests::Copy;
using tests::FakeValue;
using tests::Observed;

std::uint64_t unreadable() {
  void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return reinterpret_cast<std::uint64_t>(page);
}

bool none_has_inputs(Observed& observed) {
  for (const auto& begin : observed.begins())
    if (begin.body.inputs_id != 0) return false;
  return true;
}

TEST(OddInputs, AreNotFollowedIntoMemoryThatCannotBeRead) {
  Copy copy("torch-2.7");
  Observed observed;
  copy.run("aten::cat", {FakeValue{unreadable(), copy.torch().layout.list_tag}});
  copy.run("aten::relu", {FakeValue{unreadable() + 4096 - 16, 1}});
  for (int i = 0; i < 40; ++i) copy.run("aten::relu", {copy.tensor({2, 3})});
  EXPECT_TRUE(none_has_inputs(observed));
}

TEST(OddInputs, AreGivenUpWhereSizesAreInNoKnownPlace) {
  Copy copy("torch-far");
  Observed observed;
  for (int i = 0; i < 4200; ++i) copy.run("aten::relu", {copy.tensor({2, 3})});
  EXPECT_TRUE(none_has_inputs(observed));
}

TEST(OddInputs, TagsThatNoVersionHasEndTheTrial) {
  Copy copy("torch-2.15");
  Observed observed;
  copy.run("aten::relu", {FakeValue{0, 200}});
  for (int i = 0; i < 40; ++i) copy.run("aten::relu", {copy.tensor({2, 3})});
  EXPECT_TRUE(none_has_inputs(observed));
}

// Last: it cannot be taken back.
TEST(TheExit, EndsAllObservation) {
  Copy copy("torch-2.7");
  Observed observed;
  copy.run("before");
  stop_observing_at_exit();
  copy.run("after");
  EXPECT_EQ(observed.begins().size(), 1u);
  EXPECT_EQ(observed.ends().size(), 1u);
}

}  // namespace
}  // namespace gpuprof::torch
