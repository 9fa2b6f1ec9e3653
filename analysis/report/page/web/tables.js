// SPDX-License-Identifier: Apache-2.0
//
// Views that are tables: operators, kernels, ranks, what the recording was, what is missing.
'use strict';
(() => {
  const texts = page.texts.tables;
  const cards = (panel, tables, sentence) => {
    const some = tables.filter((table) => table.rows.length);
    if (!some.length) panel.append(page.card(page.texts.table.nothing, page.nothing(sentence)));
    for (const table of some) panel.append(page.table_card(table, ''));
  };

  page.view('operators', 'Operators', (panel, process) => cards(panel, process.operators, texts.no_operators));
  page.view('kernels', 'Kernels', (panel, process) => cards(panel, process.kernels, texts.no_gpu));

  page.view('distributed', 'Distributed', (panel, process, data) => {
    const {distributed} = data;
    if (data.processes.length < 2) {
      panel.append(page.card('Processes', page.nothing(texts.one_process)));
    } else {
      panel.append(page.card(texts.mean_steps, page.rank_chart(data.processes.map((p) => ({title: p.name, parts: p.steps.parts.map((part) => part.us)})), data.processes[0].steps.parts)));
    }
    for (const table of distributed) if (table.rows.length) panel.append(page.table_card(table, ''));
    if (data.processes.length > 1 && !distributed.some((t) => t.key === 'collectives' && t.rows.length)) {
      panel.append(page.card('Collectives', page.nothing(texts.no_collectives)));
    }
  });

  page.view('environment', 'Run environment', (panel, process) => {
    for (const group of process.environment) {
      panel.append(page.card(group.title, group.facts.length ? page.facts(group.facts) : page.nothing(texts.nothing_known)));
    }
  });

  page.view('missing', texts.missing_view, (panel, process, data) => {
    const list = (title, sentences, none) => page.card(title, sentences.length ?
      page.el('ul', {class: 'sentences'}, sentences.map((s) => page.el('li', null, page.name(s)))) : page.nothing(none));
    panel.append(list(texts.missing, [...new Set([...data.missing, ...process.missing])], texts.none_missing),
      list(texts.left_out, process.left_out, texts.none_left_out));
    if (process.notices.length) panel.append(list(texts.notices, process.notices, ''));
    panel.append(page.table_card(process.losses, texts.none_lost));
  });
})();
