# SPDX-License-Identifier: Apache-2.0
"""Every view of the report's page against the figures of gpuprof report --json of the same input."""

from page_reader import close, percent, same_rows, written, writings

PARTS = {"Kernel": "kernel", "Memcpy": "memcpy", "Memset": "memset", "Communication": "communication", "Runtime": "runtime",
         "DataLoader": "dataloader", "CPU Exec": "cpu", "Other": "other"}


def check_overview(page, process):
    text, summary = page.tab("overview"), process["step_summary"]
    for part, ns in summary["mean_by_category_ns"].items():
        cell = page.b.js(f"document.querySelector('tr[data-part={PARTS[part]}] td')?.innerText")
        assert cell in writings(ns / 1000) if ns > 0 else cell is None, (part, cell, ns)
    if not summary["made_up"]:
        tiles = page.b.js("Object.fromEntries([...document.querySelectorAll('.tiles dd[data-key]')].map(d => [d.dataset.key, d.innerText]))")
        assert tiles["steps"] == f"{summary['steps']:,}", tiles
        assert tiles["mean"] in writings(summary["mean_ns"] / 1000), (tiles, summary["mean_ns"])
        assert tiles["p95"] in writings(summary["p95_ns"] / 1000), (tiles, summary["p95_ns"])
        assert page.b.wait("document.querySelector('#panel-overview .chart svg g[fill] > *')"), "no bar in the step chart"
        page.b.js("document.querySelector('#panel-overview details:has([data-table=steps]) summary').click()")
        steps = page.table("steps")
        wanted = process["tables"]["step"]
        assert len(steps) == len(wanted) and all(close(float(s["us"][0]), w["time_ns"] / 1000) for s, w in zip(steps, wanted))
    wall = process["tables"]["wall"]
    for row in wall if len(wall) > 1 else ():
        cell = page.b.js(f"document.querySelector('tr[data-wall={row['part']}] td.num')?.innerText")
        assert cell in writings(row["time_ns"] / 1000), (row, cell)
    for gpu in process["tables"]["gpu"]:
        if gpu["kernels"]:
            assert gpu["name"][:20] in text, text[:500]
            assert any(one in text for one in writings(gpu["utilisation_percent"] / 100, percent)), (gpu["utilisation_percent"], text[:500])
            assert f"{gpu['kernels']:,}" in text
    assert ("simulated GPU" in text) == process["simulated"]
    assert "Advice" in text


def check_operators(page, process):
    text = page.tab("operators")
    shown = page.table("operators")
    if not process["tables"]["operator"]:
        assert shown is None and "No operators" in text
        return
    wanted = [row for row in process["tables"]["operator"] if not row["on_device"]]
    same_rows(shown or [], wanted, {"name": ("name", 0), "count": ("count", 1), "self_cpu": ("self_cpu_time_total_ns", 1000),
                                    "cpu": ("cpu_time_total_ns", 1000)})
    for row in shown or []:
        assert row["self_cpu"][1] == written(float(row["self_cpu"][0])), row


def check_kernels(page, process):
    text, tables = page.tab("kernels"), process["tables"]
    spread = {"count": ("count", 1), "total": ("total_ns", 1000), "max": ("max_ns", 1000), "p95": ("p95_ns", 1000)}
    for table, report_key in (("kernels", "kernel"), ("calls", "api"), ("waits", "sync")):
        shown = page.table(table) or []
        assert not same_rows(shown, tables[report_key], {**spread}), f"{table}: rows are missing"
    copies = page.table("copies") or []
    assert not same_rows(copies, tables["memcpy"] + tables["memset"], {**spread, "bytes": ("bytes", 1)})
    assert tables["kernel"] or not copies or text
    if not any(tables[t] for t in ("kernel", "api", "sync", "memcpy", "memset")):
        assert "No GPU work" in text, text


def check_flame(page, process):
    text, tables = page.tab("flame"), process["tables"]
    titles = page.b.js("[...document.querySelectorAll('#panel-flame fieldset label')].map(l => l.innerText)")
    gpu_us = sum(row["total_ns"] for t in ("kernel", "memcpy", "memset") for row in tables[t]) / 1000
    assert ("GPU time" in titles) == (gpu_us > 0), titles
    if not titles:
        assert "No stack was sampled" in text
        return
    if gpu_us:
        page.b.js(f"document.querySelectorAll('#panel-flame fieldset input')[{titles.index('GPU time')}].click()")
        detail = page.b.js("document.querySelector('#panel-flame .detail').innerText")
        assert any(one in detail for one in writings(gpu_us)) and "100.0 %" in detail, (detail, gpu_us)
        leaf = max(tables["kernel"], key=lambda row: row["total_ns"])["name"]
        assert any(row["frame"][0][:60] == leaf[:60] for row in page.table("frames")) or len(leaf) > 60 or "\n" in leaf
    # Drawn once the browser has laid the page out.
    assert page.b.wait("document.querySelectorAll('#panel-flame [role=treeitem]').length > 1")
    boxes = page.b.js("document.querySelectorAll('#panel-flame [role=treeitem]').length")
    page.b.js("document.querySelector('#panel-flame .flame').focus()")
    page.b.key("ArrowDown")
    first = page.b.js("document.querySelector('#panel-flame .detail').innerText")
    assert not first.startswith("all\n"), first
    page.b.key("Enter")
    page.b.key("Escape")
    assert page.b.js("document.querySelectorAll('#panel-flame [role=treeitem]').length") == boxes, "Escape shows all again"
    name = page.b.js("(e => document.getElementById(e.getAttribute('aria-activedescendant'))?.getAttribute('aria-label'))"
                     "(document.querySelector('#panel-flame .flame'))")
    assert name and "%" in name, name


def check_timeline(page, process):
    text = page.tab("timeline")
    titles = page.b.js("[...document.querySelectorAll('#panel-timeline fieldset label')].map(l => l.innerText)")
    summary, tables = process["step_summary"], process["tables"]
    if not titles:
        assert "No event with a duration" in text
        return
    if not summary["made_up"]:
        assert titles[0].startswith(f"step {tables['step'][0]['step']} (first"), titles
        others = [s for s in tables["step"] if s["apart"] != "warm-up"]
        longest = max(s["time_ns"] for s in others)
        slowest = {f"step {s['step']} " for s in others if s["time_ns"] == longest}
        assert any("slowest" in t for t in titles) == (len(tables["step"]) > 1), titles
        assert len(tables["step"]) < 2 or any(t.startswith(tuple(slowest)) and "slowest" in t for t in titles), (titles, slowest)
    assert page.b.wait("page.timeline_view.view.width > 0")
    events = page.b.js("page.timeline_view.view.slice.start.length")
    assert events > 0
    page.b.js("document.querySelector('#panel-timeline canvas').focus()")
    page.b.key("n")
    page.b.key("n")
    assert "Duration" in page.b.js("document.querySelector('#panel-timeline .detail').innerText")
    arrows = page.b.js("page.timeline_view.view.arrows.length")
    assert (arrows > 0) == bool(tables["kernel"]), arrows
    if arrows:
        page.b.js("page.timeline_view.act.choose(page.timeline_view.view.arrows[0][0], true)")
        assert "Launched" in page.b.js("document.querySelector('#panel-timeline .detail').innerText")
        page.b.key("Enter")
        assert "Launched by" in page.b.js("document.querySelector('#panel-timeline .detail').innerText"), "Enter follows the arrow"
    before = page.b.js("page.timeline_view.view.x.domain()")
    page.b.key("+")
    after = page.b.js("page.timeline_view.view.x.domain()")
    assert after[1] - after[0] < before[1] - before[0], "plus zooms in"
    page.b.js("""(i => { i.value = page.timeline_view.view.strings.at(-1); i.dispatchEvent(new Event('input')); })
              (document.querySelector('#panel-timeline input[type=search]'))""")
    assert " found" in page.b.js("document.querySelector('#panel-timeline .count').innerText")
    page.b.key("0")
    page.b.js("document.querySelector('#panel-timeline details summary').click()")
    assert page.b.wait("document.querySelector('[data-table=in_view] tbody tr')"), "the table of what is in view"


def check_memory(page, process):
    text = page.tab("memory")
    used = [d for d in process["memory_devices"] if d["allocations"] or d["peak_allocated_bytes"]]
    if not used:
        assert "No allocation was recorded" in text
        return
    for device in used:
        title = "Memory of the host" if device["device"] < 0 else f"Memory of GPU {device['device']}"
        facts = page.b.js(f"""(s => [...s.querySelectorAll('dd')].map(d => d.dataset.v))([...document.querySelectorAll('#panel-memory section')]
                          .find(s => s.querySelector('h2').innerText === '{title}'))""")
        assert str(device["peak_allocated_bytes"]) in facts and str(device["allocations"]) in facts, (facts, device)
    assert page.b.wait("document.querySelector('#panel-memory svg[role=img][aria-label] path')"), "no curve of memory"


def check_modules(page, process):
    text = page.tab("modules")
    wanted = process["tables"]["module"]
    if not wanted:
        assert "No nn.Module" in text
        return
    page.b.js("[...document.querySelectorAll('#panel-modules button')].find(b => b.innerText === 'Expand all').click()")
    shown = page.b.js("[...document.querySelectorAll('#panel-modules tbody tr')].map(r => [r.dataset.module, ...[...r.querySelectorAll('td')].map(c => +c.dataset.v)])")
    assert sorted((r[0], r[1]) for r in shown) == sorted((w["path"][:299], w["calls"]) for w in wanted)
    host = {w["path"]: w["host_ns"] / 1000 for w in wanted}
    assert all(close(r[3], host[r[0]]) for r in shown if r[0] in host)


def check_rest(page, process, result):
    text = page.tab("environment")
    for value in (process["host"], str(process["pid"]), *process["facts"].keys()):
        assert value in text, (value, text[:800])
    for kind, count in process["events"].items():
        assert not count or f"{count:,}" in text, (kind, count)
    text = page.tab("missing")
    for sentence in process["missing"] + result["missing"]:
        assert sentence[:150] in text, (sentence, text)
    for reason, count in process["drops"].items():
        assert not count or reason in text, (reason, text)
    text = page.tab("distributed")
    if len(result["processes"]) == 1:
        assert "no ranks to compare" in text
    else:
        ranks = page.table("ranks")
        wanted = [row for p in result["processes"] for row in p["tables"]["nccl"]]
        assert not same_rows(page.table("collectives") or [], wanted, {"name": ("name", 0), "count": ("calls", 1), "bytes": ("bytes", 1)})
        assert [close(float(r["mean"][0]), p["step_summary"]["mean_ns"] / 1000) for r, p in zip(ranks, result["processes"])] == [True] * len(ranks)


def check_figures(page, result):
    for index, process in enumerate(result["processes"]):
        if len(result["processes"]) > 1:
            page.choose_process(index)
        for check in (check_overview, check_operators, check_kernels, check_flame, check_timeline, check_memory, check_modules):
            check(page, process)
        check_rest(page, process, result)
    page.clean()
