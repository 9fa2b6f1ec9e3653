// SPDX-License-Identifier: Apache-2.0
//
// Modules: the tree of nn.Module calls, as a table whose rows open and close.
'use strict';
(() => {
  const texts = page.texts.modules;
  const kOpenAtFirst = 40;

  const children_of = (rows) => {
    const below = rows.map(() => []);
    const tops = [];
    rows.forEach((row, i) => (row.parent < 0 ? tops : below[row.parent]).push(i));
    return {below, tops};
  };

  const draw_rows = (state) => {
    const out = [];
    const walk = (i, depth) => {
      out.push({i, depth});
      if (state.open.has(i)) for (const child of state.below[i]) walk(child, depth + 1);
    };
    for (const top of state.tops) walk(top, 0);
    return out;
  };

  const toggle = (state, i) => {
    if (state.open.has(i)) state.open.delete(i);
    else state.open.add(i);
    state.draw(i);
  };

  const name_cell = (state, i, depth, row) => {
    const th = page.el('th', {scope: 'row', class: 'name', style: {'--depth': depth}});
    const open = state.open.has(i);
    if (state.below[i].length) {
      th.append(page.el('button', {type: 'button', 'aria-expanded': String(open), 'aria-label': open ? texts.collapse(row.name) : texts.expand(row.name), data: {row: i},
        on: {click: () => toggle(state, i)}}, open ? '▾' : '▸'));
    } else {
      th.append(page.el('button', {type: 'button', disabled: true, 'aria-hidden': 'true', tabindex: -1}, '·'));
    }
    th.append(page.name(row.name));
    return th;
  };

  const on_key = (state, event) => {
    const i = Number(event.target.dataset && event.target.dataset.row);
    if (!Number.isInteger(i) || !state.below[i]) return;
    const open = state.open.has(i);
    if ((event.key === 'ArrowRight' && !open) || (event.key === 'ArrowLeft' && open)) {
      event.preventDefault();
      toggle(state, i);
    }
  };

  page.view('modules', 'Modules', (panel, process) => {
    const {columns, rows, note} = process.modules;
    if (!rows.length) {
      panel.append(page.card('Modules', page.nothing(texts.nothing)));
      return;
    }
    const state = {...children_of(rows), open: new Set()};
    const depth = (i) => (rows[i].parent < 0 ? 0 : 1 + depth(rows[i].parent));
    rows.forEach((_, i) => {
      if (state.below[i].length && (rows.length <= kOpenAtFirst || depth(i) < 1)) state.open.add(i);
    });
    const tbody = page.el('tbody', {on: {keydown: (event) => on_key(state, event)}});
    state.draw = (focus) => {
      tbody.replaceChildren(...draw_rows(state).map(({i, depth: level}) => page.el('tr', {data: {module: page.short(rows[i].path, 300)}}, name_cell(state, i, level, rows[i]),
        rows[i].values.map((value, k) => page.el('td', {class: 'num', data: {v: String(value)}}, page.write(value, columns[k].unit))))));
      if (focus !== undefined) tbody.querySelector(`button[data-row="${focus}"]`)?.focus();
    };
    state.draw();
    const all = (open) => () => {
      state.open = new Set(open ? rows.keys() : []);
      state.draw();
    };
    const head = page.el('tr', null, page.el('th', {scope: 'col'}, 'Module'), columns.map((c) => page.el('th', {scope: 'col', class: 'num'}, c.title)));
    panel.append(page.card('Modules', page.el('div', {class: 'toolbar'}, page.el('button', {type: 'button', on: {click: all(true)}}, 'Expand all'),
      page.el('button', {type: 'button', on: {click: all(false)}}, 'Collapse all')),
    page.el('div', {class: 'scroll tree'}, page.el('table', null, page.el('caption', null, note), page.el('thead', null, head), tbody))));
  });
})();
