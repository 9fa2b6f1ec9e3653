// SPDX-License-Identifier: Apache-2.0
//
// Nodes of the backward pass: their modules, and the arrows to them.
#include <filesystem>
#include <map>

#include "analysis/export/resolve/backward_reorder.hpp"
#include "tests/unit/export/modules_fixture.hpp"

namespace gpuprof::exporter {
namespace {

using Value = rapidjson::Value;

TEST_F(ModulesTest, BackwardNodesPointToTheOperatorTheyComeFrom) {
  record([](model::EventSink& sink) {
    define(sink);
    auto outer = op(1, 10, 40, 3, 0, 3), inner = op(2, 20, 30, 3, 1, 3);
    outer.sequence = inner.sequence = 5;
    sink.on(inner);
    sink.on(outer);
    auto node = op(4, 110, 130, 1, 3, 5), around = op(3, 100, 140, 1, 0, 4);
    node.scope = model::kScopeBackward;
    node.forward_tid = kPid;
    node.sequence = around.sequence = 5;
    sink.on(node);
    sink.on(around);
  });
  trace();
  for (const char* spelling : {"fwdbwd", "forward_backward"}) {
    ASSERT_EQ(events(spelling, "s").size(), 1u) << spelling;
    ASSERT_EQ(events(spelling, "f").size(), 1u) << spelling;
    EXPECT_EQ((*events(spelling, "s")[0])["ts"].GetDouble(), 1020) << "the last that began";
    EXPECT_EQ((*events(spelling, "f")[0])["ts"].GetDouble(), 1110) << "the node";
  }
  for (const Value* one : events("cpu_op"))
    if (std::string((*one)["name"].GetString()).find("MmBackward0") != std::string::npos) {
      EXPECT_STREQ((*one)["args"]["Module"].GetString(), "Linear_0");
    }
}

// Autograd's thread may be read before the one that called it.
TEST_F(ModulesTest, BackwardNodesThatComeBeforeTheirOperatorsFindThem) {
  record([](model::EventSink& sink) {
    define(sink);
    const auto backward = [&](model::RangeId id, std::int64_t sequence, std::int64_t from_us) {
      auto node = op(id, from_us + 5, from_us + 8, 0, id + 1, 5),
           around = op(id + 1, from_us, from_us + 9, 0, 0, 4);
      node.scope = model::kScopeBackward;
      node.forward_tid = kPid;
      node.sequence = around.sequence = sequence;
      for (model::Operator* one : {&node, &around}) {
        one->tid = one->end_tid = kPid + 1;
        sink.on(*one);
      }
    };
    const auto forward = [&](model::RangeId id, std::int64_t sequence, std::int64_t from_us) {
      auto one = op(id, from_us, from_us + 10, 3, 0, 3);
      one.sequence = sequence;
      sink.on(one);
    };
    backward(11, 5, 110);
    backward(21, 6, 210);
    backward(31, 9, 310);  // of what is not in the file
    forward(1, 5, 10);
    forward(2, 6, 30);
  });
  trace();
  EXPECT_EQ(events("fwdbwd", "s").size(), 2u);
  std::map<std::uint64_t, std::string> modules;
  for (const Value* one : events("cpu_op"))
    if ((*one)["tid"].GetUint() == kPid + 1)
      modules[(*one)["args"]["External id"].GetUint64()] =
          (*one)["args"].HasMember("Module") ? (*one)["args"]["Module"].GetString() : "";
  EXPECT_EQ(modules, (std::map<std::uint64_t, std::string>{{11, "Linear_0"},
                                                           {12, "Linear_0"},
                                                           {21, "Linear_0"},
                                                           {22, "Linear_0"},
                                                           {31, ""},
                                                           {32, ""}}));
}

// Its evaluation is read after the forward thread went on, while another thread's node still waits.
TEST(BackwardReorderer, AnEvaluationThatComesLateWaitsForNothing) {
  const ModulePaths paths;
  const BackwardLinks links(paths);
  BackwardReorderer order(links);
  std::vector<model::RangeId> taken;
  const auto add = [&](const model::Operator& op, OpKind kind) {
    order.add(op, kind, [&](const model::Operator& one) { taken.push_back(one.id); });
  };
  const auto node = [&](model::RangeId id, std::uint32_t forward_tid) {
    model::Operator op{};
    op.id = id, op.parent = id + 1, op.tid = 9, op.forward_tid = forward_tid;
    op.start_ns = 100, op.end_ns = 110;
    op.scope = model::kScopeBackward;
    add(op, OpKind::kPlain);
  };
  node(11, 1);
  node(21, 2);
  EXPECT_TRUE(taken.empty());
  model::Operator forward{};
  forward.id = 5, forward.tid = 1, forward.end_ns = 200;
  add(forward, OpKind::kPlain);
  model::Operator around{};
  around.id = 12, around.tid = 9, around.end_ns = 120;
  add(around, OpKind::kEvaluateFunction);
  EXPECT_EQ(taken, (std::vector<model::RangeId>{5, 11, 12}));
}

// The installed plugin fails on a module without backward, and on gradients added up first.
TEST_F(ModulesTest, ArrowsAreLeftOutWhereTheViewerWouldLoseTheFile) {
  for (const bool accumulates : {false, true}) {
    session_.processes.clear();
    std::filesystem::remove(folder_ + "/4000.spool");
    session_.options.output = folder_ + (accumulates ? "/a" : "/b");
    record([&](model::EventSink& sink) {
      define(sink);
      auto forward = op(1, 10, 20, 3, 0, 3);
      forward.sequence = 5;
      sink.on(forward);
      if (accumulates) {
        sink.on(op(9, 80, 90, 1, 0, 8));
      } else {
        sink.on(op(2, 30, 40, 5, 0, 3));  // Linear_1 has no backward
      }
      auto node = op(4, 110, 130, 1, 3, 5);
      node.scope = model::kScopeBackward;
      node.forward_tid = kPid;
      node.sequence = 5;
      sink.on(node);
      sink.on(op(3, 100, 140, 1, 0, 4));
    });
    trace();
    EXPECT_TRUE(events("forward_backward", "s").empty()) << accumulates;
  }
}

}  // namespace
}  // namespace gpuprof::exporter
