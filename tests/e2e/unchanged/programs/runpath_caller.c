/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
int open_plugin(void) {
  void* handle = dlopen("libgpuprof_test_plugin.so", RTLD_NOW | RTLD_LOCAL);
  if (handle == 0) return -1;
  int (*answer)(void) = (int (*)(void))dlsym(handle, "plugin_answer");
  return answer ? answer() : -2;
}
