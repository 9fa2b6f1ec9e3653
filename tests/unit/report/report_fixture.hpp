// SPDX-License-Identifier: Apache-2.0
//
// Analyses of spools that a test makes.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "analysis/report/report.hpp"
#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::test {

class ReportTest : public ExportTest {
 protected:
  report::ProcessReport analysis(const report::ProcessReportOptions& options = {}) {
    auto made = report::analyze_process(session_, session_.processes.at(0), {window_}, options);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    return made.ok() ? made.take() : report::ProcessReport{};
  }
  /// Grouped row of a name; empty where there is none.
  static report::OperatorRow row(report::ProcessReport& a, const std::string& name,
                                 bool on_device = false) {
    for (const auto& r : report::group(a.operators.rows, {}, a.stack_table))
      if (r.name == name && r.on_device() == on_device) return r;
    return {};
  }
  static model::Operator child(model::Operator op, model::RangeId parent) {
    op.parent = parent;
    return op;
  }
  static model::Allocation allocation(std::uint64_t at_us, std::int64_t bytes,
                                      std::uint64_t address, std::uint64_t total,
                                      std::int32_t device = -1) {
    model::Allocation a{};
    a.start_ns = a.end_ns = kStart + at_us * 1000;
    a.bytes = bytes;
    a.address = address;
    a.total_allocated_bytes = total;
    a.total_reserved_bytes = 2 * total;
    a.tid = kPid;
    a.device_type = device < 0 ? 0 : 1;
    a.device = device;
    return a;
  }
  /// Defines stack `id`: a line of the program, called from PyTorch's own code or the other way.
  static void define_stack(model::EventSink& to, model::StackId id, const char* inner_file,
                           int inner_line, const char* outer_file, int outer_line) {
    const model::StringId base = 1000 + id * 10;
    const auto code = [&](std::uint32_t n, const char* file, const char* name, int line) {
      to.on(model::StringDef{base + 2 * n, file});
      to.on(model::StringDef{base + 2 * n + 1, name});
      to.on(model::PythonCode{base + n, base + 2 * n, base + 2 * n + 1, line, 11, 0, ""});
    };
    code(0, inner_file, "run", inner_line);
    code(1, outer_file, "run", outer_line);
    const model::PythonFrame frames[] = {{base, -1, 0}, {base + 1, -1, 0}};
    to.on(model::StackDef{id, 0, {}, frames});
  }
};

}  // namespace gpuprof::test
