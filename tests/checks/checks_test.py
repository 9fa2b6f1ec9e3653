#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants a violation for each check of scripts/ and expects it to be found."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"


class CheckCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-checks-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def check(self, name, *arguments):
        done = subprocess.run([sys.executable, ROOT / "scripts" / name, *map(str, arguments)],
                              text=True, capture_output=True)
        return done.returncode, done.stdout + done.stderr

    def assert_passes(self, name, *arguments):
        status, said = self.check(name, *arguments)
        self.assertEqual(status, 0, said)

    def assert_finds(self, expected, name, *arguments):
        status, said = self.check(name, *arguments)
        self.assertEqual(status, 1, said)
        self.assertIn(expected, said)

    def library(self, source, *options, name="libplanted.so", compiler="CC"):
        path = self.write("planted.c" if compiler == "CC" else "planted.cpp", source)
        command = os.environ.get(compiler, "cc" if compiler == "CC" else "c++")
        target = self.root / name
        subprocess.run([command, "-shared", "-fPIC", "-O1", *options, "-o", target, path],
                       check=True, capture_output=True)
        return target


class Layers(CheckCase):
    def plant(self, name, include, opened='"', closed='"'):
        self.write(name, f"{SPDX}#include {opened}{include}{closed}\n")

    def test_passes_what_is_drawn(self):
        self.write("include/gpuprof/wire/ring_buffer.hpp", '#include "gpuprof/base/clock.hpp"\n')
        self.write("include/gpuprof/base/clock.hpp", "")
        self.plant("inject/hot/recorder.cpp", "gpuprof/wire/ring_buffer.hpp")
        self.plant("inject/cupti/library/api.cpp", "cupti.h", "<", ">")
        self.plant("inject/cupti/launch.cpp", "inject/sample/unwind/launch_stack.hpp")
        self.plant("daemon/session/session.cpp", "daemon/ingest/ingest.hpp")
        self.plant("analysis/export/writer.cpp", "recording/spool/spool.hpp")
        self.plant("analysis/export/tables/writer.cpp", "analysis/export/resolve/event_resolver.hpp")
        self.plant("analysis/export/registry.cpp", "analysis/export/tables/writer.hpp")
        self.plant("cli/target.cpp", "gpuprof/wire/messages.hpp")
        self.plant("tests/unit/x_test.cpp", "inject/hot/recorder.hpp")
        self.assert_passes("check_layers", "--root", self.root)

    def test_finds_what_is_not_drawn(self):
        planted = {
            "inject/hot/a.cpp": "recording/model/track.hpp",
            "inject/agent/b.cpp": "support/io/log.hpp",
            "inject/hot/c.cpp": "inject/agent/agent.hpp",
            "inject/cupti/d.cpp": "inject/sample/signals/handler.hpp",
            "inject/nvtx/e.cpp": "inject/cupti/library/api.hpp",
            "recording/model/f.cpp": "gpuprof/wire/records.hpp",
            "analysis/export/g.cpp": "recording/spool/spool_writer.hpp",
            "daemon/ingest/h.cpp": "daemon/session/session.hpp",
            "cli/i.cpp": "gpuprof/wire/records.hpp",
            "cli/j.cpp": "analysis/export/writer.hpp",
            "support/k.cpp": "daemon/client/client.hpp",
            "recording/model/l.cpp": "tests/fakes/clock.hpp",
            "recording/model/m.cpp": "../../analysis/export/writer.hpp",
            "analysis/report/q.cpp": "daemon/session/session.hpp",
            "recording/spool/r.cpp": "analysis/export/export.hpp",
            "analysis/export/tables/n.cpp": "analysis/export/xplane/plane.hpp",
            "analysis/export/prescan/o.cpp": "analysis/export/tables/table.hpp",
            "analysis/export/stack_profiles/p.cpp": "analysis/export/writer.hpp",
        }
        self.write("analysis/export/writer.hpp", "")
        for name, include in planted.items():
            with self.subTest(name):
                self.plant(name, include)
                self.assert_finds(f"{name}:2:", "check_layers", "--root", self.root)
                (self.root / name).unlink()

    def test_finds_headers_from_outside_in_the_wrong_room(self):
        for name, include in {"inject/hot/a.cpp": "cupti.h", "recording/model/b.cpp": "cupti_target.h",
                              "inject/agent/c.cpp": "boost/version.hpp",
                              "include/gpuprof/wire/d.hpp": "fmt/core.h"}.items():
            with self.subTest(name):
                self.plant(name, include, "<", ">")
                self.assert_finds(include, "check_layers", "--root", self.root)
                (self.root / name).unlink()

    def test_finds_calls_of_the_loader_past_the_room_for_them(self):
        for call in ("dl_iterate_phdr(look, &found);", "void* handle = dlopen(path, RTLD_NOLOAD);",
                     "f = dlsym(RTLD_DEFAULT, name);", "if (::dladdr(at, &info) != 0)",
                     "dlclose (handle);", "for (auto* map = _r_debug.r_map;;)"):
            with self.subTest(call):
                self.write("inject/python/runtime/find_runtime.cpp", f"{SPDX}void f() {{ {call} }}\n")
                self.assert_finds("inject/python/runtime/find_runtime.cpp:2:", "check_layers", "--root", self.root)
                self.write("inject/python/runtime/find_runtime.cpp", f"{SPDX}// as {call}\n")
                self.write("inject/modules/module_list.cpp", f"{SPDX}void f() {{ {call} }}\n")
                self.assert_passes("check_layers", "--root", self.root)

    def test_finds_an_unknown_room(self):
        self.plant("daemon/attic/a.cpp", "cstdint", "<", ">")
        self.assert_finds("daemon/attic/a.cpp", "check_layers", "--root", self.root)


class Words(CheckCase):
    def words(self, *rows):
        return self.write("words.txt", "".join("\t".join(row) + "\n" for row in rows))

    def test_passes_the_terms_of_the_glossary(self):
        self.write("inject/hot/ring.cpp", f"{SPDX}// A ring buffer of the thread.\n")
        self.assert_passes("check_words", "--root", self.root)

    def test_finds_retired_words_in_names_comments_messages_and_pages(self):
        for name, text in {"inject/hot/lane.cpp": SPDX, "inject/hot/a.cpp": "// its lane\n", "cli/b.cpp": 'error("no lane");\n',
                           "docs/c.md": "The lane is full.\n", "tests/d.py": "lane = 1\n"}.items():
            with self.subTest(name):
                self.write(name, text)
                self.assert_finds(f"{name}:", "check_words", "--root", self.root)
                (self.root / name).unlink()

    def test_keeps_to_the_kind_of_file_and_to_exceptions(self):
        words = self.words(("code", r"\bstory\b", "step thread"), ("all", r"\bdoor\b", "control socket"), ("allow", "cli/*", r"\.door"))
        self.write("docs/a.md", "a story\n")
        self.write("cli/b.cpp", 'suffix = ".door";\n')
        self.assert_passes("check_words", "--root", self.root, "--words", words)
        self.write("cli/b.cpp", "int door;\n")
        self.assert_finds("cli/b.cpp:1:", "check_words", "--root", self.root, "--words", words)

    def test_refuses_a_list_that_it_cannot_read(self):
        words = self.words(("everywhere", "word", "another"))
        status, output = self.check("check_words", "--root", self.root, "--words", words)
        self.assertNotEqual(status, 0)
        self.assertIn("words.txt:1:", output)


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
        status, said = self.check("check_hot_symbols", *arguments, "--allow", allow)
        self.assertEqual(status, 1, said)
        self.assertNotIn("a.cpp", said)
        self.assertIn("b.cpp", said)

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
        status, said = self.check("check_tls", "--library", good)
        self.assertEqual(status, 0, said)
        self.assertIn("another processor", said)
        self.assert_passes("check_needs", "--library", good)


class Format(CheckCase):
    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / ".clang-format", self.root)

    def test_passes_a_good_file(self):
        self.write("cli/a.cpp", f"{SPDX}int f() {{ return 1; }}\n")
        self.assert_passes("check_format", "--root", self.root)

    def test_finds_a_missing_licence_line(self):
        self.write("cli/a.cpp", "int f() { return 1; }\n")
        self.assert_finds("cli/a.cpp: no SPDX", "check_format", "--root", self.root)

    def test_finds_a_long_file(self):
        self.write("cli/a.cpp", SPDX + "int f();\n" * 500)
        self.assert_finds("501 lines", "check_format", "--root", self.root)

    @unittest.skipUnless(shutil.which("clang-format-14"), "needs clang-format 14")
    def test_finds_wrong_layout(self):
        self.write("cli/a.cpp", f"{SPDX}int f( ){{return 1;}}\n")
        self.assert_finds("cli/a.cpp: layout differs", "check_format", "--root", self.root)


class Links(CheckCase):
    def test_finds_a_missing_file_and_heading(self):
        self.write("docs/there.md", "# A heading, here\n")
        self.write("README.md", "[a](docs/there.md) [b](docs/there.md#a-heading-here)\n")
        self.assert_passes("check_links", "--root", self.root)
        self.write("docs/a.md", "[a](gone.md)\n")
        self.assert_finds("gone.md does not exist", "check_links", "--root", self.root)
        self.write("docs/a.md", "[a](there.md#nowhere)\n")
        self.assert_finds("names no heading", "check_links", "--root", self.root)
        self.write("docs/a.md", "`e2e_there`\n")
        self.assert_finds("there is no test e2e_there", "check_links", "--root", self.root)
        self.write("tests/CMakeLists.txt", "gpuprof_e2e_test(e2e_there there_test.py)\n")
        self.assert_passes("check_links", "--root", self.root)
        self.write("docs/a.md", "`fuzz: gone`\n")
        self.assert_finds("there is no fuzz target gone", "check_links", "--root", self.root)


class Timing(CheckCase):
    def plant(self, body, name="tests/e2e/room/room_test.py"):
        self.write(name, "import time\n\n\ndef case(checks):\n" + "".join("    %s\n" % line for line in body))

    def test_passes_order_at_least_and_what_is_said_of_time(self):
        self.plant(["begin = time.monotonic()", "seconds = time.monotonic() - begin",
                    "checks.expect(seconds >= 2, 'it was waited for')", "checks.in_time(seconds < 5, 'soon')",
                    "# clock: one and the same clock, the order", "checks.expect(begin < time.monotonic(), 'later')",
                    "live.wait_for(lambda: True, 60)"])
        self.assert_passes("check_timing", "--root", self.root)

    def test_finds_a_judgement_by_the_clock(self):
        for judged in ("checks.expect(time.time() - begin < 5, 'soon')", "checks.expect(2 <= seconds < 5, 'about')",
                       "checks.expect(5 > seconds, 'soon')", "assert seconds < 5", "checks.equal(seconds, 5, 'so long')",
                       "checks.expect(min(rows) < 5, 'soon once')"):
            self.plant(["rows, begin = [], time.time()", "seconds = time.time() - begin", "rows.append(seconds)", judged])
            self.assert_finds("room_test.py:8: judges by the clock", "check_timing", "--root", self.root)

    def test_finds_a_wait_without_patience(self):
        for waits in ("live.wait_for(lambda: True, 20)", "process.communicate(timeout=30)", "end = time.time() + 5",
                      "subprocess.run(['true'], timeout=10)"):
            self.plant([waits])
            self.assert_finds("at most: a busy machine may take 60", "check_timing", "--root", self.root)
        self.write("tests/e2e/lib/more.py", "def wait_for(what, seconds=20):\n    pass\n")
        self.assert_finds("more.py:1: waits 20 s", "check_timing", "--root", self.root)

    def test_leaves_the_programs_of_tests_alone_and_reads_unit_tests(self):
        self.plant(["assert time.time() < 5"], "tests/e2e/room/programs/train.py")
        self.assert_passes("check_timing", "--root", self.root)
        self.write("tests/unit/a/a_test.cpp", "EXPECT_LT(base::mono_ns() - begin, 1000);\n")
        self.assert_finds("a_test.cpp:1: judges by the clock", "check_timing", "--root", self.root)
        self.write("tests/unit/a/a_test.cpp", "// clock: the order\nEXPECT_LT(begin, base::mono_ns());\n")
        self.assert_passes("check_timing", "--root", self.root)


if __name__ == "__main__":
    unittest.main()
