// SPDX-License-Identifier: Apache-2.0
//
// Stands in for libFuzzer: every file of a folder, then changed copies of each (bits, numbers,
// pieces, ends), from a fixed seed.
//
//   usage: PROGRAM [--mutations N] FOLDER...
//
// Context:  tests
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

/// Numbers at which lengths and offsets go wrong.
void put_number(std::vector<std::uint8_t>& input, std::mt19937& random) {
  constexpr std::uint64_t kNumbers[] = {0,          1,          0x7f,       0x80,
                                        0xff,       0x7fff,     0xffff,     0x7fffffff,
                                        0xffffffff, 1ull << 62, 1ull << 63, ~0ull};
  const std::uint64_t value = kNumbers[random() % std::size(kNumbers)];
  const std::size_t bytes = std::size_t{1} << random() % 4;
  if (input.size() < bytes) return;
  std::memcpy(input.data() + random() % (input.size() - bytes + 1), &value, bytes);
}

/// A piece once more, somewhere else; or gone.
void move_piece(std::vector<std::uint8_t>& input, std::mt19937& random) {
  const auto size = static_cast<std::uint32_t>(input.size());
  const std::uint32_t from = random() % size;
  const std::uint32_t bytes = 1 + random() % std::min<std::uint32_t>(size - from, 64);
  const std::vector<std::uint8_t> piece(input.begin() + from, input.begin() + from + bytes);
  if (random() % 2 == 0)
    input.erase(input.begin() + from, input.begin() + from + bytes);
  else
    input.insert(input.begin() + random() % size, piece.begin(), piece.end());
}

void mutate(std::vector<std::uint8_t> input, std::mt19937& random) {
  const std::uint32_t flips = random() % 8;
  for (std::uint32_t i = 0; i < flips && !input.empty(); ++i)
    input[random() % input.size()] ^= static_cast<std::uint8_t>(1u << random() % 8);
  for (std::uint32_t i = random() % 3; i != 0 && !input.empty(); --i)
    random() % 2 == 0 ? put_number(input, random) : move_piece(input, random);
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
