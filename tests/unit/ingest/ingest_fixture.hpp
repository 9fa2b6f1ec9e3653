// SPDX-License-Identifier: Apache-2.0
//
// A segment with writers on one side and an assembler with a collecting sink on the other.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "daemon/ingest/assembler.hpp"
#include "recording/model/ignoring_sink.hpp"

namespace gpuprof::ingest {

/// Keeps what a test asks about.
class CollectingSink final : public model::IgnoringSink {
 public:
  using model::IgnoringSink::on;
  void on(const model::StringDef& e) override {
    strings.resize(std::max<std::size_t>(strings.size(), e.id + 1));
    EXPECT_TRUE(strings[e.id].empty()) << "defined twice";
    strings[e.id] = e.text;
  }
  void on(const model::StackDef& e) override {
    stacks.push_back(
        {e.id, e.flags, {e.native.begin(), e.native.end()}, {e.python.begin(), e.python.end()}});
  }
  void on(const model::PythonCode& e) override {
    codes.push_back({e.id, strings[e.file], strings[e.name], std::string(e.line_table)});
  }
  void on(const model::Sample& e) override { samples.push_back(e); }
  void on(const model::Range& e) override { ranges.push_back(e); }
  void on(const model::Operator& e) override { operators.push_back(e); }
  void on(const model::Step& e) override { steps.push_back(e); }
  void on(const model::ApiCall& e) override { calls.push_back(e); }
  void on(const model::Kernel& e) override { kernels.push_back(e); }
  void on(const model::MemCopy& e) override { copies.push_back(e); }
  void on(const model::Loss& e) override { losses.push_back(e); }
  void on(const model::Notice& e) override { notices.emplace_back(e.text); }
  void on(const model::Fact& e) override { facts[std::string(e.key)] = e.value; }

  struct Stack {
    model::StackId id;
    std::uint32_t flags;
    std::vector<std::uint64_t> native;
    std::vector<model::PythonFrame> python;
  };
  struct Code {
    model::CodeId id;
    std::string file, name, table;
  };
  std::vector<std::string> strings;
  std::vector<Stack> stacks;
  std::vector<Code> codes;
  std::vector<model::Sample> samples;
  std::vector<model::Range> ranges;
  std::vector<model::Operator> operators;
  std::vector<model::Step> steps;
  std::vector<model::ApiCall> calls;
  std::vector<model::Kernel> kernels;
  std::vector<model::MemCopy> copies;
  std::vector<model::Loss> losses;
  std::vector<std::string> notices;
  std::map<std::string, std::string> facts;

  std::uint64_t lost(model::LossReason reason) const {
    std::uint64_t count = 0;
    for (const model::Loss& loss : losses)
      if (loss.reason == static_cast<std::uint32_t>(reason)) count += loss.count;
    return count;
  }
};

class CollectingListener final : public StepListener {
 public:
  void step_began(std::uint64_t number, std::uint64_t ts_ns, std::uint64_t label) override {
    began.push_back(number);
    begins.push_back(ts_ns);
    labels.push_back(label);
  }
  void step_ended(std::uint64_t number, std::uint64_t, bool) override { ended.push_back(number); }
  void first_activity(std::uint64_t ts_ns) override { activity.push_back(ts_ns); }
  void step_rule(wire::StepRule rule, std::uint64_t key, std::uint32_t tid) override {
    rules.emplace_back(rule, key);
    rule_tid = tid;
  }
  void steps_described(const std::string& what) override { told.push_back(what); }
  std::vector<std::uint64_t> began, ended, activity, begins, labels;
  std::vector<std::pair<wire::StepRule, std::uint64_t>> rules;
  std::uint32_t rule_tid = 0;  // of the newest
  std::vector<std::string> told;
};

class AssemblerTest : public testing::Test {
 protected:
  /// Clock: CUPTI time = CLOCK_MONOTONIC + kRealOffset.
  static constexpr std::uint64_t kRealOffset = 1'000'000'000'000;

  AssemblerTest() { make({}); }
  void make(const Limits& limits) {
    assembler_ = std::make_unique<Assembler>(sink_, &heard_, limits);
    assembler_->seed_clock(0, kRealOffset);
  }
  template <typename R>
  void put(const R& record, const std::string& tail = {}, const RingInfo& ring = {0, 100, 1}) {
    assembler_->on(ring, record,
                   Tail{reinterpret_cast<const std::byte*>(tail.data()), tail.size()});
  }
  std::uint64_t name(const std::string& text) {
    const std::uint64_t id = base::hash_bytes(text.data(), text.size());
    put(wire::StringDef{id, static_cast<std::uint32_t>(text.size()), 0}, text);
    return id;
  }
  void poll_rounds(int count = 2) {
    for (int i = 0; i < count; ++i) assembler_->end_round(now_ += 5'000'000);
  }
  void push(std::uint64_t ts, std::uint64_t id, std::uint32_t domain = 0,
            const RingInfo& ring = {0, 100, 1}) {
    put(wire::RangePush{ts, id, domain, 0, 0, 0, 0}, {}, ring);
  }
  void pop(std::uint64_t ts, std::uint32_t domain = 0, const RingInfo& ring = {0, 100, 1}) {
    put(wire::RangePop{ts, domain, 0}, {}, ring);
  }
  void launch(std::uint32_t correlation, std::uint64_t ts = 10, std::uint64_t stack = 0,
              std::uint16_t api = 2, const RingInfo& ring = {0, 100, 1}) {
    put(wire::Launch{ts, stack, correlation, api, 0, 211, ring.tid, 0, 0}, {}, ring);
  }
  void api(std::uint32_t correlation, std::uint64_t start, std::uint64_t end,
           std::uint32_t domain = 2) {
    put(wire::ApiCall{kRealOffset + start, kRealOffset + end, 0, 211, domain, correlation, 100, 0,
                      0},
        {}, {5, 900, 1});
  }
  void kernel(std::uint32_t correlation, std::uint64_t start, std::uint64_t end,
              std::uint16_t flags = 0) {
    wire::KernelExec k{};
    k.start_ns = start == 0 ? 0 : kRealOffset + start;
    k.end_ns = end == 0 ? 0 : kRealOffset + end;
    k.correlation = correlation;
    k.flags = flags;
    put(k, {}, {5, 900, 1});
  }

  CollectingSink sink_;
  CollectingListener heard_;
  std::unique_ptr<Assembler> assembler_;
  std::uint64_t now_ = 1'000'000'000;
};

}  // namespace gpuprof::ingest
