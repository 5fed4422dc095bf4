/* A picture in SVG: its parts, its axes, and its numbers beside it. Every text comes in by textContent. */

const SVG = 'http://www.w3.org/2000/svg';

/* ---- the document ---- */

function put(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  for (const child of [].concat(children === undefined ? [] : children)) {
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}
const el = (name, attributes, children) => put(document.createElement(name), attributes, children);
const draw = (name, attributes, children) => put(document.createElementNS(SVG, name), attributes, children);

/* Lengths of texts as they are drawn, in characters of usual width: those of some scripts are as wide as two. */
const pen = document.createElement('canvas').getContext('2d');
pen.font = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
const lengths = new Map();
function lengthOfOne(character) {
  if (!lengths.has(character)) lengths.set(character, pen.measureText(character).width / 6.7);
  return lengths.get(character);
}
const lengthOf = (text) => [...text].reduce((sum, c) => sum + lengthOfOne(c), 0);

/* As much of a name as fits where a character takes `wide`. */
function cut(name, room, wide) {
  const fits = Math.max(1, room / wide);
  if (lengthOf(name) <= fits) return name;
  let kept = '',
    length = lengthOfOne('\u2026');
  for (const c of name) {
    length += lengthOfOne(c);
    if (length > fits) break;
    kept += c;
  }
  return kept + '\u2026';
}
const label = (x, y, text, kind, anchor) =>
  draw('text', { x: x, y: y, class: kind || '', 'text-anchor': anchor || 'start' }, text);
const rule = (x1, y1, x2, y2, kind) => draw('line', { x1: x1, y1: y1, x2: x2, y2: y2, class: kind });

/* A mark with its text, in reach of a keyboard and of a screen reader. */
function mark(node, text) {
  return put(node, { tabindex: 0, role: 'img', 'aria-label': text }, draw('title', {}, text));
}

/* ---- axes ---- */

/* Round values, about `wanted` of them, that lie within. */
function ticks(low, high, wanted) {
  const rough = (high - low) / Math.max(1, wanted) || 1;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999);
  const digits = Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9) + (step / power === 2.5 ? 1 : 0)));
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
    const value = +(i * step).toPrecision(12);
    found.push({ at: value, text: Math.abs(value) >= 1e4 || step < 1e-4 ? short(value) : clean(value.toFixed(digits)) });
  }
  return found;
}

/* Beginnings of hours, days, months or years, at most `wanted` of them, each with its text. */
function timeTicks(low, high, wanted) {
  const steps = [
    [1, 'h'],
    [6, 'h'],
    [1, 'd'],
    [2, 'd'],
    [7, 'd'],
    [1, 'm'],
    [2, 'm'],
    [3, 'm'],
    [6, 'm'],
    [1, 'y'],
    [2, 'y'],
    [5, 'y'],
    [10, 'y'],
    [20, 'y'],
    [50, 'y'],
    [100, 'y'],
    [500, 'y']
  ];
  const size = { h: DAY / 24, d: DAY, m: 30.44 * DAY, y: 365.25 * DAY };
  const [count, unit] = steps.find(([n, u]) => (high - low) / (n * size[u]) <= wanted) || steps[steps.length - 1];
  const found = [];
  const text = (t) => {
    const iso = new Date(t).toISOString();
    return unit === 'y'
      ? iso.slice(0, 4)
      : unit === 'm'
        ? iso.slice(0, 7)
        : unit === 'd'
          ? iso.slice(0, 10)
          : iso.slice(5, 16).replace('T', ' ');
  };
  const start = new Date(low);
  for (let i = 0; i < 200; i++) {
    let t;
    if (unit === 'y') t = Date.UTC(Math.floor(start.getUTCFullYear() / count) * count + i * count, 0, 1);
    else if (unit === 'm')
      t = Date.UTC(start.getUTCFullYear(), Math.floor(start.getUTCMonth() / count) * count + i * count, 1);
    else t = (Math.floor(low / (count * size[unit])) + i) * count * size[unit];
    if (t > high) break;
    if (t >= low) found.push({ at: t, text: text(t) });
  }
  return found;
}

function span(values, room) {
  let low = Infinity,
    high = -Infinity;
  for (const value of values)
    if (isNumber(value)) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  if (low > high) return [0, 1];
  const more = low < high ? (high - low) * room : Math.abs(high) * 0.1 || 1;
  return [low - more, high + more];
}
const scale = (from, to) => (value) => to[0] + ((value - from[0]) / (from[1] - from[0] || 1)) * (to[1] - to[0]);

/* Room for the numbers of a value axis. */
const roomOf = (range) => Math.max(56, 16 + 6.8 * Math.max(...ticks(range[0], range[1], 5).map((t) => lengthOf(t.text))));

/* Labels below an axis, from left to right, as many as do not touch and have room. */
function labelsAlong(canvas, labels, y, width) {
  let free = -Infinity;
  for (const { x, text, kind } of labels) {
    const half = lengthOf(text) * 3.5;
    const at = kind === 'start' ? x + half : x;
    if (at - half < free || (width && at + half > width + 2)) continue;
    canvas.append(label(x, y, text, 'soft', kind || 'middle'));
    free = at + half + 8;
  }
}

function valueAxis(canvas, y, range, left, right) {
  for (const tick of ticks(range[0], range[1], 5)) {
    canvas.append(
      rule(left, y(tick.at), right, y(tick.at), 'grid'),
      label(left - 8, y(tick.at) + 4, tick.text, 'soft', 'end')
    );
  }
}
/* From 0 on, below a picture; `unit` stands after each number. */
function amountAxis(canvas, x, most, at, unit) {
  canvas.append(rule(x(0), at, x(most), at, 'axis'));
  const marks = ticks(0, most, Math.max(2, (x(most) - x(0)) / 100));
  for (const tick of marks) canvas.append(rule(x(tick.at), at, x(tick.at), at + 5, 'axis'));
  labelsAlong(
    canvas,
    marks.map((tick) => ({ x: x(tick.at), text: tick.text + unit })),
    at + 19,
    x(most) + 24
  );
}
function timeAxis(canvas, x, range, at) {
  const marks = timeTicks(range[0], range[1], Math.max(2, Math.min(9, Math.floor((x(range[1]) - x(range[0])) / 76))));
  canvas.append(rule(x(range[0]), at, x(range[1]), at, 'axis'));
  for (const one of marks) canvas.append(rule(x(one.at), at, x(one.at), at + 5, 'axis'));
  labelsAlong(
    canvas,
    marks.map((one) => ({ x: x(one.at), text: one.text })),
    at + 19,
    x(range[1]) + 28
  );
}

/* ---- a picture with its numbers ---- */

const link = (text, name, type, content) =>
  el('a', { href: 'data:' + type + ';charset=utf-8,' + encodeURIComponent(content), download: name }, text);

function cellOf(column, value) {
  const text =
    value === null || value === undefined
      ? '\u2013'
      : column.show
        ? column.show(value)
        : isNumber(value)
          ? String(+value.toPrecision(6))
          : value;
  return el('td', column.number ? { class: 'number' } : column.show === day ? { class: 'time' } : {}, text);
}

function tableOf(title, columns, rows) {
  const titles = columns.map((c) => el('th', { scope: 'col', class: c.number ? 'number' : '' }, c.title));
  const body = rows.map((row) =>
    el(
      'tr',
      {},
      columns.map((c) => cellOf(c, row[c.key]))
    )
  );
  const table = [el('caption', {}, title), el('thead', {}, el('tr', {}, titles)), el('tbody', {}, body)];
  return el(
    'div',
    { class: 'wide', tabindex: 0, role: 'region', 'aria-label': title + ', as a table' },
    el('table', { 'aria-label': title }, table)
  );
}

let figures = 0;
/* picture: {view, title, caption, name, columns, rows, paint(svg, width) -> height}. */
function figure(picture) {
  const { title, name, columns, rows } = picture;
  const id = 'figure' + ++figures;
  const canvas = draw('svg', { role: 'group', 'aria-labelledby': id, 'aria-describedby': id + 'c' });
  const plot = el('div', {}, canvas);
  const details = el('details', {}, el('summary', {}, 'The numbers as a table'));
  details.addEventListener('toggle', () => {
    if (details.open && details.childNodes.length === 1) details.append(tableOf(title, columns, rows));
  });
  const node = el('figure', { 'data-view': picture.view, 'aria-labelledby': id }, [
    el('h3', { id: id }, title[0].toUpperCase() + title.slice(1)),
    el('figcaption', { id: id + 'c' }, picture.caption),
    plot,
    el('div', { class: 'beside' }, [
      link('CSV', name + '.csv', 'text/csv', csvOf(columns, rows)),
      link('JSON', name + '.json', 'application/json', JSON.stringify(rows, null, 1)),
      details
    ])
  ]);
  node.redraw = (width) => {
    const wide = Math.max(280, Math.floor(width || plot.clientWidth));
    canvas.replaceChildren();
    put(canvas, { viewBox: `0 0 ${wide} ${picture.paint(canvas, wide)}` });
  };
  return node;
}

/* Draws the figures within as wide as they are shown, or as `width` says. */
function redraw(within, width) {
  for (const one of within.querySelectorAll('figure')) one.redraw(width);
}
