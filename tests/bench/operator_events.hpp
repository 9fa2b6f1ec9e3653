// SPDX-License-Identifier: Apache-2.0
//
// Events of a PyTorch training loop as its operators tell them: forward in modules, backward,
// memory.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "recording/model/events.hpp"

namespace gpuprof::test {

class OperatorEvents {
 public:
  explicit OperatorEvents(model::EventSink& sink) : sink_(sink) {}

  /// Steps of 50 layers: each 4 operators forward, 4 backward and 2 memory records.
  void send(std::uint64_t events) {
    define();
    for (std::uint64_t number = 1, sent = 0; sent < events; ++number) {
      const std::uint64_t from = now_;
      for (std::uint32_t layer = 0; layer < kLayers; ++layer) sent += forward(layer);
      for (std::uint32_t layer = kLayers; layer-- > 0;) sent += backward(layer);
      model::Step step{};
      step.start_ns = from;
      step.end_ns = now_;
      step.number = step.label = number;
      step.tid = kPid;
      sink_.on(step);
    }
  }

 private:
  static constexpr std::uint32_t kPid = 4000, kLayers = 50;
  enum Names : model::StringId { kLinear = 1, kAddmm, kRelu, kRoot, kNode, kClass, kNet, kFile };

  void define() {
    sink_.on(model::Process{kPid, 1, 1, 1, now_, 1'700'000'000'000'000'000, "/bin/python", "t"});
    const char* const names[] = {"aten::linear",
                                 "aten::addmm",
                                 "aten::relu",
                                 "autograd::engine::evaluate_function: AddmmBackward0",
                                 "AddmmBackward0",
                                 "Linear",
                                 "Net",
                                 "/home/user/project/train.py"};
    for (model::StringId id = kLinear; id <= kFile; ++id)
      sink_.on(model::StringDef{id, names[id - 1]});
    sink_.on(model::TorchModule{1, kNet, 0x1000, 0x10});
    for (std::uint32_t i = 0; i < 8; ++i)
      sink_.on(
          model::PythonCode{i + 1, kFile, kClass, static_cast<std::int32_t>(10 * i), 11, 1, ""});
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
      sink_.on(model::TorchModule{layer + 2, kClass, 0x2000 + layer, 0x20});
      const std::array<model::PythonFrame, 8> frames = {{{1, -1, 0},
                                                         {2, -1, 0},
                                                         {layer + 2, -1, model::kPyModule},
                                                         {3, static_cast<std::int32_t>(layer), 0},
                                                         {4, -1, 0},
                                                         {1, -1, model::kPyModule},
                                                         {5, -1, 0},
                                                         {6, -1, model::kPyEntry}}};
      sink_.on(model::StackDef{layer + 1, 0, {}, frames});
    }
    const std::array<std::uint64_t, 9> words = {
        1 | 6 << 8 | 2 << 16, 64, 256, 1 | 6 << 8 | 2 << 16, 256, 256, 3, 1, 0};
    for (model::InputsId id = 1; id <= 32; ++id) sink_.on(model::Inputs{id, 0, words});
  }

  model::Operator op(model::StringId name, model::RangeId parent) {
    model::Operator made{};
    made.start_ns = now_ += 700;
    made.id = next_++;
    made.parent = parent;
    made.name = name;
    made.sequence = -1;
    made.tid = made.end_tid = kPid;
    return made;
  }
  void end(model::Operator& made) {
    made.end_ns = now_ += 900;
    sink_.on(made);
  }

  std::uint64_t forward(std::uint32_t layer) {
    ++sequence_;
    model::Operator linear = op(kLinear, 0), addmm = op(kAddmm, linear.id);
    for (model::Operator* one : {&linear, &addmm}) {
      one->stack = layer + 1;
      one->inputs = layer % 32 + 1;
      one->sequence = sequence_;
    }
    memory(4096);
    end(addmm);
    end(linear);
    model::Operator relu = op(kRelu, 0), inner = op(kRelu, relu.id);
    relu.stack = inner.stack = layer + 1;
    end(inner);
    end(relu);
    return 5;
  }
  std::uint64_t backward(std::uint32_t layer) {
    model::Operator root = op(kRoot, 0), node = op(kNode, root.id);
    root.sequence = node.sequence = sequence_ - (kLayers - 1 - layer);
    node.scope = model::kScopeBackward;
    node.forward_tid = kPid;
    model::Operator mm = op(kAddmm, node.id);
    mm.inputs = layer % 32 + 1;
    memory(-4096);
    end(mm);
    model::Operator second = op(kAddmm, node.id);
    end(second);
    end(node);
    end(root);
    return 5;
  }
  void memory(std::int64_t bytes) {
    sink_.on(model::Allocation{now_, now_, 0x7f0000000000 + next_ % 64 * 4096, bytes, 1 << 20,
                               1 << 21, kPid, 1, 0});
  }

  model::EventSink& sink_;
  std::uint64_t now_ = 1'000'000'000;
  model::RangeId next_ = 1;
  std::int64_t sequence_ = 0;
};

}  // namespace gpuprof::test
