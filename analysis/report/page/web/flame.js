// SPDX-License-Identifier: Apache-2.0
//
// The flame graph: merged stacks of samples or of GPU work, widest first, root at the top.
//
// Promises: reachable by keys (arrows, Enter, Escape); every frame's figures are spoken and in a table
'use strict';
(() => {
  const texts = page.texts.flame;
  const kRow = 19;
  const kKinds = ['root', 'thread', 'python', 'native', 'operator', 'gpu', 'rest'];
  const kTitles = {thread: 'thread', python: 'Python', native: 'native', operator: 'operator', gpu: 'GPU work', rest: 'small frames'};

  /** Children, totals and depths of a tree whose parents come before their children. */
  const grow = (tree, self) => {
    const n = tree.name.length;
    const total = Float64Array.from(self);
    for (let i = n - 1; i > 0; --i) total[tree.parent[i]] += total[i];
    const below = Array.from({length: n}, () => []);
    const depth = new Int32Array(n);
    for (let i = 1; i < n; ++i) {
      depth[i] = depth[tree.parent[i]] + 1;
      if (total[i] > 0) below[tree.parent[i]].push(i);
    }
    for (const list of below) list.sort((a, b) => total[b] - total[a]);
    return {tree, self, total, below, depth, unit: tree.unit};
  };

  const name_of = (flame, i) => flame.tree.strings[flame.tree.name[i]];
  /** What fits into a box: a file without the folders above its package. */
  const label_of = (flame, i) => name_of(flame, i).replace(/^\/.*\/(?:site|dist)-packages\//, '').replace(/^\/.*\/lib\/python3\.\d+\//, '')
    .replace(/^\/(?:[^/ ]+\/)*([^/ ]+\/[^/ ]+\(\d+\))/, '$1');
  const share = (flame, i) => page.write(flame.total[i] / (flame.total[0] || 1), 'share');
  const figures = (flame, i) => texts.figures(page.write(flame.total[i], flame.unit), share(flame, i), page.write(flame.self[i], flame.unit));

  /** Boxes to draw with `root` as wide as the picture: [{i, x, width, depth, around}]. */
  const layout = (flame, root, width) => {
    const out = [];
    for (let i = root, up = flame.depth[root]; i !== 0; --up) {
      i = flame.tree.parent[i];
      out.push({i, x: 0, width, depth: up - 1, around: true});
    }
    const walk = (i, x, wide) => {
      out.push({i, x, width: wide, depth: flame.depth[i], around: false});
      let at = x;
      for (const child of flame.below[i]) {
        const w = (wide * flame.total[child]) / flame.total[i];
        if (w < 1) break;  // the rest is narrower still
        walk(child, at, w);
        at += w;
      }
    };
    if (flame.total[root] > 0) walk(root, 0, width);
    return out;
  };

  const matches = (flame, wanted) => {
    const found = new Set();
    if (!wanted) return {found, share: 0};
    let sum = 0;
    const walk = (i, inside) => {
      const here = name_of(flame, i).toLowerCase().includes(wanted);
      if (here) {
        found.add(i);
        if (!inside) sum += flame.total[i];
      }
      for (const child of flame.below[i]) walk(child, inside || here);
    };
    walk(0, false);
    return {found, share: sum / (flame.total[0] || 1)};
  };

  /** By name: self and total, a frame inside itself counted once. */
  const heaviest = (flame) => {
    const rows = new Map();
    const open = new Map();
    const walk = (i) => {
      const key = name_of(flame, i);
      const row = rows.get(key) || rows.set(key, [key, kTitles[kKinds[flame.tree.kind[i]]] || '', 0, 0, 0]).get(key);
      row[3] += flame.self[i];
      const inside = open.get(key) || 0;
      if (!inside) row[2] += flame.total[i];
      open.set(key, inside + 1);
      flame.below[i].forEach(walk);
      open.set(key, inside);
    };
    flame.below[0].forEach(walk);
    const all = flame.total[0] || 1;
    for (const row of rows.values()) row[4] = row[2] / all;
    return {key: 'frames', title: 'Frames', sort: 'self', rows: [...rows.values()], columns: [{key: 'frame', title: 'Frame', unit: 'name'}, {key: 'kind', title: 'Kind', unit: 'text'},
      {key: 'total', title: 'Total', unit: flame.unit}, {key: 'self', title: 'Self', unit: flame.unit}, {key: 'share', title: 'Share', unit: 'share'}]};
  };

  const box_of = (state, box) => {
    const {flame} = state;
    const g = d3.create('svg:g').attr('role', 'treeitem').attr('id', `${state.id}-${box.i}`).attr('aria-level', box.depth + 1)
      .attr('aria-label', `${page.short(name_of(flame, box.i), 200)}: ${figures(flame, box.i)}`)
      .attr('class', [box.around ? 'around' : '', state.found.has(box.i) ? 'found' : '', state.active === box.i ? 'active' : ''].join(' '));
    g.append('rect').attr('x', box.x).attr('y', box.depth * kRow).attr('width', Math.max(0.5, box.width)).attr('height', kRow - 1).attr('rx', 2)
      .attr('fill', `var(--f-${kKinds[flame.tree.kind[box.i]]})`);
    const letters = Math.floor((box.width - 6) / 6.4);
    if (letters >= 3) g.append('text').attr('x', box.x + 4).attr('y', box.depth * kRow + 13).text(page.short(label_of(flame, box.i), letters));
    g.on('click', () => {
      state.activate(box.i);
      state.zoom(box.i);
    });
    g.on('mouseenter', () => state.tell(box.i));
    return g.node();
  };

  const draw = (state) => {
    const width = Math.max(300, state.box.clientWidth - 2);
    const boxes = layout(state.flame, state.root, width);
    const height = (d3.max(boxes, (b) => b.depth) + 1 || 1) * kRow;
    state.drawn = new Set(boxes.map((b) => b.i));
    const svg = d3.create('svg').attr('width', width).attr('height', height).attr('role', 'presentation');
    for (const box of boxes) svg.node().append(box_of(state, box));
    state.box.replaceChildren(svg.node());
    if (state.drawn.has(state.active)) state.box.setAttribute('aria-activedescendant', `${state.id}-${state.active}`);
  };

  const neighbour = (state, step) => {
    const list = state.flame.below[state.flame.tree.parent[state.active]];
    return list && state.active !== 0 ? list[list.indexOf(state.active) + step] : undefined;
  };
  const moves = {
    ArrowDown: (state) => state.flame.below[state.active][0],
    ArrowUp: (state) => (state.active === 0 ? undefined : state.flame.tree.parent[state.active]),
    ArrowRight: (state) => neighbour(state, 1),
    ArrowLeft: (state) => neighbour(state, -1),
    Home: () => 0,
  };
  const on_key = (state, event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key in moves) {
      const to = moves[event.key](state);
      event.preventDefault();
      if (to !== undefined) state.activate(to);
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      state.zoom(state.active);
    } else if (event.key === 'Escape') {
      state.zoom(0);
    }
  };

  const graph = (flame) => {
    const state = {flame, root: 0, active: 0, found: new Set(), id: page.id('flame'), drawn: new Set()};
    const detail = page.el('p', {class: 'detail', role: 'status'});
    const sum = page.el('span', {class: 'count', role: 'status'});
    state.box = page.el('div', {class: 'flame', role: 'tree', tabindex: 0, 'aria-label': texts.label(flame.tree.title), 'aria-describedby': `${state.id}-help`, on: {keydown: (event) => on_key(state, event)}});
    state.tell = (i) => {
      const kind = kTitles[kKinds[flame.tree.kind[i]]];
      detail.replaceChildren(page.el('code', null, page.name(page.short(name_of(flame, i), 600))), page.el('br'), `${kind ? `${kind}: ` : ''}${figures(flame, i)}`);
    };
    state.activate = (i) => {
      state.active = i;
      if (!state.drawn.has(i)) state.root = flame.tree.parent[i];
      state.tell(i);
      draw(state);
    };
    state.zoom = (i) => {
      state.root = i;
      draw(state);
    };
    const search = page.el('input', {type: 'search', size: 26, on: {input: (event) => {
      const hit = matches(flame, event.target.value.toLowerCase());
      state.found = hit.found;
      sum.textContent = event.target.value ? texts.found(hit.found.size, page.write(hit.share, 'share')) : '';
      draw(state);
    }}});
    const reset = page.el('button', {type: 'button', on: {click: () => {
      state.activate(0);
      state.zoom(0);
    }}}, 'Show all');
    new ResizeObserver(() => draw(state)).observe(state.box);
    state.tell(0);
    const kinds = [...new Set(flame.tree.kind)].map((k) => kKinds[k]).filter((k) => kTitles[k]);
    const key = page.el('ul', {class: 'key'}, kinds.map((k) => page.el('li', null, page.el('span', {class: 'swatch', 'aria-hidden': 'true', style: {background: `var(--f-${k})`}}), kTitles[k])));
    return page.el('div', null, page.el('div', {class: 'toolbar'}, page.el('label', null, 'Search', search), reset, sum), key, state.box, detail,
      page.el('p', {class: 'quiet small', id: `${state.id}-help`}, texts.keys),
      page.table(heaviest(flame)));
  };

  /** The ways to look at the trees of a process: [{title, flame()}]. */
  const choices = (process) => process.flames.flatMap((tree) => [{title: tree.title, note: tree.note, flame: () => grow(tree, tree.self)},
    ...(tree.blocked ? [{title: tree.blocked_title, note: tree.blocked_note, flame: () => grow({...tree, title: tree.blocked_title}, tree.blocked)}] : [])]);

  page.view('flame', 'Flame graph', (panel, process) => {
    const ways = choices(process);
    if (!ways.length) {
      panel.append(page.card('Flame graph', page.nothing(texts.nothing)));
      return;
    }
    const place = page.el('div');
    const show = (way) => place.replaceChildren(way.note ? page.el('p', {class: 'quiet small'}, way.note) : '', graph(way.flame()));
    const group = page.id('by');
    const radios = ways.map((way, i) => page.el('label', null, page.el('input', {type: 'radio', name: group, value: i, checked: i === 0, on: {change: () => show(way)}}), way.title));
    panel.append(page.card('Flame graph', page.el('div', {class: 'toolbar'}, page.el('fieldset', null, page.el('legend', null, 'Width shows'), radios)), place));
    show(ways[0]);
  });
})();
