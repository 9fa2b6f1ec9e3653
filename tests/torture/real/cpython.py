# SPDX-License-Identifier: Apache-2.0
"""The regression tests of CPython, by `python -m test -j1`: one process for each module."""

import glob
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

from modes import Job
from program import Program, clean_environment

# What looks at processes, threads, signals, descriptors, clocks, limits, memory and the interpreter itself.
QUICK = """test_atexit test_exceptions test_faulthandler test_fork1 test_gc test_generators test_mmap test_os test_poll
test_posix test_resource test_select test_signal test_sys test_sys_setprofile test_thread test_threadsignals
test_tracemalloc test_wait3""".split()
# And what does most with them, with the slower ones.
STANDARD = QUICK + """test__locale test_array test_asyncgen test_asyncio test_audit test_base64 test_bdb test_bigmem test_builtin test_capi
test_cmd test_cmd_line test_cmd_line_script test_code test_codecs test_collections test_compile test_complex test_concurrent_futures
test_contextlib test_coroutines test_cprofile test_csv test_ctypes test_datetime test_dbm test_decimal test_deque test_descr test_dict
test_dis test_embed test_ensurepip test_epoll test_eventfd test_eintr test_enumerate test_fcntl test_file test_fileio test_float
test_frame test_ftplib test_functools test_getpass test_glob test_grp test_gzip test_hash test_hashlib test_heapq test_httpservers
test_imp test_import test_importlib test_inspect test_int test_io test_ioctl test_iter test_itertools test_json test_kqueue test_largefile
test_launcher test_list test_logging test_mailbox test_marshal test_math test_memoryview test_monitoring
test_multiprocessing_fork test_multiprocessing_forkserver test_multiprocessing_main_handling test_multiprocessing_spawn
test_openpty test_pathlib test_perf_profiler test_peg_generator test_pickle test_pipes test_pkgutil test_platform test_popen
test_poplib test_profile test_pty test_pwd test_pyexpat test_queue test_random test_re test_readline test_regrtest
test_repl test_runpy test_sched test_selectors test_set test_shelve test_shutil test_site test_smtplib test_socket test_socketserver
test_sqlite test_sqlite3 test_ssl test_stat test_statistics test_str test_struct test_subprocess test_support test_sys_settrace
test_sysconfig test_syslog test_tarfile test_tempfile test_threadedtempfile test_threading test_threading_local test_time
test_timeout test_trace test_traceback test_type_cache test_types test_unicode test_unittest test_urllib2_localnet test_uuid test_venv
test_wait4 test_warnings test_weakref test_webbrowser test_wsgiref test_xmlrpc test_zipfile test_zipimport test_zlib test_zoneinfo""".split()

FINISHED = re.compile(r"\[ *\d+/\d+(?:/\d+)?\] (test[\w.]+)(?: (.*))?$", re.M)
MODULE_OF = re.compile(r"(?:__main__|test)\.(test_\w+)")
WORDS = (("crashed", "crashed"), ("timed out", "timed out"), ("resource denied", "skipped"), ("skipped", "skipped"),
         ("env changed", "env changed"), ("altered", "env changed"), ("worker", "crashed"), ("failed", "failed"))


def interpreters():
    """[(name, path)]: the distribution's with its test package, and those of pyenv with theirs."""
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    found = [("cpython-" + os.path.basename(path)[6:] + "-system", path)
             for path in sorted(glob.glob("/usr/bin/python3.[0-9]*")) if re.fullmatch(r"python3\.\d+", os.path.basename(path))]
    for path in glob.glob(os.path.join(root, "versions", "3.*", "bin", "python3")):
        version = path.split(os.sep)[-3]
        if int(version.split(".")[1]) >= 8:
            found.append(("cpython-" + version, path))
    return sorted(found, key=lambda row: [int(n) for n in re.findall(r"\d+", row[0])])


class CPython(Program):
    """`amount`: quick, standard, all; or a list of modules."""

    def __init__(self, name, python, amount):
        self.name, self.python, self.amount = name, python, amount

    def version(self):
        return subprocess.run([self.python, "-c", "import sys; print(sys.version.split()[0])"], capture_output=True,
                              text=True, check=True).stdout.strip()

    def missing(self):
        done = subprocess.run([self.python, "-c", "import test.test_os, test.libregrtest, os; print(os.path.dirname(test.__file__))"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            return "no test package (Debian and Ubuntu: libpython3.N-testsuite)"
        self.folder = done.stdout.strip()
        return None

    def modules(self):
        if self.amount == "all":
            return []
        asked = QUICK if self.amount == "quick" else STANDARD if self.amount == "standard" else self.amount
        return sorted({name for name in asked if glob.glob(os.path.join(self.folder, name + "*"))})

    def job(self, work):
        os.mkdir(os.path.join(work, "t"))
        # No network, and nothing that needs a person; a module that hangs ends with a stack of its threads.
        # In a virtual machine whose host does not answer its own address, ThreadedVSOCK waits for ever.
        argv = [self.python, "-m", "test", "-j1", "--timeout", "900", "--ignore", "*ThreadedVSOCK*",
                "--junit-xml", os.path.join(work, "tests.xml"),
                *self.modules()]
        hours = 4 if self.amount == "all" else 1.5
        return Job(argv, work, clean_environment(TMPDIR=os.path.join(work, "t")), timeout_s=3600 * hours)

    def collect(self, work, outcome):
        for module, result in FINISHED.findall(outcome.output):
            result = re.sub(r" -- running:.*", "", result)
            outcome.tests[module] = next((state for word, state in WORDS if word in result), "passed")
        try:
            suites = xml.parse(os.path.join(work, "tests.xml"))
        except (OSError, xml.ParseError) as error:
            outcome.tests["tests.xml"] = f"failed: {error}"
            return
        states = {}
        for case in suites.iter("testcase"):
            kinds = {child.tag for child in case}
            state = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
            # A name that is there several times (subtests, inherited cases) has the worst of its states.
            worst = ("failed", "skipped", "passed")
            states[case.get("name")] = min(state, states.get(case.get("name"), state), key=worst.index)
        outcome.tests.update(states)

    def narrowed(self, names):
        found = {match[1] for match in map(MODULE_OF.match, ["test." + n if n.startswith("test_") else n for n in names])
                 if match}
        found = sorted(name for name in found if glob.glob(os.path.join(self.folder, name + "*")))
        if not found:
            return None
        less = CPython(self.name, self.python, found)
        less.folder = self.folder
        return less


if __name__ == "__main__":
    sys.exit("this file is used by real_programs.py")
