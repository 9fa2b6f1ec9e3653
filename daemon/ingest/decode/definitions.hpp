// SPDX-License-Identifier: Apache-2.0
//
// Strings, stacks, code objects, modules and inputs of one process: each defined once in the model,
// however often the target repeats it, and defined as lost when it never comes.
//
// Context:  daemon (ingest thread)
// Owns:     a dictionary each
// Promises: a definition reaches the sink before the first event that needs it, if resolve_string()
//           etc. are called for that event first
// Not here: waiting for a late definition (ranges/pending_events.hpp)
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "daemon/ingest/decode/decoder.hpp"
#include "daemon/ingest/decode/dictionary.hpp"
#include "daemon/ingest/decode/limits.hpp"
#include "daemon/ingest/decode/loss_counters.hpp"
#include "recording/model/events.hpp"

namespace gpuprof::ingest {

class Definitions {
 public:
  Definitions(model::EventSink& sink, LossCounters& losses, const Limits& limits,
              std::uint64_t salt);

  void define(const wire::StringDef& def, const Tail& tail);
  void define(const wire::StackDef& def, const Tail& tail);
  void define(const wire::PyCodeDef& def, const Tail& tail);
  void define(const wire::InputsDef& def, const Tail& tail);
  void define(const wire::TorchModuleDef& def, const Tail& tail);

  model::StringId string(std::uint64_t wire_id) { return strings_.reference(wire_id); }
  model::StackId stack(std::uint64_t wire_id) { return stacks_.reference(wire_id); }
  model::InputsId inputs(std::uint64_t wire_id) { return inputs_.reference(wire_id); }

  /// Code of a data loader's or compiler's worker was seen.
  bool serves() const { return serves_; }

  bool string_ready(model::StringId id) const {
    return id == 0 || strings_.state(id) != Dictionary::State::kReferenced;
  }
  bool stack_ready(model::StackId id) const {
    return id == 0 || stacks_.state(id) != Dictionary::State::kReferenced;
  }

  /// A text of our own.
  model::StringId text(std::string_view text) { return intern(text); }

  /// Last chance: what was mentioned and never defined is defined as lost, and counted.
  void resolve_string(model::StringId id);
  void resolve_stack(model::StackId id);
  void resolve_inputs(model::InputsId id);

 private:
  model::StringId intern(std::string_view text);
  void detect_backend(std::string_view text);
  model::CodeId code(std::uint64_t wire_id);
  model::TorchModuleId torch_module(std::uint64_t wire_id);
  void refused(const Dictionary& dictionary, std::uint64_t before, model::LossReason reason);

  model::EventSink& sink_;
  LossCounters& losses_;
  Dictionary strings_, stacks_, codes_, inputs_, modules_;
  std::vector<std::uint64_t> native_, words_;
  std::vector<model::PythonFrame> python_;
  bool serves_ = false;
  std::string_view backend_;  // of communication; empty: none was seen
};

}  // namespace gpuprof::ingest
