// SPDX-License-Identifier: Apache-2.0
//
// Draws a slice of the timeline on a canvas: rows of events, the axis, arrows.
//
// Not here: zoom, search and what is chosen (timeline.js)
'use strict';
(() => {
  const kAxis = 24;
  const kTitle = 20;
  const kRow = 17;
  const kGap = 6;
  const kNarrow = 1;
  const kMostArrows = 600;
  /** Kinds of events, in the order of the data. */
  page.timeline_kinds = ['operator', 'annotation', 'runtime', 'kernel', 'memcpy', 'memset', 'sync', 'step', 'module'];
  const kColours = {operator: 'f-operator', annotation: 'annotation', runtime: 'runtime', kernel: 'kernel', memcpy: 'memcpy', memset: 'memset', sync: 'other', step: 'thread', module: 'module'};

  /** Where tracks and rows lie: {tops: [y of each track], height}. */
  page.timeline_places = (slice) => {
    let y = kAxis;
    const tops = slice.tracks.map((track) => {
      const top = y;
      y += kTitle + Math.max(1, track.rows) * kRow + kGap;
      return top;
    });
    return {tops, height: y};
  };
  page.timeline_y = (view, i) => view.places.tops[view.slice.track[i]] + kTitle + view.slice.row[i] * kRow;
  page.timeline_row_height = kRow;

  const palette = () => {
    const colours = {};
    for (const [kind, name] of Object.entries(kColours)) colours[kind] = page.colour(name);
    for (const name of ['card', 'ink', 'quiet', 'line', 'found', 'paper']) colours[name] = page.colour(name);
    return colours;
  };

  const draw_events = (view, context, colours) => {
    const {slice, x, scroll, height} = view;
    let last_row = -1;
    let last_pixel = -1;
    context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    context.textBaseline = 'middle';
    for (let i = 0; i < slice.start.length; ++i) {
      const y = page.timeline_y(view, i) - scroll;
      if (y < kAxis - kRow || y > height) continue;
      const left = x(slice.start[i]);
      const right = x(slice.start[i] + slice.dur[i]);
      if (right < 0 || left > view.width) continue;
      const row = slice.track[i] * 1000 + slice.row[i];
      const marked = view.found && view.found.has(i);
      const narrow = right - left < kNarrow;
      if (narrow && !marked && row === last_row && Math.floor(left) === last_pixel) continue;
      last_row = row;
      last_pixel = Math.floor(left);
      const from = Math.max(-1, left);
      const wide = Math.max(kNarrow, Math.min(view.width + 1, right) - from - (right - left > 3 ? 1 : 0));
      context.globalAlpha = view.found && !marked ? 0.3 : 1;
      context.fillStyle = marked ? colours.found : colours[page.timeline_kinds[slice.kind[i]]];
      context.fillRect(from, y, wide, kRow - 2);
      if (wide > 28) {
        context.fillStyle = '#0d1219';
        context.fillText(page.short(view.strings[slice.name[i]], Math.max(2, Math.floor((wide - 6) / 6))), from + 4, y + kRow / 2 - 0.5, wide - 6);
      }
    }
    context.globalAlpha = 1;
  };

  const arrow = (view, context, from, to) => {
    const {slice, x, scroll} = view;
    const a = [x(slice.start[from]), page.timeline_y(view, from) - scroll + kRow / 2];
    const b = [x(slice.start[to]), page.timeline_y(view, to) - scroll + kRow / 2 - 1];
    const bend = Math.max(14, Math.abs(b[0] - a[0]) / 3);
    context.beginPath();
    context.moveTo(a[0], a[1]);
    context.bezierCurveTo(a[0] + bend, a[1], b[0] - bend, b[1], b[0], b[1]);
    context.stroke();
    context.beginPath();
    context.moveTo(b[0], b[1]);
    context.lineTo(b[0] - 6, b[1] - 3.5);
    context.lineTo(b[0] - 6, b[1] + 3.5);
    context.fill();
  };

  const draw_arrows = (view, context, colours) => {
    context.strokeStyle = colours.ink;
    context.fillStyle = colours.ink;
    const chosen = view.chosen >= 0 ? view.arrows_of(view.chosen) : [];
    if (view.all_arrows) {
      context.globalAlpha = 0.35;
      context.lineWidth = 1;
      let drawn = 0;
      for (const [from, to] of view.arrows) {
        const left = Math.min(view.x(view.slice.start[from]), view.x(view.slice.start[to]));
        const right = Math.max(view.x(view.slice.start[from]), view.x(view.slice.start[to]));
        if (right < 0 || left > view.width) continue;
        if (++drawn > kMostArrows) break;
        arrow(view, context, from, to);
      }
    }
    context.globalAlpha = 1;
    context.lineWidth = 1.8;
    for (const [from, to] of chosen) arrow(view, context, from, to);
  };

  const draw_titles = (view, context, colours) => {
    context.font = '600 11.5px system-ui, "DejaVu Sans", sans-serif';
    view.slice.tracks.forEach((track, i) => {
      const y = view.places.tops[i] - view.scroll;
      if (y < kAxis - kTitle || y > view.height) return;
      context.fillStyle = colours.paper;
      context.fillRect(0, y, view.width, kTitle - 3);
      context.fillStyle = colours.quiet;
      context.fillText(page.short(track.title, 120), 6, y + kTitle / 2 - 1);
    });
  };

  const draw_axis = (view, context, colours) => {
    context.fillStyle = colours.card;
    context.fillRect(0, 0, view.width, kAxis);
    context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    for (const tick of view.x.ticks(Math.max(3, Math.floor(view.width / 130)))) {
      const at = Math.round(view.x(tick)) + 0.5;
      context.fillStyle = colours.quiet;
      context.fillText(page.tick(tick / 1000, 'us'), at + 3, 12);
      context.strokeStyle = colours.line;
      context.beginPath();
      context.moveTo(at, 4);
      context.lineTo(at, kAxis);
      context.stroke();
    }
  };

  /** Draws what `view` shows: {canvas, slice, strings, places, x, width, height, scroll, chosen, found, …}. */
  page.timeline_draw = (view) => {
    const ratio = window.devicePixelRatio || 1;
    const {canvas} = view;
    if (canvas.width !== Math.round(view.width * ratio) || canvas.height !== Math.round(view.height * ratio)) {
      canvas.width = Math.round(view.width * ratio);
      canvas.height = Math.round(view.height * ratio);
      canvas.style.setProperty('width', `${view.width}px`);
      canvas.style.setProperty('height', `${view.height}px`);
    }
    const context = canvas.getContext('2d');
    const colours = palette();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.card;
    context.fillRect(0, 0, view.width, view.height);
    draw_titles(view, context, colours);
    draw_events(view, context, colours);
    if (view.chosen >= 0) {
      const i = view.chosen;
      context.strokeStyle = colours.ink;
      context.lineWidth = 2;
      context.strokeRect(view.x(view.slice.start[i]), page.timeline_y(view, i) - view.scroll, Math.max(2, view.x(view.slice.start[i] + view.slice.dur[i]) - view.x(view.slice.start[i])), kRow - 2);
    }
    draw_arrows(view, context, colours);
    draw_axis(view, context, colours);
  };
})();
