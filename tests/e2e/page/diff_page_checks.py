# SPDX-License-Identifier: Apache-2.0
"""Every view of a comparison's page against the figures of gpuprof diff --json of the same input."""

from page_reader import close, percent, rounded, writings

ON_GPU = ("kernel", "copy")


def change(before, after):
    """A change as a table's cell holds it."""
    if before > 0 and after > 0:
        return after / before - 1
    return "gone" if before > 0 else "new" if after > 0 else ""


def signed(share):
    """As the page writes a change."""
    return ("−" if share < 0 else "+") + rounded(abs(100 * share), 1) + " %"


def same(cell, wanted):
    return cell == wanted if isinstance(wanted, str) else close(float(cell), wanted)


def rank(one):
    return 2 * one["significant"] + one["seen_once"]


def describe(row):
    """The time that a row is about, as the terminal chooses it: those that are claimed first, then those seen once, then the largest."""
    if row["kind"] in ON_GPU:
        return row.get("device_ns")
    best = row.get("total_ns")
    for one in filter(None, (row.get("self_ns"), row.get("device_ns"))):
        most = max(one["share_before"], one["share_after"])
        more = best is None or most >= 0.99 * max(best["share_before"], best["share_after"])
        if best is None or rank(one) > rank(best) or (rank(one) == rank(best) and more):
            best = one
    return best


def check_names(page, key, table, rows):
    """rows: of the JSON; each with the time that the table is about."""
    page.tab(key)
    shown = page.table(table)
    assert (shown is None) == (not rows), (table, rows[:1])
    assert len(shown or []) == len(rows), (table, len(shown), len(rows))
    whole = table.endswith("_all")  # a row is claimed for any of its times
    for cells, (row, time) in zip(shown or [], rows):
        # Long names are cut, and signs that turn the text around are written out.
        assert cells["name"][0][:60] == row["name"][:60] or "\\u" in cells["name"][1], (cells["name"], row["name"][:80])
        both = time["before"] > 0 and time["after"] > 0
        for column, wanted in (("before", time["before"] / 1000), ("after", time["after"] / 1000), ("calls_before", row["calls_before"]),
                               ("calls_after", row["calls_after"]), ("share_before", time["share_before"]), ("share_after", time["share_after"]),
                               ("spread_before", time["before_spread"] if time["before"] > 0 else ""),
                               ("spread_after", time["after_spread"] if time["after"] > 0 else ""),
                               ("significant", float(row["significant"] if whole else time["significant"])),
                               ("seen_once", float(row["seen_once"] if whole else time["seen_once"])),
                               ("limit", time["limit"] if both else ""), ("adjusted", time["adjusted"] if both else ""),
                               ("change", change(time["before"], time["after"]))):
            assert same(cells[column][0], wanted), (row["name"][:80], column, cells[column], wanted)
        assert cells["before"][1] in writings(time["before"] / 1000), cells["before"]
        assert not both or cells["change"][1] in writings(change(time["before"], time["after"]), signed), cells["change"]
        assert not both or cells["limit"][1] in writings(time["limit"], percent), cells["limit"]


def check_operators(page, process):
    names = [row for row in process["names"] if row["kind"] not in ON_GPU]
    check_names(page, "operators", "operators_all", [(row, describe(row)) for row in names if describe(row)])
    titles = page.b.js("[...document.querySelectorAll('#panel-operators fieldset label')].map(l => l.innerText)")
    for title, table, member in (("self time", "self", "self_ns"), ("total time", "total", "total_ns"),
                                 ("launched GPU time", "device", "device_ns")):
        rows = [(row, row[member]) for row in names if member in row]
        assert (title in titles) == bool(rows), (title, titles)
        if rows:
            page.b.js(f"document.querySelectorAll('#panel-operators fieldset input')[{titles.index(title)}].click()")
            check_names(page, "operators", f"operators_{table}", rows)
    if titles:
        page.b.js("document.querySelector('#panel-operators fieldset input').click()")


def check_kernels(page, process):
    rows = [(row, describe(row)) for row in process["names"] if row["kind"] in ON_GPU and describe(row)]
    check_names(page, "kernels", "kernels_all", rows)
    assert rows or "Neither recording contains GPU work" in page.text("kernels")


def check_only_significant(page, process):
    """The filter leaves those that are claimed, and detaches again."""
    names = [row for row in process["names"] if row["kind"] not in ON_GPU and describe(row)]
    page.tab("operators")
    if len(names) < 2:
        return
    press = "document.querySelector('#panel-operators .toolbar input[type=checkbox]').click()"
    page.b.js(press)
    assert [cells["name"][0] for cells in page.table("operators_all")] == [row["name"][:200] for row in names if row["significant"]] or any("\\u" in c["name"][1] for c in page.table("operators_all"))
    assert f"{sum(row['significant'] for row in names)} of {len(names)} rows" in page.text("operators")
    page.b.js(press)
    assert len(page.table("operators_all")) == len(names)


def listed(process, member):
    """What is significant, or seen once: names, metrics, devices of memory."""
    found = [row["name"] for row in process["names"] if row[member]]
    found += [name for name, row in process["metrics"].items() if row[member]]
    return found + [str(row["device"]) for row in process["memory"] if row[member]]


def check_step(page, process):
    text = page.tab("changes")
    claimed, seen_once = listed(process, "significant"), listed(process, "seen_once")
    items = page.b.js("[...document.querySelectorAll('#panel-changes .claims:not(.seen-once) > li')].map(li => [li.dataset.claim, li.innerText])")
    assert len(items) == len(claimed), (items, claimed)
    seen = page.b.js("[...document.querySelectorAll('#panel-changes .claims.seen-once > li')].map(li => li.innerText)")
    assert len(seen) == len(seen_once), (seen, seen_once)
    assert ("The placement of memory and the processor" in text) == bool(seen_once), text[:1500]
    verdict = page.b.js("document.querySelector('#panel-changes h2').innerText")
    assert verdict == ("No significant change" if not claimed else f"{len(claimed)} significant change{'s' * (len(claimed) > 1)}"), verdict
    for row in process["names"]:
        if row["significant"]:
            result = next(shown for name, shown in items if name[:60] == row["name"][:60] or "\\u" in name)
            assert row["kind"] in result.lower() and ("per step" in result or "per call" in result), result
            assert not row.get("inner_calls") or row["inner_calls"][0] in result, result
    shown = page.table("metrics") or []
    assert len(shown) == len(process["metrics"])
    for cells, (name, row) in zip(shown, process["metrics"].items()):
        factor = 1 if name == "kernels" else 1000
        for column, wanted in (("before", row["before"] / factor), ("after", row["after"] / factor), ("spread_before", row["before_spread"]),
                               ("spread_after", row["after_spread"]), ("limit", row["limit"]), ("adjusted", row["adjusted"]),
                               ("significant", float(row["significant"])), ("seen_once", float(row["seen_once"])), ("change", change(row["before"], row["after"]))):
            assert same(cells[column][0], wanted), (name, column, cells[column], wanted)
    for notice in process["remarks"]:
        assert notice[:150] in text, (notice, text)
    check_curves(page, process)


def check_curves(page, process):
    if process["times_are_of"] != "step":
        assert "no curves to compare" in page.text("changes")
        return
    assert page.b.wait("document.querySelectorAll('#panel-changes svg[role=img][aria-label] path[stroke]').length >= 2"), "no curve"
    page.b.js("document.querySelector('#panel-changes details:has([data-table=curves]) summary').click()")
    shown = page.table("curves")
    for side in ("before", "after"):
        steps = [cells[side][0] for cells in shown if cells[side][0]]
        assert len(steps) == process[side]["steps"], (side, len(steps))
        kept = sorted(float(cells[side][0]) for cells in shown if cells[side][0] and side not in cells["warm_up"][1])
        middle = (kept[(len(kept) - 1) // 2] + kept[len(kept) // 2]) / 2
        assert close(middle, process["metrics"]["step_time"][side] / 1000), (side, middle)


def check_memory(page, process):
    text = page.tab("memory")
    cells = {row["name"][0]: row for row in page.table("memory") or []}
    assert cells or "Neither recording contains allocations" in text
    for row in process["memory"]:
        of = "host memory" if row["device"] < 0 else f"GPU {row['device']} memory"
        for title, member in (("peak allocated", "peak_allocated_bytes"), ("peak reserved", "peak_reserved_bytes"), ("allocations", "allocations"),
                              ("total allocated", "allocated_bytes")):
            shown = cells[f"{of}, {title}"]
            assert [float(shown[side][0]) for side in ("before", "after")] == [row[side][member] for side in ("before", "after")], shown
        for member in ("significant", "seen_once"):
            assert cells[f"{of}, peak allocated"][member][0] == str(int(row[member]))


def check_rest(page, process, result):
    text = page.tab("environment")
    for side in ("before", "after"):
        for value in (process[side]["host"], str(process[side]["pid"]), *process[side]["gpus"]):
            assert value[:60] in text, (value, text[:800])
    cells = {row["what"][0]: [row["before"][0], row["after"][0]] for row in page.table("environment")}
    for title, member in (("Recording", "named"), ("Command", "command"), ("Process id", "pid"), ("Steps", "steps"), ("Warm-up steps", "warm_up_steps")):
        assert [text[:100] for text in cells[title]] == [str(process[side][member])[:100] for side in ("before", "after")] or "\\u" in str(cells[title]), (title, cells[title])
    for title, member, none in (("Rank", "rank", -1), ("Ranks in the job", "world_size", 0)):
        assert cells[title] == ["none" if process[side][member] == none else str(process[side][member]) for side in ("before", "after")], (title, cells[title])
    text = page.tab("missing")
    for sentence in process["before"]["missing"] + process["after"]["missing"] + result["remarks"]:
        assert sentence[:150] in text, (sentence, text)
    for presence, word in (("gone", "only before"), ("new", "only after")):
        count = sum(row["presence"] == presence for row in process["names"])
        assert (word in text.replace("only before, not", "").replace("only after, not", "")) == (count > 0), (presence, count, text)


def check_figures(page, result):
    for index, process in enumerate(result["processes"]):
        if len(result["processes"]) > 1:
            page.choose_process(index)
        for check in (check_step, check_operators, check_only_significant, check_kernels, check_memory):
            check(page, process)
        check_rest(page, process, result)
    page.clean()
