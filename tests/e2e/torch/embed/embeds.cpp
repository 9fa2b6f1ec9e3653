// SPDX-License-Identifier: Apache-2.0
//
// A C++ program that has Python train, as simulations and games do. Knows nothing of profilers.
//
// usage: embeds string|file SCRIPT
//   string  the script's text, as if it stood in this program
//   file    the script's file
// Returns 7, so that a status is seen to be the program's own.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

// What is used of Python.h, so that no headers are needed.
extern "C" {
void Py_Initialize();
int Py_FinalizeEx();
int PyRun_SimpleStringFlags(const char* code, void* flags);
int PyRun_SimpleFileExFlags(std::FILE* file, const char* name, int close, void* flags);
}

namespace {

int run_string(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return PyRun_SimpleStringFlags(text.str().c_str(), nullptr);
}

int run_file(const char* path) {
  std::FILE* file = std::fopen(path, "r");
  return file == nullptr ? -1 : PyRun_SimpleFileExFlags(file, path, 1, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Py_Initialize();
  const int failed = std::strcmp(argv[1], "string") == 0 ? run_string(argv[2]) : run_file(argv[2]);
  return Py_FinalizeEx() == 0 && failed == 0 ? 7 : 1;
}
