// SPDX-License-Identifier: Apache-2.0
//
// Stands in for libFuzzer: every file of a folder, then changed copies of each (bits, numbers,
// pieces, ends), which its name and the seed decide, whatever lies beside it.
//
//   usage: PROGRAM [--mutations N] [--seed N] FOLDER...
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
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);

namespace {

constexpr int kMutations = 2000;

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

struct Wanted {
  int mutations = kMutations;  // of each file, where nothing else is said
  int seed = 1;
  int first_folder = 1;  // among the arguments
};

Wanted wanted_of(int argc, char** argv) {
  Wanted wanted;
  for (; wanted.first_folder + 1 < argc; wanted.first_folder += 2) {
    const std::string_view option = argv[wanted.first_folder];
    if (option != "--mutations" && option != "--seed") break;
    (option == "--seed" ? wanted.seed : wanted.mutations) =
        std::atoi(argv[wanted.first_folder + 1]);
  }
  return wanted;
}

void replay(const std::filesystem::path& path, const Wanted& wanted) {
  const std::vector<std::uint8_t> input = read(path);
  LLVMFuzzerTestOneInput(input.data(), input.size());
  std::string name = path.filename().string();
  name += std::to_string(wanted.seed);
  std::seed_seq seeds(name.begin(), name.end());
  std::mt19937 random(seeds);
  for (int n = 0; n < wanted.mutations; ++n) mutate(input, random);
}

}  // namespace

int main(int argc, char** argv) {
  const Wanted wanted = wanted_of(argc, argv);
  int files = 0;
  for (int i = wanted.first_folder; i < argc; ++i)
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      replay(entry.path(), wanted);
      ++files;
    }
  std::printf("replayed %d files, %d mutations each, seed %d\n", files, wanted.mutations,
              wanted.seed);
  return files == 0 ? 1 : 0;
}
