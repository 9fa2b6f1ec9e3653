/* SPDX-License-Identifier: Apache-2.0
 *
 * Empty on purpose: gives the shared library a C source, so that it is linked without libstdc++.
 */
typedef int gpuprof_inject_library;
