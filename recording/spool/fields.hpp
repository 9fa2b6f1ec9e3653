// SPDX-License-Identifier: Apache-2.0
//
// The one list of what is stored of each event: order is format, docs/spool-format.md.
//
// Context:  daemon
// Promises: the same list writes and reads; an event without a list does not compile; a struct
//           that grew without its list does not compile either
// Not here: how numbers become bytes (event_coding.hpp)
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "recording/model/events.hpp"

namespace gpuprof::spool {

/// E is M or const M: one list serves the writer and the reader.
template <typename E, typename M>
concept Is = std::same_as<std::remove_const_t<E>, M>;

// `f` offers: f(integers…) each stored as a difference to the same field of the last event of
// the kind; f.span(start, end): the end as a length; f.text(string_view); f.list(span).

template <class F, Is<model::StringDef> E>
void fields(F& f, E& e) {
  f(e.id);
  f.text(e.text);
}
template <class F, Is<model::StackDef> E>
void fields(F& f, E& e) {
  f(e.id, e.flags);
  f.list(e.native);
  f.list(e.python);
}
template <class F, Is<model::PythonCode> E>
void fields(F& f, E& e) {
  f(e.id, e.file, e.name, e.first_line, e.py_minor, e.flags);
  f.text(e.line_table);
}
template <class F, Is<model::Process> E>
void fields(F& f, E& e) {
  f(e.pid, e.ppid, e.woke, e.wire_minor, e.start_ns, e.start_real_ns);
  f.text(e.exe);
  f.text(e.command_line);
}
template <class F, Is<model::ProcessEnd> E>
void fields(F& f, E& e) {
  f(e.ts_ns, e.wait_status, e.how);
}
template <class F, Is<model::ThreadName> E>
void fields(F& f, E& e) {
  f(e.tid, e.flags, e.ts_ns);
  f.text(e.name);
}
template <class F, Is<model::Module> E>
void fields(F& f, E& e) {
  f(e.load_bias, e.start, e.end, e.seen_ns);
  f.text(e.build_id);
  f.text(e.path);
}
template <class F, Is<model::ModuleUnload> E>
void fields(F& f, E& e) {
  f(e.load_bias, e.start, e.unloaded_ns);
}
template <class F, Is<model::Domain> E>
void fields(F& f, E& e) {
  f(e.domain);
  f.text(e.name);
}
template <class F, Is<model::Fact> E>
void fields(F& f, E& e) {
  f.text(e.key);
  f.text(e.value);
}
template <class F, Is<model::Notice> E>
void fields(F& f, E& e) {
  f(e.ts_ns, e.feature, e.level, e.code);
  f.text(e.text);
}
template <class F, Is<model::Loss> E>
void fields(F& f, E& e) {
  f(e.reason, e.tid, e.count, e.first_ns, e.last_ns);
}
template <class F, Is<model::StateChange> E>
void fields(F& f, E& e) {
  f(e.state, e.ts_ns, e.steps, e.switch_ns);
}
template <class F, Is<model::ClockSnapshot> E>
void fields(F& f, E& e) {
  f(e.mono_ns, e.real_ns, e.boot_ns, e.cupti_ns, e.gap_ns);
}
template <class F, Is<model::Device> E>
void fields(F& f, E& e) {
  f(e.device, e.name, e.total_memory_bytes);
  f.bytes16(e.uuid);
  f(e.compute_major, e.compute_minor, e.sm_count, e.warp_size, e.max_threads_per_block,
    e.max_threads_per_sm, e.max_blocks_per_sm, e.registers_per_block, e.registers_per_sm,
    e.shared_per_block_bytes, e.shared_per_sm_bytes, e.shared_per_block_optin_bytes,
    e.shared_reserved_bytes, e.clock_khz, e.memory_clock_khz, e.memory_bus_bits, e.l2_bytes);
}
template <class F, Is<model::Context> E>
void fields(F& f, E& e) {
  f(e.context, e.device, e.null_stream);
}
template <class F, Is<model::Stream> E>
void fields(F& f, E& e) {
  f(e.context, e.stream, e.priority);
}

template <class F, Is<model::Sample> E>
void fields(F& f, E& e) {
  f(e.ts_ns, e.weight_ns, e.tid, e.stack, e.state);
}
template <class F, Is<model::Range> E>
void fields(F& f, E& e) {
  f.span(e.start_ns, e.end_ns);
  f(e.id, e.parent, e.name, e.tid, e.end_tid, e.stack, e.domain, e.category, e.color,
    e.payload_type, e.payload, e.kind, e.flags);
}
template <class F, Is<model::Step> E>
void fields(F& f, E& e) {
  f.span(e.start_ns, e.end_ns);
  f(e.number, e.label, e.tid, e.source, e.confidence, e.where);
}
template <class F, Is<model::ApiCall> E>
void fields(F& f, E& e) {
  f.span(e.start_ns, e.end_ns);
  f(e.range, e.correlation, e.name, e.tid, e.stack, e.cbid, e.api, e.result);
}
template <class F, Is<model::Kernel> E>
void fields(F& f, E& e) {
  f.span(e.start_ns, e.end_ns);
  f(e.range, e.correlation, e.name, e.launch_tid, e.stream, e.grid[0], e.grid[1], e.grid[2],
    e.block[0], e.block[1], e.block[2], e.static_shared_bytes, e.dynamic_shared_bytes,
    e.local_per_thread_bytes, e.shared_executed_bytes, e.registers, e.device, e.context, e.channel,
    e.graph, e.graph_node);
}
template <class F, Is<model::MemCopy> E>
void fields(F& f, E& e) {
  f.span(e.start_ns, e.end_ns);
  f(e.range, e.correlation, e.bytes, e.launch_tid, e.stream, e.copy_kind, e.src_kind, e.dst_kind,
    e.asynchronous, e.device, e.context, e.dst_device, e.graph, e.graph_node);
}
template <class F, Is<model::MemSet> E>
void fields(F& f, E& e) {
  f.span(e.start_ns, e.end_ns);
  f(e.range, e.correlation, e.bytes, e.launch_tid, e.stream, e.value, e.memory_kind, e.device,
    e.context, e.graph, e.graph_node);
}
template <class F, Is<model::Sync> E>
void fields(F& f, E& e) {
  f.span(e.start_ns, e.end_ns);
  f(e.range, e.correlation, e.type, e.launch_tid, e.stream, e.context, e.event);
}
template <class F, Is<model::Overhead> E>
void fields(F& f, E& e) {
  f.span(e.start_ns, e.end_ns);
  f(e.kind, e.object_kind, e.tid, e.correlation);
}
template <class F, Is<model::GraphExec> E>
void fields(F& f, E& e) {
  f.span(e.start_ns, e.end_ns);
  f(e.range, e.correlation, e.graph, e.launch_tid, e.device, e.context, e.stream);
}
template <class F, Is<model::Inputs> E>
void fields(F& f, E& e) {
  f(e.id, e.flags);
  f.list(e.words);
}
template <class F, Is<model::TorchModule> E>
void fields(F& f, E& e) {
  f(e.id, e.class_name, e.object, e.type);
}
template <class F, Is<model::Operator> E>
void fields(F& f, E& e) {
  f.span(e.start_ns, e.end_ns);
  f(e.id, e.parent, e.sequence, e.name, e.stack, e.inputs, e.tid, e.end_tid, e.forward_tid, e.scope,
    e.flags);
}
template <class F, Is<model::Allocation> E>
void fields(F& f, E& e) {
  f.span(e.start_ns, e.end_ns);
  f(e.address, e.bytes, e.total_allocated_bytes, e.total_reserved_bytes, e.tid, e.device_type,
    e.device);
}

// A struct that grew: add the field above, raise kSpoolVersion, then correct the number here.
static_assert(sizeof(model::StringDef) == 24 && sizeof(model::StackDef) == 40);
static_assert(sizeof(model::PythonCode) == 40 && sizeof(model::Process) == 64);
static_assert(sizeof(model::ProcessEnd) == 16 && sizeof(model::ThreadName) == 32);
static_assert(sizeof(model::Module) == 64 && sizeof(model::ModuleUnload) == 24);
static_assert(sizeof(model::Domain) == 24 && sizeof(model::Fact) == 32);
static_assert(sizeof(model::Notice) == 40 && sizeof(model::Loss) == 32);
static_assert(sizeof(model::StateChange) == 32 && sizeof(model::ClockSnapshot) == 40);
static_assert(sizeof(model::Device) == 104 && sizeof(model::Context) == 12);
static_assert(sizeof(model::Stream) == 12 && sizeof(model::Sample) == 32);
static_assert(sizeof(model::Range) == 88 && sizeof(model::Step) == 48);
static_assert(sizeof(model::ApiCall) == 56 && sizeof(model::Kernel) == 112);
static_assert(sizeof(model::MemCopy) == 72 && sizeof(model::MemSet) == 72);
static_assert(sizeof(model::Sync) == 48 && sizeof(model::Overhead) == 32);
static_assert(sizeof(model::GraphExec) == 48 && sizeof(model::Inputs) == 24);
static_assert(sizeof(model::TorchModule) == 24 && sizeof(model::Operator) == 72);
static_assert(sizeof(model::Allocation) == 64);

}  // namespace gpuprof::spool
