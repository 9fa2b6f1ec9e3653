// SPDX-License-Identifier: Apache-2.0
//
// Takes definitions apart; every length comes from the target and is checked against the frame.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/decode/definitions.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "daemon/ingest/decode/code_names.hpp"
#include "daemon/ingest/decode/code_roles.hpp"
#include "daemon/messages/ingest.hpp"
#include "gpuprof/base/bytes.hpp"
#include "recording/model/truncated_name.hpp"

namespace gpuprof::ingest {

using model::LossReason;

Definitions::Definitions(model::EventSink& sink, LossCounters& losses, const Limits& limits,
                         std::uint64_t salt)
    : sink_(sink),
      losses_(losses),
      strings_(limits.strings, salt),
      stacks_(limits.stacks, salt),
      codes_(limits.codes, salt),
      inputs_(limits.inputs, salt),
      modules_(limits.torch_modules, salt) {}

void Definitions::refused(const Dictionary& dictionary, std::uint64_t before, LossReason reason) {
  losses_.add(reason, 0, dictionary.refused() - before, 0, 0);
}

void Definitions::define(const wire::StringDef& def, const Tail& tail) {
  const std::uint64_t before = strings_.refused();
  const model::StringId id = strings_.define(def.id);
  refused(strings_, before, LossReason::kNameTableFull);
  if (id == 0) return;
  const std::size_t bytes = std::min<std::size_t>(def.bytes, tail.bytes);
  const std::string_view text(reinterpret_cast<const char*>(tail.data), bytes);
  detect_backend(text);
  if ((def.flags & wire::kStringCut) == 0) return sink_.on(model::StringDef{id, text});
  losses_.add(LossReason::kNameTruncated, 0, 1, 0, 0);
  const std::string marked = std::string(text) + model::truncation_suffix(def.id);
  sink_.on(model::StringDef{id, marked});
}

// PyTorch names its ranges of communication after what carries them. NCCL is stated where a job
// uses gloo beside it, for what lies in the host's memory.
void Definitions::detect_backend(std::string_view text) {
  for (const std::string_view backend : {"nccl", "gloo", "ucc", "mpi"}) {
    if (backend_ == backend) return;
    if (text.size() <= backend.size() || text[backend.size()] != ':' ||
        text.substr(0, backend.size()) != backend)
      continue;
    backend_ = backend;
    return sink_.on(model::Fact{"distributed.backend", backend});
  }
}

void Definitions::define(const wire::StackDef& def, const Tail& tail) {
  const std::size_t native = def.native_count * sizeof(std::uint64_t);
  const std::size_t python = def.python_count * sizeof(wire::PyFrame);
  if (native + python > tail.bytes) return losses_.add(LossReason::kRecordMalformed, 0, 1, 0, 0);
  const std::uint64_t before = stacks_.refused();
  const model::StackId id = stacks_.define(def.id);
  refused(stacks_, before, LossReason::kStackTableFull);
  if (id == 0) return;
  native_.resize(def.native_count);
  if (native != 0) std::memcpy(native_.data(), tail.data, native);
  python_.clear();
  for (std::size_t i = 0; i < def.python_count; ++i) {
    const auto frame = base::load<wire::PyFrame>(tail.data + native + i * sizeof(wire::PyFrame));
    const bool module = (frame.flags & wire::kPyModule) != 0;
    python_.push_back(model::PythonFrame{
        module ? torch_module(frame.code_id) : code(frame.code_id), frame.instr_offset,
        module ? model::kPyModule : frame.flags & (model::kPyShim | model::kPyEntry)});
  }
  sink_.on(model::StackDef{id, def.flags & ~model::kStackLost, native_, python_});
}

void Definitions::define(const wire::PyCodeDef& def, const Tail& tail) {
  const auto texts = parse_code_strings(def, tail);
  if (!texts) return losses_.add(LossReason::kRecordMalformed, 0, 1, 0, 0);
  const std::uint64_t before = codes_.refused();
  const model::CodeId id = codes_.define(def.id);
  refused(codes_, before, LossReason::kCodeTableFull);
  if (id == 0) return;
  serves_ = serves_ || is_worker_entry_point(texts->file, texts->name);
  const model::StringId file_id = intern(texts->file), name_id = intern(texts->name);
  sink_.on(model::PythonCode{id, file_id, name_id, def.first_line, def.py_minor, def.flags,
                             texts->table});
}

void Definitions::define(const wire::InputsDef& def, const Tail& tail) {
  if (def.words * sizeof(std::uint64_t) > tail.bytes)
    return losses_.add(LossReason::kRecordMalformed, 0, 1, 0, 0);
  const std::uint64_t before = inputs_.refused();
  const model::InputsId id = inputs_.define(def.id);
  refused(inputs_, before, LossReason::kInputsTableFull);
  if (id == 0) return;
  words_.resize(def.words);
  if (def.words != 0) std::memcpy(words_.data(), tail.data, def.words * sizeof(std::uint64_t));
  sink_.on(model::Inputs{id, def.flags & model::kInputsTruncated, words_});
}

void Definitions::define(const wire::TorchModuleDef& def, const Tail& tail) {
  if (def.name_bytes > tail.bytes) return losses_.add(LossReason::kRecordMalformed, 0, 1, 0, 0);
  const std::uint64_t before = modules_.refused();
  const model::TorchModuleId id = modules_.define(def.id);
  refused(modules_, before, LossReason::kNameTableFull);
  if (id == 0) return;
  const std::string_view name(reinterpret_cast<const char*>(tail.data), def.name_bytes);
  sink_.on(model::TorchModule{id, intern(name), def.object, def.type});
}

model::StringId Definitions::intern(std::string_view text) {
  const std::uint64_t wire_id = base::hash_bytes(text.data(), text.size());
  const std::uint64_t before = strings_.refused();
  const model::StringId fresh = strings_.define(wire_id);
  refused(strings_, before, LossReason::kNameTableFull);
  if (fresh != 0) sink_.on(model::StringDef{fresh, text});
  const model::StringId id = strings_.reference(wire_id);
  resolve_string(id);
  return id;
}

// A code object is sent in the ring buffer of its stack, before it: if it is not here it was
// dropped.
model::CodeId Definitions::code(std::uint64_t wire_id) {
  const model::CodeId id = codes_.reference(wire_id);
  if (id == 0 || codes_.state(id) != Dictionary::State::kReferenced) return id;
  codes_.mark_lost(id);
  losses_.add(LossReason::kNameUndefined, 0, 1, 0, 0);
  const model::StringId name = intern(codes_.is_overflow(id) ? messages::ingest::kTooManyCodes
                                                             : messages::ingest::kCodeLost);
  sink_.on(model::PythonCode{id, name, name, 0, 0, 0, {}});
  return id;
}

// Sent in the ring buffer of its stack, before it, as code objects are.
model::TorchModuleId Definitions::torch_module(std::uint64_t wire_id) {
  const model::TorchModuleId id = modules_.reference(wire_id);
  if (id == 0 || modules_.state(id) != Dictionary::State::kReferenced) return id;
  modules_.mark_lost(id);
  losses_.add(LossReason::kNameUndefined, 0, 1, 0, 0);
  sink_.on(model::TorchModule{id,
                              intern(modules_.is_overflow(id) ? messages::ingest::kTooManyModules
                                                              : messages::ingest::kModuleLost),
                              0, 0});
  return id;
}

void Definitions::resolve_inputs(model::InputsId id) {
  if (id == 0 || inputs_.state(id) != Dictionary::State::kReferenced) return;
  inputs_.mark_lost(id);
  if (!inputs_.is_overflow(id)) losses_.add(LossReason::kInputsUndefined, 0, 1, 0, 0);
  sink_.on(model::Inputs{id, model::kInputsLost, {}});
}

void Definitions::resolve_string(model::StringId id) {
  if (string_ready(id)) return;
  strings_.mark_lost(id);
  if (!strings_.is_overflow(id)) losses_.add(LossReason::kNameUndefined, 0, 1, 0, 0);
  sink_.on(model::StringDef{id, strings_.is_overflow(id) ? messages::ingest::kTooManyNames
                                                         : messages::ingest::kNameLost});
}

void Definitions::resolve_stack(model::StackId id) {
  if (stack_ready(id)) return;
  stacks_.mark_lost(id);
  if (!stacks_.is_overflow(id)) losses_.add(LossReason::kStackUndefined, 0, 1, 0, 0);
  sink_.on(model::StackDef{id, model::kStackLost, {}, {}});
}

}  // namespace gpuprof::ingest
