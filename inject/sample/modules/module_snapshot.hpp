// SPDX-License-Identifier: Apache-2.0
//
// Which modules are mapped where: immutable copies that handlers read without a lock.
//
// Context:  signal | callback (SnapshotReader, find_module, iterate_snapshot_phdr), worker (the
//           rest)
// Owns:     the published snapshot and those that a handler may still be reading
// Promises: a snapshot stays whole while any SnapshotReader that could see it lives; program
//           headers are copies, as dlclose unmaps the module's own
// Not here: how one is made (snapshot_build.hpp), what is reported to the daemon
//           (module_report.hpp)
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "inject/eh_frames/registered_tables.hpp"

namespace gpuprof::sample {

inline constexpr std::uint32_t kMaxBuildIdBytes = 32;

struct SnapshotModule {
  dl_phdr_info info;  // name and program headers point into the snapshot
  std::uintptr_t begin, end;
  std::uint64_t build_id_hash;  // with begin and name: the same file or another
  std::uint32_t build_id_bytes;
  unsigned char build_id[kMaxBuildIdBytes];
  bool has_table;  // a searchable .eh_frame_hdr; without one libunwind would open the file
  bool is_go;      // made by the Go toolchain: its stacks take no foreign signal frame
};

/// One loaded segment.
struct SnapshotSegment {
  std::uintptr_t begin, end;
  std::uint32_t module;
  bool code;  // executable
};

struct Snapshot : frames::SharedMapping {  // one mapping holds everything
  std::uint64_t adds, subs;                // loader's counters when it was made
  std::uint32_t module_count, segment_count;
  SnapshotModule* modules;
  SnapshotSegment* segments;  // sorted, not overlapping
};

/// Keeps every snapshot it may see mapped. Also the mark that a handler is at work.
class SnapshotReader {
 public:
  SnapshotReader();
  ~SnapshotReader();
  SnapshotReader(const SnapshotReader&) = delete;
  SnapshotReader& operator=(const SnapshotReader&) = delete;

 private:
  std::uint32_t side_;
};

/// The published one, null before the first. Needs a SnapshotReader, except on the worker.
const Snapshot* current_snapshot();

/// The module that holds `address`, or null.
const SnapshotModule* find_module(const Snapshot* snapshot, std::uintptr_t address);

/// Whether a module holds code there.
bool is_module_code(const Snapshot* snapshot, std::uintptr_t address);

/// Takes the place of dl_iterate_phdr in libunwind: calls back for the one module that holds the
/// address libunwind is looking for.
int iterate_snapshot_phdr(int (*callback)(dl_phdr_info*, std::size_t, void*), void* data);

/// Publishes `snapshot` (ours from now on, null: none); the old one is freed once nobody can see
/// it. Worker.
void publish_snapshot(Snapshot* snapshot);

/// Frees a mapping that nobody can find any more once all that may have found it are done. Worker.
void retire_mapping(frames::SharedMapping* mapping);

/// Frees what nobody can see any more. Worker. Returns how many wait.
std::uint32_t reclaim_snapshots();

/// Handlers and walks under way now. Any context.
std::uint32_t snapshot_readers();

/// Waits until there was a moment without any. The caller has withdrawn before what each reads
/// first after its SnapshotReader: none that comes later does more. Worker | boundary. False: not
/// in time.
bool wait_for_snapshot_readers(std::uint32_t deadline_ms);

/// In the child of a fork: readers on other threads are gone. Boundary.
void reset_snapshot_readers();

}  // namespace gpuprof::sample
