// SPDX-License-Identifier: Apache-2.0
//
// The offsets. They never moved since CUDA 9; tails are read where the probed size reaches them.
//
// Context:  callback
// Owns:     nothing
#include "inject/cupti/activity/translate.hpp"

#include "gpuprof/base/bytes.hpp"
#include "inject/cupti/activity/graph_devices.hpp"
#include "inject/cupti/library/hazards.hpp"

namespace gpuprof::cupti {

namespace {

/// Reads fields of one record; what lies beyond its size is 0.
class Fields {
 public:
  explicit Fields(const RawRecord& from) : from_(from) {}

  template <typename T>
  T at(std::size_t offset) const {
    return offset + sizeof(T) <= from_.bytes ? base::load<T>(from_.data + offset) : T{};
  }
  std::uint8_t u8(std::size_t offset) const { return at<std::uint8_t>(offset); }
  std::uint16_t u16(std::size_t offset) const { return at<std::uint16_t>(offset); }
  std::uint32_t u32(std::size_t offset) const { return at<std::uint32_t>(offset); }
  std::uint64_t u64(std::size_t offset) const { return at<std::uint64_t>(offset); }
  const char* text(std::size_t offset) const { return at<const char*>(offset); }

  std::uint32_t u32_from_size(std::uint16_t size, std::size_t offset) const {
    return from_.bytes >= size ? u32(offset) : 0;
  }
  std::uint64_t u64_from_size(std::uint16_t size, std::size_t offset) const {
    return from_.bytes >= size ? u64(offset) : 0;
  }

 private:
  const RawRecord& from_;
};

std::uint8_t copy_flags(bool async, TimestampState times) {
  return static_cast<std::uint8_t>((async ? kCopyAsync : 0) |
                                   (times == TimestampState::kGood ? 0 : kCopyBadTime));
}

// Fields up to the stream are the same in plain and peer copies.
TimestampState translate_copy_head(const Fields& f, wire::MemCopy* to) {
  to->copy_kind = f.u8(4);
  to->src_kind = f.u8(5);
  to->dst_kind = f.u8(6);
  to->bytes = f.u64(8);
  to->start_ns = f.u64(16);
  to->end_ns = f.u64(24);
  to->device = f.u32(32);
  to->context = f.u32(36);
  to->stream = f.u32(40);
  const TimestampState times = classify_timestamps(to->start_ns, to->end_ns);
  to->flags = copy_flags((f.u8(7) & 1) != 0, times);
  return times;
}

}  // namespace

TimestampState translate_kernel(const RawRecord& from, wire::KernelExec* to, const char** name) {
  const Fields f(from);
  *to = {};
  to->registers = f.u16(6);
  to->start_ns = f.u64(16);
  to->end_ns = f.u64(24);
  to->device = f.u32(40);
  to->context = f.u32(44);
  to->stream = f.u32(48);
  to->grid_x = f.u32(52);
  to->grid_y = f.u32(56);
  to->grid_z = f.u32(60);
  to->block_x = f.u32(64);
  to->block_y = f.u32(68);
  to->block_z = f.u32(72);
  to->static_shared_bytes = f.u32(76);
  to->dynamic_shared_bytes = f.u32(80);
  to->local_per_thread_bytes = f.u32(84);
  to->correlation = f.u32(92);
  *name = f.text(104);
  to->shared_executed_bytes = f.u32(140);
  to->graph_node = f.u64_from_size(160, 144);
  if (kernel_graph_id_valid(from.version)) to->graph = f.u32_from_size(160, 156);
  to->channel = f.u32_from_size(176, 168);
  const TimestampState times = classify_timestamps(to->start_ns, to->end_ns);
  if (times != TimestampState::kGood) to->flags = wire::kGpuBadTime;
  return times;
}

TimestampState translate_memcpy(const RawRecord& from, wire::MemCopy* to) {
  const Fields f(from);
  *to = {};
  const TimestampState times = translate_copy_head(f, to);
  to->dst_device = to->device;
  to->correlation = f.u32(44);
  to->graph_node = f.u64_from_size(72, 64);
  to->graph = f.u32_from_size(80, 72);
  return times;
}

TimestampState translate_memcpy_peer(const RawRecord& from, wire::MemCopy* to) {
  const Fields f(from);
  *to = {};
  const TimestampState times = translate_copy_head(f, to);
  // `device` stays the record's own: its stream is there, whichever end that is.
  to->dst_device = f.u32(52);
  to->correlation = f.u32(60);
  to->graph_node = f.u64_from_size(80, 72);
  to->graph = f.u32_from_size(88, 80);
  return times;
}

TimestampState translate_memset(const RawRecord& from, wire::MemSet* to) {
  const Fields f(from);
  *to = {};
  to->value = f.u32(4);
  to->bytes = f.u64(8);
  to->start_ns = f.u64(16);
  to->end_ns = f.u64(24);
  to->device = f.u32(32);
  to->context = f.u32(36);
  to->stream = f.u32(40);
  to->correlation = f.u32(44);
  to->memory_kind = f.u16(50);
  to->graph_node = f.u64_from_size(72, 64);
  to->graph = f.u32_from_size(80, 72);
  const TimestampState times = classify_timestamps(to->start_ns, to->end_ns);
  to->flags = copy_flags((f.u16(48) & 1) != 0, times);
  return times;
}

TimestampState translate_graph(const RawRecord& from, wire::GraphExec* to) {
  const Fields f(from);
  *to = {};
  to->correlation = f.u32(4);
  to->start_ns = f.u64(8);
  to->end_ns = f.u64(16);
  to->device = f.u32(24);
  to->graph = f.u32(28);
  to->context = f.u32(32);
  to->stream = f.u32(36);
  // A graph whose first node is the host's: the place of its last one.
  if (to->device == kNoDevice && from.bytes >= 56) {
    to->device = f.u32(48);
    to->context = f.u32(52);
  }
  return classify_timestamps(to->start_ns, to->end_ns);
}

void translate_api(const RawRecord& from, wire::ApiDomain domain, wire::ApiCall* to) {
  const Fields f(from);
  *to = {};
  to->cbid = f.u32(4);
  to->start_ns = f.u64(8);
  to->end_ns = f.u64(16);
  to->tid = f.u32(28);
  to->correlation = f.u32(32);
  to->result = static_cast<std::int32_t>(f.u32(36));
  to->api = static_cast<std::uint32_t>(domain);
}

void translate_sync(const RawRecord& from, wire::Sync* to) {
  const Fields f(from);
  *to = {};
  to->type = f.u32(4);
  to->start_ns = f.u64(8);
  to->end_ns = f.u64(16);
  to->correlation = f.u32(24);
  to->context = f.u32(28);
  to->stream = f.u32(32);
  to->event = f.u32(36);
}

void translate_overhead(const RawRecord& from, wire::Overhead* to) {
  const Fields f(from);
  *to = {};
  to->overhead_kind = f.u32(4);
  to->object_kind = f.u32(8);
  // The object id starts with the process id; a thread id follows it.
  constexpr std::uint32_t kObjectThread = 2;
  to->process_or_thread = f.u32(to->object_kind == kObjectThread ? 16 : 12);
  to->start_ns = f.u64(24);
  to->end_ns = f.u64(32);
  to->correlation = f.u32_from_size(48, 40);
}

void translate_context(const RawRecord& from, wire::ContextInfo* to) {
  const Fields f(from);
  *to = {};
  to->context = f.u32(4);
  to->device = f.u32(8);
  to->api_kind = f.u16(12);
  to->null_stream = f.u16(14);
}

void translate_stream(const RawRecord& from, wire::StreamInfo* to) {
  const Fields f(from);
  *to = {};
  to->context = f.u32(4);
  to->stream = f.u32(8);
  to->priority = static_cast<std::int32_t>(f.u32(12));
  to->flags = f.u32(16);
}

void translate_device(const RawRecord& from, wire::DeviceInfo* to, const char** name) {
  const Fields f(from);
  *to = {};
  to->device = f.u32(112);
  to->total_memory_bytes = f.u64(16);
  to->compute_major = f.u32(104);
  to->compute_minor = f.u32(108);
  to->l2_bytes = f.u32(28);
  to->warp_size = f.u32(32);
  to->clock_khz = f.u32(36);
  to->sm_count = f.u32(44);
  to->max_threads_per_sm = f.u32(52) * to->warp_size;
  to->max_blocks_per_sm = f.u32(56);
  to->shared_per_sm_bytes = f.u32(60);
  to->registers_per_sm = f.u32(64);
  to->registers_per_block = f.u32(68);
  to->shared_per_block_bytes = f.u32(72);
  to->max_threads_per_block = f.u32(76);
  // A MIG slice is distinguished by its own id, which older drivers put at the end.
  const bool mig = from.bytes >= 176 && f.u8(145) != 0;
  const std::size_t uuid = mig ? 160 : 120;
  for (std::size_t i = 0; i < sizeof to->uuid; ++i) to->uuid[i] = f.u8(uuid + i);
  *name = f.text(136);
}

void translate_jit(const RawRecord& from, wire::JitActivity* to) {
  const Fields f(from);
  *to = {};
  to->entry_type = f.u32(4);
  to->operation = f.u32(8);
  to->device = f.u32(12);
  to->start_ns = f.u64(16);
  to->end_ns = f.u64(24);
  to->correlation = f.u32(32);
  to->tid = f.u32_from_size(72, 68);
}

}  // namespace gpuprof::cupti
