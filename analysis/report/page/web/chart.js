// SPDX-License-Identifier: Apache-2.0
//
// Charts with axes, drawn by d3: time of steps in parts, memory over time, ranks side by side.
//
// Promises: each has a sentence in its label and its figures in a table below
'use strict';
(() => {
  const texts = page.texts.chart;
  const kHeight = 240;
  const kMargin = {top: 10, right: 14, bottom: 34, left: 76};

  const width_of = (box) => Math.max(320, Math.min(1700, box.clientWidth || document.getElementById('panels').clientWidth - 70));

  const y_axis = (y, titles) => {
    const axis = d3.axisLeft(y).ticks(5);
    if (!titles.binary) return axis;
    const unit = 1024 ** Math.max(0, Math.floor(Math.log2(Math.max(1, y.domain()[1])) / 10));
    return axis.tickValues(d3.ticks(0, y.domain()[1] / unit, 5).map((v) => v * unit));
  };

  /** Makes the frame of a chart in `box`. */
  const frame = (box, x, y, label, titles) => {
    const width = width_of(box);
    const svg = d3.create('svg').attr('width', width).attr('height', kHeight).attr('viewBox', `0 0 ${width} ${kHeight}`).attr('role', 'img').attr('aria-label', label);
    x.range([kMargin.left, width - kMargin.right]);
    y.range([kHeight - kMargin.bottom, kMargin.top]);
    svg.append('g').attr('class', 'grid').attr('transform', `translate(${kMargin.left},0)`)
      .call(y_axis(y, titles).tickSize(-(width - kMargin.left - kMargin.right)).tickFormat(''));
    svg.append('g').attr('class', 'axis').attr('transform', `translate(${kMargin.left},0)`).call(y_axis(y, titles).tickFormat(titles.y));
    svg.append('g').attr('class', 'axis').attr('transform', `translate(0,${kHeight - kMargin.bottom})`).call(titles.axis);
    svg.append('text').attr('x', width - kMargin.right).attr('y', kHeight - 5).attr('text-anchor', 'end').text(titles.x);
    return svg;
  };

  const tip_for = (box, svg, text_at) => {
    const tip = page.el('div', {class: 'tip', hidden: true, 'aria-hidden': 'true'});
    box.append(tip);
    svg.on('mousemove', () => {
      const at = d3.mouse(svg.node());
      const text = text_at(at[0], at[1]);
      tip.hidden = !text;
      if (!text) return;
      tip.replaceChildren(...text.map((line) => page.el('div', null, line)));
      const left = at[0] > width_of(box) / 2;
      tip.style.setProperty('top', `${Math.max(0, at[1] - 10)}px`);
      tip.style.setProperty(left ? 'right' : 'left', left ? `${width_of(box) - at[0] + 14}px` : `${at[0] + 14}px`);
      tip.style.setProperty(left ? 'left' : 'right', 'auto');
    });
    svg.on('mouseleave', () => {
      tip.hidden = true;
    });
  };

  const key_list = (parts) => page.el('ul', {class: 'key'}, parts.map((part) => page.el('li', null,
    page.el('span', {class: 'swatch', 'aria-hidden': 'true', style: {background: `var(--${part.key})`}}), part.title)));

  const as_table = (table) => page.el('details', null, page.el('summary', null, texts.as_table), page.table(table));

  /** Runs `draw` once the box is in the page, so that it has a width, and again when that changes. */
  const when_placed = (box, draw) => {
    let width = 0;
    new ResizeObserver(() => {
      if (box.clientWidth === width || !box.clientWidth) return;
      width = box.clientWidth;
      box.replaceChildren();
      draw();
    }).observe(box);
  };

  /** What charts of other scripts are made with. */
  page.chart = {frame, tip_for, key_list, as_table, when_placed};

  const step_layers = (curve, parts) => d3.stack().keys(parts.map((p) => p.at)).value((i, at) => curve.parts[at][i])(d3.range(curve.label.length));

  const draw_steps = (box, steps, parts) => {
    const {curve} = steps;
    const n = curve.label.length;
    const x = d3.scaleLinear().domain([-0.5, n - 0.5]);
    const y = d3.scaleLinear().domain([0, d3.max(curve.max_us) || 1]).nice();
    const axis = d3.axisBottom(x).tickValues(x.ticks(Math.min(n, 12)).filter((v) => Number.isInteger(v) && curve.label[v] !== undefined)).tickFormat((i) => curve.label[i]);
    const svg = frame(box, x, y, texts.step_time(page.write(steps.mean_us, 'us'), page.write(steps.max_us, 'us'), steps.count),
      {x: 'step', y: (v) => page.tick(v, 'us'), axis});
    const wide = Math.max(1, (x(1) - x(0)) * (n < 80 ? 0.82 : 1));
    for (const layer of step_layers(curve, parts)) {
      const group = svg.append('g').attr('fill', `var(--${parts.find((p) => p.at === layer.key).key})`);
      if (n <= 400) {
        group.selectAll('rect').data(layer).join('rect').attr('x', (_, i) => x(i) - wide / 2).attr('width', wide)
          .attr('y', (d) => y(d[1])).attr('height', (d) => Math.max(0, y(d[0]) - y(d[1])));
      } else {
        group.append('path').attr('d', d3.area().x((_, i) => x(i)).y0((d) => y(d[0])).y1((d) => y(d[1]))(layer));
      }
    }
    if (curve.of > 1) svg.append('path').attr('fill', 'none').attr('stroke', 'var(--found)').attr('d', d3.line().x((_, i) => x(i)).y((v) => y(v))(curve.max_us));
    box.append(svg.node());
    tip_for(box, svg, (px) => {
      const i = Math.round(x.invert(px));
      if (i < 0 || i >= n) return null;
      return [`step ${curve.label[i]}: ${page.write(curve.us[i], 'us')}`, ...parts.filter((p) => curve.parts[p.at][i] > 0).map((p) => `${p.title} ${page.write(curve.parts[p.at][i], 'us')}`)];
    });
  };

  /** Step time, in parts, with its table. */
  page.step_chart = (steps) => {
    const parts = steps.parts.map((part, at) => ({...part, at})).filter((part) => d3.max(steps.curve.parts[part.at]) > 0);
    const box = page.el('div', {class: 'chart'});
    when_placed(box, () => draw_steps(box, steps, parts));
    const {curve} = steps;
    const columns = [{key: 'label', title: 'Step', unit: 'number'}, {key: 'us', title: 'Time', unit: 'us'}, ...parts.map((p) => ({key: p.key, title: p.title, unit: 'us'})),
      {key: 'busy_us', title: 'GPU busy', unit: 'us'}, {key: 'kernels', title: 'Kernels', unit: 'count'}];
    const rows = curve.label.map((label, i) => [label, curve.us[i], ...parts.map((p) => curve.parts[p.at][i]), curve.busy_us[i], curve.kernels[i]]);
    return page.el('div', null, box, key_list(parts), curve.of > 1 ? page.el('p', {class: 'quiet small'}, texts.longest_line) : null,
      as_table({key: 'steps', title: 'Steps', columns, rows}));
  };

  const draw_memory = (box, memory, names) => {
    const {curve} = memory;
    const x = d3.scaleLinear().domain(d3.extent(curve.ts_us));
    if (curve.ts_us.length === 1) x.domain([curve.ts_us[0] - 1, curve.ts_us[0] + 1]);
    const y = d3.scaleLinear().domain([0, 1.04 * d3.max([...curve.allocated, ...curve.reserved]) || 1]);
    const svg = frame(box, x, y, texts.memory(memory.title, page.write(memory.peak_allocated, 'bytes'), page.write(memory.peak_reserved, 'bytes')),
      {x: texts.time_axis, binary: true, y: (v) => page.tick(Math.round(v), 'bytes'), axis: d3.axisBottom(x).ticks(8).tickFormat((v) => page.tick(v, 'us'))});
    const at = (i) => x(curve.ts_us[i]);
    const line = (values) => d3.line().curve(d3.curveStepAfter).x((_, i) => at(i)).y((v) => y(v))(values);
    svg.append('path').attr('fill', 'var(--kernel)').attr('fill-opacity', 0.3).attr('d', d3.area().curve(d3.curveStepAfter).x((_, i) => at(i)).y0(y(0)).y1((v) => y(v))(curve.allocated));
    svg.append('path').attr('fill', 'none').attr('stroke', 'var(--kernel)').attr('stroke-width', 1.5).attr('d', line(curve.allocated));
    if (names.length > 1) svg.append('path').attr('fill', 'none').attr('stroke', 'var(--memcpy)').attr('stroke-width', 1.5).attr('stroke-dasharray', '5 3').attr('d', line(curve.reserved));
    box.append(svg.node());
    tip_for(box, svg, (px) => {
      const i = Math.min(curve.ts_us.length - 1, Math.max(0, d3.bisectRight(curve.ts_us, x.invert(px)) - 1));
      return [page.write(curve.ts_us[i], 'us'), `allocated ${page.write(curve.allocated[i], 'bytes')}`, ...(names.length > 1 ? [`reserved ${page.write(curve.reserved[i], 'bytes')}`] : [])];
    });
  };

  /** Memory of one device over time. */
  page.memory_chart = (memory) => {
    const names = [{key: 'kernel', title: 'allocated'}];
    if (memory.peak_reserved > 0) names.push({key: 'memcpy', title: texts.reserved});
    const box = page.el('div', {class: 'chart'});
    when_placed(box, () => draw_memory(box, memory, names));
    return page.el('div', null, box, key_list(names));
  };

  /** Bars in parts, one for each rank: rows [{title, parts: [us…]}]. */
  page.rank_chart = (rows, parts) => {
    const most = d3.max(rows, (row) => d3.sum(row.parts)) || 1;
    const used = parts.map((part, at) => ({...part, at})).filter((part) => rows.some((row) => row.parts[part.at] > 0));
    const bars = rows.map((row) => [page.el('dt', null, page.name(row.title)), page.el('dd', null, page.el('div', {class: 'stack', 'aria-hidden': 'true'},
      used.map((part) => page.el('i', {style: {width: `${(100 * row.parts[part.at]) / most}%`, background: `var(--${part.key})`}})))),
    ]);
    return page.el('div', null, page.el('dl', {class: 'facts', 'aria-hidden': 'true'}, bars), key_list(used));
  };
})();
