/* SPDX-License-Identifier: Apache-2.0
 * Loads a Python by dlopen, as programs that embed one do. usage: host LIBPYTHON SCRIPT */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** words) {
  void* library = count == 3 ? dlopen(words[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
  void (*begin)(void);
  int (*run)(const char*, void*);
  if (library == NULL) return 3;
  *(void**)&begin = dlsym(library, "Py_Initialize");
  *(void**)&run = dlsym(library, "PyRun_SimpleStringFlags");
  begin();
  return run(words[2], NULL) == 0 ? 0 : 4;
}
