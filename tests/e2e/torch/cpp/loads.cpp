// SPDX-License-Identifier: Apache-2.0
//
// Loads the training, and libtorch with it, long after main began.
//
// usage: loads LIBRARY [options of the training]
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  usleep(300'000);
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    return 3;
  }
  auto* train = reinterpret_cast<int (*)(int, char**)>(dlsym(library, "train_main"));
  return train == nullptr ? 4 : train(argc - 1, argv + 1);
}
