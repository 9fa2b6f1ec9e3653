// SPDX-License-Identifier: Apache-2.0
//
// Operators in modules, and the tree that TensorBoard's plugin makes of them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::exporter {

class ModulesTest : public test::ExportTest {
 protected:
  struct DrawnModule {
    std::uint64_t start, end;
    std::string name, category;
    const rapidjson::Value* event;
  };

  static model::Operator op(model::RangeId id, std::int64_t from_us, std::int64_t to_us,
                            model::StackId stack, model::RangeId parent = 0,
                            model::StringId name = 0) {
    model::Operator o = ExportTest::op(id, name, from_us, to_us);
    o.parent = parent;
    o.stack = stack;
    return o;
  }

  /// Stacks: 1 outside any module; 2 in Net; 3 in Net and its Linear; 4 in Net called elsewhere.
  static void define(model::EventSink& sink) {
    sink.on(model::StringDef{1, "Net"});
    sink.on(model::StringDef{2, "Linear"});
    sink.on(model::StringDef{3, "aten::mm"});
    sink.on(model::StringDef{4, "autograd::engine::evaluate_function: MmBackward0"});
    sink.on(model::StringDef{5, "MmBackward0"});
    sink.on(model::StringDef{6, "record_param_comms"});
    sink.on(model::StringDef{7, "nccl:all_reduce"});
    sink.on(model::StringDef{
        8, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"});
    sink.on(model::TorchModule{1, 1, 0x1000, 0x10});
    sink.on(model::TorchModule{2, 2, 0x2000, 0x20});
    sink.on(model::TorchModule{3, 2, 0x3000, 0x20});
    const auto stack = [&](model::StackId id, std::vector<model::PythonFrame> frames) {
      sink.on(model::StackDef{id, 0, {}, frames});
    };
    const model::PythonFrame main{1, 10, model::kPyEntry}, elsewhere{1, 30, model::kPyEntry};
    const model::PythonFrame net{1, -1, model::kPyModule}, linear{2, -1, model::kPyModule},
        other{3, -1, model::kPyModule};
    stack(1, {main});
    stack(2, {{2, 4, 0}, net, main});
    stack(3, {{3, 4, 0}, linear, {2, 8, 0}, net, main});
    stack(4, {{2, 4, 0}, net, elsewhere});
    stack(5, {{3, 4, 0}, other, {2, 12, 0}, net, main});
  }

  /// What the plugin makes a tree of, in its order: by start, longest first, else as in the file.
  std::vector<DrawnModule> tree() {
    std::vector<DrawnModule> found;
    for (const auto& event : document_["traceEvents"].GetArray()) {
      if (std::string(event["ph"].GetString()) != "X") continue;
      const std::string category = event["cat"].GetString();
      if (category != "cpu_op" && category != "python_function" && category != "user_annotation")
        continue;
      const auto ns = [&](const char* key) {
        return static_cast<std::uint64_t>(event[key].GetDouble() * 1000 + 0.5);
      };
      found.push_back(
          {ns("ts"), ns("ts") + ns("dur"), event["name"].GetString(), category, &event});
    }
    std::stable_sort(found.begin(), found.end(), [](const DrawnModule& a, const DrawnModule& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    return found;
  }
  /// Names around each event, as "outer/inner"; fails where one crosses another.
  std::vector<std::string> paths() {
    std::vector<std::string> out;
    std::vector<DrawnModule> open;
    for (const DrawnModule& one : tree()) {
      while (!open.empty() && open.back().end <= one.start && open.back().end != open.back().start)
        open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(one.end, open.back().end) << one.name << " crosses " << open.back().name;
      }
      open.push_back(one);
      std::string path;
      for (const DrawnModule& around : open) path += (path.empty() ? "" : "/") + around.name;
      out.push_back(path);
    }
    return out;
  }
  std::vector<std::string> modules() {
    std::vector<std::string> out;
    for (const DrawnModule& one : tree())
      if (one.category == "python_function")
        out.push_back(one.name.substr(11) + " " + std::to_string((one.start - 1'000'000) / 1000) +
                      "-" + std::to_string((one.end - 1'000'000) / 1000));
    return out;
  }
};

}  // namespace gpuprof::exporter
