// SPDX-License-Identifier: Apache-2.0
//
// Views of a comparison that are tables: operators, kernels, memory, how both were recorded, limits.
'use strict';
(() => {
  const texts = page.texts.diff_tables;

  /** Tables of the same rows, one at a time. */
  const choice = (title, tables) => {
    const place = page.el('div');
    const group = page.id('of');
    const show = (table) => place.replaceChildren(page.table(table));
    const radios = tables.map((table, i) => page.el('label', null, page.el('input', {type: 'radio', name: group, value: i, checked: i === 0, on: {change: () => show(table)}}), table.title));
    show(tables[0]);
    return page.card(title, tables.length > 1 ? page.el('div', {class: 'toolbar'}, page.el('fieldset', null, page.el('legend', null, 'Time shown'), radios)) : null, place);
  };
  const names = (title, key, sentence) => (panel, process) => {
    const tables = process[key].filter((table) => table.rows.length);
    panel.append(tables.length ? choice(title, tables) : page.card(title, page.nothing(sentence)));
  };

  page.view('operators', 'Operators', names('Operators and ranges', 'operators', texts.no_operators));
  page.view('kernels', 'Kernels', names('Kernels and copies', 'kernels', texts.no_gpu));
  page.view('memory', 'Memory', (panel, process) => panel.append(page.table_card({...process.memory, title: process.memory.rows.length ? process.memory.title : 'Memory'}, texts.no_memory)));
  page.view('environment', 'Run environment', (panel, process) => panel.append(page.table_card(process.environment, '')));
  page.view('missing', texts.limits_view, (panel, process) => {
    for (const {title, sentences} of process.limits) {
      panel.append(page.card(title, sentences.length ? page.el('ul', {class: 'sentences'}, sentences.map((s) => page.el('li', null, page.name(s)))) : page.nothing(texts.nothing_known)));
    }
  });
})();
