# SPDX-License-Identifier: Apache-2.0
"""The oracle itself: each lie told to it must be found under its own name, and only that."""

import copy
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle"))
import read_trace  # noqa: E402
import read_truth  # noqa: E402
import straggle  # noqa: E402
from compare import Comparison  # noqa: E402
from model import Call, Op, EventLog, demangle, base_api_name  # noqa: E402

SHIFT = 1_000_000_000


def kernel(corr, start, stream=13, name="k", node=0):
    return Op("kernel", start, 1000, corr, name=name, device=0, context=1, stream=stream,
              grid=(4, 1, 1), block=(128, 1, 1), graph=1 if node else 0, node=node)


def reference():
    """Twenty kernels on two streams, a graph of three, a copy, a set, a wait."""
    t = EventLog("truth")
    for i in range(20):
        t.calls[i + 1] = Call("cuLaunchKernel", 70 + i % 2, 10_000 * i, 10_000 * i + 500)
        t.ops.append(kernel(i + 1, 10_000 * i + 3000, stream=13 + i % 2, name="k%d" % i))
    for corr, name in ((30, "cuGraphLaunch"), (31, "cuMemcpyHtoDAsync"), (32, "cuMemsetD8Async"),
                       (33, "cuStreamSynchronize")):
        t.calls[corr] = Call(name, 70, 10_000 * corr, 10_000 * corr + 500)
    t.ops += [kernel(30, 303_000 + 2000 * i, name="same", node=90 + i) for i in range(3)]
    t.ops.append(Op("memcpy", 313_000, 700, 31, name="Memcpy HtoD (Pinned -> Device)", device=0,
                    context=1, stream=13, bytes=4096))
    t.ops.append(Op("memset", 323_000, 700, 32, device=0, context=1, stream=13, bytes=64))
    t.ops.append(Op("sync", 330_100, 300, 33, name="Stream Sync", context=1, stream=13))
    return t


def equal_log(shift=0, drift=0.0):
    """A log that agrees with the reference log, by a clock of its own."""
    w = copy.deepcopy(reference())
    w.name = "witness"
    for op in w.ops:
        op.start += shift + int(op.start * drift)
        w.flow_starts[op.corr] = w.calls[op.corr].tid
        w.flow_ends[op.corr] += 1
    for call in w.calls.values():
        call.start += shift + int(call.start * drift)
    return w


def found(log, fit=False, **keywords):
    return dict(Comparison(reference(), log, fit, **keywords).found.counts)


def at(log, corr):
    return next(op for op in log.ops if op.corr == corr)


class Oracle(unittest.TestCase):
    def test_finds_nothing_where_nothing_is_wrong(self):
        self.assertEqual(found(equal_log()), {})

    def test_fits_another_clock_and_its_drift(self):
        self.assertEqual(found(equal_log(SHIFT, 0.0001), fit=True), {})
        self.assertIn("wrong start", found(equal_log(SHIFT)))

    def test_finds_lost_and_invented_records(self):
        w = equal_log()
        w.ops.remove(at(w, 5))
        self.assertEqual(found(w), {"missing kernel": 1})
        w = equal_log()
        w.ops.append(kernel(5, 43_500))
        self.assertEqual(found(w)["extra kernel"], 1)

    def test_finds_a_lost_node_of_a_graph(self):
        w = equal_log()
        w.ops.remove([op for op in w.ops if op.corr == 30][1])
        self.assertEqual(found(w)["missing kernel"], 1)

    def test_finds_each_wrong_field(self):
        for field, lie in (("name", "other"), ("grid", (1, 4, 1)), ("block", (64, 1, 1)),
                           ("stream", 77), ("device", 1), ("context", 9), ("node", 5)):
            w = equal_log()
            setattr(at(w, 7), field, lie)
            self.assertEqual(found(w).get("wrong " + field), 1, field)
        w = equal_log()
        at(w, 31).bytes = 4097
        at(w, 31).name = "Memcpy HtoD (Pageable -> Device)"
        self.assertEqual(found(w), {"wrong bytes": 1, "wrong name": 1})
        w = equal_log()
        at(w, 7).grid = None
        self.assertEqual(found(w), {"no grid": 1})

    def test_allows_a_handle_that_was_used_again(self):
        w = equal_log()
        for corr, call in w.calls.items():
            call.tid = 555_000
        w.flow_starts = {corr: 555_000 for corr in w.calls}
        self.assertIn("wrong thread", found(w, handles=True))
        t = reference()
        for corr, call in t.calls.items():
            call.tid = 70 if corr <= 10 else 71
        self.assertEqual(dict(Comparison(t, w, False, handles=True).found.counts), {})

    def test_finds_durations_off_by_two_nanoseconds(self):
        w = equal_log()
        at(w, 9).dur += 1
        self.assertEqual(found(w), {})
        at(w, 9).dur += 1
        self.assertEqual(found(w), {"wrong duration": 1})

    def test_allows_a_fitted_clock_its_own_rate(self):
        t, w = reference(), equal_log(SHIFT)
        at(t, 9).dur, at(w, 9).dur = 200_000, 200_002
        self.assertEqual(dict(Comparison(t, w, True).found.counts), {})
        at(w, 9).dur += 1
        self.assertEqual(dict(Comparison(t, w, True).found.counts), {"wrong duration": 1})

    def test_finds_a_swap_inside_a_stream(self):
        w = equal_log()
        at(w, 9).start, at(w, 11).start = at(w, 11).start, at(w, 9).start
        self.assertEqual(found(w)["wrong order"], 1)

    def test_finds_broken_links(self):
        w = equal_log()
        del w.calls[4]
        self.assertEqual(found(w), {"no launch": 1})
        w = equal_log()
        w.calls[4].tid = 99
        self.assertEqual(set(found(w)), {"wrong thread", "no arrow", "wrong thread of call"})
        w = equal_log()
        w.flow_ends[4] = 0
        self.assertEqual(found(w), {"arrow without end": 1})

    def test_knows_a_thread_by_its_handle_only_if_it_is_one_thread(self):
        w = equal_log()
        for call in w.calls.values():
            call.tid = {70: 70, 71: 555_000}[call.tid]
        w.flow_starts = {corr: call.tid for corr, call in w.calls.items()}
        self.assertIn("wrong thread", found(w))
        self.assertEqual(found(w, handles=True), {})
        w.calls[1].tid = w.flow_starts[1] = 555_000
        self.assertEqual(set(found(w, handles=True)), {"wrong thread", "wrong thread of call"})

    def test_a_recorded_call_holds_the_call_and_no_other(self):
        for early, late, right in ((0, 0, True), (9_000, 9_000, True), (-6_000, 0, False), (0, -6_000, False),
                                   (30_000, 0, False), (0, 30_000, False)):
            w = equal_log()
            w.calls[6].start -= early
            w.calls[6].end += late
            self.assertEqual(found(w), {} if right else {"wrong start of call": 1}, (early, late))

    def test_finds_calls_nobody_made(self):
        w = equal_log()
        w.calls[500] = Call("cuLaunchKernel", 70, 1, 2)
        w.calls[6].name = "cuLaunchKernelEx"
        self.assertEqual(found(w), {"extra call": 1, "wrong call": 1})

    def test_cuts_the_reference_log_to_a_session(self):
        part = read_truth.within(reference(), 100_000, 315_000)
        self.assertEqual(sorted(part.calls), list(range(11, 21)) + [30, 31])
        self.assertEqual(part.count("kernel"), 13)

    def test_knows_what_lies_outside_of_a_session(self):
        whole = reference()
        part = read_truth.within(whole, 100_000, 400_000)
        part_comparison = Comparison(part, equal_log(), False, foreign=set(whole.calls) - set(part.calls))
        self.assertEqual(dict(part_comparison.found.counts), {"outside of its session: kernel": 10})

    def test_reads_names_alike(self):
        self.assertEqual(demangle("_Z3addPfi"), "add(float*, int)")
        self.assertEqual(demangle("plain_kernel"), "plain_kernel")
        self.assertEqual(base_api_name("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync")


TRUTH_LOG = (
    '{"t":"header","simulated":true,"pid":7,"monotonic_ns":10,"realtime_ns":20,"devices":2}\n'
    '{"t":"op","kind":"kernel","start":5000,"end":6500,"device":1,"context":2,"stream":13,"corr":4,'
    '"graph":0,"graph_node":0,"name":"_Z3addPfi","grid":[8,1,1],"block":[64,1,1]}\n'
    '{"t":"op","kind":"memcpy_peer","start":7000,"end":7100,"device":0,"context":1,"stream":13,'
    '"corr":5,"graph":0,"graph_node":0,"bytes":9,"copy_kind":10,"src_kind":3,"dst_kind":3}\n'
    '{"t":"op","kind":"host_function","start":1,"end":2,"device":0,"context":1,"stream":13,"corr":9,'
    '"graph":0,"graph_node":0}\n'
    '{"t":"sync","kind":4,"start":8000,"end":9000,"context":1,"stream":4294967295,"corr":6,"tid":7}\n'
    '{"t":"api","domain":"driver","name":"cuLaunchKernel_ptsz","cbid":1,"corr":4,"tid":7,'
    '"start":4000,"end":4500,"result":0}\n' + "\0" * 40)
EVENTS = [
    {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "x"}},
    {"ph": "X", "cat": "kernel", "name": "add(float*, int)", "pid": 1, "tid": 13, "ts": 1005.0,
     "dur": 1.5, "args": {"device": 1, "context": 2, "stream": 13, "correlation": 4,
                          "grid": [8, 1, 1], "block": [64, 1, 1]}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy PtoP (Device -> Device)", "pid": 0, "tid": 13,
     "ts": 1007.0, "dur": 0.1, "args": {"inDevice": 0, "stream": 13, "correlation": 5, "bytes": 9}},
    {"ph": "X", "cat": "runtime", "name": "cuLaunchKernel", "pid": 7, "tid": 7, "ts": 1004.0,
     "dur": 0.5, "args": {"correlation": 4, "External id": 3}},
    {"ph": "X", "cat": "inner_call", "name": "cuLaunchKernelEx", "pid": 7, "tid": 7, "ts": 1004.1,
     "dur": 0.2, "args": {}},
    {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 4, "pid": 7, "tid": 7, "ts": 1004.0},
    {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 4, "pid": 1, "tid": 13, "ts": 1005.0}]


class Readers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def written(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_read_the_log_of_a_killed_process(self):
        t = read_truth.read(self.written("truth", TRUTH_LOG))
        self.assertEqual([(op.kind, op.name) for op in t.ops],
                         [("kernel", "add(float*, int)"), ("memcpy", "Memcpy PtoP (Device -> Device)"),
                          ("sync", "Context Sync")])
        self.assertEqual((t.ops[2].stream, t.calls[4].name, t.header["pid"]),
                         (-1, "cuLaunchKernel", 7))

    def test_puts_recorded_spans_on_the_clock_of_the_log(self):
        spans = []
        for number, start in enumerate((1_000_000, 6_000_000)):
            head = {"gpuprof": {"window": {"start_ns": start}}, "traceEvents": EVENTS[1:]}
            spans.append(self.written("span%d" % number, json.dumps(head)))
        w = read_trace.read_gpuprof(spans)
        self.assertEqual([op.start for op in w.ops if op.kind == "kernel"], [1_005_000, 6_005_000])
        self.assertEqual(w.duplicate_calls, [4])

    def test_read_pytorchs_trace(self):
        w = read_trace.read_kineto(self.written(
            "kineto", json.dumps({"baseTimeNanoseconds": 1000, "traceEvents": EVENTS})))
        k = w.ops[0]
        self.assertEqual((k.start, k.dur, k.grid, k.stream), (1_006_000, 1500, (8, 1, 1), 13))
        self.assertEqual((w.ops[1].device, w.ops[1].bytes), (0, 9))
        self.assertEqual((w.calls[4].tid, w.flow_starts[4], w.flow_ends[4]), (7, 7, 1))
        self.assertEqual(len(w.calls), 1)


class Straggler(unittest.TestCase):
    def test_computes_how_much_longer_the_others_wait(self):
        late = [5_000] * 60
        waiting = [20_005_000 + 1000 * (i % 3) for i in range(60)]
        self.assertAlmostEqual(straggle.surplus_ms([waiting, late], late_rank=1)[0], 20.001, 2)


if __name__ == "__main__":
    unittest.main(verbosity=1)
