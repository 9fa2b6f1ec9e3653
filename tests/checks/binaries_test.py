#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants a violation for each check that reads objects and libraries and expects it to be found."""

import json
import os
import shutil
import subprocess
import unittest
import unittest.mock

from check_case import CheckCase


class HotSymbols(CheckCase):
    def compile(self, sources):
        entries = []
        for name, text in sources.items():
            path = self.write(name, text)
            target = path.with_suffix(".o")
            subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-fPIC", "-c", path,
                            "-o", target], check=True, capture_output=True)
            entries.append({"directory": str(self.root), "file": str(path), "output": str(target),
                            "command": ""})
        self.write("compile_commands.json", json.dumps(entries))
        return "--root", self.root, "--build", self.root

    def test_passes_allowed_calls_and_neighbours(self):
        arguments = self.compile({
            "inject/hot/a.cpp": "#include <cstring>\nvoid near();\n"
                                "void f(char* a, char* b, long n) { near(); memcpy(a, b, n); }\n",
            "inject/sample/b.cpp": "// Context:  signal\nvoid near() {}\n",
            "inject/agent/c.cpp": "// Context:  worker\nint* g() { return new int; }\n"})
        self.assert_passes("check_hot_symbols", *arguments)

    def test_leaves_out_a_hot_file_of_another_context(self):
        arguments = self.compile({"inject/hot/a.cpp": "// Context:  boundary\n"
                                  "int* f() { return new int; }\n",
                                  "inject/hot/b.cpp": "// Context:  signal\nint x;\n"})
        self.assert_passes("check_hot_symbols", *arguments)

    def test_finds_an_allocation_in_hot(self):
        arguments = self.compile({"inject/hot/a.cpp": "int* f() { return new int; }\n"})
        self.assert_finds("operator new", "check_hot_symbols", *arguments)

    def test_an_exception_holds_for_its_file_alone(self):
        arguments = self.compile({"inject/hot/a.cpp": "int* f() { return new int; }\n",
                                  "inject/hot/b.cpp": "int* g() { return new int; }\n"})
        allow = self.write("allow", "inject/hot/a.cpp: _Znwm  # a reason\n")
        status, report = self.check("check_hot_symbols", *arguments, "--allow", allow)
        self.assertEqual(status, 1, report)
        self.assertNotIn("a.cpp", report)
        self.assertIn("b.cpp", report)

    def test_finds_a_lock_in_a_callback_file(self):
        arguments = self.compile({"inject/cupti/a.cpp":
                                  "// Context:  worker | callback\n#include <pthread.h>\n"
                                  "void f(pthread_mutex_t* m) { pthread_mutex_lock(m); }\n"})
        self.assert_finds("pthread_mutex_lock", "check_hot_symbols", *arguments)

    def test_finds_dynamic_tls_in_a_signal_file(self):
        arguments = self.compile({"inject/sample/a.cpp": "// Context:  signal\nextern thread_local "
                                  "int t;\nint f() { return t; }\n"})
        self.assert_finds("__tls_get_addr", "check_hot_symbols", *arguments)

    def test_finds_a_call_into_a_file_of_another_context(self):
        arguments = self.compile({"inject/hot/a.cpp": "void say();\nvoid f() { say(); }\n",
                                  "inject/agent/b.cpp": "// Context: worker\nvoid say() {}\n"})
        self.assert_finds("say()", "check_hot_symbols", *arguments)


class Library(CheckCase):
    def test_exports_must_equal_the_map(self):
        library = self.library("int one(void) { return 1; }\nint two(void) { return 2; }\n")
        both = self.write("both.map", "{ global: one; two; /* reasons */ local: *; };\n")
        less = self.write("less.map", "{\n  global:\n    one; # a reason\n  local: *;\n};\n")
        more = self.write("more.map", "{ global: one; two; three; local: *; };\n")
        self.assert_passes("check_exports", "--library", library, "--map", both)
        self.assert_finds("exports two", "check_exports", "--library", library, "--map", less)
        self.assert_finds("names three", "check_exports", "--library", library, "--map", more)

    def test_needs_finds_the_cpp_runtime(self):
        source = "#include <string>\nstd::string f() { return std::string(99, 'x'); }\n"
        self.assert_finds("needs libstdc++", "check_needs", "--library",
                          self.library(source, compiler="CXX"))

    def test_needs_finds_an_executable_stack(self):
        library = self.library("int f(void) { return 1; }\n", "-Wl,-z,execstack")
        self.assert_finds("executable stack", "check_needs", "--library", library)
        self.assert_passes("check_needs", "--library", self.library("int f(void) { return 1; }\n"))

    def test_needs_finds_text_relocations(self):
        source = ('int x;\n__asm__(".text\\n.globl f\\nf: movabs $x, %rax\\nret\\n");\n')
        library = self.library(source, "-Wl,-z,notext", "-Wno-error")
        self.assert_finds("TEXTREL", "check_needs", "--library", library)

    def test_needs_finds_another_library(self):
        library = self.library("#include <math.h>\ndouble f(double x) { return sin(x); }\n",
                               "-Wl,--no-as-needed", "-lm")
        self.assert_finds("needs libm.so.6", "check_needs", "--library", library)

    def test_tls_finds_a_large_block(self):
        source = "static __thread char t[4096];\nchar* f(void) { return t; }\n"
        library = self.library(source, "-ftls-model=initial-exec")
        self.assert_finds("4096 bytes", "check_tls", "--library", library)

    def test_tls_finds_the_dynamic_model(self):
        source = "__thread int t;\nint f(void) { return ++t; }\n"
        self.assert_finds("dynamic TLS", "check_tls", "--library", self.library(source))
        self.assert_passes("check_tls", "--library",
                           self.library(source, "-ftls-model=initial-exec", name="libgood.so"))

    def test_tls_finds_a_library_that_does_not_load(self):
        library = self.library("int gone(void);\nint f(void) { return gone(); }\n", "-Wl,-z,now")
        self.assert_finds("cannot be loaded", "check_tls", "--library", library)

    def test_tls_of_another_processor_is_read_but_not_loaded(self):
        compiler = shutil.which("aarch64-linux-gnu-gcc")
        if compiler is None:
            self.skipTest("no aarch64-linux-gnu-gcc here: scripts/setup --aarch64")
        with unittest.mock.patch.dict(os.environ, CC=compiler):
            source = "__thread int t;\nint f(void) { return ++t; }\n"
            self.assert_finds("dynamic TLS", "check_tls", "--library", self.library(source))
            good = self.library(source, "-ftls-model=initial-exec", name="libgood.so")
        status, report = self.check("check_tls", "--library", good)
        self.assertEqual(status, 0, report)
        self.assertIn("another processor", report)
        self.assert_passes("check_needs", "--library", good)


if __name__ == "__main__":
    unittest.main()
