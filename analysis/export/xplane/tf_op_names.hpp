// SPDX-License-Identifier: Apache-2.0
//
// What xprof's tables call an operator: `tf_op`, from the operator or range that launched the work
// and the modules or ranges around it.
//
// Context:  daemon (export thread) | cli
// Owns:     32 bytes for each operator and push/pop range of the window
// Promises: the same text for each call of one place in the program; at most kMaxTexts of them
// Not here: who launched what (event_resolver.hpp)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/export/resolve/event_resolver.hpp"

namespace gpuprof::exporter {

class TfOpNames {
 public:
  /// Index of a text, 0: none.
  using Text = std::uint32_t;
  static constexpr std::size_t kMaxTexts = 20'000;

  explicit TfOpNames(const Prescan& prescan) : prescan_(prescan) {}

  void add(const ResolvedOperator& op);
  void add(const ResolvedRange& range);
  /// All were added.
  void finish();

  /// Of what `owner` does, or of the kernel `kernel` that it launched; 0 if `owner` says
  /// nothing.
  Text op_name_of(model::RangeId owner, std::string_view kernel = {});
  std::string_view text(Text text) const { return texts_[text]; }

 private:
  /// Hidden: what a step was made from, numbered like it.
  enum class EntryKind : std::uint8_t { kOperator, kNode, kRange, kHidden };
  /// Of one operator or range; its place is what is around it.
  struct Entry {
    model::RangeId id, parent;
    model::StringId name;
    ModulePaths::Path module;
    std::uint32_t place;  // kUnknown until asked for
    EntryKind what;
  };
  /// Modules, else ranges; and the node of the backward pass.
  struct Scope {
    ModulePaths::Path module = 0;
    std::uint32_t ranges = 0;  // into chains_
    model::StringId node = 0;

    auto operator<=>(const Scope&) const = default;
  };
  /// A range in others.
  using Chain = std::pair<std::uint32_t, model::StringId>;
  static constexpr std::uint32_t kUnknown = ~0u;

  void add(Entry entry);
  Entry* find(model::RangeId id);
  std::uint32_t place_of(Entry& entry);
  std::uint32_t scope_in(std::uint32_t outer, const Entry& entry);
  std::string scope(const Scope& place) const;
  std::string format_op_name(const Entry& entry, const Scope& place, std::string_view kernel) const;

  const Prescan& prescan_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // by id from first_id_ on: index and 1; empty: too sparse
  model::RangeId first_id_ = 0;
  std::vector<Scope> places_{Scope{}};
  std::map<Scope, std::uint32_t> place_ids_{{Scope{}, 0}};
  std::vector<Chain> chains_{Chain{}};
  std::map<Chain, std::uint32_t> chain_ids_;
  std::unordered_map<std::uint64_t, Text> by_key_;
  std::unordered_map<std::string, Text> by_text_;
  std::vector<std::string> texts_{""};
};

}  // namespace gpuprof::exporter
