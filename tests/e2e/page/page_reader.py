# SPDX-License-Identifier: Apache-2.0
"""Reads a page of gpuprof in the browser, as a person would, and compares rows."""

import decimal


SEVEN = 5.1e-7  # a page has seven digits of a figure: so much of it may be missing


def rounded(value, digits):
    """As the browser rounds: exactly, and halves away from zero."""
    return str(decimal.Decimal(value).quantize(decimal.Decimal(1).scaleb(-digits), decimal.ROUND_HALF_UP))


def written(us):
    """As the page writes a time."""
    for limit, factor, unit in ((1e6, 1e6, "s"), (1e3, 1e3, "ms"), (0, 1, "µs")):
        if abs(us) >= limit:
            value = us / factor
            return "0 µs" if us == 0 else f"{rounded(value, 1 if abs(value) >= 100 else 2 if abs(value) >= 10 else 3)} {unit}"
    return None


def writings(value, write=written):
    """All texts that the page may have for a figure of which it knows seven digits."""
    return {write(value * factor) for factor in (1 - SEVEN, 1, 1 + SEVEN)}


def percent(share):
    """As the page writes a share."""
    return f"{rounded(100 * share, 1)} %"


def close(a, b):
    """Equal to the seven digits the page has."""
    return abs(a - b) <= max(1e-6 * abs(b), 0.0006)


def same_number(shown, wanted, factor):
    """What is not known is null in the report, and empty on the page."""
    return shown == "" if wanted is None else shown != "" and close(float(shown), wanted / factor)


class Page:
    """The page in the browser, read as a person would."""

    def __init__(self, browser, path):
        self.b = browser
        browser.page_errors.clear()
        browser.requests.clear()
        browser.open(path)
        assert browser.wait("'ready' in document.documentElement.dataset"), browser.js("document.body.innerText")

    def tab(self, key):
        self.b.js(f"document.getElementById('tab-{key}').click()")
        return self.text(key)

    def text(self, key):
        return self.b.js(f"document.getElementById('panel-{key}').innerText")

    def choose_process(self, index):
        self.b.js(f"(() => {{ const s = document.getElementById('process'); s.value = {index};"
                  " s.dispatchEvent(new Event('change')); })()")

    def table(self, key):
        """All rows of a table of the open tab, as {column: (value, text)}."""
        return self.b.js("""(() => {
          const box = document.querySelector(`[role=tabpanel]:not([hidden]) [data-table="%s"]`);
          if (!box) return null;
          for (const more of box.querySelectorAll(':scope > button')) while (!more.hidden) more.click();
          const columns = [...box.querySelectorAll('thead [data-column]')].map((c) => c.dataset.column);
          return [...box.querySelectorAll('tbody tr')].map((row) => Object.fromEntries(
            [...row.cells].map((cell, i) => [columns[i], [cell.dataset.v, cell.innerText]])));
        })()""" % key)

    def clean(self):
        self.b.js("1")  # what was complained of so far has arrived
        assert not self.b.page_errors, self.b.page_errors
        assert all(url.startswith(("file://", "data:")) for url in self.b.requests), self.b.requests
        assert self.b.js("window.broken") is None, "a name of the program ran as a script"


def same_rows(shown, wanted, columns):
    """Rows of the page are rows of the report, each once. columns: {page: (report, factor)}."""
    left = list(wanted)
    for row in shown:
        found = next((w for w in left if all(
            (same_number(row[column][0], w[report_key], factor) if factor else row[column][0][:190] == str(w[report_key])[:190] or
             "\\u" in row[column][1] or len(str(w[report_key])) > 190) for column, (report_key, factor) in columns.items())), None)
        assert found is not None, f"not in the report: {({k: v[0][:80] for k, v in row.items()})}"
        left.remove(found)
    return left
