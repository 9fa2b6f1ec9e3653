// SPDX-License-Identifier: Apache-2.0
//
// Looks for the runtime's own words in an ELF file that does not need libcudart.
//
// Context:  tools
// Owns:     a mapping of the file, for the call
#include "tools/static_cudart.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace gpusim {
namespace {

// A runtime names its functions for tools and opens the driver by SONAME. Written with a letter in
// front, so that this program is not taken for one that has them.
constexpr const char* kRuntimeWords[] = {"-__cudaInitModule", "-libcuda.so.1"};
constexpr std::string_view kShared = "libcudart.so";

std::string_view map_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat s {};
  void* at = MAP_FAILED;
  if (file >= 0 && fstat(file, &s) == 0 && s.st_size > 0)
    at = mmap(nullptr, static_cast<std::size_t>(s.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  if (file >= 0) close(file);
  if (at == MAP_FAILED) return {};
  return {static_cast<const char*>(at), static_cast<std::size_t>(s.st_size)};
}

bool is_elf64(std::string_view image) {
  return image.size() > sizeof(Elf64_Ehdr) && std::memcmp(image.data(), ELFMAG, SELFMAG) == 0 &&
         image[EI_CLASS] == ELFCLASS64;
}

/// `word` with a zero byte on either side.
bool holds(std::string_view image, std::string_view word) {
  std::string whole(1, '\0');
  whole.append(word).push_back('\0');
  return memmem(image.data(), image.size(), whole.data(), whole.size()) != nullptr;
}

void unmap(std::string_view image) {
  if (!image.empty()) munmap(const_cast<char*>(image.data()), image.size());
}

}  // namespace

bool holds_word(const std::string& file, const std::string& word) {
  const std::string_view image = map_file(file);
  const bool found = holds(image, word);
  unmap(image);
  return found;
}

bool has_static_cudart(const std::string& file) {
  const std::string_view image = map_file(file);
  if (image.empty()) return false;
  bool found = is_elf64(image);
  for (const char* word : kRuntimeWords) found = found && holds(image, word + 1);
  // A program that needs the shared runtime has its SONAME among the dynamic strings.
  found = found && memmem(image.data(), image.size(), kShared.data(), kShared.size()) == nullptr;
  unmap(image);
  return found;
}

}  // namespace gpusim
