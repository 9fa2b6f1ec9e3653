// SPDX-License-Identifier: Apache-2.0
//
// A library that cannot be loaded: it needs a symbol that nobody has. By its names it is an
// interpreter, as far as it comes.
int torture_symbol_that_nobody_has(void);
const unsigned long Py_Version = 0x030b07f0;
unsigned long _PyRuntime[20000] = {0, 0, 0, 0, 0, 16};
unsigned long PyCode_Type[64] = {1};
void* PyGILState_GetThisThreadState(void) {
  static int count;
  count += torture_symbol_that_nobody_has();
  return &count;
}
