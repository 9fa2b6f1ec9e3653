# SPDX-License-Identifier: Apache-2.0
"""Analyses a folder with the real HTA and prints what it found as JSON.

usage: hta_views.py FOLDER [critical-path]    (with the Python of .venvs/hta)

The critical path wants launches of another category than the installed plugin does: ask for it with
files of --format kineto only.
"""

import contextlib
import json
import os
import shutil
import sys
import tempfile


def records(frame):
    return json.loads(frame.to_json(orient="records"))


def flat(frame):
    """Records of a frame with two rows of column names, by the more telling one."""
    frame = frame.reset_index()
    frame.columns = [inner or outer for outer, inner in frame.columns]
    return records(frame)


def critical_path(analysis, rank):
    graph, complete = analysis.critical_path_analysis(rank=rank, annotation="ProfilerStep", instance_id=1)
    return {"complete": bool(complete), "nodes": len(graph.critical_path_nodes)}


def below_zero(frames):
    """Columns in which something lasts less than no time."""
    return sorted({"%s: %s" % (name, column) for name, frame in frames
                   for column in frame.select_dtypes("number") if (frame[column] < 0).any()})


def analyse(folder, with_path):
    from hta.trace_analysis import TraceAnalysis
    analysis = TraceAnalysis(trace_dir=folder)
    ranks = sorted(analysis.t.get_all_traces())
    kernel_types, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
    idle = analysis.get_idle_time_breakdown(ranks=ranks, visualize=False)[0]
    launches = analysis.get_cuda_kernel_launch_stats(ranks=ranks, visualize=False)
    bandwidth = analysis.get_memory_bw_summary(ranks=ranks)
    queue = analysis.get_queue_length_summary(ranks=ranks)
    temporal = analysis.get_temporal_breakdown(visualize=False)
    overlap = analysis.get_comm_comp_overlap(visualize=False)
    timed = [("temporal", temporal), ("overlap", overlap), ("idle", idle), ("kernels", kernels),
             ("kernel types", kernel_types), *(("launches", frame) for frame in launches.values())]
    if queue is not None:
        timed.append(("queue", queue))
    return {
        "ranks": ranks,
        "below_zero": below_zero(timed),
        "overlap": records(overlap),
        "temporal": records(temporal),
        "kernel_types": records(kernel_types),
        "kernels": records(kernels),
        "idle": records(idle),
        "launches": {str(rank): len(frame) for rank, frame in launches.items()},
        "bandwidth": flat(bandwidth) if bandwidth is not None else [],
        "queue": flat(queue) if queue is not None else [],
        "critical_path": critical_path(analysis, ranks[0]) if with_path else None,
        "steps": sorted(set(analysis.get_profiler_steps())),
    }


def main():
    # It writes beside its input and reads every file there: give it a folder of its own.
    folder = tempfile.mkdtemp(prefix="gpuprof-hta-")
    try:
        for name in os.listdir(sys.argv[1]):
            if ".pt.trace.json" in name:
                shutil.copy(os.path.join(sys.argv[1], name), folder)
        with contextlib.redirect_stdout(sys.stderr):
            found = analyse(folder, "critical-path" in sys.argv[2:])
        json.dump(found, sys.stdout, default=str)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
