// SPDX-License-Identifier: Apache-2.0
//
// Lines through libdwfl.
//
// Context:  daemon | cli
#include "analysis/symbols/native_lines.hpp"

#include <elfutils/libdwfl.h>

namespace gpuprof::symbols {
namespace {

/// Objects whose DWARF is kept open at a time.
constexpr std::size_t kMaxSessions = 32;

// libdwfl keeps pointers to these. The second looks at installed files only.
const Dwfl_Callbacks kWithNetwork = {
    .find_elf = nullptr,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};
const Dwfl_Callbacks kLocalOnly = {
    .find_elf = nullptr,
    .find_debuginfo = dwfl_build_id_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};

Dwfl_Module* only_module(Dwfl* session) {
  Dwfl_Module* found = nullptr;
  dwfl_getmodules(
      session,
      [](Dwfl_Module* module, void**, const char*, Dwarf_Addr, void* to) {
        *static_cast<Dwfl_Module**>(to) = module;
        return static_cast<int>(DWARF_CB_ABORT);
      },
      &found, 0);
  return found;
}

}  // namespace

void NativeLines::Close::operator()(Dwfl* session) const { dwfl_end(session); }

NativeLines::Place NativeLines::find(const std::string& path, std::uint64_t address) {
  auto known = sessions_.find(path);
  if (known == sessions_.end()) {
    if (sessions_.size() >= kMaxSessions) sessions_.clear();
    Session session(dwfl_begin(debuginfod_ ? &kWithNetwork : &kLocalOnly));
    if (session != nullptr) {
      dwfl_report_begin(session.get());
      dwfl_report_offline(session.get(), path.c_str(), path.c_str(), -1);
      dwfl_report_end(session.get(), nullptr, nullptr);
    }
    known = sessions_.emplace(path, std::move(session)).first;
  }
  Dwfl_Module* module = known->second == nullptr ? nullptr : only_module(known->second.get());
  GElf_Addr bias = 0;
  if (module == nullptr || dwfl_module_getelf(module, &bias) == nullptr) return {};
  Dwfl_Line* line = dwfl_module_getsrc(module, address + bias);
  int number = 0;
  const char* file =
      line == nullptr ? nullptr : dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
  return file == nullptr ? Place{} : Place{file, number};
}

}  // namespace gpuprof::symbols
