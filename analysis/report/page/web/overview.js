// SPDX-License-Identifier: Apache-2.0
//
// Overview: how long steps took and with what, what the GPUs did, the advice.
'use strict';
(() => {
  const texts = page.texts.overview;
  const tile = (label, value, unit, key) => [page.el('dt', null, label), page.el('dd', {data: {v: String(value), key}}, page.write(value, unit))];

  const tiles = (process) => {
    const {steps, gpus} = process;
    const all = [];
    if (steps.made_up) {
      all.push(tile('recorded', process.span_us, 'us', 'span'));
    } else {
      all.push(tile('recorded', process.span_us, 'us', 'span'), tile('steps', steps.count, 'count', 'steps'));
      if (steps.apart.length) all.push(tile('first step', steps.apart[0].us, 'us', 'first'));
      all.push(tile('mean step time', steps.mean_us, 'us', 'mean'),
        tile('median', steps.p50_us, 'us', 'p50'), tile('95th percentile', steps.p95_us, 'us', 'p95'));
    }
    if (gpus.length) {
      const busy = gpus.reduce((sum, gpu) => sum + gpu.utilisation, 0) / gpus.length;
      all.push(tile(gpus.length > 1 ? texts.gpus_in_use : 'GPU in use', busy, 'share', 'utilisation'));
    } else {
      all.push([page.el('dt', null, 'GPU'), page.el('dd', {class: 'sentence'}, texts.no_gpu_tile)]);
    }
    return page.el('dl', {class: 'tiles'}, all.map((pair) => page.el('div', null, pair)));
  };

  const place = (advice) => {
    if (!advice.file) return null;
    const last = advice.last_line > advice.line ? `-${advice.last_line}` : '';
    const where = advice.line ? `${advice.file}:${advice.line}${last}` : advice.file;
    return page.el('p', null, page.el('code', null, page.name(where)), advice.function ? [' in ', page.el('code', null, page.name(advice.function))] : null);
  };
  const share = (advice) => (typeof advice.share === 'number' ?
    [page.write(advice.share, 'share'), page.el('small', null, advice.share_of || 'of a step')] : ['–']);

  const one_advice = (advice) => page.el('li', {data: {rule: advice.rule}},
    page.el('div', {class: 'worth'}, share(advice)),
    page.el('div', null, page.el('h3', null, page.name(advice.title)), page.el('p', null, page.name(advice.sentence)), place(advice),
      page.el('p', {class: 'do'}, page.name(advice.change)),
      advice.evidence.length ? page.el('details', null, page.el('summary', null, 'Evidence'),
        page.el('ul', {class: 'sentences small'}, advice.evidence.map((line) => page.el('li', null, page.name(line))))) : null));

  const advice_card = (advice) => page.card('Advice', advice.length ? page.el('ol', {class: 'advice'}, advice.map(one_advice)) :
    page.nothing(texts.no_advice));

  const breakdown_card = (steps) => {
    const parts = steps.parts.filter((part) => part.us > 0);
    const total = parts.reduce((sum, part) => sum + part.us, 0);
    if (!total) return page.card('Where the time goes', page.nothing(texts.nothing_to_divide));
    const bar = page.el('div', {class: 'stack', 'aria-hidden': 'true'}, parts.map((part) =>
      page.el('i', {style: {width: `${(100 * part.us) / total}%`, background: `var(--${part.key})`}})));
    const rows = parts.map((part) => page.el('tr', {data: {part: part.key}},
      page.el('th', {scope: 'row'}, page.el('span', {class: 'swatch', 'aria-hidden': 'true', style: {background: `var(--${part.key})`}}), part.title),
      page.el('td', {class: 'num', data: {v: String(part.us)}}, page.write(part.us, 'us')),
      page.el('td', {class: 'num'}, page.write(part.us / total, 'share'))));
    const caption = steps.made_up ? texts.parts_of_recording : texts.parts_of_step(steps.kept, steps.apart.length);
    return page.card('Where the time goes', bar, page.el('table', null, page.el('caption', null, caption),
      page.el('thead', null, page.el('tr', null, ['Part', 'Time', 'Share'].map((t, i) => page.el('th', {scope: 'col', class: i ? 'num' : ''}, t)))),
      page.el('tbody', null, rows)));
  };

  const gpu_card = (process) => {
    const list = process.gpus.map((gpu) => page.el('div', {data: {gpu: gpu.device}}, page.el('h3', null, page.name(`GPU ${gpu.device}${gpu.name ? `: ${gpu.name}` : ''}`)), page.facts(gpu.facts)));
    return page.card(process.gpus.length > 1 ? 'GPUs' : 'GPU', ...(list.length ? list : [page.nothing(texts.no_gpu)]));
  };

  const steps_card = (process) => {
    const {steps} = process;
    if (steps.made_up || !steps.curve.label.length) {
      return page.card('Step time', page.nothing(texts.no_steps));
    }
    const note = steps.curve.of > 1 ? texts.mean_of(steps.curve.of) : null;
    const where = steps.where ? page.el('p', {class: 'quiet small'}, texts.steps_are, page.el('code', null, page.name(steps.where)), '.') : null;
    return page.card('Step time', note ? page.el('p', {class: 'quiet small'}, note) : null, where, page.step_chart(steps));
  };

  page.view('overview', 'Overview', (panel, process, data) => {
    if (process.simulated) panel.append(page.el('p', {class: 'banner', role: 'note'}, texts.simulated));
    const advice = data.advice.filter((one) => one.process === null || one.process === undefined || one.process === process.index);
    panel.append(tiles(process), page.wall_card(process.wall), page.el('div', {class: 'pair'}, breakdown_card(process.steps), gpu_card(process)), advice_card(advice), steps_card(process));
  });
})();
