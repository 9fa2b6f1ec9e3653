// SPDX-License-Identifier: Apache-2.0
//
// Changes: what is claimed first, what is only seen, then the step before and after, as curves and as figures.
'use strict';
(() => {
  const texts = page.texts.changes;
  const kSides = [{key: 'side-before', title: 'before'}, {key: 'side-after', title: 'after'}];

  const one_claim = (why) => (claim) => page.el('li', {data: {claim: page.short(claim.name || claim.what, 200)}},
    page.el('div', {class: `worth ${claim.more ? 'more' : 'less'}`}, claim.change.replace('-', '−')),
    page.el('div', null, page.el('h3', null, claim.what, claim.name ? [' ', page.el('code', null, page.name(claim.name))] : null), page.el('p', null, page.name(claim.sentence)),
      claim.details.map((line) => page.el('p', {class: 'quiet'}, page.name(line))),
      claim.evidence.length ? page.el('details', null, page.el('summary', null, why),
        page.el('ul', {class: 'sentences small'}, claim.evidence.map((line) => page.el('li', null, page.name(line))))) : null));

  const sides = (process) => page.el('dl', {class: 'facts'}, kSides.map((side, i) => [
    page.el('dt', null, page.el('span', {class: 'swatch', 'aria-hidden': 'true', style: {background: `var(--${side.key})`}}), side.title), page.el('dd', null, page.name(process.sides[i]))]));

  const tile = (row) => {
    const [name, significant, seen_once, before, after, change] = row;
    const unit = row[row.length - 1];
    const how = typeof change === 'number' ? page.write(change, 'change') : page.write(change, 'text');
    return page.el('div', null, page.el('dt', null, name), page.el('dd', {data: {key: name}}, `${page.write(before, unit)} → ${page.write(after, unit)}`,
      page.el('small', null, `${how}, ${significant ? 'significant' : seen_once ? 'unconfirmed' : 'not significant'}`)));
  };

  /** What is shown, and by one process or some pairs only. */
  const seen_once_card = ({title, sentence, claims}) => (claims.length ? page.card(title, page.el('p', null, sentence),
    page.el('ol', {class: 'advice claims seen-once'}, claims.map(one_claim(texts.why_unconfirmed)))) : '');

  const verdict_card = (process) => page.card(process.verdict, sides(process), page.el('ul', {class: 'sentences small pairs'}, process.pairs.map((line) => page.el('li', null, page.name(line)))), page.el('dl', {class: 'tiles'}, process.metrics.rows.map(tile)),
    process.claims.length ? page.el('ol', {class: 'advice claims'}, process.claims.map(one_claim(texts.why))) :
      page.el('p', null, texts.none),
    page.el('ul', {class: 'sentences small common'}, process.common.map((line) => page.el('li', null, line))));

  /** Steps of a curve: [[step, us, warm-up]]; the number of a point is that of its first step. */
  const points = (curve) => curve.us.map((us, i) => [i * curve.of, us, i < curve.warm_up]);

  const draw = (box, curves, most) => {
    const all = curves.map(points);
    const x = d3.scaleLinear().domain([0, Math.max(1, d3.max(all.flat(), (p) => p[0]))]);
    const y = d3.scaleLinear().domain([0, most]).nice();
    const axis = d3.axisBottom(x).ticks(12).tickFormat((v) => (Number.isInteger(v) ? v : ''));
    const medians = curves.map((curve) => (curve.us.length * curve.of === 0 ? texts.no_steps : texts.median(page.write(d3.median(curve.us), 'us'))));
    const svg = page.chart.frame(box, x, y, texts.step_time(...medians), {x: 'step', y: (v) => page.tick(v, 'us'), axis});
    const line = d3.line().x((p) => x(p[0])).y((p) => y(Math.min(p[1], y.domain()[1])));
    all.forEach((list, side) => {
      const stroke = (part, dashes) => svg.append('path').attr('fill', 'none').attr('stroke', `var(--${kSides[side].key})`).attr('stroke-width', 1.7)
        .attr('stroke-dasharray', dashes).attr('d', line(part));
      const warm = list.filter((p) => p[2]).length;
      if (warm) stroke(list.slice(0, warm + 1), '2 4');
      stroke(list.slice(warm), null);
    });
    box.append(svg.node());
    page.chart.tip_for(box, svg, (px) => {
      const step = Math.round(x.invert(px));
      const lines = all.map((list, side) => {
        const at = list[Math.floor(step / curves[side].of)];
        return at ? `${kSides[side].title} ${page.write(at[1], 'us')}${at[2] ? ' (warm-up)' : ''}` : null;
      }).filter(Boolean);
      return lines.length ? [`step ${step}`, ...lines] : null;
    });
  };

  const curve_table = (curves) => {
    const [a, b] = curves.map((curve) => new Map(points(curve).map((p) => [p[0], p])));
    const steps = [...new Set([...a.keys(), ...b.keys()])].sort((x, y) => x - y);
    const rows = steps.map((step) => [step, a.get(step)?.[1] ?? null, b.get(step)?.[1] ?? null,
      [a, b].map((of, side) => (of.get(step)?.[2] ? kSides[side].title : null)).filter(Boolean).join(' and ')]);
    return {key: 'curves', title: 'Step times', rows, columns: [{key: 'step', title: 'Step', unit: 'number'}, {key: 'before', title: 'Before', unit: 'us'},
      {key: 'after', title: 'After', unit: 'us'}, {key: 'warm_up', title: 'Warm-up', unit: 'text'}]};
  };

  const curves_card = (process) => {
    const {curves} = process;
    if (!process.by_step || !curves.some((curve) => curve.us.length)) {
      return page.card('Step time', page.nothing(texts.no_curves));
    }
    // One step that took ten times as long would leave a flat line of all others.
    const kept = curves.flatMap((curve) => curve.us.slice(curve.warm_up)).sort(d3.ascending);
    const most = Math.min(d3.max(curves, (curve) => d3.max(curve.us)), 2 * d3.quantile(kept, 0.95) || Infinity) || 1;
    const above = curves.reduce((sum, curve) => sum + curve.us.filter((us) => us > most).length, 0);
    const notes = [curves.some((curve) => curve.warm_up) ? texts.dotted : '',
      curves.some((curve) => curve.of > 1) ? texts.mean_of(...curves.map((curve) => curve.of)) : '',
      above ? texts.above(above) : ''].filter(Boolean);
    const box = page.el('div', {class: 'chart'});
    page.chart.when_placed(box, () => draw(box, curves, most));
    return page.card('Step time', box, page.chart.key_list(kSides), notes.length ? page.el('p', {class: 'quiet small'}, notes.join(' ')) : null, page.chart.as_table(curve_table(curves)));
  };

  const notes_card = (process) => page.card(texts.notes, process.notes.length ?
    page.el('ul', {class: 'sentences'}, process.notes.map((line) => page.el('li', null, page.name(line)))) :
    page.nothing(texts.no_notes));

  page.view('changes', 'Changes', (panel, process, data) => {
    if (process.simulated) panel.append(page.el('p', {class: 'banner', role: 'note'}, texts.simulated));
    for (const sentence of data.holds) panel.append(page.el('p', {class: 'banner', role: 'note'}, page.name(sentence)));
    panel.append(verdict_card(process), seen_once_card(process.seen_once));
    if (data.processes.length > 1) panel.append(page.table_card(data.ranks, ''));
    panel.append(curves_card(process), page.table_card(process.metrics, texts.no_metrics), notes_card(process));
  });
})();
