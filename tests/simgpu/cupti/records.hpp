// SPDX-License-Identifier: Apache-2.0
//
// Turns operations into activity records of the emulated layout.
//
// Context:  any
// Owns:     nothing
// Promises: every byte of a record is defined; tails beyond the 13.2 layout are recognisable filler
// Not here: when and where records are delivered (delivery.hpp, buffers.hpp)
#pragma once

#include <cstdint>

#include "core/work/operations.hpp"
#include "cupti/layout.hpp"

namespace gpusim {

struct Device;
struct Context;
struct Stream;

/// One finished record.
struct Record {
  std::uint32_t kind;
  std::uint32_t bytes;
  alignas(8) unsigned char data[kMaxRecordBytes];
};

/// Activity kind an operation is recorded as, or 0.
std::uint32_t kind_of(const DeviceOp& op);

Record make_device_op(const DeviceOp& op, std::uint32_t kind, const char* name);
Record make_api(const ApiCall& call, std::uint32_t thread_id);
Record make_external(std::uint32_t kind, std::uint64_t id, std::uint32_t correlation);
Record make_sync(const SyncOp& op);
Record make_graph(const GraphLaunchOp& op);
Record make_overhead(std::uint32_t what, std::uint64_t start_ns, std::uint64_t end_ns,
                     std::uint32_t correlation, std::uint32_t thread_id);
Record make_device(const Device& device);
Record make_context(const Context& context);
Record make_stream(const Stream& stream, std::uint32_t correlation);
Record make_filler(std::uint32_t kind, std::uint32_t bytes);

/// Thread id in the form the client asked for.
std::uint32_t record_thread_id();

}  // namespace gpusim
