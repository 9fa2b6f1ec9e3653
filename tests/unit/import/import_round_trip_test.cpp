// SPDX-License-Identifier: Apache-2.0
//
// Spool to file and back: what the file carries is what the spool had, event by event.
#include <algorithm>

#include "analysis/export/export.hpp"
#include "tests/bench/operator_events.hpp"
#include "tests/golden/tensorboard/scripted_session.hpp"
#include "tests/unit/import/import_fixture.hpp"

namespace gpuprof::test {
namespace {

using Lines = std::vector<std::string>;

class RoundTrip : public ImportTest {
 protected:
  std::unique_ptr<CollectedSession> original(const std::string& path) {
    auto told = std::make_unique<CollectedSession>();
    EXPECT_TRUE(spool::replay(path, {}, *told).ok());
    return told;
  }
  std::string exported(const spool::SessionView& session, const model::Window& window,
                       std::uint32_t pid) {
    auto files = exporter::write_window(session, window, {pid}, {});
    EXPECT_TRUE(files.ok()) << (files ? "" : files.error().message);
    return files ? files.value().at(0).path : "";
  }
};

std::string name_of(CollectedSession& told, model::RangeId id) {
  const auto found = told.named.find(id);
  return found != told.named.end() ? found->second : id == 0 ? "" : "?";
}

std::string times(std::uint64_t start, std::uint64_t end) {
  return std::to_string(start) + "-" + std::to_string(end) + " ";
}

Lines sorted(Lines lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

Lines operators(CollectedSession& told) {
  Lines lines;
  for (const model::Operator& o : told.operators)
    lines.push_back(times(o.start_ns, o.end_ns) + told.names[o.name] + " in " +
                    name_of(told, o.parent) + " seq " + std::to_string(o.sequence) + " fwd " +
                    std::to_string(o.forward_tid) + " tid " + std::to_string(o.tid) + " " +
                    told.stack(o.stack) + std::string(told.inputs.json_members(o.inputs)));
  return sorted(lines);
}

/// Those whose row is not cut: a trace tells nested ranges from operators by what it says of them.
Lines pushed(CollectedSession& told) {
  Lines lines;
  for (const model::Range& r : told.ranges)
    if (r.kind == model::RangeKind::kPushPop && r.start_ns >= script_window().start_ns &&
        r.end_ns <= script_window().end_ns)
      lines.push_back(times(r.start_ns, r.end_ns) + told.names[r.name]);
  return sorted(lines);
}

Lines calls(CollectedSession& told) {
  Lines lines;
  for (const model::ApiCall& c : told.calls)
    lines.push_back(times(c.start_ns, c.end_ns) + told.names[c.name] + " " +
                    std::to_string(c.correlation) + " api " + std::to_string(c.api) + " of " +
                    name_of(told, c.range) + " " + std::to_string(c.cbid));
  return sorted(lines);
}

Lines gpu(CollectedSession& told) {
  Lines lines;
  for (const model::Kernel& k : told.kernels)
    lines.push_back(times(k.start_ns, k.end_ns) + "kernel of " + name_of(told, k.range) + " " +
                    std::to_string(k.grid[0]) + "," + std::to_string(k.block[0]) + " " +
                    std::to_string(k.registers) + " " +
                    std::to_string(k.static_shared_bytes + k.dynamic_shared_bytes) + " on " +
                    std::to_string(k.device) + "/" + std::to_string(k.stream));
  for (const model::MemCopy& m : told.copies)
    lines.push_back(times(m.start_ns, m.end_ns) + "copy of " + name_of(told, m.range) + " " +
                    std::to_string(m.bytes) + " kind " + std::to_string(m.copy_kind) + " " +
                    std::to_string(m.src_kind) + std::to_string(m.dst_kind));
  for (const model::MemSet& m : told.sets)
    lines.push_back(times(m.start_ns, m.end_ns) + "set " + std::to_string(m.bytes) + " " +
                    std::to_string(m.memory_kind));
  return sorted(lines);
}

Lines memory(CollectedSession& told) {
  Lines lines;
  for (const model::Allocation& a : told.allocations)
    lines.push_back(times(a.start_ns, a.end_ns) + std::to_string(a.address) + " " +
                    std::to_string(a.bytes) + " " + std::to_string(a.total_allocated_bytes) + " " +
                    std::to_string(a.total_reserved_bytes) + " " + std::to_string(a.device_type) +
                    " " + std::to_string(a.device));
  return sorted(lines);
}

TEST_F(RoundTrip, OperatorsOfPyTorchComeBackWhole) {
  const std::string path = folder_ + "/p.spool";
  {
    auto writer = spool::ProcessWriter::create(path).take();
    OperatorEvents(*writer).send(20'000);
  }
  spool::SessionView session;
  session.folder = folder_;
  session.host = "h";
  session.options.output = folder_ + "/out";
  session.options.span_size_events = ~0ULL;
  session.processes.push_back({4000, path});
  const auto windows = exporter::split_by_event_count(session, {4000}).take();
  const auto before = original(path);
  const auto after = import_all({exported(session, windows.at(0), 4000)});
  ASSERT_EQ(after.size(), 1u);
  EXPECT_GT(before->operators.size(), 5'000u);
  EXPECT_EQ(operators(*after[0]), operators(*before));
  EXPECT_EQ(memory(*after[0]), memory(*before));
  EXPECT_EQ(gpu(*after[0]), gpu(*before));
}

TEST_F(RoundTrip, TheScriptedSessionComesBackTwice) {
  std::filesystem::create_directories(folder_ + "/spool");
  auto session = write_script(folder_ + "/spool", folder_ + "/out").take();
  const std::string first = exported(session, script_window(), 4000);
  const auto once = import_all({first});
  ASSERT_EQ(once.size(), 1u);
  ASSERT_EQ(session_.windows.size(), 1u);
  // The session's own line of time and its steps.
  EXPECT_EQ(session_.windows[0].start_ns, kScriptStart);
  EXPECT_EQ(session_.windows[0].stamp_real_ns, kScriptReal);
  EXPECT_EQ(session_.windows[0].why, script_window().why);
  EXPECT_EQ(session_.windows[0].steps, script_window().steps);
  EXPECT_EQ(session_.windows[0].first_step, script_window().first_step);
  EXPECT_EQ(session_.host, session.host);
  spool::SessionView again = session_;
  again.options.output = folder_ + "/again";
  const std::string second = exported(again, session_.windows[0], 4000);
  const auto keep = std::move(imported_);
  const auto twice = import_all({second});
  ASSERT_EQ(twice.size(), 1u);
  const auto before = original(session.processes.at(0).spool_path);
  EXPECT_GT(pushed(*before).size(), 2u);
  EXPECT_EQ(pushed(*once[0]), pushed(*before));
  EXPECT_EQ(pushed(*twice[0]), pushed(*before));
  EXPECT_EQ(operators(*twice[0]), operators(*once[0]));
  EXPECT_EQ(calls(*twice[0]), calls(*once[0]));
  EXPECT_EQ(gpu(*twice[0]), gpu(*once[0]));
  EXPECT_EQ(memory(*twice[0]), memory(*once[0]));
  EXPECT_EQ(twice[0]->facts, once[0]->facts);
  EXPECT_EQ(twice[0]->notices, once[0]->notices);
  ASSERT_EQ(twice[0]->losses.size(), once[0]->losses.size());
  EXPECT_EQ(twice[0]->losses.at(0).count, once[0]->losses.at(0).count);
}

TEST_F(RoundTrip, TheScriptedSessionHasTheSpoolsKernelsAndCalls) {
  std::filesystem::create_directories(folder_ + "/spool");
  auto session = write_script(folder_ + "/spool", folder_ + "/out").take();
  const auto before = original(session.processes.at(0).spool_path);
  for (const char* format : {"tensorboard", "kineto"}) {
    session.options.formats = {format};
    const auto after = import_all({exported(session, script_window(), 4000)});
    ASSERT_EQ(after.size(), 1u);
    const auto in_window = [](const auto& e) {
      return e.start_ns >= script_window().start_ns && e.start_ns < script_window().end_ns;
    };
    EXPECT_EQ(static_cast<std::size_t>(
                  std::count_if(before->calls.begin(), before->calls.end(), in_window)),
              after[0]->calls.size())
        << format;
    EXPECT_EQ(after[0]->facts["rank"], "0");
    for (const model::Kernel& k : after[0]->kernels) {
      const bool same = std::any_of(
          before->kernels.begin(), before->kernels.end(), [&](const model::Kernel& one) {
            return one.correlation == k.correlation && one.start_ns == k.start_ns &&
                   one.end_ns == k.end_ns && one.stream == k.stream && one.grid == k.grid &&
                   name_of(*before, one.range) == name_of(*after[0], k.range);
          });
      EXPECT_TRUE(same) << format << " " << k.correlation;
    }
    EXPECT_GT(after[0]->kernels.size(), 4u);
  }
}

}  // namespace
}  // namespace gpuprof::test
