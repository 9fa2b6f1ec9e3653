// SPDX-License-Identifier: Apache-2.0
//
// Compares from the outside in.
//
// Context:  callback
#include "inject/torch/operators/operator_stack.hpp"

#include <string.h>

#include "gpuprof/base/bytes.hpp"

namespace gpuprof::torch {

namespace {

constexpr std::uint32_t kMaxTypeName = 256;
constexpr std::uint64_t kNoFrames = 0x73746b;

std::uint64_t module_id(const python::Object& module) {
  const std::uint64_t id = base::hash_step(base::hash_step(0x6e6e4du, module.address), module.type);
  return id == 0 ? 1 : id;
}

bool wants(std::uint32_t detail, std::uint32_t bit) { return (detail & bit) != 0; }

}  // namespace

void OperatorStack::update_level(const python::Runtime& runtime, std::uint32_t at,
                                 const python::FastFrame& now,
                                 const python::FrameFingerprint& look) {
  Level& level = levels_[at];
  raw(at) = now;
  level.look = look;
  level.module = python::Object{0, 0};
  for (std::uint32_t i = 0; i < 2; ++i) hash_[at][i] = at == 0 ? kNoFrames : hash_[at - 1][i];
  if (now.code == 0) return;
  python::CodeInfo& code = codes_[now.code * 0x9e3779b97f4a7c15ULL >> 40 & (kCodes - 1)];
  python::load_code_info(runtime, now.code, look.mark, &code);
  if (code.module_call) level.module = python::first_local(runtime, now.frame);
  raw(at).code_id = code.id;
  const std::uint64_t place =
      code.id + static_cast<std::uint32_t>(now.instr_offset) * 0x9e3779b97f4a7c15ULL;
  hash_[at][0] = base::hash_step(hash_[at][0], place);
  if (level.module.address != 0)
    hash_[at][1] = base::hash_step(hash_[at][1] + place, module_id(level.module));
}

void OperatorStack::invalidate_from(std::uint32_t level, std::uint32_t count) {
  id_of_ = 0;
  count_ = count;
  if (++version_ == 0) ++version_;
  if (module_level_ < level) return;
  module_level_ = kNoModule;
  for (; level < count && module_level_ == kNoModule; ++level)
    if (levels_[level].module.address != 0) module_level_ = level;
}

template <python::FrameLayout kForm>
bool OperatorStack::capture_fast(const python::Runtime& runtime, std::uint32_t around) {
  const python::FrameComparer<kForm> looker(runtime);
  const std::uint64_t top = looker.top();
  // All frames wait for the operator around this one, unless it called Python.
  if (around == version_ && count_ != 0 && looker.is_unmoved(levels_[count_ - 1].look, top))
    return true;
  const std::uint32_t count = looker.chain(top, chain_, kMaxStackLevels);
  const std::uint32_t known = count < count_ ? count : count_;
  const std::uint64_t* frame = chain_ + count;
  std::uint32_t same = 0;
  for (; same < known; ++same) {
    const Level& level = levels_[same];
    --frame;
    if (!looker.same(level.look, *frame)) break;
    // The same call of the same function may be one of another module.
    if (level.module.address != 0 && !(level.module == python::first_local(runtime, *frame))) break;
  }
  if (same == count && same == count_) return true;
  for (std::uint32_t level = same; level < count; ++level) {
    python::FastFrame now;
    if (!python::read_fast_frame(runtime, chain_[count - 1 - level], &now)) return false;
    update_level(runtime, level, now, looker.look(now));
  }
  invalidate_from(same, count);
  return true;
}

// While nobody knows whether frames are as they should be, and once they are not: the next one is
// compared with none of these, as no frame lies at address 0.
void OperatorStack::capture_checked(std::uint32_t tid) {
  const std::uint32_t count = python::read_fast_frames(tid, raw_, kMaxStackLevels);
  memmove(raw_ + (kMaxStackLevels - count), raw_, count * sizeof raw_[0]);
  const python::Runtime* runtime = python::g_runtime.load(std::memory_order_acquire);
  for (std::uint32_t level = 0; level < count; ++level) {
    const python::FastFrame now = raw(level);
    const std::uint64_t mark =
        now.code == 0 ? 0 : python::CodeFingerprint(runtime->offsets).of(now.code);
    update_level(*runtime, level, now, python::FrameFingerprint{0, 0, 0, mark});
  }
  module_level_ = kNoModule;
  invalidate_from(0, count);
}

void OperatorStack::capture(std::uint32_t tid, std::uint32_t around) {
  using python::FrameLayout;
  const python::Runtime* runtime = python::validated_runtime();
  if (runtime == nullptr) return capture_checked(tid);
  bool taken = false;
  switch (python::form_of(runtime->offsets)) {
    case FrameLayout::kNumber:
      taken = capture_fast<FrameLayout::kNumber>(*runtime, around);
      break;
    case FrameLayout::kEntry:
      taken = capture_fast<FrameLayout::kEntry>(*runtime, around);
      break;
    case FrameLayout::kOwner:
      taken = capture_fast<FrameLayout::kOwner>(*runtime, around);
      break;
  }
  if (!taken) capture_checked(tid);
}

// False: something found no room, so what refers to it must not count as sent.
bool OperatorStack::send_parts(const hot::Guard& guard, std::uint32_t detail, std::uint64_t ts_ns) {
  hot::RingProducer& producer = guard.producer();
  const std::uint32_t drops = producer.ring.drop_count();
  for (std::uint32_t i = 0; i < count_; ++i) {
    const Level& level = levels_[i];
    const bool module = level.module.address != 0;
    if (raw(i).code_id == 0 || (!module && !wants(detail, wire::kTorchStack))) continue;
    python::send_code(guard, raw(i).code, raw(i).code_id, ts_ns);
    if (!module || !wants(detail, wire::kTorchModules)) continue;
    const std::uint64_t id = module_id(level.module);
    if (modules_.contains(id, producer.ring.epoch())) continue;
    const char* name = python::type_name(level.module.type);
    const auto bytes = static_cast<std::uint32_t>(strnlen(name, kMaxTypeName));
    const wire::TorchModuleDef def{id, level.module.address, level.module.type, bytes, 0};
    if (hot::record(guard, def, ts_ns, name, bytes)) modules_.insert(id);
  }
  return producer.ring.drop_count() == drops;
}

std::uint32_t OperatorStack::write(std::uint32_t detail, wire::PyFrame* to,
                                   std::uint32_t room) const {
  std::uint32_t count = 0;
  for (std::uint32_t i = count_; i-- > 0 && count + 2 <= room;) {
    const Level& level = levels_[i];
    const bool module = level.module.address != 0 && wants(detail, wire::kTorchModules);
    // A shim parts runs of native frames, of which there are none here.
    if (raw(i).code_id == 0 || (!module && !wants(detail, wire::kTorchStack))) continue;
    to[count++] = wire::PyFrame{raw(i).code_id, raw(i).instr_offset, raw(i).flags};
    if (module) to[count++] = wire::PyFrame{module_id(level.module), 0, wire::kPyModule};
  }
  return count;
}

std::uint64_t OperatorStack::id_for(std::uint32_t detail) const {
  const std::uint64_t* hash = hash_[count_ - 1];
  if (hash[wants(detail, wire::kTorchStack) ? 0 : 1] == kNoFrames) return 0;
  std::uint64_t id = 0;
  if (wants(detail, wire::kTorchStack)) id = hash[0];
  if (wants(detail, wire::kTorchModules)) id = base::mix64(id + hash[1]);
  return id == 0 ? 1 : id;
}

void OperatorStack::send(const hot::Guard& guard, std::uint32_t detail, std::uint64_t ts_ns) {
  hot::RingProducer& producer = guard.producer();
  if (!send_parts(guard, detail, ts_ns)) return;
  constexpr std::uint32_t kRoom = wire::kMaxPythonFrames;
  static_assert(sizeof producer.scratch >= kRoom * sizeof(wire::PyFrame));
  auto* frames = reinterpret_cast<wire::PyFrame*>(producer.scratch);
  const std::uint32_t count = write(detail, frames, kRoom);
  const std::uint32_t flags = count_ == kMaxStackLevels ? wire::kStackPythonDeep : 0;
  const wire::StackDef def{id_, 0, static_cast<std::uint16_t>(count), flags};
  hot::send_stack_def(guard, def, frames, count * static_cast<std::uint32_t>(sizeof(wire::PyFrame)),
                      ts_ns);
}

std::uint64_t OperatorStack::define(const hot::Guard& guard, std::uint32_t detail,
                                    std::uint64_t ts_ns) {
  if (count_ == 0) return 0;
  if (id_of_ != detail) {
    id_ = id_for(detail);
    id_of_ = detail;
  }
  hot::RingProducer& producer = guard.producer();
  if (id_ != 0 && !producer.stacks.contains(id_, producer.ring.epoch())) send(guard, detail, ts_ns);
  return id_;
}

}  // namespace gpuprof::torch
