// SPDX-License-Identifier: Apache-2.0
//
// Writes the scripted session's trace files: write_scripted FOLDER [FORMAT,…]
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "analysis/export/export.hpp"
#include "tests/golden/tensorboard/scripted_session.hpp"

int main(int argc, char** argv) {
  using namespace gpuprof;
  if (argc < 2 || argc > 3)
    return std::fputs("usage: write_scripted FOLDER [FORMAT,…]\n", stderr), 2;
  const std::string output = std::filesystem::absolute(argv[1]);
  const std::string spool = output + ".spool";
  std::filesystem::create_directories(spool);
  auto session = test::write_script(spool, output);
  if (!session) return std::fprintf(stderr, "%s\n", session.error().message.c_str()), 1;
  if (argc == 3) {
    std::istringstream names(argv[2]);
    session.value().options.formats.clear();
    for (std::string name; std::getline(names, name, ',');)
      session.value().options.formats.push_back(name);
  }
  const auto files =
      exporter::write_window(session.value(), test::script_window(), {4000, 4100}, {});
  std::filesystem::remove_all(spool);
  if (!files) return std::fprintf(stderr, "%s\n", files.error().message.c_str()), 1;
  for (const exporter::WrittenFile& file : files.value()) std::printf("%s\n", file.path.c_str());
  return 0;
}
