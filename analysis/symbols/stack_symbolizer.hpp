// SPDX-License-Identifier: Apache-2.0
//
// From a stack id to the list of frames a viewer shows.
//
// Context:  daemon | cli; one object a process, one thread
// Owns:     definitions of stacks, code objects and modules of one process; caches (bounded)
// Promises: never fails: an id that was never defined is one frame "[stack lost]"
// Not here: how stacks become call strings or a flame track (analysis/export)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/symbols/display_frame.hpp"
#include "analysis/symbols/module_map.hpp"
#include "analysis/symbols/native_symbolizer.hpp"
#include "recording/model/events.hpp"
#include "recording/model/ignoring_sink.hpp"

namespace gpuprof::symbols {

/// Feed it every event of one process (it ignores what it does not need), then ask.
class StackSymbolizer final : public model::IgnoringSink {
 public:
  explicit StackSymbolizer(SymbolizerOptions options = {});
  ~StackSymbolizer() override;

  using model::IgnoringSink::on;
  void on(const model::StringDef& event) override;
  void on(const model::StackDef& event) override;
  void on(const model::PythonCode& event) override;
  void on(const model::Process& event) override;
  void on(const model::ProcessEnd& event) override;
  void on(const model::Module& event) override;
  void on(const model::ModuleUnload& event) override;

  /// Frames of a stack, innermost first. The reference is valid until the next call.
  ///
  /// @param ts_ns When it was taken; only matters where two objects were mapped at the same
  ///              address one after the other.
  const std::vector<DisplayFrame>& symbolize(model::StackId id, std::uint64_t ts_ns = kStillMapped);

  /// Whether symbolize(id) is in doubt: incomplete, or the two stacks did not fit each other.
  bool partial(model::StackId id, std::uint64_t ts_ns = kStillMapped);
  /// Whether frames are missing: the stack was cut, torn or never defined.
  bool incomplete(model::StackId id, std::uint64_t ts_ns = kStillMapped);

  struct Counts {
    std::uint64_t symbolized = 0;  // stacks named, each id once
    std::uint64_t partial = 0;
    std::uint64_t lost = 0;  // ids asked for that were never defined
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Code {
    std::string file, name, line_table;
    std::int32_t first_line;
    std::uint16_t py_minor, flags;
  };
  struct Stack {
    std::uint32_t flags;
    std::vector<std::uint64_t> native;
    std::vector<model::PythonFrame> python;
  };
  struct SymbolizedStack {
    std::vector<DisplayFrame> frames;
    bool partial = false;
    bool incomplete = false;
    bool ambiguous = false;  // depends on the time asked for
  };

  const SymbolizedStack& get(model::StackId id, std::uint64_t ts_ns);
  SymbolizedStack make(const Stack& stack, std::uint64_t ts_ns);
  std::vector<NativeSymbol> native_names(const Stack& stack, std::uint64_t ts_ns, bool* ambiguous);
  DisplayFrame python_frame(const model::PythonFrame& frame) const;
  std::string text(model::StringId id) const;

  SymbolizerOptions options_;
  ModuleMap modules_;
  NativeSymbolizer natives_;
  std::unordered_map<model::StringId, std::string> strings_;
  std::unordered_map<model::CodeId, Code> codes_;
  std::unordered_map<model::StackId, Stack> stacks_;
  std::unordered_map<model::StackId, SymbolizedStack> named_;
  std::unordered_map<model::StackId, bool> counted_;
  SymbolizedStack once_;  // an answer that is not kept
  std::uint64_t stack_bytes_ = 0;
  std::size_t frames_held_ = 0;
  Counts counts_;
};

}  // namespace gpuprof::symbols
