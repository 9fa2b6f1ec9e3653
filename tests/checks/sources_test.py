#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants a violation for each check that reads sources and expects it to be found."""

import shutil
import subprocess
import unittest

from check_case import ROOT, SPDX, CheckCase


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
        self.write("recording/messages/loss.hpp", SPDX)
        self.plant("recording/model/loss.cpp", "recording/messages/loss.hpp")
        self.plant("analysis/export/losses.cpp", "recording/messages/loss.hpp")
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
            "inject/agent/s.cpp": "recording/messages/loss.hpp",
            "recording/spool/t.cpp": "daemon/messages/session.hpp",
            "recording/messages/u.hpp": "recording/model/track.hpp",
        }
        for name in ("analysis/export/writer.hpp", "recording/messages/loss.hpp", "daemon/messages/session.hpp"):
            self.write(name, "")
        for name, include in planted.items():
            with self.subTest(name):
                self.plant(name, include)
                self.assert_finds(f"{name}:2:", "check_layers", "--root", self.root)
                (self.root / name).unlink()

    def test_finds_headers_from_outside_in_the_wrong_component(self):
        for name, include in {"inject/hot/a.cpp": "cupti.h", "recording/model/b.cpp": "cupti_target.h",
                              "inject/agent/c.cpp": "boost/version.hpp",
                              "include/gpuprof/wire/d.hpp": "fmt/core.h"}.items():
            with self.subTest(name):
                self.plant(name, include, "<", ">")
                self.assert_finds(include, "check_layers", "--root", self.root)
                (self.root / name).unlink()

    def test_finds_calls_of_the_loader_where_none_is_allowed(self):
        for call in ("dl_iterate_phdr(look, &found);", "void* handle = dlopen(path, RTLD_NOLOAD);",
                     "f = dlsym(RTLD_DEFAULT, name);", "if (::dladdr(at, &info) != 0)",
                     "dlclose (handle);", "for (auto* map = _r_debug.r_map;;)"):
            with self.subTest(call):
                self.write("inject/python/runtime/find_runtime.cpp", f"{SPDX}void f() {{ {call} }}\n")
                self.assert_finds("inject/python/runtime/find_runtime.cpp:2:", "check_layers", "--root", self.root)
                self.write("inject/python/runtime/find_runtime.cpp", f"{SPDX}// as {call}\n")
                self.write("inject/modules/module_list.cpp", f"{SPDX}void f() {{ {call} }}\n")
                self.assert_passes("check_layers", "--root", self.root)

    def test_finds_an_unknown_component(self):
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

    def test_finds_a_name_of_the_glossary_that_is_nowhere(self):
        row = "| **drain** | To read all. | {} | Perfetto | |\n"
        self.write("daemon/ring.hpp", "struct RingReader { void drain(); };\n")
        self.write("docs/glossary.md", row.format("`RingReader::drain()`, `daemon/ring.*`"))
        self.assert_passes("check_words", "--root", self.root)
        for gone in ("`RingReader::empty()`", "`daemon/drain.hpp`", "`Drainer`"):
            with self.subTest(gone):
                self.write("docs/glossary.md", row.format(gone))
                self.assert_finds(f"docs/glossary.md:1: names {gone}", "check_words", "--root", self.root)

    def test_refuses_a_list_that_it_cannot_read(self):
        words = self.words(("everywhere", "word", "another"))
        status, output = self.check("check_words", "--root", self.root, "--words", words)
        self.assertNotEqual(status, 0)
        self.assertIn("words.txt:1:", output)


class Messages(CheckCase):
    def table(self, topic, *constants, part="cli", namespace=None):
        self.write(f"{part}/messages/{topic}.hpp", SPDX + f"namespace gpuprof::messages::{namespace or topic} {{\n" + "".join(constants) + "}\n")

    def message(self, name, text):
        return f'inline constexpr char {name}[] =\n    "{text}";\n'

    def use(self, *names):
        self.write("cli/a.cpp", SPDX + "".join(f"auto x = messages::{name};\n" for name in names))

    def test_passes_tables_and_lists_them(self):
        self.table("run", self.message("kNoFile", 'cannot open {}: {}; \\"sudo\\" "\n    "may help'), self.message("kHelp", "Runs a program."))
        self.use("run::kNoFile", "run::kHelp")
        self.assert_passes("check_messages", "--root", self.root)
        status, output = self.check("check_messages", "--root", self.root, "--list")
        self.assertEqual(status, 0)
        self.assertIn('cli/messages/run.hpp:3\tkNoFile\tcannot open {}: {}; \\"sudo\\" may help\n', output)

    def test_finds_two_tables_of_one_name(self):
        self.table("run")
        self.table("run", part="daemon")
        self.assert_finds("cli/messages/run.hpp has that name too", "check_messages", "--root", self.root)

    def test_finds_another_namespace(self):
        self.table("run", namespace="attach")
        self.assert_finds("its namespace is not gpuprof::messages::run", "check_messages", "--root", self.root)

    def test_finds_a_message_that_nothing_uses(self):
        self.table("run", self.message("kNoFile", "cannot open {}: {}"), self.message("kOther", "x"))
        self.use("run::kNoFile", "attach::kOther")
        self.assert_finds("cli/messages/run.hpp:5: kOther: nothing uses it", "check_messages", "--root", self.root)

    def test_finds_a_text_that_another_table_has(self):
        self.table("run", self.message("kNoFile", "cannot open {}: {}; try again"), self.message("kWindow", "window {}"))
        self.table("attach", self.message("kClosed", "cannot open {}: {}; try again"), self.message("kPart", "window {}"))
        self.use("run::kNoFile", "run::kWindow", "attach::kClosed", "attach::kPart")
        self.assert_finds("run.hpp:3: kNoFile: cli/messages/attach.hpp:3: kClosed has the same text", "check_messages", "--root", self.root)
        status, output = self.check("check_messages", "--root", self.root)
        self.assertNotIn("window", output)

    def test_finds_texts_against_the_rules(self):
        for text, expected in {"cannot open {}.": "ends as a sentence", "our file is gone": "'our': name who does it"}.items():
            with self.subTest(text):
                self.table("run", self.message("kNoFile", text))
                self.use("run::kNoFile")
                self.assert_finds(expected, "check_messages", "--root", self.root)

    def test_finds_a_constant_of_another_form(self):
        self.table("run", "constexpr char kNoFile[] = PREFIX;\n")
        self.assert_finds("holds a constant that is not", "check_messages", "--root", self.root)


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

    def test_passes_order_lower_limits_and_stated_reasons(self):
        self.plant(["begin = time.monotonic()", "seconds = time.monotonic() - begin",
                    "checks.expect(seconds >= 2, 'it was waited for')", "checks.in_time(seconds < 5, 'soon')",
                    "# clock: one and the same clock, the order", "checks.expect(begin < time.monotonic(), 'later')",
                    "live.wait_for(lambda: True, 60)"])
        self.assert_passes("check_timing", "--root", self.root)

    def test_finds_a_check_by_the_clock(self):
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
