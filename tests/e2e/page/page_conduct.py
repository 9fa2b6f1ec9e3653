# SPDX-License-Identifier: Apache-2.0
"""How a page behaves, whatever is in it: by keys alone, for a screen reader, in the dark, on a small screen.

keys and titles are those of its tabs, in their order."""

from page_reader import Page


def check_keys(page, keys):
    """By keys alone: the link past everything, the tabs with arrows, Home and End."""
    b, first = page.b, f"tab-{keys[0]}"
    b.js("document.activeElement.blur(); scrollTo(0, 0)")
    page.tab(keys[0])
    b.js(f"document.getElementById('{first}').blur()")
    b.call("Page.bringToFront")
    seen = []
    b.js("document.querySelector('.skip').focus()")
    for _ in range(4):
        seen.append(b.js("document.activeElement.id || document.activeElement.className"))
        b.key("Tab")
    assert seen[0] == "skip" and "theme" in seen and first in seen, seen
    b.js(f"document.getElementById('{first}').focus()")
    for step in range(1, len(keys) + 1):
        b.key("ArrowRight")
        key = keys[step % len(keys)]
        state = b.js("""(() => { const open = [...document.querySelectorAll('[role=tabpanel]')].filter(p => !p.hidden);
                     const tab = document.activeElement;
                     return [tab.id, tab.getAttribute('aria-selected'), open.length, open[0].id, tab.getAttribute('aria-controls')]; })()""")
        assert state == [f"tab-{key}", "true", 1, f"panel-{key}", f"panel-{key}"], state
    for name, key in (("End", keys[-1]), ("Home", keys[0]), ("ArrowLeft", keys[-1])):
        b.key(name)
        assert b.js("document.activeElement.id") == f"tab-{key}", name
    b.key("Home")
    b.key("Tab")
    assert b.js("document.activeElement.id") == f"panel-{keys[0]}", "from the tab into its panel"


def check_roles(page, keys, titles):
    """What a screen reader is notified of every view."""
    for key, title in zip(keys, titles):
        page.tab(key)
        page.b.drawn()
        nodes = [n for n in page.b.call("Accessibility.getFullAXTree")["nodes"] if not n.get("ignored")]
        named = [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes]
        roles = [role for role, _ in named]
        for role in ("banner", "navigation", "main", "contentinfo", "tablist"):
            assert role in roles, f"{key}: no {role}"
        assert [name for role, name in named if role == "tab"] == titles
        assert ("tabpanel", title) in named, f"{key}: its panel has no name"
        for role, name in named:
            if role in ("button", "textbox", "searchbox", "combobox", "radio", "checkbox", "region", "tree", "image", "img", "Canvas"):
                assert name.strip(), f"{key}: a {role} without a name"
        assert roles.count("table") == page.b.js("document.querySelectorAll('[role=tabpanel]:not([hidden]) table:not(details:not([open]) table)').length")
        assert page.b.js("document.querySelectorAll('[role=tabpanel]:not([hidden]) h2').length") > 0, key
    ids = page.b.js("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids)), "an id twice"


def check_looks(browser, path, keys):
    """Dark and light as the system says, or as chosen; still where motion is not wanted."""
    brightness = "(c => c.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0) / 3)(getComputedStyle(document.body).backgroundColor)"
    browser.media(prefers_color_scheme="dark", prefers_reduced_motion="reduce")
    page = Page(browser, path)
    assert browser.wait(f"{brightness} < 60")
    assert browser.js("getComputedStyle(document.querySelector('[role=tab]')).transitionDuration") == "0s"
    browser.js("(s => { s.value = 'light'; s.dispatchEvent(new Event('change')); })(document.getElementById('theme'))")
    assert browser.js(brightness) > 200, "the switch wins over the system"
    browser.js("(s => { s.value = 'auto'; s.dispatchEvent(new Event('change')); })(document.getElementById('theme'))")
    browser.media(prefers_color_scheme="light", prefers_reduced_motion="no-preference")
    assert browser.wait(f"{brightness} > 200")
    assert browser.js("getComputedStyle(document.querySelector('[role=tab]')).transitionDuration") != "0s"
    browser.size(380, 700)  # a telephone: nothing but tables and pictures is wider than the page
    for key in keys:
        page.tab(key)
        browser.drawn()
        wide = browser.js("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{key}: {wide} pixels too wide"
    browser.size(1440, 900)
    browser.drawn()
    page.clean()
