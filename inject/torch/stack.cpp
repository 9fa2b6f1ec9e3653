// SPDX-License-Identifier: Apache-2.0
//
// Compares from the outside in.
//
// Context:  callback
#include "inject/torch/stack.hpp"

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

bool Stack::unchanged(const Level& level, const python::QuickFrame& now) const {
  if (!(level.raw == now)) return false;
  if (now.code == 0) return true;
  if (level.mark != python::code_mark(now.code)) return false;
  // The same call of the same function may be one of another module.
  return level.module.address == 0 || level.module == python::first_local(now.frame);
}

void Stack::renew(std::uint32_t at, const python::QuickFrame& now) {
  Level& level = levels_[at];
  level.raw = now;
  level.mark = 0;
  level.module = python::Object{0, 0};
  level.code_id = 0;
  const std::uint64_t* outer = at == 0 ? nullptr : levels_[at - 1].hash;
  for (std::uint32_t i = 0; i < 2; ++i) level.hash[i] = outer == nullptr ? kNoFrames : outer[i];
  if (now.code == 0) return;
  level.mark = python::code_mark(now.code);
  if (python::is_module_call(now.code)) level.module = python::first_local(now.frame);
  level.code_id = python::code_id_of(now.code);
  const std::uint64_t place =
      base::hash_step(level.code_id, static_cast<std::uint32_t>(now.instr_offset));
  level.hash[0] = base::hash_step(level.hash[0], place);
  if (level.module.address != 0)
    level.hash[1] = base::hash_step(level.hash[1] + place, module_id(level.module));
}

void Stack::take(std::uint32_t tid) {
  const std::uint32_t known = count_;
  count_ = python::quick_frames(tid, raw_, kMaxStackLevels);
  std::uint32_t level = 0;
  while (level < count_ && level < known && unchanged(levels_[level], raw_[count_ - 1 - level]))
    ++level;
  for (; level < count_; ++level) renew(level, raw_[count_ - 1 - level]);
}

std::uint32_t Stack::module_level() const {
  for (std::uint32_t level = 0; level < count_; ++level)
    if (levels_[level].module.address != 0) return level;
  return kNoModule;
}

// False: something found no room, so what refers to it must not count as sent.
bool Stack::send_parts(const hot::Guard& guard, std::uint32_t detail, std::uint64_t ts_ns) {
  hot::Outlet& outlet = guard.outlet();
  const std::uint32_t epoch = outlet.lane.epoch();
  for (std::uint32_t i = 0; i < count_; ++i) {
    const Level& level = levels_[i];
    const bool module = level.module.address != 0;
    if (level.raw.code == 0 || (!module && !wants(detail, wire::kTorchStack))) continue;
    python::send_code(guard, level.raw.code, ts_ns);
    if (!module || !wants(detail, wire::kTorchModules)) continue;
    const std::uint64_t id = module_id(level.module);
    if (modules_.sent(id, outlet.lane.epoch())) continue;
    const char* name = python::type_name(level.module.type);
    const auto bytes = static_cast<std::uint32_t>(strnlen(name, kMaxTypeName));
    const wire::TorchModuleDef def{id, level.module.address, level.module.type, bytes, 0};
    if (hot::record(guard, def, ts_ns, name, bytes)) modules_.add(id);
  }
  return outlet.lane.epoch() == epoch;
}

std::uint32_t Stack::write(std::uint32_t detail, wire::PyFrame* to, std::uint32_t room) const {
  std::uint32_t count = 0;
  for (std::uint32_t i = count_; i-- > 0 && count + 2 <= room;) {
    const Level& level = levels_[i];
    const bool module = level.module.address != 0 && wants(detail, wire::kTorchModules);
    // A shim parts runs of native frames, of which there are none here.
    if (level.raw.code == 0 || (!module && !wants(detail, wire::kTorchStack))) continue;
    to[count++] = wire::PyFrame{level.code_id, level.raw.instr_offset, level.raw.flags};
    if (module) to[count++] = wire::PyFrame{module_id(level.module), 0, wire::kPyModule};
  }
  return count;
}

std::uint64_t Stack::define(const hot::Guard& guard, std::uint32_t detail, std::uint64_t ts_ns) {
  if (count_ == 0) return 0;
  const Level& inner = levels_[count_ - 1];
  std::uint64_t id = 0;
  if (wants(detail, wire::kTorchStack)) id = inner.hash[0];
  if (wants(detail, wire::kTorchModules)) id = base::mix64(id + inner.hash[1]);
  if (!wants(detail, wire::kTorchStack) && inner.hash[1] == kNoFrames) return 0;
  if (id == 0) id = 1;
  hot::Outlet& outlet = guard.outlet();
  if (outlet.stacks.sent(id, outlet.lane.epoch())) return id;
  if (!send_parts(guard, detail, ts_ns)) return id;
  constexpr std::uint32_t kRoom = wire::kMaxPythonFrames;
  static_assert(sizeof outlet.scratch >= kRoom * sizeof(wire::PyFrame));
  auto* frames = reinterpret_cast<wire::PyFrame*>(outlet.scratch);
  const std::uint32_t count = write(detail, frames, kRoom);
  if (count == 0) return 0;
  const std::uint32_t flags = count_ == kMaxStackLevels ? wire::kStackPythonDeep : 0;
  const wire::StackDef def{id, 0, static_cast<std::uint16_t>(count), flags};
  hot::define_stack(guard, def, frames, count * static_cast<std::uint32_t>(sizeof(wire::PyFrame)),
                    ts_ns);
  return id;
}

}  // namespace gpuprof::torch
