// SPDX-License-Identifier: Apache-2.0
//
// Inputs that are not laid out as any version has them, many of them, before anything is known and
// at the exit.
#include <sys/mman.h>

#include "gpuprof/wire/operator_inputs.hpp"
#include "inject/torch/operators/observer.hpp"
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
  const auto first = observed.begins();
  ASSERT_EQ(first.size(), 1u);
  const auto other = wire::InputHead{wire::InputForm::kOther}.word();
  EXPECT_EQ(observed.inputs(first[0].body.inputs_id), std::vector<std::uint64_t>{other});
  observed.segment.discard_records();
  copy.run("aten::relu", {FakeValue{unreadable() + 4096 - 16, 1}});
  for (int i = 0; i < 40; ++i) copy.run("aten::relu", {copy.tensor({2, 3})});
  EXPECT_TRUE(none_has_inputs(observed));
}

TEST(OddInputs, TextsAreNotReadWhereNothingCanBeRead) {
  Copy copy("torch-2.15");
  Observed observed;
  const std::uint32_t list_tag = copy.torch().layout.list_tag;
  // Ends at the end of what can be read, and goes on beyond.
  auto* pages = static_cast<char*>(
      mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(mprotect(pages + 4096, 4096, PROT_NONE), 0);
  std::memset(pages, 'x', 4096);
  FakeValue beyond = copy.text("");
  const std::uint64_t last = reinterpret_cast<std::uint64_t>(pages) + 4096 - 3;
  std::memcpy(reinterpret_cast<std::byte*>(beyond.payload) + copy.torch().layout.items, &last, 8);
  const FakeValue text{unreadable(), list_tag - 2u}, tuple{unreadable(), list_tag - 3u};
  copy.run("record_param_comms",
           {text, tuple, copy.tuple({text}), beyond, FakeValue{8, list_tag - 2u}});
  const auto begins = observed.begins();
  ASSERT_EQ(begins.size(), 1u);
  const auto other = wire::InputHead{wire::InputForm::kOther}.word();
  const auto one = wire::InputHead{wire::InputForm::kTuple, 0, 1, 1}.word();
  EXPECT_EQ(observed.inputs(begins[0].body.inputs_id),
            (std::vector<std::uint64_t>{other, other, one, other, other, other}));
}

// A tag that is a tensor's, and what is there is none: not before as many as it takes have been
// seen.
TEST(OddInputs, AreLookedAtOneByOneWhileTheyAreNew) {
  Copy copy("torch-2.1");
  Observed observed;
  std::vector<std::uint64_t> garbage(64, 0x1234567);
  const FakeValue none{reinterpret_cast<std::uint64_t>(garbage.data()), 1};
  const FakeValue far = copy.tensor({1, 2, 3, 4, 5, 6});
  std::memcpy(reinterpret_cast<std::byte*>(far.payload) + copy.torch().layout.sizes + 8,
              garbage.data(), 8);
  copy.run("aten::relu", {none, far, copy.tensor({2, 3})});
  const auto begins = observed.begins();
  ASSERT_EQ(begins.size(), 1u);
  const auto other = wire::InputHead{wire::InputForm::kOther}.word();
  EXPECT_EQ(observed.inputs(begins[0].body.inputs_id),
            (std::vector<std::uint64_t>{
                other, other, wire::InputHead{wire::InputForm::kTensor, 6, 2}.word(), 2, 3}));
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
  disable_callbacks_at_exit();
  copy.run("after");
  EXPECT_EQ(observed.begins().size(), 1u);
  EXPECT_EQ(observed.ends().size(), 1u);
}

}  // namespace
}  // namespace gpuprof::torch
