// SPDX-License-Identifier: Apache-2.0
//
// Texts, stacks and modules of the traces being imported, each once, and to which spools each was
// written.
//
// Context:  cli through analysis/commands
// Owns:     what is in the tables; bounded, what comes later shares one entry that says so
// Promises: a definition reaches a process's spool before its first use there
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recording/model/events.hpp"

namespace gpuprof::importer {

/// Texts by number, from 1; 0 is the empty one.
class StringPool {
 public:
  std::uint32_t intern(std::string_view text);
  std::string_view text(std::uint32_t id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  static constexpr std::size_t kMaxBytes = 64u << 20;
  struct Hash {
    std::size_t operator()(std::string_view text) const;
  };
  std::string_view keep(std::string_view text);

  std::vector<std::string_view> texts_{std::string_view()};
  std::unordered_map<std::string_view, std::uint32_t, Hash> ids_;
  std::deque<std::string> chunks_;
  std::size_t left_ = 0, bytes_ = 0;
};

/// Number of a way from the outermost frame inwards; 0: no frame.
using StackNode = std::uint32_t;

/// One frame of a way: a text, or a module of PyTorch.
struct StackFrame {
  std::uint32_t text = 0;    // in StringPool; of a module 0
  std::uint32_t module = 0;  // TorchModuleId
  bool operator==(const StackFrame&) const = default;
};

/// Stacks as ways from the outermost frame inwards: what they have in common is there once.
class StackTrie {
 public:
  static constexpr std::size_t kMaxNodes = 2'000'000;
  static constexpr std::size_t kMaxCachedLines = 500'000;  // lines whose way is remembered

  /// The way with one frame more; the same way where there is no room for another.
  StackNode child(StackNode parent, const StackFrame& frame);
  StackNode parent(StackNode node) const { return nodes_[node].parent; }
  const StackFrame& frame(StackNode node) const { return nodes_[node].frame; }
  /// A list as files have it, innermost first, joined by ';'.
  StackNode intern_line(std::string_view line, StringPool& texts);
  /// The way with modules put in: each where Python calls modules, else outside of all frames.
  StackNode merge_modules(StackNode frames, StackNode modules, const StringPool& texts);

 private:
  struct Entry {
    StackNode parent = 0;
    StackFrame frame;
  };
  std::vector<Entry> nodes_{Entry{}};
  std::unordered_map<std::uint64_t, StackNode> inner_;  // by hash; checked against the entry
  std::unordered_map<std::uint64_t, StackNode> lines_, merged_;
};

/// nn.Modules by class and number, as names of files have them.
class ModuleTable {
 public:
  /// @param name   `Class_k`.
  /// @param object What the file tells objects apart by.
  model::TorchModuleId find(std::string_view name, std::int64_t object, StringPool& texts);

  struct Entry {
    std::uint32_t class_name = 0;  // in StringPool
    std::uint64_t type = 0;        // classes of one name are distinguished by it
    std::uint64_t object = 0;
    model::TorchModuleId previous = 0;  // the one of its type with the next lower number
  };
  const Entry& entry(model::TorchModuleId id) const { return entries_[id]; }
  std::size_t size() const { return entries_.size(); }

 private:
  static constexpr std::int64_t kMaxPerClass = 100'000;
  static constexpr std::size_t kMaxEntries = 1'000'000;
  struct Slot {
    model::TorchModuleId id;
    std::int64_t object;
    bool taken;
  };
  using OneClass = std::vector<Slot>;  // by number

  model::TorchModuleId take(std::vector<OneClass>& types, std::uint32_t class_name,
                            std::size_t index, std::int64_t object);

  std::vector<Entry> entries_{Entry{}};
  std::unordered_map<std::uint32_t, std::vector<OneClass>> classes_;
};

/// Sets of operator inputs as model::Inputs has them.
class InputSets {
 public:
  static constexpr std::size_t kMaxWords = 4u << 20;

  /// 0 for no words, and where there is no room.
  model::InputsId add(std::span<const std::uint64_t> words, std::uint32_t flags);
  std::span<const std::uint64_t> words(model::InputsId id) const {
    return std::span(words_).subspan(kept_[id].at, kept_[id].count);
  }
  std::uint32_t flags(model::InputsId id) const { return kept_[id].flags; }
  std::uint64_t left_out() const { return left_out_; }

  /// What a text of inputs became before; 0: not known.
  model::InputsId find_by_text(std::uint64_t hash) const;
  void remember(std::uint64_t hash, model::InputsId id);

 private:
  struct StoredInputs {
    std::size_t at = 0;
    std::uint32_t count = 0, flags = 0;
  };
  std::vector<std::uint64_t> words_;
  std::vector<StoredInputs> kept_{StoredInputs{}};
  std::unordered_map<std::uint64_t, model::InputsId> by_text_;
  std::uint64_t left_out_ = 0;
};

/// Shape of a kernel's launch.
struct LaunchShape {
  std::uint32_t grid[3] = {}, block[3] = {};
  std::uint32_t registers = 0, shared_bytes = 0, local_bytes = 0, channel = 0;
  bool operator==(const LaunchShape&) const = default;
};

/// Shapes by number; programs use few.
class LaunchShapes {
 public:
  std::uint32_t intern(const LaunchShape& shape);
  const LaunchShape& shape(std::uint32_t id) const { return shapes_[id]; }

 private:
  static constexpr std::size_t kMaxShapes = 1'000'000;
  std::vector<LaunchShape> shapes_{LaunchShape{}};
  std::unordered_map<std::uint64_t, std::uint32_t> ids_;
};

/// Everything by number that records of all files share.
struct InternedTables {
  StringPool texts;
  StackTrie ways;
  ModuleTable modules;
  InputSets inputs;
  LaunchShapes shapes;
};

/// Writes definitions to a process's spool, each once, when its number is first asked for.
class DefinitionWriter {
 public:
  DefinitionWriter(InternedTables& names, model::EventSink& sink) : names_(names), sink_(sink) {}

  model::StringId string(std::uint32_t text);
  model::StackId stack(StackNode node);
  model::InputsId inputs(model::InputsId id);

 private:
  model::CodeId code(std::uint32_t text);
  void module(model::TorchModuleId id);
  static bool mark_written(std::vector<bool>& reported, std::size_t id);

  InternedTables& names_;
  model::EventSink& sink_;
  std::vector<bool> strings_, inputs_, modules_;
  std::vector<std::uint32_t> stacks_, codes_;  // by node, by text: the number written, 0: none
  std::uint32_t last_stack_ = 0, last_code_ = 0;
  std::vector<model::PythonFrame> frames_;
  std::vector<model::TorchModuleId> unwritten_;
};

}  // namespace gpuprof::importer
