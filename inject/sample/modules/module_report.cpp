// SPDX-License-Identifier: Apache-2.0
//
// Compares two snapshots and names files absolutely.
//
// Context:  worker
// Owns:     nothing
#include "inject/sample/modules/module_report.hpp"

#include <string.h>
#include <unistd.h>

#include "inject/hot/outbox.hpp"
#include "inject/sample/proc_files.hpp"

namespace gpuprof::sample {

namespace {

bool same(const SnapshotModule& a, const SnapshotModule& b) {
  return a.begin == b.begin && a.end == b.end && a.info.dlpi_addr == b.info.dlpi_addr &&
         a.build_id_hash == b.build_id_hash && strcmp(a.info.dlpi_name, b.info.dlpi_name) == 0;
}

bool holds(const Snapshot* snapshot, const SnapshotModule& wanted) {
  if (snapshot == nullptr) return false;
  for (std::uint32_t i = 0; i < snapshot->module_count; ++i)
    if (same(snapshot->modules[i], wanted)) return true;
  return false;
}

// The loader keeps the name as it was given: empty for the program, relative after
// dlopen("./x.so"), without a folder for the vdso.
void find_path(const SnapshotModule& module, char* path, std::size_t room) {
  path[0] = '\0';
  const char* name = module.info.dlpi_name;
  if (name[0] == '\0') {
    const ssize_t bytes = readlink("/proc/self/exe", path, room - 1);
    path[bytes > 0 ? bytes : 0] = '\0';
  } else if (strncmp(name, "linux-vdso", 10) == 0 || strncmp(name, "linux-gate", 10) == 0) {
    strncpy(path, "[vdso]", room - 1);
  } else if (name[0] != '/') {
    mapped_file_of(module.begin, path, room);
  }
  if (path[0] != '\0') return;
  strncpy(path, name, room - 1);
  path[room - 1] = '\0';
}

void send(const SnapshotModule& module, wire::Module message) {
  if (hot::g_outbox.module == nullptr) return;
  char path[4096];
  find_path(module, path, sizeof path);
  message.build_id_bytes = module.build_id_bytes;
  message.path_bytes = static_cast<std::uint32_t>(strlen(path));
  hot::g_outbox.module(message, module.build_id, path);
}

wire::Module as_loaded(const SnapshotModule& module, std::uint64_t now_ns) {
  wire::Module message{};
  message.load_bias = module.info.dlpi_addr;
  message.start = module.begin;
  message.end = module.end;
  message.seen_ns = now_ns;
  return message;
}

}  // namespace

void report_modules(const Snapshot* before, const Snapshot* after, std::uint64_t now_ns) {
  for (std::uint32_t i = 0; before != nullptr && i < before->module_count; ++i) {
    const SnapshotModule& module = before->modules[i];
    if (holds(after, module) || hot::g_outbox.module_unloaded == nullptr) continue;
    hot::g_outbox.module_unloaded(
        wire::ModuleUnloaded{module.info.dlpi_addr, module.begin, now_ns});
  }
  for (std::uint32_t i = 0; after != nullptr && i < after->module_count; ++i)
    if (!holds(before, after->modules[i]))
      send(after->modules[i], as_loaded(after->modules[i], now_ns));
}

void report_remapped_code(const SnapshotModule& module, std::uint64_t begin, std::uint64_t end,
                          std::uint64_t offset, std::uint64_t now_ns) {
  for (int i = 0; i < module.info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = module.info.dlpi_phdr[i];
    // A mapping begins with the page.
    const std::uint64_t first = part.p_offset & ~std::uint64_t{4095};
    if (part.p_type != PT_LOAD || offset < first || offset >= part.p_offset + part.p_filesz)
      continue;
    wire::Module message{};
    message.load_bias = begin - (part.p_vaddr + (offset - part.p_offset));
    message.start = begin;
    message.end = end;
    message.seen_ns = now_ns;
    return send(module, message);
  }
}

}  // namespace gpuprof::sample
