// SPDX-License-Identifier: Apache-2.0
//
// Two visits of what is listed: measure, then copy.
//
// Context:  worker
// Owns:     nothing: the mapping goes to the caller
// Promises: no file is opened and nothing is allocated while the loader's lock is held
#include "inject/sample/modules/snapshot_build.hpp"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/base/loader_counts.hpp"
#include "inject/modules/module_list.hpp"
#include "inject/modules/toolchain.hpp"

namespace gpuprof::sample {

namespace {

// DW_EH_PE_datarel | DW_EH_PE_sdata4: the one table that is searched by halves.
constexpr unsigned char kSearchableTable = 0x3b;
constexpr unsigned char kOmitted = 0xff;
constexpr std::size_t kTableHead = 4;

struct SnapshotSize {
  std::size_t modules = 0, headers = 0, segments = 0, name_bytes = 0;
};

struct Fill {
  Snapshot* snapshot;
  ElfW(Phdr) * headers;
  char* names;
  SnapshotSize room;  // what is left
  bool overflow = false;
};

int measure(dl_phdr_info* info, std::size_t, void* data) {
  auto* needs = static_cast<SnapshotSize*>(data);
  ++needs->modules;
  needs->headers += info->dlpi_phnum;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD) ++needs->segments;
  needs->name_bytes += strlen(info->dlpi_name) + 1;
  return 0;
}

void read_note(const unsigned char* note, std::size_t bytes, SnapshotModule* module) {
  while (bytes >= sizeof(ElfW(Nhdr))) {
    const auto header = base::load<ElfW(Nhdr)>(note);
    const std::size_t name = base::align_up(header.n_namesz, 4);
    const std::size_t whole = sizeof header + name + base::align_up(header.n_descsz, 4);
    if (whole > bytes) return;
    const unsigned char* text = note + sizeof header;
    if (header.n_namesz == 4 && memcmp(text, "GNU", 4) == 0 && header.n_type == NT_GNU_BUILD_ID) {
      module->build_id_bytes = std::min<std::uint32_t>(header.n_descsz, kMaxBuildIdBytes);
      memcpy(module->build_id, text + name, module->build_id_bytes);
    }
    note += whole;
    bytes -= whole;
  }
}

bool searchable(std::uintptr_t address) {
  const auto* table = reinterpret_cast<const unsigned char*>(address);
  return table[0] == 1 && table[1] != kOmitted && table[2] != kOmitted &&
         table[3] == kSearchableTable;
}

// What libunwind would do with them is either not needed (PT_DYNAMIC: data-relative pointers, not
// used on this machine) or reads memory that dlclose takes away.
bool kept(const ElfW(Phdr) & header) {
  return header.p_type == PT_LOAD || header.p_type == PT_GNU_EH_FRAME;
}

void take_segment(const ElfW(Phdr) & header, std::uintptr_t bias, Fill* fill,
                  SnapshotModule* module) {
  const std::uintptr_t begin = bias + header.p_vaddr;
  const std::uintptr_t end = begin + header.p_memsz;
  module->begin = std::min(module->begin, begin);
  module->end = std::max(module->end, end);
  Snapshot* snapshot = fill->snapshot;
  snapshot->segments[snapshot->segment_count++] = {begin, end, snapshot->module_count,
                                                   (header.p_flags & PF_X) != 0};
  --fill->room.segments;
}

void take_headers(const dl_phdr_info& info, Fill* fill, SnapshotModule* module) {
  module->info.dlpi_phdr = fill->headers;
  module->begin = ~std::uintptr_t{0};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    const std::uintptr_t at = info.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD) take_segment(header, info.dlpi_addr, fill, module);
    // Headers of files that were edited afterwards may lead to what is not loaded.
    if (header.p_type == PT_GNU_EH_FRAME)
      module->has_table = modules::is_mapped_in(info, at, kTableHead, PF_R) && searchable(at);
    if (header.p_type == PT_NOTE && modules::is_mapped_in(info, at, header.p_memsz, PF_R))
      read_note(reinterpret_cast<const unsigned char*>(at), header.p_memsz, module);
    if (!kept(header)) continue;
    *fill->headers++ = header;
    ++module->info.dlpi_phnum;
  }
  fill->room.headers -= info.dlpi_phnum;
}

int copy(dl_phdr_info* info, std::size_t size, void* data) {
  auto* fill = static_cast<Fill*>(data);
  SnapshotSize needs;
  measure(info, size, &needs);
  if (fill->room.modules < 1 || fill->room.headers < needs.headers ||
      fill->room.segments < needs.segments || fill->room.name_bytes < needs.name_bytes) {
    fill->overflow = true;
    return 1;
  }
  const base::LoaderCounts counts = base::loader_counts(*info, size);
  fill->snapshot->adds = counts.adds;
  fill->snapshot->subs = counts.subs;
  if (needs.segments == 0) return 0;
  SnapshotModule* module = &fill->snapshot->modules[fill->snapshot->module_count];
  module->info.dlpi_addr = info->dlpi_addr;
  module->info.dlpi_name = fill->names;
  memcpy(fill->names, info->dlpi_name, needs.name_bytes);
  fill->names += needs.name_bytes;
  fill->room.name_bytes -= needs.name_bytes;
  take_headers(*info, fill, module);
  module->is_go = modules::is_go_module(*info);
  module->build_id_hash = base::hash_bytes(module->build_id, module->build_id_bytes);
  ++fill->snapshot->module_count;
  --fill->room.modules;
  return 0;
}

std::size_t place(std::size_t* at, std::size_t bytes) {
  const std::size_t here = base::align_up(*at, 64);
  *at = here + bytes;
  return here;
}

bool fill_once(const SnapshotSize& needs, Snapshot** result) {
  std::size_t bytes = 0;
  const std::size_t head = place(&bytes, sizeof(Snapshot));
  const std::size_t modules = place(&bytes, needs.modules * sizeof(SnapshotModule));
  const std::size_t headers = place(&bytes, needs.headers * sizeof(ElfW(Phdr)));
  const std::size_t segments = place(&bytes, needs.segments * sizeof(SnapshotSegment));
  const std::size_t names = place(&bytes, needs.name_bytes);
  bytes = base::align_up(bytes, 4096);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return true;
  auto* base = static_cast<char*>(memory);
  auto* snapshot = reinterpret_cast<Snapshot*>(base + head);
  snapshot->map_bytes = bytes;
  snapshot->modules = reinterpret_cast<SnapshotModule*>(base + modules);
  snapshot->segments = reinterpret_cast<SnapshotSegment*>(base + segments);
  Fill fill{snapshot, reinterpret_cast<ElfW(Phdr)*>(base + headers), base + names, needs, false};
  modules::visit_listed_modules(copy, &fill);
  if (fill.overflow) {
    munmap(memory, bytes);
    return false;
  }
  std::sort(snapshot->segments, snapshot->segments + snapshot->segment_count,
            [](const SnapshotSegment& a, const SnapshotSegment& b) { return a.begin < b.begin; });
  *result = snapshot;
  return true;
}

}  // namespace

Snapshot* build_snapshot() {
  Snapshot* snapshot = nullptr;
  for (int attempt = 0; attempt < 8; ++attempt) {
    SnapshotSize needs;
    modules::visit_listed_modules(measure, &needs);
    // The program may load a few more between the two passes.
    needs.modules += 8;
    needs.headers += 128;
    needs.segments += 64;
    needs.name_bytes += 4096;
    if (fill_once(needs, &snapshot)) break;
  }
  return snapshot;
}

}  // namespace gpuprof::sample
