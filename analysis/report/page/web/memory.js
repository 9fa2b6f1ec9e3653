// SPDX-License-Identifier: Apache-2.0
//
// Memory: the curve of each device, what lay there at the peak, what operators allocated.
'use strict';
(() => {
  page.view('memory', 'Memory', (panel, process) => {
    if (!process.memory.length) {
      panel.append(page.card('Memory', page.nothing(page.texts.memory.nothing)));
      return;
    }
    for (const memory of process.memory) {
      panel.append(page.card(memory.title, page.facts(memory.facts), page.memory_chart(memory)));
      for (const table of memory.tables) if (table.rows.length) panel.append(page.table_card(table, ''));
    }
  });
})();
