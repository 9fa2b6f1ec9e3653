// SPDX-License-Identifier: Apache-2.0
//
// Starts the page: loads the data, fills the head, makes the tabs.
'use strict';
(() => {
  const texts = page.texts.main;
  const by_id = (id) => document.getElementById(id);

  const head = () => {
    const {process} = page;
    document.title = `${page.short(process.title, 60)} – ${by_id('kind').textContent}`;
    by_id('subject').replaceChildren(page.name(page.short(process.command || process.title, 300)));
  };

  const choose_process = (index) => {
    page.process = page.data.processes[index];
    head();
  };

  const process_list = () => {
    const select = by_id('process');
    page.data.processes.forEach((process, i) => select.append(page.el('option', {value: i}, page.short(process.name, 80))));
    by_id('process-choice').hidden = page.data.processes.length < 2;
    select.addEventListener('change', () => {
      choose_process(Number(select.value));
      page.redraw();
      page.say(texts.showing(page.process.name));
    });
  };

  const fail = (why) => {
    const failure = by_id('failure');
    failure.hidden = false;
    failure.textContent = texts.cannot_show(why.message || why);
  };

  const start = async () => {
    page.data = await page.load();
    page.data.processes.forEach((process, i) => {
      process.index = i;
    });
    process_list();
    choose_process(0);
    page.make_tabs();
    by_id('made').textContent = page.shown(texts.made(page.data.version, page.data.source));
    document.documentElement.dataset.ready = '';
  };

  start().catch(fail);
})();
