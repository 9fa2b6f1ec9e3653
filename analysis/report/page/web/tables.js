// SPDX-License-Identifier: Apache-2.0
//
// Views that are tables: operators, kernels, ranks, what the recording was, what is missing.
'use strict';
(() => {
  const cards = (panel, tables, sentence) => {
    const some = tables.filter((table) => table.rows.length);
    if (!some.length) panel.append(page.card('Nothing recorded', page.nothing(sentence)));
    for (const table of some) panel.append(page.table_card(table, ''));
  };

  page.view('operators', 'Operators', (panel, process) => cards(panel, process.operators,
    'No operators and no ranges: this program ran no PyTorch operator while it was recorded and pushed no NVTX range.'));
  page.view('kernels', 'Kernels', (panel, process) => cards(panel, process.kernels,
    'No GPU work was recorded of this process. The last view says what is missing and why.'));

  page.view('distributed', 'Distributed', (panel, process, data) => {
    const {distributed} = data;
    if (data.processes.length < 2) {
      panel.append(page.card('Processes', page.nothing('One process was recorded: there are no ranks to compare.')));
    } else {
      panel.append(page.card('Mean step of each process', page.rank_chart(data.processes.map((p) => ({title: p.name, parts: p.steps.parts.map((part) => part.us)})), data.processes[0].steps.parts)));
    }
    for (const table of distributed) if (table.rows.length) panel.append(page.table_card(table, ''));
    if (data.processes.length > 1 && !distributed.some((t) => t.key === 'collectives' && t.rows.length)) {
      panel.append(page.card('Collectives', page.nothing('No collective was recorded of any process.')));
    }
  });

  page.view('environment', 'Run environment', (panel, process) => {
    for (const group of process.environment) {
      panel.append(page.card(group.title, group.facts.length ? page.facts(group.facts) : page.nothing('Nothing known.')));
    }
  });

  page.view('missing', 'What is missing and why', (panel, process, data) => {
    const list = (title, sentences, none) => page.card(title, sentences.length ?
      page.el('ul', {class: 'sentences'}, sentences.map((s) => page.el('li', null, page.name(s)))) : page.nothing(none));
    panel.append(list('Not in the recording', [...new Set([...data.missing, ...process.missing])], 'Nothing known to be missing.'),
      list('Not in this page', process.left_out, 'Nothing was left out: the page holds all rows of the report.'));
    if (process.notices.length) panel.append(list('Said while it was recorded', process.notices, ''));
    panel.append(page.table_card(process.losses, 'No record was lost.'));
  });
})();
