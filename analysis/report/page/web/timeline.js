// SPDX-License-Identifier: Apache-2.0
//
// The timeline of a few steps: zoom, search, choosing an event, from launch to kernel and back.
//
// Not here: drawing (timeline_draw.js); which steps are in the page (page_slices.hpp)
'use strict';
(() => {
  const texts = page.texts.timeline;
  const kMost = 620;  // pixels of height

  const index_flows = (slice) => {
    const by_flow = new Map();
    slice.flow.forEach((flow, i) => {
      if (!flow) return;
      if (!by_flow.has(flow)) by_flow.set(flow, []);
      by_flow.get(flow).push(i);
    });
    const is_call = (i) => page.timeline_kinds[slice.kind[i]] === 'runtime';
    const of = new Map();
    const all = [];
    for (const list of by_flow.values()) {
      const from = list.find(is_call);
      if (from === undefined) continue;
      for (const to of list) {
        if (is_call(to)) continue;
        const pair = [from, to];
        all.push(pair);
        for (const end of pair) of.set(end, (of.get(end) || []).concat([pair]));
      }
    }
    return {all, of};
  };

  const describe = (view, i) => {
    const {slice, strings} = view;
    const facts = [['Kind', page.timeline_kinds[slice.kind[i]]], ['Track', slice.tracks[slice.track[i]].title], ['Start', slice.start[i] / 1000, 'us'], ['Duration', slice.dur[i] / 1000, 'us']];
    if (slice.detail[i]) facts.push(['Details', strings[slice.detail[i]]]);
    const ends = view.arrows_of(i);
    if (ends.length) {
      const [from, to] = ends[0];
      if (from === i) facts.push(['Launched', texts.launched(page.short(strings[slice.name[to]], 300), page.write((slice.start[to] - slice.start[from]) / 1000, 'us'))]);
      else facts.push(['Launched by', texts.launched_by(page.short(strings[slice.name[from]], 300), page.write((slice.start[to] - slice.start[from]) / 1000, 'us'))]);
    }
    return page.el('div', null, page.el('code', null, page.name(page.short(strings[slice.name[i]], 1000))), page.facts(facts));
  };

  const by_name = (view) => {
    const [from, to] = view.x.domain();
    const rows = new Map();
    const {slice} = view;
    for (let i = 0; i < slice.start.length; ++i) {
      if (slice.start[i] + slice.dur[i] < from || slice.start[i] > to) continue;
      const key = `${slice.kind[i]} ${slice.name[i]}`;
      if (!rows.has(key)) rows.set(key, [view.strings[slice.name[i]], page.timeline_kinds[slice.kind[i]], 0, 0]);
      const row = rows.get(key);
      row[2] += 1;
      row[3] += slice.dur[i] / 1000;
    }
    return {key: 'in_view', title: 'Events in view', sort: 'time', note: texts.in_view_note, rows: [...rows.values()],
      columns: [{key: 'name', title: 'Name', unit: 'name'}, {key: 'kind', title: 'Kind', unit: 'text'}, {key: 'count', title: 'Count', unit: 'count'}, {key: 'time', title: 'Time', unit: 'us'}]};
  };

  const hit = (view, px, py) => {
    let best = -1;
    for (let i = 0; i < view.slice.start.length; ++i) {
      const y = page.timeline_y(view, i) - view.scroll;
      if (py < y || py >= y + page.timeline_row_height) continue;
      const left = view.x(view.slice.start[i]) - 2;
      const right = view.x(view.slice.start[i] + view.slice.dur[i]) + 2;
      if (px >= left && px <= right && (best < 0 || view.slice.dur[i] < view.slice.dur[best])) best = i;
    }
    return best;
  };

  const in_row = (view, step) => {
    const {slice, chosen} = view;
    if (chosen < 0) return slice.start.length ? 0 : -1;
    const to = chosen + step;
    return to >= 0 && to < slice.start.length ? to : chosen;
  };

  /** Everything a person does to a view, by name. */
  const controls = (view) => {
    const node = d3.select(view.canvas);
    const zoom = d3.zoom().scaleExtent([1, 1e6]);
    const set = (from, to) => {
      const k = (view.length) / Math.max(1, to - from);
      node.call(zoom.transform, d3.zoomIdentity.scale(k).translate(-view.base(from), 0));
    };
    const scroll_to = (i) => {
      const y = page.timeline_y(view, i);
      if (y - view.tracks.scrollTop < 50 || y - view.tracks.scrollTop > view.height - 30) view.tracks.scrollTop = Math.max(0, y - view.height / 2);
    };
    const choose = (i, bring) => {
      view.chosen = i;
      view.detail.replaceChildren(i < 0 ? texts.select : describe(view, i));
      if (i >= 0 && bring) {
        const [from, to] = view.x.domain();
        const {start, dur} = view.slice;
        if (start[i] < from || start[i] + dur[i] > to) {
          const wide = Math.max(to - from, dur[i] * 1.2);
          set(start[i] + dur[i] / 2 - wide / 2, start[i] + dur[i] / 2 + wide / 2);
        }
        scroll_to(i);
      }
      view.draw();
    };
    const follow = () => {
      const pair = view.chosen >= 0 ? view.arrows_of(view.chosen)[0] : null;
      if (pair) choose(pair[0] === view.chosen ? pair[1] : pair[0], true);
    };
    const fit = () => {
      const i = view.chosen;
      if (i >= 0) set(view.slice.start[i] - view.slice.dur[i] * 0.3 - 500, view.slice.start[i] + view.slice.dur[i] * 1.3 + 500);
    };
    return {zoom, node, set, choose, follow, fit, by: (factor) => node.call(zoom.scaleBy, factor), pan: (share) => node.call(zoom.translateBy, (-share * view.width) / d3.zoomTransform(view.canvas).k, 0),
      all: () => node.call(zoom.transform, d3.zoomIdentity)};
  };

  const keys = {
    ArrowLeft: (c) => c.pan(-0.2), ArrowRight: (c) => c.pan(0.2), '+': (c) => c.by(1.5), '=': (c) => c.by(1.5), '-': (c) => c.by(1 / 1.5), 0: (c) => c.all(),
    n: (c, view) => c.choose(in_row(view, 1), true), p: (c, view) => c.choose(in_row(view, -1), true), Enter: (c) => c.follow(), f: (c) => c.fit(), Escape: (c) => c.choose(-1),
    ArrowDown: (_, view) => view.tracks.scrollBy(0, 40), ArrowUp: (_, view) => view.tracks.scrollBy(0, -40),
  };

  const search_box = (view, act) => {
    const count = page.el('span', {class: 'count', role: 'status'});
    let list = [];
    let at = -1;
    const go = (step) => {
      if (!list.length) return;
      at = (at + step + list.length) % list.length;
      count.textContent = texts.place(at + 1, list.length);
      act.choose(list[at], true);
    };
    const input = page.el('input', {type: 'search', size: 24, on: {
      input: () => {
        const wanted = input.value.toLowerCase();
        const names = new Set();
        if (wanted) view.strings.forEach((s, i) => s.toLowerCase().includes(wanted) && names.add(i));
        list = [];
        if (wanted) view.slice.name.forEach((n, i) => names.has(n) && list.push(i));
        list.sort((a, b) => view.slice.start[a] - view.slice.start[b]);
        at = -1;
        view.found = wanted ? new Set(list) : null;
        count.textContent = wanted ? texts.found(list.length) : '';
        view.draw();
      },
      keydown: (event) => {
        if (event.key === 'Enter') go(event.shiftKey ? -1 : 1);
      },
    }});
    return [page.el('label', null, 'Search', input), page.el('button', {type: 'button', on: {click: () => go(-1)}}, 'Previous'), page.el('button', {type: 'button', on: {click: () => go(1)}}, 'Next'), count];
  };

  const toolbar = (view, act) => {
    const button = (title, run) => page.el('button', {type: 'button', on: {click: run}}, title);
    const arrows = page.el('input', {type: 'checkbox', on: {change: (event) => {
      view.all_arrows = event.target.checked;
      view.draw();
    }}});
    return page.el('div', {class: 'toolbar'}, search_box(view, act), button('Zoom in', () => act.by(2)), button('Zoom out', () => act.by(0.5)), button('Show all', act.all),
      button('Earlier', () => act.pan(-0.4)), button('Later', () => act.pan(0.4)), page.el('label', null, arrows, texts.all_arrows));
  };

  const wire = (view, act) => {
    const {canvas} = view;
    act.zoom.filter(() => !d3.event.button && (d3.event.type !== 'wheel' || d3.event.ctrlKey || document.activeElement === canvas));
    act.zoom.on('zoom', () => {
      view.x = d3.event.transform.rescaleX(view.base);
      view.draw();
      view.listed();
    });
    act.node.call(act.zoom).on('dblclick.zoom', null);
    canvas.addEventListener('click', (event) => {
      canvas.focus({preventScroll: true});
      const box = canvas.getBoundingClientRect();
      act.choose(hit(view, event.clientX - box.left, event.clientY - box.top), false);
    });
    canvas.addEventListener('dblclick', act.fit);
    canvas.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || !(event.key in keys)) return;
      event.preventDefault();
      keys[event.key](act, view);
    });
    view.tracks.addEventListener('scroll', () => {
      view.scroll = view.tracks.scrollTop;
      view.draw();
    });
    new ResizeObserver(() => {
      const width = Math.max(300, view.tracks.clientWidth);
      if (width === view.width) return;
      view.width = width;
      view.base.range([0, width]);
      act.zoom.extent([[0, 0], [width, view.height]]).translateExtent([[0, 0], [width, view.height]]);
      view.x = d3.zoomTransform(canvas).rescaleX(view.base);
      view.draw();
    }).observe(view.tracks);
  };

  const in_view_table = (view) => {
    const place = page.el('div');
    const details = page.el('details', {on: {toggle: () => view.listed()}}, page.el('summary', null, texts.in_view), place);
    let waiting = 0;
    view.listed = () => {
      clearTimeout(waiting);
      if (details.open) waiting = setTimeout(() => place.replaceChildren(page.table(by_name(view))), 150);
    };
    return details;
  };

  const show_slice = (timeline, slice) => {
    const flows = index_flows(slice);
    const help = page.id('keys');
    const view = {slice, strings: timeline.strings, places: page.timeline_places(slice), chosen: -1, found: null, all_arrows: false, scroll: 0, width: 0, length: slice.length,
      arrows: flows.all, arrows_of: (i) => flows.of.get(i) || [], draw: () => requestAnimationFrame(() => view.width && page.timeline_draw(view))};
    view.height = Math.min(kMost, view.places.height);
    view.base = d3.scaleLinear().domain([0, slice.length]).range([0, 1]);
    view.x = view.base;
    view.canvas = page.el('canvas', {tabindex: 0, role: 'application', 'aria-roledescription': 'timeline', 'aria-label': texts.label(slice.title, slice.start.length, slice.tracks.length), 'aria-describedby': help,
      style: {position: 'sticky', top: '0'}});
    view.tracks = page.el('div', {class: 'tracks'}, view.canvas, page.el('div', {style: {height: `${Math.max(0, view.places.height - view.height)}px`}}));
    view.detail = page.el('div', {class: 'detail', role: 'status'}, texts.select);
    const act = controls(view);
    const list = in_view_table(view);
    wire(view, act);
    page.timeline_view = {view, act};
    return page.el('div', null, slice.note ? page.el('p', {class: 'quiet small'}, slice.note) : null, toolbar(view, act), view.tracks, view.detail,
      page.el('p', {class: 'quiet small', id: help}, texts.help), list);
  };

  page.view('timeline', 'Timeline', (panel, process) => {
    const {timeline} = process;
    if (!timeline.slices.length) {
      panel.append(page.card('Timeline', page.nothing(texts.nothing)));
      return;
    }
    const place = page.el('div');
    const group = page.id('slice');
    const show = (slice) => place.replaceChildren(show_slice(timeline, slice));
    const radios = timeline.slices.map((slice, i) => page.el('label', null, page.el('input', {type: 'radio', name: group, value: i, checked: i === 0, on: {change: () => show(slice)}}), page.name(slice.title)));
    panel.append(page.card('Timeline', timeline.note ? page.el('p', {class: 'quiet small'}, timeline.note) : '', page.el('div', {class: 'toolbar'}, page.el('fieldset', null, page.el('legend', null, 'Show'), radios)), place));
    show(timeline.slices[0]);
  });
})();
