// SPDX-License-Identifier: Apache-2.0
//
// A small program with everything in it, written in a format under test.
#pragma once

#include <array>

#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::test {

class WriterTest : public ExportTest {
 protected:
  enum Text : model::StringId { kOuter = 1, kInner, kKernel, kFile, kMain, kStep, kCall };

  /// Main thread: one step; "outer" around "in;ner" around a launch of a kernel of 30 us; samples
  /// in main() and in step() called by it, one of them of a waiting thread; memory.
  static void program(model::EventSink& to) {
    to.on(model::StringDef{kOuter, "aten::outer"});
    to.on(model::StringDef{kInner, "in;ner, \"quoted\""});
    to.on(model::StringDef{kKernel, "_Z3addPf"});
    to.on(model::StringDef{kFile, "train.py"});
    to.on(model::StringDef{kMain, "main"});
    to.on(model::StringDef{kStep, "step"});
    to.on(model::StringDef{kCall, "cudaLaunchKernel"});
    to.on(model::PythonCode{1, kFile, kMain, 10, 11, 0, ""});
    to.on(model::PythonCode{2, kFile, kStep, 20, 11, 0, ""});
    const std::array<model::PythonFrame, 2> frames = {{{2, -1, 0}, {1, -1, 0}}};
    to.on(model::StackDef{5, 0, {}, {frames.data(), 2}});
    to.on(model::StackDef{6, 0, {}, {frames.data() + 1, 1}});
    to.on(step(7, 10, 900));
    model::ApiCall launch = call(77, 40, 50, 2);
    launch.name = kCall;
    to.on(launch);
    model::Operator outer = op(1, kOuter, 20, 100), inner = op(2, kInner, 30, 60);
    outer.stack = inner.stack = 5;
    inner.parent = 1;
    to.on(inner);
    to.on(outer);
    model::Kernel work = kernel(77, 70, 100, 2);
    work.name = kKernel;
    work.grid = {4, 2, 1};
    to.on(work);
    to.on(model::Sample{kStart + 200'000, 1000, kPid, 5, 0});
    to.on(model::Sample{kStart + 210'000, 1000, kPid, 5, 0});
    to.on(model::Sample{kStart + 220'000, 1000, kPid, 6, 0});
    to.on(model::Sample{kStart + 230'000, 500, kPid + 1, 6, 1});
    model::Allocation memory{};
    memory.start_ns = memory.end_ns = kStart + 300'000;
    memory.address = 4096;
    memory.bytes = 512;
    memory.total_allocated_bytes = 2048;
    memory.total_reserved_bytes = 4096;
    memory.tid = kPid;
    memory.device_type = 1;
    to.on(memory);
  }

  /// The file's bytes, as it lies on disk.
  std::string write(const std::string& format) {
    session_.options.formats = {format};
    const auto files = exporter::write_window(session_, window_, {kPid}, {});
    EXPECT_TRUE(files.ok()) << (files.ok() ? "" : files.error().message);
    if (!files.ok()) return {};
    written_ = files.value().at(0);
    return read_file(written_.path);
  }
};

}  // namespace gpuprof::test
