// SPDX-License-Identifier: Apache-2.0
//
// The return addresses of a stopped thread, from the unwind tables of the files it runs.
//
// Context:  daemon | cli
#include "daemon/attach/ptrace/unwinder.hpp"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace gpuprof::attach {
namespace {

constexpr std::size_t kMaxFrames = 512;

}  // namespace

struct Unwinder::State {
  pid_t pid;
  Maps maps;
  std::shared_ptr<ProcessMemory> memory;
  Dwfl* dwfl = nullptr;
  bool attached = false;
  const arch::Registers* registers = nullptr;  // of the walk in progress
  pid_t tid = 0;

  int open_module(std::uint64_t start) const;
};

/// By what the kernel has mapped, where it lets us; else by the path the process sees.
int Unwinder::State::open_module(std::uint64_t start) const {
  const Mapping* mapping = mapping_of(maps, start);
  if (mapping == nullptr || mapping->inode == 0) return -1;
  const std::string link =
      fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, mapping->start, mapping->end);
  int fd = open(link.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) return fd;
  fd = open(fmt::format("/proc/{}/root{}", pid, mapping->path).c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about {};
  if (fd >= 0 && (fstat(fd, &about) != 0 || about.st_ino != mapping->inode)) {
    close(fd);
    fd = -1;
  }
  return fd;
}

namespace {

// Every module's user data is the state it belongs to.
template <typename State>
int find_elf(Dwfl_Module*, void** user, const char* name, Dwarf_Addr base, char** file, Elf**) {
  const auto* state = static_cast<const State*>(*user);
  *file = state == nullptr ? nullptr : strdup(name);
  return state == nullptr ? -1 : state->open_module(base);
}

int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                  GElf_Word, char**) {
  return -1;
}

template <typename State>
bool read_word(Dwfl*, Dwarf_Addr address, Dwarf_Word* word, void* argument) {
  return static_cast<State*>(argument)->memory->read(address, *word);
}

template <typename State>
bool set_registers(Dwfl_Thread* thread, void* argument) {
  const arch::Registers& registers = *static_cast<State*>(argument)->registers;
  const std::vector<std::uint64_t> words = arch::dwarf_registers(registers);
  dwfl_thread_state_register_pc(thread, arch::pc(registers));
  return dwfl_thread_state_registers(thread, 0, static_cast<unsigned>(words.size()), words.data());
}

template <typename State>
bool the_thread(Dwfl*, pid_t, void* argument, void** its) {
  *its = argument;
  return true;
}

template <typename State>
pid_t next_thread(Dwfl*, void* argument, void** its) {
  if (*its != nullptr) return 0;
  *its = argument;
  return static_cast<State*>(argument)->tid;
}

int add_frame(Dwfl_Frame* frame, void* argument) {
  auto& stack = *static_cast<Stack*>(argument);
  Dwarf_Addr pc = 0;
  bool activation = false;
  if (!dwfl_frame_pc(frame, &pc, &activation)) return DWARF_CB_ABORT;
  stack.addresses.push_back(pc);
  return stack.addresses.size() < kMaxFrames ? DWARF_CB_OK : DWARF_CB_ABORT;
}

}  // namespace

Unwinder::Unwinder(pid_t pid, const Maps& maps, std::shared_ptr<ProcessMemory> memory)
    : state_(new State{pid, maps, std::move(memory)}) {
  static constexpr Dwfl_Callbacks kFiles{find_elf<State>, no_debug_file, nullptr, nullptr};
  static constexpr Dwfl_Thread_Callbacks kThreads{
      next_thread<State>,   the_thread<State>, read_word<State>,
      set_registers<State>, nullptr,           nullptr};
  state_->dwfl = dwfl_begin(&kFiles);
  if (state_->dwfl == nullptr) return;
  dwfl_report_begin(state_->dwfl);
  for (std::size_t i = 0; i < maps.size();) {
    std::size_t end = i + 1;
    bool code = maps[i].executable;
    for (; end < maps.size() && maps[end].inode == maps[i].inode && maps[end].path == maps[i].path;
         ++end)
      code = code || maps[end].executable;
    if (maps[i].inode != 0 && code) {
      Dwfl_Module* module =
          dwfl_report_module(state_->dwfl, maps[i].path.c_str(), maps[i].start, maps[end - 1].end);
      void** user = nullptr;
      if (module != nullptr &&
          dwfl_module_info(module, &user, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr))
        *user = state_.get();
    }
    i = end;
  }
  dwfl_report_end(state_->dwfl, nullptr, nullptr);
  // It wants one object's machine before it walks any.
  for (const Mapping& mapping : maps)
    if (is_glibc(file_name(mapping))) prepare(mapping.start);
  state_->attached = dwfl_attach_state(state_->dwfl, nullptr, pid, &kThreads, state_.get());
}

Unwinder::~Unwinder() {
  if (state_->dwfl != nullptr) dwfl_end(state_->dwfl);
}

void Unwinder::prepare(std::uint64_t address) {
  Dwfl_Module* module = state_->dwfl == nullptr ? nullptr : dwfl_addrmodule(state_->dwfl, address);
  Dwarf_Addr bias = 0;
  if (module != nullptr) dwfl_module_eh_cfi(module, &bias);
}

Stack Unwinder::walk(pid_t tid, const arch::Registers& registers) {
  Stack stack;
  if (!state_->attached) {
    stack.addresses.push_back(arch::pc(registers));
    return stack;
  }
  state_->registers = &registers;
  state_->tid = tid;
  stack.complete = dwfl_getthread_frames(state_->dwfl, tid, add_frame, &stack) == 0;
  if (stack.addresses.empty()) stack.addresses.push_back(arch::pc(registers));
  return stack;
}

}  // namespace gpuprof::attach
