// SPDX-License-Identifier: Apache-2.0
//
// A module that is made up for one question: its code is that of one entry, and so is its table.
//
// Context:  signal | callback
// Owns:     nothing
#include "inject/sample/unwind/registered_phdr.hpp"

#include "inject/eh_frames/registered_tables.hpp"
#include "inject/sample/fault_guard/fault_guard.hpp"

namespace gpuprof::sample {

namespace {

// .eh_frame_hdr without a table to be searched: libunwind goes through what it leads to.
struct __attribute__((packed)) FrameHeader {
  unsigned char version = 1;
  unsigned char frame_encoding = 0x04;  // udata8
  unsigned char count_encoding = 0x03;  // udata4
  unsigned char table_encoding = 0xff;  // omitted
  std::uint64_t frame;
  std::uint32_t count = 1;
};

struct Look {
  const frames::Fde& entry;
  bool same = false;
};

unsigned char byte_at(std::uintptr_t address) {
  return *reinterpret_cast<const volatile unsigned char*>(address);
}

// Reading what lies on a page that has gone would cost the whole stack later.
void look_at(void* argument) {
  Look& look = *static_cast<Look*>(argument);
  const frames::Fde& entry = look.entry;
  std::uint64_t head = 0;
  for (unsigned i = 0; i < sizeof head; ++i)
    head |= std::uint64_t{byte_at(entry.at + i)} << (8 * i);
  if (head != entry.head) return;
  const std::uint32_t bytes = static_cast<std::uint32_t>(head) + 4;
  static_cast<void>(byte_at(entry.at + bytes - 1));
  static_cast<void>(byte_at(entry.cie));
  look.same = true;
}

bool is_there_still(const frames::Fde& entry) {
  Look look{entry};
  return call_guarded(look_at, &look) && look.same;
}

}  // namespace

int iterate_registered_phdr(std::uintptr_t address,
                            int (*callback)(dl_phdr_info*, std::size_t, void*), void* data) {
  frames::Fde entry;
  if (!frames::find_fde(address, &entry) || !is_there_still(entry)) return 0;
  FrameHeader header;
  header.frame = entry.at;
  ElfW(Phdr) parts[3] = {};
  parts[0].p_type = PT_LOAD;
  parts[0].p_vaddr = entry.begin;
  parts[0].p_memsz = entry.end - entry.begin;
  // Bounds how far is read: one entry begins here.
  parts[1].p_type = PT_LOAD;
  parts[1].p_vaddr = entry.at;
  parts[1].p_filesz = 1;
  parts[2].p_type = PT_GNU_EH_FRAME;
  parts[2].p_vaddr = reinterpret_cast<std::uintptr_t>(&header);
  dl_phdr_info info = {};
  info.dlpi_name = "";
  info.dlpi_phdr = parts;
  info.dlpi_phnum = 3;
  return callback(&info, sizeof info, data);
}

}  // namespace gpuprof::sample
