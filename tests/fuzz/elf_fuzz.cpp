// SPDX-License-Identifier: Apache-2.0
//
// Files of any bytes where an ELF object is expected: what the daemon names addresses from, what
// the command line looks at before it starts a program, what an attacher reads out of a process;
// and the tables of a loaded object as the library in the process walks them.
//
// Context:  tests
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/symbols/elf_symbols.hpp"
#include "analysis/symbols/native_lines.hpp"
#include "daemon/attach/process/elf_image.hpp"
#include "daemon/attach/process/library_file.hpp"
#include "inject/modules/module_symbols.hpp"
#include "support/process/program_probe.hpp"
#include "support/text/demangle.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace gpuprof;
using test::FuzzInput;
using test::require;

constexpr const char* kNames[] = {"answer", "_ZN3foo3barEv", "__asan_init", "gpuprof_attach", "x"};

void name_addresses(const std::string& path, FuzzInput& in) {
  symbols::ElfFile file = symbols::ElfFile::open(path);
  if (!file) return;
  require(file.build_id().size() <= (1u << 20), "a build id as long as a file");
  const symbols::ElfSymbols table(std::move(file), symbols::ElfFile::open(path));
  for (int i = 0; i < 24; ++i) {
    const std::uint64_t address = i < 16 ? 0x1000 / 4 * i : in.number<std::uint64_t>();
    const auto symbol = table.find(address);
    if (symbol.name == nullptr) continue;
    require(symbol.start <= address, "a symbol behind its address");
    support::demangle(symbol.name);
  }
  for (const char* name : kNames) (void)table.defines(name);
}

void lines_of(const std::string& path, FuzzInput& in) {
  symbols::NativeLines lines(false);
  for (int i = 0; i < 8; ++i) {
    const auto place = lines.find(path, i < 6 ? 0x1000 + 7 * i : in.number<std::uint32_t>());
    require(place.file.size() <= (1u << 20), "a file's name as long as a file");
  }
}

void look_at_program(const std::string& path) {
  const support::ProgramInfo facts = support::probe_program(path, "/nowhere");
  (void)support::preload_obstacle(facts);
  (void)support::needed_libraries(path);
  (void)support::required_glibc_version(path);
  (void)attach::read_library(path);
}

/// The file as memory of a stopped process: what lies outside cannot be read.
void read_process(std::string_view file) {
  constexpr std::uint64_t kBase = 0x7f0000000000;
  std::uint64_t reads = 0;
  const attach::MemoryReader reader = [&](std::uint64_t address, void* to, std::size_t bytes) {
    require(++reads < 200'000, "a process read without end");
    if (address < kBase || address - kBase > file.size() || bytes > file.size() - (address - kBase))
      return false;
    std::memcpy(to, file.data() + (address - kBase), bytes);
    return true;
  };
  const auto image = attach::ElfImage::at(kBase, reader);
  if (!image) return;
  for (const char* name : kNames) (void)image->function(name);
  require(image->build_id().size() <= 65536, "a build id of any length");
}

/// As the loader has it: parts inside the block, a bias, tables anywhere.
void walk_loaded(std::string_view file) {
  ElfW(Ehdr) head;
  if (file.size() < sizeof head) return;
  std::memcpy(&head, file.data(), sizeof head);
  if (head.e_phoff > file.size() || head.e_phnum == 0 || head.e_phnum > 64 ||
      head.e_phnum > (file.size() - head.e_phoff) / sizeof(ElfW(Phdr)))
    return;
  std::vector<ElfW(Phdr)> parts(head.e_phnum);
  std::memcpy(parts.data(), file.data() + head.e_phoff, parts.size() * sizeof parts[0]);
  // The loader would not have mapped it otherwise.
  std::erase_if(parts, [&](const ElfW(Phdr) & part) {
    return part.p_type == PT_LOAD &&
           (part.p_vaddr > file.size() || part.p_memsz > file.size() - part.p_vaddr);
  });
  void* block = nullptr;
  require(::posix_memalign(&block, 4096, file.size()) == 0, "no memory");
  std::memcpy(block, file.data(), file.size());
  dl_phdr_info module{};
  module.dlpi_addr = reinterpret_cast<ElfW(Addr)>(block);
  module.dlpi_name = "fuzz";
  module.dlpi_phdr = parts.data();
  module.dlpi_phnum = static_cast<ElfW(Half)>(parts.size());
  const modules::ModuleSymbols symbols(module);
  for (const char* name : kNames) (void)symbols.find(name);
  std::free(block);
}

}  // namespace

// One byte chooses who looks, eight numbers are addresses, the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput in(data, size);
  const std::size_t who = in.pick(5);
  FuzzInput addresses(data + size - in.left(), in.left());
  in.bytes(64);
  const std::string_view file = in.rest();
  if (who == 3) return read_process(file), 0;
  if (who == 4) return walk_loaded(file), 0;
  const int fd = ::memfd_create("elf", MFD_CLOEXEC);
  require(::write(fd, file.data(), file.size()) == static_cast<ssize_t>(file.size()), "memfd");
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  if (who == 0) name_addresses(path, addresses);
  if (who == 1) lines_of(path, addresses);
  if (who == 2) look_at_program(path);
  ::close(fd);
  return 0;
}
