// SPDX-License-Identifier: Apache-2.0
//
// What every other script of the page uses: making elements, showing texts, numbers in words.
//
// Promises: a text of the data becomes a text node and nothing else; no name is ever markup
'use strict';
const page = {};

(() => {
  // Characters that are not seen, or turn the text around them, are written out.
  const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
  const kLongest = 4000;

  /** `text` as it may be shown: control characters written out, cut at 4000 characters. */
  page.shown = (text) => {
    const all = String(text);
    const some = all.length > kLongest ? page.texts.core.cut(all.slice(0, kLongest), all.length) : all;
    return some.replace(unseen, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  };

  /** The same, at most `length` characters. */
  page.short = (text, length) => {
    const all = page.shown(text);
    return all.length > length ? `${all.slice(0, length - 1)}…` : all;
  };

  const give = (node, key, value) => {
    if (value === null || value === undefined || value === false) return;
    if (key === 'on') {
      for (const [name, run] of Object.entries(value)) node.addEventListener(name, run);
    } else if (key === 'style') {
      for (const [name, to] of Object.entries(value)) node.style.setProperty(name, to);
    } else if (key === 'data') {
      for (const [name, to] of Object.entries(value)) node.dataset[name] = to;
    } else {
      node.setAttribute(key, value === true ? '' : value);
    }
  };

  /** An element; children are elements or texts. */
  page.el = (tag, given, ...children) => {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(given || {})) give(node, key, value);
    for (const child of children.flat(Infinity)) {
      if (child !== null && child !== undefined) {
        node.append(child instanceof Node ? child : page.shown(child));
      }
    }
    return node;
  };

  /** A name of the recorded program: its direction of writing does not touch what is around it. */
  page.name = (text) => page.el('bdi', null, text);

  page.id = (() => {
    let last = 0;
    return (stem) => `${stem}-${++last}`;
  })();

  /** Says something to those who do not see the page. */
  page.say = (sentence) => {
    document.getElementById('spoken').textContent = sentence;
  };

  const digits = (value, unit) => {
    const size = Math.abs(value);
    return `${value.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 3)} ${unit}`;
  };
  const bytes = (value) => {
    const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
    let at = 0;
    let size = value;
    while (Math.abs(size) >= 1024 && at < names.length - 1) {
      size /= 1024;
      ++at;
    }
    return at === 0 ? `${size} B` : digits(size, names[at]);
  };
  const us = (value) => {
    const size = Math.abs(value);
    if (size >= 1e6) return digits(value / 1e6, 's');
    if (size >= 1e3) return digits(value / 1e3, 'ms');
    return size === 0 ? '0 µs' : digits(value, 'µs');
  };
  const plain = (value) => (Number.isInteger(value) ? value.toLocaleString('en-US') :
    value.toLocaleString('en-US', {maximumFractionDigits: 3}));

  const signed = (value) => {
    const text = (100 * Math.abs(value)).toFixed(1);
    return `${value < 0 ? '−' : '+'}${text} %`;
  };

  /** How a value of a unit is written; the units are those of docs/report-page.md. */
  page.write = (value, unit) => {
    if (value === null || value === undefined || value === '') return '–';
    if (typeof value !== 'number') return page.shown(value);
    switch (unit) {
      case 'us': return us(value);
      case 'bytes': return bytes(value);
      case 'share': case 'percent': return `${(100 * value).toFixed(1)} %`;
      case 'change': return signed(value);
      case 'flag': return value ? 'yes' : 'no';
      default: return plain(value);
    }
  };
  /** The same for an axis: no zeros at the end. */
  page.tick = (value, unit) => page.write(value, unit).replace(/\.(\d*?)0+(?= )/, (_, kept) => (kept ? `.${kept}` : ''));
  page.is_number = (unit) => ['us', 'bytes', 'share', 'percent', 'count', 'number', 'change', 'flag', 'row'].includes(unit);

  /** A colour of the style sheet, as it is now. */
  page.colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  /** What a card says where there is nothing to show. */
  page.nothing = (sentence) => page.el('p', {class: 'quiet'}, sentence);

  page.card = (title, ...children) => {
    const id = page.id('title');
    return page.el('section', {class: 'card', 'aria-labelledby': id}, page.el('h2', {id}, title), ...children);
  };

  /** Label, value and unit in threes. */
  page.facts = (rows) => page.el('dl', {class: 'facts'}, rows.map(([label, value, unit]) =>
    [page.el('dt', null, label), page.el('dd', {data: {v: String(value)}}, page.el('bdi', null, page.write(value, unit)))]));
})();
