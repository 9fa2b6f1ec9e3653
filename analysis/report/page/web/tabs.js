// SPDX-License-Identifier: Apache-2.0
//
// The tabs: which views there are, which one is seen; arrow keys, Home and End; #name in the address.
'use strict';
(() => {
  const kOrder = ['changes', 'overview', 'operators', 'kernels', 'flame', 'timeline', 'memory', 'modules', 'distributed', 'environment', 'missing'];
  const views = [];
  let chosen = null;

  /** Adds a view; `draw` gets its panel and the process chosen, and is called when it is first seen. */
  page.view = (key, title, draw) => views.push({key, title, draw, drawn: false});

  const draw = (view) => {
    if (view.drawn) return;
    view.drawn = true;
    view.panel.replaceChildren();
    view.draw(view.panel, page.process, page.data);
  };

  const choose = (view, focus) => {
    chosen = view;
    for (const one of views) {
      const here = one === view;
      one.tab.setAttribute('aria-selected', String(here));
      one.tab.tabIndex = here ? 0 : -1;
      one.panel.hidden = !here;
    }
    draw(view);
    if (focus) view.tab.focus();
    view.tab.scrollIntoView({block: 'nearest', inline: 'nearest'});
    try {
      history.replaceState(null, '', `#${view.key}`);
    } catch (_) { /* an address that may not be changed: the tabs work without */ }
  };

  const keys = {ArrowRight: 1, ArrowLeft: -1};
  const on_key = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const at = views.indexOf(chosen);
    let to = null;
    if (event.key in keys) to = (at + keys[event.key] + views.length) % views.length;
    if (event.key === 'Home') to = 0;
    if (event.key === 'End') to = views.length - 1;
    if (to === null) return;
    event.preventDefault();
    choose(views[to], true);
  };

  const named = () => views.find((v) => v.key === location.hash.slice(1));

  /** Makes tabs and panels of the views added so far. */
  page.make_tabs = () => {
    const list = document.getElementById('tabs');
    const main = document.getElementById('panels');
    views.sort((a, b) => kOrder.indexOf(a.key) - kOrder.indexOf(b.key));
    for (const view of views) {
      const ids = {tab: `tab-${view.key}`, panel: `panel-${view.key}`};
      view.tab = page.el('button', {type: 'button', role: 'tab', id: ids.tab, 'aria-controls': ids.panel,
        on: {click: () => choose(view, false)}}, view.title);
      view.panel = page.el('div', {role: 'tabpanel', id: ids.panel, 'aria-labelledby': ids.tab, tabindex: 0, hidden: true});
      list.append(view.tab);
      main.append(view.panel);
    }
    list.addEventListener('keydown', on_key);
    window.addEventListener('hashchange', () => {
      const to = named();
      if (to && to !== chosen) choose(to, false);
    });
    choose(named() || views[0], false);
  };

  /** Draws again what has been drawn: another process, other colours. */
  page.redraw = () => {
    for (const view of views) view.drawn = false;
    draw(chosen);
  };
  page.go_to = (key) => choose(views.find((v) => v.key === key), true);
})();
