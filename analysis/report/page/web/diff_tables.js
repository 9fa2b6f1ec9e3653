// SPDX-License-Identifier: Apache-2.0
//
// Views of a comparison that are tables: operators, kernels, memory, how both were recorded, limits.
'use strict';
(() => {
  /** Tables of the same rows, one at a time. */
  const choice = (title, tables) => {
    const place = page.el('div');
    const group = page.id('of');
    const show = (table) => place.replaceChildren(page.table(table));
    const radios = tables.map((table, i) => page.el('label', null, page.el('input', {type: 'radio', name: group, value: i, checked: i === 0, on: {change: () => show(table)}}), table.title));
    show(tables[0]);
    return page.card(title, tables.length > 1 ? page.el('div', {class: 'toolbar'}, page.el('fieldset', null, page.el('legend', null, 'Times are'), radios)) : null, place);
  };
  const names = (title, key, sentence) => (panel, process) => {
    const tables = process[key].filter((table) => table.rows.length);
    panel.append(tables.length ? choice(title, tables) : page.card(title, page.nothing(sentence)));
  };

  page.view('operators', 'Operators', names('Operators and ranges', 'operators', 'No operator and no range was recorded in steps of either side.'));
  page.view('kernels', 'Kernels', names('Kernels and copies', 'kernels', 'No GPU work was recorded of either side.'));
  page.view('memory', 'Memory', (panel, process) => panel.append(page.table_card({...process.memory, title: process.memory.rows.length ? process.memory.title : 'Memory'}, 'No allocation was recorded of either side.')));
  page.view('environment', 'Run environment', (panel, process) => panel.append(page.table_card(process.environment, '')));
  page.view('missing', 'What cannot be compared and why', (panel, process) => {
    for (const {title, sentences} of process.limits) {
      panel.append(page.card(title, sentences.length ? page.el('ul', {class: 'sentences'}, sentences.map((s) => page.el('li', null, page.name(s)))) : page.nothing('Nothing known.')));
    }
  });
})();
