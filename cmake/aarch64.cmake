# SPDX-License-Identifier: Apache-2.0
#
# Toolchain file of the preset aarch64: the compiler of `scripts/setup --aarch64`.
# What is built so has been compiled and linked, never run.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
# By version first: Ubuntu 22.04 has GCC 12 beside its 11.
find_program(CMAKE_C_COMPILER NAMES aarch64-linux-gnu-gcc-14 aarch64-linux-gnu-gcc-13
             aarch64-linux-gnu-gcc-12 aarch64-linux-gnu-gcc REQUIRED)
find_program(CMAKE_CXX_COMPILER NAMES aarch64-linux-gnu-g++-14 aarch64-linux-gnu-g++-13
             aarch64-linux-gnu-g++-12 aarch64-linux-gnu-g++ REQUIRED)
set(CMAKE_ASM_COMPILER "${CMAKE_C_COMPILER}")
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
