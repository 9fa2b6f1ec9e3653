// SPDX-License-Identifier: Apache-2.0
//
// A library whose constructor opens others: those that TORTURE_NESTED names, between colons.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void begin(void) {
  const char* named = getenv("TORTURE_NESTED");
  char *all = strdup(named != NULL ? named : ""), *rest = all;
  for (char* path; (path = strsep(&rest, ":")) != NULL;)
    if (*path != '\0' && dlopen(path, RTLD_NOW | RTLD_GLOBAL) == NULL)
      printf("nested: %s\n", dlerror());
  free(all);
}
