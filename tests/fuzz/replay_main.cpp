// SPDX-License-Identifier: Apache-2.0
//
// Stands in for libFuzzer: every file of a folder, then cut and bit-flipped copies of each, from a
// fixed seed.
//
//   usage: PROGRAM [--mutations N] FOLDER...
//
// Context:  tests
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);

namespace {

constexpr int kMutations = 2000;  // of each file, where nothing else is said

std::vector<std::uint8_t> read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void mutate(std::vector<std::uint8_t> input, std::mt19937& random) {
  const std::uint32_t flips = random() % 8;
  for (std::uint32_t i = 0; i < flips && !input.empty(); ++i)
    input[random() % input.size()] ^= static_cast<std::uint8_t>(1u << random() % 8);
  if (random() % 4 == 0 && !input.empty()) input.resize(random() % input.size());
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::mt19937 random(1);
  int files = 0, mutations = kMutations, first = 1;
  if (argc > 2 && std::string_view(argv[1]) == "--mutations") {
    mutations = std::atoi(argv[2]);
    first = 3;
  }
  for (int i = first; i < argc; ++i)
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      const std::vector<std::uint8_t> input = read(entry.path());
      LLVMFuzzerTestOneInput(input.data(), input.size());
      for (int n = 0; n < mutations; ++n) mutate(input, random);
      ++files;
    }
  std::printf("replayed %d files, %d mutations each\n", files, mutations);
  return files == 0 ? 1 : 0;
}
