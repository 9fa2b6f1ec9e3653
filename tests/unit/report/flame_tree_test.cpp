// SPDX-License-Identifier: Apache-2.0
//
// Merged stacks.
#include "analysis/report/aggregation/flame_tree.hpp"

#include "tests/unit/report/report_fixture.hpp"

namespace gpuprof::report {
namespace {

using test::ReportTest;
using testing::ElementsAre;

std::vector<std::string> path_of(const FlameTree& tree, std::size_t node) {
  std::vector<std::string> names;
  for (; node != 0; node = tree.nodes()[node].parent)
    names.insert(names.begin(), tree.nodes()[node].name);
  return names;
}

TEST(FlameTree, WhatHasNoRoomIsAddedUp) {
  FlameTree tree;
  for (std::size_t i = 0; i < FlameTree::kMaxNodes + 500; ++i)
    tree.add(tree.child(0, "f" + std::to_string(i), FlameKind::kPython), 1, 2);
  tree.finish();
  EXPECT_LE(tree.nodes().size(), FlameTree::kMaxNodes + 1);
  EXPECT_EQ("(other)", tree.nodes().back().name);
  EXPECT_EQ(501u, tree.nodes().back().self);
  EXPECT_EQ(FlameTree::kMaxNodes + 500, tree.nodes()[0].total);
  EXPECT_EQ(2 * (FlameTree::kMaxNodes + 500), tree.nodes()[0].total_blocked);
}

class FlameTest : public ReportTest {};

TEST_F(FlameTest, GpuTimeLiesBelowLinesAndOperators) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "aten::linear"});
    to.on(model::StringDef{2, "aten::addmm"});
    to.on(model::StringDef{3, "gemm"});
    define_stack(to, 9, "/me/net.py", 5, "/me/train.py", 42);
    to.on(call(7, 30, 35, 2));
    to.on(child(op(2, 2, 20, 60), 1));
    model::Operator linear = op(1, 1, 10, 100);
    linear.stack = 9;
    to.on(linear);
    for (const std::uint64_t at : {50, 70}) {
      model::Kernel k = kernel(7, at, at + 10, 2);
      k.name = 3;
      to.on(k);
    }
  });
  const ProcessReport a = analysis();
  const auto& nodes = a.flames.gpu.nodes();
  EXPECT_THAT(path_of(a.flames.gpu, nodes.size() - 1),
              ElementsAre("/me/train.py(42): run", "/me/net.py(5): run", "aten::linear",
                          "aten::addmm", "gemm"));
  EXPECT_EQ(20'000u, nodes.back().self);
  EXPECT_EQ(20'000u, nodes[0].total);
}

TEST_F(FlameTest, SamplesLieBelowTheirThread) {
  record([](model::EventSink& to) {
    define_stack(to, 9, "/me/net.py", 5, "/me/train.py", 42);
    to.on(model::Sample{kStart + 10, 1000, kPid, 9, 0});
    to.on(model::Sample{kStart + 20, 700, kPid, 9, 1});
  });
  const ProcessReport a = analysis();
  const auto& nodes = a.flames.samples.nodes();
  EXPECT_EQ(1000u, nodes[0].total);
  EXPECT_EQ(700u, nodes[0].total_blocked);
  EXPECT_EQ("/me/net.py(5): run", nodes.back().name);
}

}  // namespace
}  // namespace gpuprof::report
