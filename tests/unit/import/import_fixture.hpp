// SPDX-License-Identifier: Apache-2.0
//
// Traces made by a test, imported, and the session's events read back with their names.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "analysis/export/labels/inputs_formatter.hpp"
#include "analysis/export/labels/stack_formatter.hpp"
#include "analysis/import/import.hpp"
#include "recording/model/ignoring_sink.hpp"
#include "recording/spool/spool.hpp"

namespace gpuprof::test {

/// Everything a spool tells, by kind; texts by id.
struct CollectedSession : model::IgnoringSink {
  using model::IgnoringSink::on;
  void on(const model::StringDef& e) override {
    names[e.id] = e.text;
    texts.define(e);
  }
  void on(const model::StackDef& e) override { texts.define(e), stacks.push_back(e.id); }
  void on(const model::PythonCode& e) override { texts.define(e); }
  void on(const model::Inputs& e) override { inputs.define(e); }
  void on(const model::TorchModule& e) override { modules.push_back(e); }
  void on(const model::Process& e) override {
    process = e;
    exe = e.exe;
  }
  void on(const model::ProcessEnd&) override { ended = true; }
  void on(const model::ThreadName& e) override { threads[e.tid] = e.name; }
  void on(const model::Fact& e) override { facts[std::string(e.key)] = e.value; }
  void on(const model::Notice& e) override { notices.emplace_back(e.text); }
  void on(const model::Loss& e) override { losses.push_back(e); }
  void on(const model::Device& e) override { devices.push_back(e); }
  void on(const model::Sample& e) override { samples.push_back(e); }
  void on(const model::Range& e) override {
    ranges.push_back(e), order.push_back(e.end_ns);
    named[e.id] = names[e.name];
  }
  void on(const model::Step& e) override { steps.push_back(e); }
  void on(const model::ApiCall& e) override { calls.push_back(e); }
  void on(const model::Kernel& e) override { kernels.push_back(e); }
  void on(const model::MemCopy& e) override { copies.push_back(e); }
  void on(const model::MemSet& e) override { sets.push_back(e); }
  void on(const model::Sync& e) override { syncs.push_back(e); }
  void on(const model::Overhead& e) override { overheads.push_back(e); }
  void on(const model::GraphExec& e) override { graphs.push_back(e); }
  void on(const model::Operator& e) override {
    operators.push_back(e), order.push_back(e.end_ns);
    named[e.id] = names[e.name];
  }
  void on(const model::Allocation& e) override { allocations.push_back(e); }

  const model::Operator& op(const std::string& name) const {
    for (const model::Operator& one : operators)
      if (names.at(one.name) == name) return one;
    ADD_FAILURE() << "no operator " << name;
    static const model::Operator kNone{};
    return kNone;
  }
  std::string stack(model::StackId id) { return std::string(texts.joined_frames(id, 0)); }

  std::map<model::StringId, std::string> names{{0, ""}};
  exporter::StackFormatter texts;
  exporter::InputsFormatter inputs;
  std::vector<model::StackId> stacks;
  std::vector<model::TorchModule> modules;
  model::Process process{};
  std::string exe;
  bool ended = false;
  std::map<std::uint32_t, std::string> threads;
  std::map<std::string, std::string> facts;
  std::vector<std::string> notices;
  std::vector<model::Loss> losses;
  std::vector<model::Device> devices;
  std::vector<model::Sample> samples;
  std::vector<model::Range> ranges;
  std::vector<model::Step> steps;
  std::vector<model::ApiCall> calls;
  std::vector<model::Kernel> kernels;
  std::vector<model::MemCopy> copies;
  std::vector<model::MemSet> sets;
  std::vector<model::Sync> syncs;
  std::vector<model::Overhead> overheads;
  std::vector<model::GraphExec> graphs;
  std::vector<model::Operator> operators;
  std::vector<model::Allocation> allocations;
  std::map<model::RangeId, std::string> named;  // operators and ranges
  std::vector<std::uint64_t> order;             // ends of operators and ranges, as they came
};

inline std::string gzipped(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class ImportTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gpuprof-import-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    imported_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string file(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  /// A trace of these events, with `head` members in front.
  static std::string trace(const std::string& events, const std::string& head = "") {
    return "{" + head + (head.empty() ? "" : ",") + "\"traceEvents\":[" + events + "]}";
  }
  static std::string complete(const std::string& category, const std::string& name, double ts_us,
                              double duration_us, const std::string& args = "", int tid = 100,
                              int pid = 4000) {
    char numbers[128];
    std::snprintf(numbers, sizeof numbers, "\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f", pid,
                  tid, ts_us, duration_us);
    return "{\"ph\":\"X\",\"cat\":\"" + category + "\",\"name\":\"" + name + "\"," + numbers +
           ",\"args\":{" + args + "}}";
  }

  /// The sentence of the failure; "" where there was none.
  std::string failure_of(const std::vector<std::string>& paths) {
    auto imported = importer::import_traces(paths, {});
    if (!imported) return imported.error().message;
    imported_ = imported.take();
    return "";
  }
  /// Imports, and reads the session's processes; fails the test where that does not work.
  std::vector<std::unique_ptr<CollectedSession>> import_all(const std::vector<std::string>& paths) {
    std::vector<std::unique_ptr<CollectedSession>> all;
    const std::string failure = failure_of(paths);
    EXPECT_EQ(failure, "");
    if (!failure.empty()) return all;
    auto view = spool::open_session(imported_->folder);
    EXPECT_TRUE(view.ok()) << (view ? "" : view.error().message);
    session_ = view.take();
    for (const spool::ProcessEntry& process : session_.processes) {
      all.push_back(std::make_unique<CollectedSession>());
      const auto end = spool::replay(process.spool_path, {}, *all.back());
      EXPECT_TRUE(end.ok() && end.value().complete);
      EXPECT_TRUE(all.back()->ended);
    }
    return all;
  }
  std::unique_ptr<CollectedSession> import_events(const std::string& events,
                                                  const std::string& head = "") {
    auto all = import_all({file("a.json", trace(events, head))});
    EXPECT_EQ(all.size(), 1u);
    return all.size() == 1 ? std::move(all[0]) : std::make_unique<CollectedSession>();
  }
  bool has_note(const std::string& part) const {
    for (const std::string& message : imported_->notes)
      if (message.find(part) != message.npos) return true;
    return false;
  }

  std::string folder_;
  std::unique_ptr<importer::ImportedSession> imported_;
  spool::SessionView session_;
};

}  // namespace gpuprof::test
