// SPDX-License-Identifier: Apache-2.0
//
// Tables: sorted by a press on a heading, filtered by a text or a mark, a few rows at first.
'use strict';
(() => {
  const texts = page.texts.table;
  const kFirst = 50;
  const kMore = 500;

  /** A change may be a word; it has its place among the numbers all the same. */
  const rank = (value, unit) => (unit !== 'change' ? value : {new: Infinity, gone: -1}[value] ?? value);

  const compare = (column, unit, down) => (a, b) => {
    const x = rank(a[column], unit);
    const y = rank(b[column], unit);
    if (x === y) return 0;
    if (x === null || x === undefined) return 1;
    if (y === null || y === undefined) return -1;
    const order = typeof x === 'number' && typeof y === 'number' ? x - y : String(x) < String(y) ? -1 : 1;
    return down ? -order : order;
  };

  const meter = (value) => page.el('span', {class: 'meter', 'aria-hidden': 'true'},
    page.el('i', {style: {width: `${Math.min(100, Math.max(0, 100 * value))}%`}}));

  /** The column whose value marks a row, or -1. */
  const mark_of = (table) => table.columns.findIndex((c) => c.unit === 'flag');
  /** More or less than before, where the row is marked: for the colour. */
  const tendency = (table, row, unit, value) => {
    if (unit !== 'change' || !row[mark_of(table)] || value === null) return '';
    return value === 'new' || value > 0 ? 'more' : 'less';
  };

  const cell = (table, row, i) => {
    const column = table.columns[i];
    const value = row[i];
    const first = i === 0;
    // The unit of such a column is told by the row, after its cells.
    const unit = column.unit === 'row' ? row[table.columns.length] : column.unit;
    const numeric = page.is_number(unit);
    const kind = [numeric ? 'num' : 'text', unit === 'share' ? 'share' : '', unit === 'name' ? 'name' : '', tendency(table, row, unit, value)].filter(Boolean);
    const given = {class: kind.join(' '), data: {v: value === null ? '' : typeof value === 'string' ? page.short(value, 200) : String(value)}};
    if (first) given.scope = 'row';
    if (unit === 'flag') return page.el('td', given, value ? page.el('span', {class: 'mark'}, column.title.toLowerCase()) : null);
    const text = page.write(value, unit);
    return page.el(first ? 'th' : 'td', given,
      unit === 'share' && typeof value === 'number' ? meter(value) : null, numeric ? page.el('span', {class: 'value'}, text) : page.name(text));
  };

  const head = (table, state, redraw) => page.el('tr', null, table.columns.map((column, i) => {
    const numeric = page.is_number(column.unit);
    const th = page.el('th', {scope: 'col', class: numeric ? 'num' : ''});
    if (i === state.by) th.setAttribute('aria-sort', state.down ? 'descending' : 'ascending');
    th.append(page.el('button', {type: 'button', data: {column: column.key}, on: {click: () => {
      state.down = state.by === i ? !state.down : numeric;
      state.by = i;
      redraw();
      page.say(texts.sorted(column.title, state.down));
    }}}, column.title));
    return th;
  }));

  const matching = (table, state) => {
    const wanted = state.filter.toLowerCase();
    const rows = state.marked ? table.rows.filter((row) => row[mark_of(table)]) : table.rows.slice();
    if (!wanted) return rows;
    const named = table.columns.map((c, i) => (page.is_number(c.unit) ? -1 : i)).filter((i) => i >= 0);
    return rows.filter((row) => named.some((i) => String(row[i] ?? '').toLowerCase().includes(wanted)));
  };

  const toolbar = (table, state, draw) => {
    const count = page.el('span', {class: 'count', role: 'status'});
    const bar = page.el('div', {class: 'toolbar'});
    if (table.rows.length > 8) {
      bar.append(page.el('label', null, 'Filter', page.el('input', {type: 'search', size: 28, 'aria-label': texts.filter(table.title),
        on: {input: (event) => {
          state.filter = event.target.value;
          state.shown = kFirst;
          draw();
        }}})));
    }
    if (mark_of(table) >= 0 && table.rows.length > 1) {
      bar.append(page.el('label', null, page.el('input', {type: 'checkbox', 'aria-label': texts.only_in(table.title, table.columns[mark_of(table)].title), on: {change: (event) => {
        state.marked = event.target.checked;
        state.shown = kFirst;
        draw();
      }}}), texts.only(table.columns[mark_of(table)].title)));
    }
    if (table.rows.some((row) => row.some((v) => typeof v === 'string' && v.length > 120))) {
      bar.append(page.el('label', null, page.el('input', {type: 'checkbox', on: {change: (event) =>
        bar.parentElement.classList.toggle('full', event.target.checked)}}), texts.full_names));
    }
    bar.append(count);
    return {bar, count};
  };

  /**
   * A table of the data: {title, note?, columns: [{key, title, unit}], rows: [[…]], sort?, left_out?}.
   * The first column names the row.
   */
  page.table = (table) => {
    const sort = table.columns.findIndex((c) => c.key === table.sort);
    const state = {by: sort, down: true, filter: '', marked: false, shown: kFirst};
    const thead = page.el('thead');
    const tbody = page.el('tbody');
    const more = page.el('button', {type: 'button', hidden: true, on: {click: () => {
      state.shown += kMore;
      draw();
    }}});
    const {bar, count} = toolbar(table, state, () => draw());

    const draw = () => {
      const held = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.column : null;
      const inside = held && thead.contains(document.activeElement);
      let rows = matching(table, state);
      if (state.by >= 0) rows = rows.sort(compare(state.by, table.columns[state.by].unit, state.down));
      thead.replaceChildren(head(table, state, draw));
      tbody.replaceChildren(...rows.slice(0, state.shown).map((row) =>
        page.el('tr', null, table.columns.map((_, i) => cell(table, row, i)))));
      const left = rows.length - state.shown;
      more.hidden = left <= 0;
      more.textContent = texts.show_more(Math.min(left, kMore), left);
      count.textContent = texts.count(rows.length, table.rows.length);
      if (inside) thead.querySelector(`[data-column="${CSS.escape(held)}"]`)?.focus();
    };
    draw();
    const whole = page.el('div', {class: 'tabular', data: {table: table.key || ''}}, bar,
      page.el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': table.title}, page.el('table', null, page.el('caption', {class: table.note ? '' : 'unseen'}, table.note || table.title), thead, tbody)), more);
    if (table.left_out) whole.append(page.el('p', {class: 'quiet small'}, texts.left_out(table.left_out)));
    return whole;
  };

  /** A card with the table, or with a sentence where it has no rows. */
  page.table_card = (table, sentence) => page.card(table ? table.title : texts.nothing,
    table && table.rows.length ? page.table(table) : page.nothing(sentence));
})();
