// SPDX-License-Identifier: Apache-2.0
//
// Overview: all of the recorded time, and what took most of what is in no usual step.
'use strict';
(() => {
  const colours = {whole: 'cpu', start: 'other', first_step: 'memcpy', steps: 'kernel', torn_step: 'memset', between_steps: 'runtime', end: 'other', no_step: 'cpu'};
  const colour = (row) => `var(--${colours[row.key] || 'other'})`;
  const line = (one) => page.el('tr', {class: 'small', data: {line: one.doing}},
    page.el('td', null, page.name(one.text), one.note ? page.el('span', {class: 'quiet'}, one.note) : null),
    page.el('td', {class: 'num', data: {v: String(one.us)}}, page.write(one.us, 'us')), page.el('td', {class: 'num'}, page.write(one.share, 'share')));
  const part = (row) => [page.el('tr', {data: {wall: row.key}},
    page.el('th', {scope: 'row'}, page.el('span', {class: 'swatch', 'aria-hidden': 'true', style: {background: colour(row)}}), row.title,
      row.note ? page.el('span', {class: 'quiet small'}, ` ${row.note}`) : null),
    page.el('td', {class: 'num', data: {v: String(row.us)}}, page.write(row.us, 'us')),
    page.el('td', {class: 'num'}, page.write(row.share, 'share'))), ...row.lines.map(line)];

  page.wall_card = (wall) => {
    if (wall.rows.length < 2) return null;
    const bar = page.el('div', {class: 'stack', 'aria-hidden': 'true'}, wall.rows.map((row) =>
      page.el('i', {style: {width: `${100 * row.share}%`, background: colour(row)}})));
    return page.card('Wall time', bar, page.el('table', {class: 'wall'},
      page.el('caption', null, page.texts.wall.note),
      page.el('thead', null, page.el('tr', null, ['Part', 'Time', 'Share'].map((t, i) => page.el('th', {scope: 'col', class: i ? 'num' : ''}, t)))),
      page.el('tbody', null, wall.rows.flatMap(part))));
  };
})();
