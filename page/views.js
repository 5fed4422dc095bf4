/* Draws the report from its numbers: see README.md for their shape. Every text comes in by textContent. */
'use strict';
(function () {
  const SVG = 'http://www.w3.org/2000/svg';
  const NARROW = 560, LEFT = 56, ROW = 26;
  const SHOWN = 60; /* rows of a picture; its table has all */

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

  /* ---- numbers and times as text ---- */

  const isNumber = (value) => typeof value === 'number' && isFinite(value);
  const list = (value) => (Array.isArray(value) ? value : []);
  const clean = (text) => text.replace('-', '\u2212');

  function short(value) {
    if (!isNumber(value)) return '\u2013';
    if (value === 0) return '0';
    const size = Math.abs(value);
    if (size >= 1e9) return clean(+(value / 1e9).toPrecision(3) + ' G');
    if (size >= 1e6) return clean(+(value / 1e6).toPrecision(3) + ' M');
    if (size >= 1e4) return clean(+(value / 1e3).toPrecision(3) + ' k');
    if (size < 1e-3) return clean(value.toExponential(2));
    return clean(String(+value.toPrecision(size >= 1000 ? 4 : 3)));
  }
  const bytes = (value) => (isNumber(value) ? short(value) + (Math.abs(value) >= 1e4 ? 'B' : ' B') : '\u2013');
  const seconds = (value) => (isNumber(value) ? short(value) + ' s' : '\u2013');
  const quality = (value) => (isNumber(value) ? clean(value.toFixed(Math.abs(value) < 10 ? 3 : 1)) : '\u2013');
  const tight = (value) => (isNumber(value) ? clean(value.toFixed(2).replace(/^(-?)0\./, '$1.')) : '\u2013');
  const time = (text) => Date.parse(text);
  const day = (text) => String(text || '').replace(/T00:00:00Z$/, '').replace('T', ' ').replace(/(:\d\d)(:\d\d)(\.\d+)?Z$/, '$1');
  const newest = (rows) => rows.slice(-SHOWN);
  const onlyNewest = (rows) => (rows.length > SHOWN ? ' Drawn are the newest ' + SHOWN + ' of ' + rows.length + '; the table has all.' : '');
  const METRICS = { roc_auc: 'ROC-AUC', rmse: 'RMSE', log_loss: 'log loss' };
  const metricName = (name) => METRICS[name] || String(name).replace(/_/g, ' ');

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
      found.push({ at: value, text: Math.abs(value) >= 1e4 ? short(value) : clean(value.toFixed(digits)) });
    }
    return found;
  }

  const DAY = 86400000;
  /* Beginnings of hours, days, months or years, at most `wanted` of them, each with its text. */
  function timeTicks(low, high, wanted) {
    const steps = [[1, 'h'], [6, 'h'], [1, 'd'], [2, 'd'], [7, 'd'], [1, 'm'], [2, 'm'], [3, 'm'], [6, 'm'],
      [1, 'y'], [2, 'y'], [5, 'y'], [10, 'y'], [20, 'y'], [50, 'y'], [100, 'y'], [500, 'y']];
    const size = { h: DAY / 24, d: DAY, m: 30.44 * DAY, y: 365.25 * DAY };
    const [count, unit] = steps.find(([n, u]) => (high - low) / (n * size[u]) <= wanted) || steps[steps.length - 1];
    const found = [];
    const text = (t) => {
      const iso = new Date(t).toISOString();
      return unit === 'y' ? iso.slice(0, 4) : unit === 'm' ? iso.slice(0, 7) : unit === 'd' ? iso.slice(0, 10) : iso.slice(5, 16).replace('T', ' ');
    };
    const start = new Date(low);
    for (let i = 0; i < 200; i++) {
      let t;
      if (unit === 'y') t = Date.UTC(Math.floor(start.getUTCFullYear() / count) * count + i * count, 0, 1);
      else if (unit === 'm') t = Date.UTC(start.getUTCFullYear(), Math.floor(start.getUTCMonth() / count) * count + i * count, 1);
      else t = (Math.floor(low / (count * size[unit])) + i) * count * size[unit];
      if (t > high) break;
      if (t >= low) found.push({ at: t, text: text(t) });
    }
    return found;
  }

  function span(values, room) {
    let low = Infinity, high = -Infinity;
    for (const value of values) if (isNumber(value)) { low = Math.min(low, value); high = Math.max(high, value); }
    if (low > high) return [0, 1];
    const more = low < high ? (high - low) * room : Math.abs(high) * 0.1 || 1;
    return [low - more, high + more];
  }
  const scale = (from, to) => (value) => to[0] + ((value - from[0]) / (from[1] - from[0] || 1)) * (to[1] - to[0]);

  /* As much of a name as fits where a character takes `wide`. */
  function cut(name, room, wide) {
    const fits = Math.floor(room / wide);
    return name.length > fits ? name.slice(0, fits - 1) + '\u2026' : name;
  }
  const label = (x, y, text, kind, anchor) => draw('text', { x: x, y: y, class: kind || '', 'text-anchor': anchor || 'start' }, text);
  const rule = (x1, y1, x2, y2, kind) => draw('line', { x1: x1, y1: y1, x2: x2, y2: y2, class: kind });

  /* What a reader with a keyboard or a screen reader reaches: the mark, and its text. */
  function mark(node, text) {
    return put(node, { tabindex: 0, role: 'img', 'aria-label': text }, draw('title', {}, text));
  }

  function valueAxis(canvas, y, range, left, right) {
    for (const tick of ticks(range[0], range[1], 5)) {
      canvas.append(rule(left, y(tick.at), right, y(tick.at), 'grid'), label(left - 8, y(tick.at) + 4, tick.text, 'soft', 'end'));
    }
  }
  function timeAxis(canvas, x, range, at) {
    const marks = timeTicks(range[0], range[1], Math.max(2, Math.min(9, Math.floor((x(range[1]) - x(range[0])) / 76))));
    canvas.append(rule(x(range[0]), at, x(range[1]), at, 'axis'));
    for (const one of marks) {
      canvas.append(rule(x(one.at), at, x(one.at), at + 5, 'axis'), label(x(one.at), at + 19, one.text, 'soft', 'middle'));
    }
  }

  /* ---- a picture with its numbers ---- */

  const csvCell = (value) => {
    if (value === null || value === undefined) return '';
    let text = String(value);
    if (typeof value === 'string' && /^[=+\-@\t\r]/.test(text)) text = "'" + text; /* no formula of a spreadsheet */
    return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  };
  function csvOf(columns, rows) {
    return [columns.map((c) => c.key)].concat(rows.map((row) => columns.map((c) => row[c.key])))
      .map((cells) => cells.map(csvCell).join(',')).join('\r\n') + '\r\n';
  }
  const link = (text, name, type, content) =>
    el('a', { href: 'data:' + type + ';charset=utf-8,' + encodeURIComponent(content), download: name }, text);

  function tableOf(title, columns, rows) {
    const kind = (c) => (c.number ? { class: 'number' } : {});
    const head = el('tr', {}, columns.map((c) => el('th', Object.assign({ scope: 'col' }, kind(c)), c.title)));
    const body = rows.map((row) => el('tr', {}, columns.map((c) => {
      const value = row[c.key];
      return el('td', kind(c), value === null || value === undefined ? '\u2013' : c.show ? c.show(value) : isNumber(value) ? String(+value.toPrecision(6)) : value);
    })));
    return el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': title + ', as a table' },
      el('table', {}, [el('caption', {}, title), el('thead', {}, head), el('tbody', {}, body)]));
  }

  const redraws = [];
  let figures = 0;
  /* picture: {title, caption, name, columns, rows, paint(svg, width) -> height}. */
  function figure(picture) {
    const id = 'figure' + ++figures;
    const canvas = draw('svg', { role: 'group', 'aria-labelledby': id, 'aria-describedby': id + 'c' });
    const plot = el('div', {}, canvas);
    const columns = picture.columns, rows = picture.rows;
    const details = el('details', {}, el('summary', {}, 'The numbers as a table'));
    details.addEventListener('toggle', () => {
      if (details.open && details.childNodes.length === 1) details.append(tableOf(picture.title, columns, rows));
    });
    const node = el('figure', { id: id + 'f', 'data-view': picture.view }, [
      el('h3', { id: id }, picture.title[0].toUpperCase() + picture.title.slice(1)), el('figcaption', { id: id + 'c' }, picture.caption), plot,
      el('div', { class: 'beside' }, [link('CSV', picture.name + '.csv', 'text/csv', csvOf(columns, rows)),
        link('JSON', picture.name + '.json', 'application/json', JSON.stringify(rows, null, 1)), details])]);
    const redraw = (width) => {
      if (!node.isConnected && width === undefined) return;
      const wide = Math.max(280, Math.floor(width || plot.clientWidth));
      canvas.replaceChildren();
      const height = picture.paint(canvas, wide);
      put(canvas, { viewBox: '0 0 ' + wide + ' ' + height });
    };
    redraws.push(redraw);
    node.redraw = redraw;
    return node;
  }

  /* ---- a line over data time, with what fired ---- */

  /* lines: [{name, points: [{from, until, value, text}]}]; triggers: [{at, number, text}]. */
  function timeLines(lines, triggers, title) {
    return (canvas, width) => {
      const height = width < NARROW ? 250 : 320, top = triggers.length ? 34 : 14, bottom = height - 34;
      const right = width - (lines.length > 1 ? Math.min(170, width * 0.3) : 12);
      const points = lines.flatMap((line) => line.points);
      const range = span(points.map((p) => p.value), 0.12);
      const times = span(points.flatMap((p) => [time(p.from), time(p.until)]).concat(triggers.map((t) => time(t.at))), 0.01);
      const x = scale(times, [LEFT, right]), y = scale(range, [bottom, top]);
      canvas.append(label(LEFT - 56, 10, title, 'soft'));
      valueAxis(canvas, y, range, LEFT, right);
      timeAxis(canvas, x, times, bottom);
      let free = -Infinity;
      for (const trigger of triggers) {
        const at = x(time(trigger.at));
        const group = draw('g', {}, rule(at, top - 6, at, bottom, 'trigger'));
        if (at > free) { group.append(label(at, top - 10, '\u25bc' + trigger.number, 'soft small', 'middle')); free = at + 26; }
        canvas.append(mark(group, trigger.text));
      }
      lines.forEach((line, n) => {
        const at = (p) => [(x(time(p.from)) + x(time(p.until))) / 2, y(p.value)];
        const known = line.points.filter((p) => isNumber(p.value));
        canvas.append(draw('path', { class: 'line', 'stroke-dasharray': ['none', '7 3', '2 3', '9 3 2 3', '4 2', '12 4'][n % 6],
          d: known.map((p, i) => (i ? 'L' : 'M') + at(p).map((v) => v.toFixed(1)).join(' ')).join('') }));
        for (const p of known) {
          if (lines.length === 1) canvas.append(rule(x(time(p.from)), at(p)[1], x(time(p.until)), at(p)[1], 'reach'));
          canvas.append(mark(draw('circle', { cx: at(p)[0], cy: at(p)[1], r: width < NARROW ? 3.5 : 4.5, class: n % 2 ? 'open' : 'dot', 'data-value': p.value }), p.text));
        }
      });
      if (lines.length > 1) nameLines(canvas, lines, y, right + 8, top);
      return height;
    };
  }

  function nameLines(canvas, lines, y, at, top) {
    const ends = lines.map((line) => {
      const known = line.points.filter((p) => isNumber(p.value));
      return { name: line.name, y: known.length ? y(known[known.length - 1].value) : top };
    }).sort((a, b) => a.y - b.y);
    let free = top;
    for (const end of ends) {
      free = Math.max(free, end.y);
      canvas.append(label(at, free + 4, end.name, ''));
      free += 15;
    }
  }

  /* ---- a grid of rows and windows ---- */

  /* grid: {rows: [{name, cells: [{column, value, text, served}]}], columns: [{from, until}], rowsTitle}. */
  function heatMap(grid) {
    return (canvas, width) => {
      const longest = Math.max(3, ...grid.rows.map((r) => r.name.length));
      const left = Math.min(longest * 6.7 + 14, width * 0.4), top = 8;
      const wide = Math.min(92, (width - left) / grid.columns.length), high = Math.max(16, Math.min(ROW, wide));
      const range = span(grid.rows.flatMap((r) => r.cells.map((c) => c.value)), 0);
      const strength = scale(range, [0.04, 0.55]);
      grid.rows.forEach((row, i) => {
        const y = top + i * high;
        canvas.append(label(left - 8, y + high / 2 + 4, cut(row.name, left - 10, 6.6), 'soft', 'end'));
        for (const cell of row.cells) canvas.append(heatCell(cell, left + cell.column * wide, y, wide, high, strength(cell.value)));
      });
      const bottom = top + grid.rows.length * high;
      const every = Math.ceil(84 / wide);
      grid.columns.forEach((column, i) => {
        if (i % every === 0 && left + i * wide + 68 <= width) canvas.append(label(left + i * wide + 1, bottom + 16, day(column.from), 'soft'));
      });
      canvas.append(label(left + 1, bottom + 34, 'window, by its beginning', 'soft'));
      return bottom + 44;
    };
  }

  function heatCell(cell, x, y, wide, high, strength) {
    const group = draw('g', { 'data-value': isNumber(cell.value) ? cell.value : '' });
    if (isNumber(cell.value)) {
      group.append(draw('rect', { x: x + 0.5, y: y + 0.5, width: Math.max(1, wide - 1), height: high - 1, class: 'cell', 'fill-opacity': strength.toFixed(3) }));
      if (wide >= 24 && high >= 13) {
        group.append(label(x + wide / 2, y + high / 2 + 4, wide >= 44 ? quality(cell.value) : tight(cell.value), wide < 44 ? 'small' : '', 'middle'));
      } else { /* too narrow for digits: a bar says it without colour */
        group.append(draw('rect', { x: x + wide * 0.3, y: y + high - 1 - (high - 3) * strength / 0.55, width: Math.max(0.5, wide * 0.4), height: (high - 3) * strength / 0.55, fill: 'var(--ink)' }));
      }
    } else {
      group.append(label(x + wide / 2, y + high / 2 + 4, '\u2013', 'soft', 'middle'));
    }
    if (cell.served) group.append(draw('rect', { x: x + 1.5, y: y + 1.5, width: Math.max(1, wide - 3), height: high - 3, class: 'served' }));
    return mark(group, cell.text);
  }

  /* ---- bars of several measures side by side ---- */

  /* measures: [{title, key, show}]; rows with `name`. One column of bars per measure, as many beside each other as fit. */
  function barPanels(rows, measures) {
    return (canvas, width) => {
      const longest = Math.max(2, ...rows.map((r) => r.name.length));
      const names = Math.min(longest * 6.7 + 12, width * 0.42), one = 150;
      const beside = Math.max(1, Math.min(measures.length, Math.floor((width - names) / one)));
      const wide = (width - names) / beside, high = Math.max(15, Math.min(22, 900 / rows.length));
      let top = 0;
      for (let first = 0; first < measures.length; first += beside) {
        rows.forEach((row, i) => canvas.append(label(names - 8, top + 26 + i * high + high / 2 + 4,
          cut(row.name, names - 8, 6.6), 'soft', 'end')));
        measures.slice(first, first + beside).forEach((measure, n) => bars(canvas, rows, measure, names + n * wide, top, wide, high));
        top += 26 + rows.length * high + 14;
      }
      return top;
    };
  }

  function bars(canvas, rows, measure, left, top, wide, high) {
    const most = Math.max(...rows.map((r) => (isNumber(r[measure.key]) ? r[measure.key] : 0))) || 1;
    const x = scale([0, most], [0, wide - 78]);
    canvas.append(label(left, top + 14, measure.title, 'strong'), rule(left, top + 24, left, top + 26 + rows.length * high, 'axis'));
    rows.forEach((row, i) => {
      const value = row[measure.key], y = top + 26 + i * high, shown = (measure.show || short)(value);
      canvas.append(mark(draw('g', { 'data-value': isNumber(value) ? value : '' }, [
        draw('rect', { x: left, y: y + 3, width: isNumber(value) ? Math.max(0.5, x(value)) : 0, height: high - 6, class: 'bar' }),
        label(left + (isNumber(value) ? x(value) : 0) + 6, y + high / 2 + 4, shown)]), row.name + ', ' + measure.title + ': ' + shown));
    });
  }

  /* ---- time by stage ---- */

  const STAGES = [['seal', 'select and seal', 'fired', 'sealed'], ['start', 'until the first batch', 'sealed', 'first_batch'],
    ['train', 'train', 'first_batch', 'trained'], ['store', 'store', 'trained', 'stored']];

  function hatches(canvas) {
    const shapes = [null, 'M0 6L6 0', 'M0 3H6', 'M3 0V6'];
    canvas.append(draw('defs', {}, shapes.map((d, i) => draw('pattern', { id: canvas.getAttribute('aria-labelledby') + 'hatch' + i, width: 6, height: 6, patternUnits: 'userSpaceOnUse' },
      [draw('rect', { width: 6, height: 6, class: 'part' + i })].concat(d ? [draw('path', { d: d, stroke: 'var(--paper)', 'stroke-width': 1.5 })] : [])))));
  }

  function stages(rows) {
    return (canvas, width) => {
      const left = 46, high = Math.max(15, Math.min(22, 900 / rows.length));
      const total = (row) => STAGES.reduce((sum, s) => sum + (row[s[0]] || 0), 0);
      const most = Math.max(...rows.map(total)) || 1, x = scale([0, most], [left, width - 14]);
      let at = left, top = 6;
      hatches(canvas);
      STAGES.forEach(([, title], i) => {
        const room = title.length * 6.4 + 30;
        if (at + room > width && at > left) { at = left; top += 18; }
        canvas.append(draw('rect', { x: at, y: top, width: 12, height: 12, fill: 'url(#' + canvas.getAttribute('aria-labelledby') + 'hatch' + i + ')' }), label(at + 17, top + 10, title));
        at += room;
      });
      top += 22;
      rows.forEach((row, n) => {
        const y = top + n * high;
        let from = 0;
        canvas.append(label(left - 8, y + high / 2 + 4, String(row.trigger), 'soft', 'end'));
        STAGES.forEach(([key, title], i) => {
          if (!isNumber(row[key])) return;
          canvas.append(mark(draw('rect', { x: x(from), y: y + 2, width: Math.max(0.5, x(from + row[key]) - x(from)), height: high - 4, fill: 'url(#' + canvas.getAttribute('aria-labelledby') + 'hatch' + i + ')', 'data-value': row[key] }),
            'trigger ' + row.trigger + ', ' + title + ': ' + seconds(row[key])));
          from += row[key];
        });
      });
      const bottom = top + rows.length * high + 4;
      canvas.append(rule(left, bottom, width - 14, bottom, 'axis'));
      for (const tick of ticks(0, most, width / 110)) canvas.append(rule(x(tick.at), bottom, x(tick.at), bottom + 5, 'axis'), label(x(tick.at), bottom + 19, tick.text + ' s', 'soft', 'middle'));
      return bottom + 26;
    };
  }

  /* ---- a score against its limit ---- */

  function scores(rows, title) {
    return (canvas, width) => {
      const height = 230, top = 24, bottom = height - 34, right = width - 12;
      const range = span(rows.flatMap((r) => [r.score, r.limit, 0]), 0.08), times = span(rows.map((r) => time(r.at)), 0.03);
      const x = scale(times, [LEFT, right]), y = scale([Math.max(range[0], Math.min(0, ...rows.map((r) => r.score))), range[1]], [bottom, top]);
      canvas.append(label(LEFT - 56, 10, title, 'soft'));
      valueAxis(canvas, y, [0, range[1]], LEFT, right);
      timeAxis(canvas, x, times, bottom);
      const path = (key) => rows.filter((r) => isNumber(r[key])).map((r, i) => (i ? 'L' : 'M') + x(time(r.at)).toFixed(1) + ' ' + y(r[key]).toFixed(1)).join('');
      canvas.append(draw('path', { class: 'limit', d: path('limit') }), draw('path', { class: 'line', d: path('score') }));
      const last = rows.filter((r) => isNumber(r.limit)).pop();
      if (last) canvas.append(label(right, y(last.limit) - 6, 'limit ' + short(last.limit), 'soft', 'end'));
      for (const row of rows) {
        if (!isNumber(row.score)) continue;
        const cx = x(time(row.at)), cy = y(row.score);
        canvas.append(mark(row.trigger ? draw('path', { class: 'fired', d: 'M' + cx + ' ' + (cy - 7) + 'l6.5 11h-13z', 'data-value': row.score })
          : draw('circle', { class: 'dot', cx: cx, cy: cy, r: 3.5, 'data-value': row.score }), 'check ' + row.check + ', ' + day(row.at) + ': ' + short(row.score) + ' against ' + short(row.limit) + (row.trigger ? ', fired trigger ' + row.trigger : '')));
      }
      return height;
    };
  }

  /* ---- values with intervals, a row each ---- */

  /* rows: [{name, mean, low, high, text, strong}]; `zero`: a line there. */
  function intervals(rows, title, zero) {
    return (canvas, width) => {
      const longest = Math.max(...rows.map((r) => r.name.length));
      const left = Math.min(longest * 7.4 + 18, width * 0.42), right = width - 64, high = ROW, bottom = rows.length * high + 6;
      const range = span(rows.flatMap((r) => [r.mean, r.low, r.high].concat(zero ? [0] : [])), 0.06), x = scale(range, [left, right]);
      for (const tick of ticks(range[0], range[1], (right - left) / 90)) canvas.append(rule(x(tick.at), 0, x(tick.at), bottom, 'grid'), label(x(tick.at), bottom + 18, tick.text, 'soft', 'middle'));
      if (zero) canvas.append(rule(x(0), 0, x(0), bottom, 'axis'));
      rows.forEach((row, i) => {
        const y = i * high + high / 2 + 2;
        canvas.append(label(left - 10, y + 4, cut(row.name, left - 12, 7.3), row.strong ? 'strong' : '', 'end'));
        if (!isNumber(row.mean)) return;
        const group = draw('g', { 'data-value': row.mean });
        if (isNumber(row.low) && isNumber(row.high)) {
          group.append(rule(x(row.low), y, x(row.high), y, 'reach'), rule(x(row.low), y - 4, x(row.low), y + 4, 'reach'), rule(x(row.high), y - 4, x(row.high), y + 4, 'reach'));
        }
        group.append(draw('circle', { cx: x(row.mean), cy: y, r: 4.5, class: row.strong ? 'dot' : 'open' }), label(width, y + 4, quality(row.mean), '', 'end'));
        canvas.append(mark(group, row.text));
      });
      canvas.append(label((left + right) / 2, bottom + 36, title, 'soft', 'middle'));
      return bottom + 44;
    };
  }

  /* ---- cost against quality ---- */

  /* rows: [{name, cost, quality, low, high, pareto, chosen, text, seeds: [{cost, quality}]}]. */
  function costAgainstQuality(rows, costTitle, qualityTitle) {
    return (canvas, width) => {
      const height = width < NARROW ? 340 : 420, top = 24, bottom = height - 46, right = width - 16;
      const costs = [0, Math.max(...rows.flatMap((r) => [r.cost].concat(r.seeds.map((s) => s.cost))).filter(isNumber)) * 1.08 || 1];
      const range = span(rows.flatMap((r) => [r.quality, r.low, r.high].concat(r.seeds.map((s) => s.quality))), 0.08);
      const x = scale(costs, [LEFT, right]), y = scale(range, [bottom, top]);
      canvas.append(label(LEFT - 56, 10, qualityTitle, 'soft'));
      valueAxis(canvas, y, range, LEFT, right);
      canvas.append(rule(LEFT, bottom, right, bottom, 'axis'), label((LEFT + right) / 2, height - 8, costTitle, 'soft', 'middle'));
      for (const tick of ticks(0, costs[1], width / 110)) canvas.append(rule(x(tick.at), bottom, x(tick.at), bottom + 5, 'axis'), label(x(tick.at), bottom + 19, tick.text, 'soft', 'middle'));
      const front = rows.filter((r) => r.pareto && isNumber(r.quality)).sort((a, b) => a.cost - b.cost);
      canvas.append(draw('path', { class: 'front', d: front.map((r, i) => (i ? 'H' + x(r.cost) + 'V' + y(r.quality) : 'M' + x(r.cost) + ' ' + y(r.quality))).join('') + (front.length ? 'H' + right : '') }));
      for (const row of rows) for (const seed of row.seeds) canvas.append(draw('circle', { class: 'seed', cx: x(seed.cost), cy: y(seed.quality), r: 2 }));
      for (const row of rows) if (isNumber(row.quality)) canvas.append(policyMark(row, x, y));
      placeNames(canvas, rows, front, x, y, width);
      return height;
    };
  }

  function policyMark(row, x, y) {
    const cx = x(row.cost), cy = y(row.quality), group = draw('g', { 'data-value': row.quality });
    if (isNumber(row.low) && isNumber(row.high)) {
      for (const end of [row.low, row.high]) group.append(rule(cx - 4, y(end), cx + 4, y(end), 'reach'));
      group.append(rule(cx, y(row.low), cx, y(row.high), 'reach'));
    }
    if (row.chosen) group.append(draw('circle', { cx: cx, cy: cy, r: 10, class: 'reach', fill: 'none' }));
    group.append(draw('circle', { cx: cx, cy: cy, r: 5.5, class: row.pareto ? 'dot' : 'open' }));
    return mark(group, row.text);
  }

  /* Each name beside its mark, at the first of eight places where nothing lies yet. */
  function placeNames(canvas, rows, front, x, y, width) {
    const known = rows.filter((r) => isNumber(r.quality));
    const taken = known.map((r) => [x(r.cost) - 6, y(r.quality) - 6, x(r.cost) + 6, y(r.quality) + 6])
      .concat(front.map((r, i) => [x(r.cost), y(r.quality) - 2, i + 1 < front.length ? x(front[i + 1].cost) : width, y(r.quality) + 2]),
        front.slice(1).map((r, i) => [x(r.cost) - 2, Math.min(y(r.quality), y(front[i].quality)), x(r.cost) + 2, Math.max(y(r.quality), y(front[i].quality))]),
        known.filter((r) => isNumber(r.low)).map((r) => [x(r.cost) - 4, y(r.high), x(r.cost) + 4, y(r.low)]));
    for (const row of known) {
      const cx = x(row.cost), cy = y(row.quality), wide = row.name.length * 6.9;
      const places = [[12, 4], [-12 - wide, 4], [10, -10], [-10 - wide, -10], [10, 20], [-10 - wide, 20], [12, -26], [-12 - wide, -26], [12, 36], [-12 - wide, 36]];
      const box = ([dx, dy]) => [cx + dx, cy + dy - 11, cx + dx + wide, cy + dy + 3];
      const free = (b) => b[0] >= LEFT && b[2] <= width && !taken.some((t) => b[0] < t[2] && b[2] > t[0] && b[1] < t[3] && b[3] > t[1]);
      const place = places.find((p) => free(box(p))) || places[0];
      taken.push(box(place));
      canvas.append(label(cx + place[0], cy + place[1], row.name, row.chosen ? 'name strong' : 'name'));
    }
  }

  /* ---- what the numbers say: rows for the views ---- */

  const number = (title, key, show) => ({ title: title, key: key, number: true, show: show });
  const words = (title, key, show) => ({ title: title, key: key, show: show });

  /* The newest model whose data end before each window: that which would have been in use. */
  function composite(matrix, untilOf) {
    const windows = new Map();
    for (const row of matrix) {
      const until = untilOf.get(row.trigger);
      if (until === undefined || time(until) > time(row.from)) continue;
      const key = row.from + ' ' + row.until, held = windows.get(key);
      if (!held || time(untilOf.get(held.trigger)) <= time(until)) windows.set(key, row);
    }
    return [...windows.values()].sort((a, b) => time(a.from) - time(b.from));
  }

  const windowsOf = (rows) => [...new Map(rows.map((r) => [r.from + ' ' + r.until, r])).values()]
    .sort((a, b) => time(a.from) - time(b.from) || time(a.until) - time(b.until)).map((r) => ({ from: r.from, until: r.until }));
  const indexOf = (windows, row) => windows.findIndex((w) => w.from === row.from && w.until === row.until);

  function qualityFigures(pipeline, choice) {
    const triggers = list(pipeline.report.triggers), untilOf = new Map(triggers.map((t) => [t.trigger, t.until]));
    const rows = pipeline.matrix.filter((r) => r.evaluation === choice.evaluation && r.metric === choice.metric && r.slice === null);
    const name = metricName(choice.metric), served = composite(rows, untilOf), servedRows = new Set(served), found = [];
    const file = pipeline.name + '-' + choice.evaluation;
    const columns = [words('from', 'from', day), words('until', 'until', day), number('trigger', 'trigger'), words('model', 'model'), number(name, 'value'), number('samples', 'samples')];
    if (served.length) {
      found.push(figure({ view: 'composite', title: name + ' of the model in use, over data time', name: file + '-in-use', columns: columns, rows: served,
        caption: 'Each window of ' + choice.evaluation + ' with the newest model whose data end before it. \u25bc is a trigger, by its number.',
        paint: timeLines([{ name: name, points: served.map((r) => Object.assign({ text: day(r.from) + ' to ' + day(r.until) + ': ' + name + ' ' + quality(r.value) + ', model of trigger ' + r.trigger + ', ' + r.samples + ' samples' }, r)) }],
          triggers.map((t) => ({ at: t.until, number: t.trigger, text: 'trigger ' + t.trigger + ', ' + day(t.until) + ': ' + t.reason })), name) }));
    }
    const models = [...new Set(rows.map((r) => r.trigger))].sort((a, b) => a - b), drawn = new Set(newest(models));
    const windows = windowsOf(rows.filter((r) => drawn.has(r.trigger))).slice(-2 * SHOWN);
    if (models.length && windows.length) {
      found.push(figure({ view: 'matrix', title: name + ' of each model in each window', name: file + '-models', columns: columns, rows: rows,
        caption: 'A row is the model of a trigger, a column a window; a stronger tint is a larger number. Framed: the model in use then.' + onlyNewest(models),
        paint: heatMap({ columns: windows, rows: newest(models).map((m) => ({ name: 'trigger ' + m, cells: rows.filter((r) => r.trigger === m && indexOf(windows, r) >= 0).map((r) => ({
          column: indexOf(windows, r), value: r.value, served: servedRows.has(r), text: 'model of trigger ' + m + ', ' + day(r.from) + ' to ' + day(r.until) + ': ' + name + ' ' + quality(r.value) + (servedRows.has(r) ? ', in use' : '') })) })) }) }));
    }
    const sliced = pipeline.matrix.filter((r) => r.evaluation === choice.evaluation && r.slice !== null && r.metric.split('(')[0] === choice.metric.split('(')[0]);
    const last = sliced.length ? composite(sliced, untilOf).pop() || sliced[sliced.length - 1] : null;
    const slices = last ? sliced.filter((r) => r.from === last.from && r.until === last.until && r.trigger === last.trigger) : [];
    if (slices.length) {
      const sorted = slices.slice().sort((a, b) => (b.value || 0) - (a.value || 0));
      found.push(figure({ view: 'slices', title: name + ' by slice', name: file + '-slices', rows: sorted, columns: [words('slice', 'slice')].concat(columns),
        caption: 'The model in use in the newest window, ' + day(last.from) + ' to ' + day(last.until) + '.',
        paint: intervals(sorted.map((r) => ({ name: r.slice, mean: r.value, strong: true, text: r.slice + ': ' + quality(r.value) + ', ' + r.samples + ' samples' })), name) }));
    }
    return found;
  }

  function qualitySection(pipeline) {
    const choices = [...new Map(pipeline.matrix.filter((r) => r.slice === null).map((r) => [r.evaluation + ' ' + r.metric, { evaluation: r.evaluation, metric: r.metric }])).values()];
    if (!choices.length) return [el('p', { class: 'soft' }, 'No model was evaluated yet.')];
    const first = Math.max(0, choices.findIndex((c) => /^(roc_auc|accuracy|rmse)/.test(c.metric)));
    const holder = el('div', {});
    const show = (n) => { holder.replaceChildren(...qualityFigures(pipeline, choices[n])); for (const f of holder.children) if (f.isConnected) f.redraw(); };
    show(first);
    if (choices.length === 1) return [holder];
    const select = el('select', {}, choices.map((c, i) => el('option', i === first ? { value: i, selected: '' } : { value: i }, c.evaluation + ': ' + metricName(c.metric))));
    select.addEventListener('change', () => show(+select.value));
    return [el('label', {}, ['Evaluation and metric ', select]), holder];
  }

  function costRows(triggers) {
    return triggers.map((t) => {
      const kinds = Object.values(t.costs || {}), sum = (key) => kinds.reduce((all, c) => all + (c[key] || 0), 0);
      return { name: 'trigger ' + t.trigger, trigger: t.trigger, until: t.until, samples: t.samples === undefined ? null : t.samples, cpu_s: sum('cpu_seconds'), gpu_s: sum('gpu_seconds'),
        bytes: sum('bytes_read') + sum('bytes_sent'), money: sum('money'), currency: (kinds.find((c) => c.currency) || {}).currency || '', reason: t.reason };
    });
  }

  /* Measures that say something: those that are above 0 somewhere. */
  const measuresOf = (rows, currency) => [{ title: 'triggers', key: 'triggers' }, { title: 'samples trained', key: 'samples' }, { title: 'CPU', key: 'cpu_s', show: seconds }, { title: 'GPU', key: 'gpu_s', show: seconds },
    { title: 'bytes', key: 'bytes', show: bytes }, { title: currency ? 'money, ' + currency : 'money', key: 'money' }].filter((m) => rows.some((r) => r[m.key] > 0));

  function triggerFigures(pipeline) {
    const triggers = list(pipeline.report.triggers), rows = costRows(triggers), found = [];
    const measures = measuresOf(rows, rows.length ? rows[0].currency : '');
    if (!rows.length) return [el('p', { class: 'soft' }, 'Nothing has fired yet.')];
    if (measures.length) {
      found.push(figure({ view: 'costs', title: 'What each trigger cost', name: pipeline.name + '-costs', rows: rows,
        caption: 'Everything that was run for it: scoring, training and evaluation.' + onlyNewest(rows), paint: barPanels(newest(rows), measures),
        columns: [number('trigger', 'trigger'), words('until', 'until', day)].concat(measures.map((m) => number(m.title + (m.show === seconds ? ', s' : ''), m.key)), [words('why', 'reason')]) }));
    }
    const between = (t, a, b) => (t.timeline && t.timeline[a] && t.timeline[b] ? Math.max(0, (time(t.timeline[b]) - time(t.timeline[a])) / 1000) : null);
    const steps = triggers.filter((t) => between(t, 'fired', 'stored') !== null).map((t) => Object.assign({ trigger: t.trigger }, Object.fromEntries(STAGES.map(([key, , a, b]) => [key, between(t, a, b)]))));
    if (steps.length) {
      found.push(figure({ view: 'stages', title: 'Time by stage', name: pipeline.name + '-stages', rows: steps, caption: 'From the trigger to the stored model, a row per trigger.' + onlyNewest(steps),
        columns: [number('trigger', 'trigger')].concat(STAGES.map(([key, title]) => number(title + ', s', key))), paint: stages(newest(steps)) }));
    }
    return found;
  }

  /* Every number that a check compared with a limit. */
  function checkRows(checks) {
    const rows = [];
    for (const check of checks) {
      const row = (what, score, limit, verdict) => rows.push({ what: what, check: check.check, at: check.at, score: isNumber(score) ? score : null, limit: isNumber(limit) ? limit : null, verdict: verdict === undefined ? null : String(verdict), trigger: check.trigger || null });
      for (const s of list(check.statistics)) row(s.statistic + (s.limit_of === 'p_value' ? ', p value' : ''), s.limit_of === 'p_value' ? s.p_value : s.distance, s.limit, s.verdict);
      for (const d of list(check.detectors)) row(String(d.detector), d.found, d.limit, d.verdict);
      for (const c of list(check.criteria)) row(metricName(check.metric) + ', ' + c.criterion, check.value, c.limit, c.verdict);
      if (isNumber(check.avoidable_limit)) row('avoidable misclassifications', check.avoidable, check.avoidable_limit, check.verdict);
      if (check.area !== undefined) row('cost of waiting', check.area, check.limit, check.verdict);
    }
    return rows;
  }

  function checkFigures(pipeline) {
    const rows = checkRows(list(pipeline.report.checks));
    return [...new Set(rows.map((r) => r.what))].map((what) => ({ what: what, rows: rows.filter((r) => r.what === what && r.score !== null).sort((a, b) => time(a.at) - time(b.at)) }))
      .filter((one) => one.rows.length).map((one) => figure({ view: 'checks', title: one.what + ' against its limit', name: pipeline.name + '-' + one.what, rows: one.rows,
        caption: 'The newest checks of the trigger policy; a triangle fired.' + (/p value$/.test(one.what) ? ' Below the limit speaks for a change.' : ''), paint: scores(one.rows, one.what),
        columns: [number('check', 'check'), words('at', 'at', day), number('score', 'score'), number('limit', 'limit'), words('verdict', 'verdict'), number('trigger', 'trigger')] }));
  }

  function facts(pairs) {
    return el('dl', { class: 'facts' }, pairs.filter((p) => p[1] !== '' && p[1] !== null && p[1] !== undefined).map(([name, value]) => el('div', {}, [el('dt', {}, name), el('dd', {}, value)])));
  }

  function pipelineSection(pipeline) {
    const triggers = list(pipeline.report.triggers), rows = costRows(triggers), sum = (key) => rows.reduce((all, r) => all + (r[key] || 0), 0);
    return el('section', { 'aria-label': 'pipeline ' + pipeline.name }, [el('h2', {}, pipeline.name),
      facts([['state', String(pipeline.state || '').toLowerCase()], ['triggers', String(triggers.length)], ['models stored', String(list(pipeline.models).length)], ['samples trained', short(sum('samples'))],
        ['CPU', seconds(sum('cpu_s'))], ['GPU', sum('gpu_s') ? seconds(sum('gpu_s')) : ''], ['bytes', bytes(sum('bytes'))], ['money', sum('money') ? short(sum('money')) + ' ' + rows[0].currency : '']]),
      ...qualitySection(pipeline), ...checkFigures(pipeline), ...triggerFigures(pipeline)]);
  }

  /* ---- a comparison ---- */

  const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);

  /* The mean over the seeds of a policy, window by window. */
  function policyWindows(cells) {
    const found = new Map();
    for (const cell of cells) for (const w of list(cell.windows)) {
      const key = w.from + ' ' + w.until;
      if (!found.has(key)) found.set(key, { from: w.from, until: w.until, values: [] });
      if (isNumber(w.value)) found.get(key).values.push(w.value);
    }
    return [...found.values()].map((w) => ({ policy: cells[0].policy, from: w.from, until: w.until, value: mean(w.values), seeds: w.values.length })).sort((a, b) => time(a.from) - time(b.from));
  }

  function comparisonRows(comparison, priced) {
    const cells = list(comparison.cells);
    return list(comparison.policies).map((p) => {
      const mine = cells.filter((c) => c.policy === p.policy), q = p.quality || {}, own = (key) => (isNumber((p.costs || {})[key]) ? p.costs[key] : null);
      const cost = priced ? own('money') : own('cpu_s');
      return { name: p.policy, policy: p.policy, seeds_run: q.n === undefined ? mine.length : q.n, quality: isNumber(q.mean) ? q.mean : null, low: isNumber(q.low) ? q.low : null, high: isNumber(q.high) ? q.high : null, cost: cost,
        triggers: own('triggers'), samples: own('samples'), cpu_s: own('cpu_s'), gpu_s: own('gpu_s'), bytes: own('bytes'), money: own('money'), pareto: p.pareto === true, chosen: p.chosen === true || comparison.chosen === p.policy,
        against: p.against || null, seeds: mine.filter((c) => isNumber((c.quality || {}).value)).map((c) => ({ cost: priced ? c.money : c.cpu_s, quality: c.quality.value })) };
    });
  }

  function comparisonSection(comparison) {
    const cells = list(comparison.cells), currency = (cells.find((c) => c.currency) || {}).currency || '', priced = cells.some((c) => c.money > 0);
    const rows = comparisonRows(comparison, priced), judge = comparison.judge || {}, name = metricName(judge.metric || 'quality'), file = comparison.comparison || comparison.name || 'comparison';
    const costTitle = priced ? 'cost of a policy by itself, ' + (currency || 'money') : 'CPU seconds of a policy by itself';
    const text = (r) => r.name + ': ' + name + ' ' + quality(r.quality) + (isNumber(r.low) ? ' (' + quality(r.low) + ' to ' + quality(r.high) + ', ' + r.seeds_run + ' seeds)' : '') + ', cost ' + short(r.cost) + (priced ? ' ' + currency : ' CPU s') + (r.pareto ? ', on the front' : '') + (r.chosen ? ', chosen' : '');
    const columns = [words('policy', 'policy'), number(name, 'quality'), number('low', 'low'), number('high', 'high'), number('seeds', 'seeds_run'), number('triggers', 'triggers'), number('samples', 'samples'), number('CPU, s', 'cpu_s'), number('GPU, s', 'gpu_s'), number('bytes', 'bytes'), number(currency ? 'money, ' + currency : 'money', 'money'), words('on the front', 'pareto', (v) => (v ? 'yes' : 'no')), words('chosen', 'chosen', (v) => (v ? 'yes' : 'no'))];
    const flat = rows.map((r) => Object.fromEntries(columns.map((c) => [c.key, r[c.key]]))), known = rows.filter((r) => r.quality !== null);
    const section = el('section', { 'aria-label': 'comparison ' + file }, [el('h2', {}, file),
      facts([['state', comparison.state], ['policies', String(rows.length)], ['pipelines', String(cells.length)], ['judged by', name], ['judged from', day(judge.from)], ['until', day(judge.until)], ['chosen', comparison.chosen || '']])]);
    if (!known.length) { section.append(el('p', { class: 'soft' }, 'No policy is judged yet.')); return section; }
    section.append(figure({ view: 'pareto', title: 'Cost against quality', name: file + '-policies', columns: columns, rows: flat,
      caption: 'A mark is the mean of a policy over its seeds, with its 95 % interval; small rings are single seeds. Filled, on the dashed line: no policy is both cheaper and better. Encircled: chosen on the earlier windows.',
      paint: costAgainstQuality(known, costTitle, name) }));
    const sorted = known.slice().sort((a, b) => (judge.better === 'lower' ? a.quality - b.quality : b.quality - a.quality));
    section.append(figure({ view: 'policies', title: name + ' of each policy', name: file + '-quality', columns: columns.slice(0, 5), rows: sorted.map((r) => Object.fromEntries(columns.slice(0, 5).map((c) => [c.key, r[c.key]]))),
      caption: 'Mean and 95 % interval over the seeds. Filled: on the front.', paint: intervals(sorted.map((r) => ({ name: r.name, mean: r.quality, low: r.low, high: r.high, strong: r.pareto, text: text(r) })), name) }));
    const against = rows.filter((r) => r.against && isNumber(r.against.mean)).map((r) => ({ policy: r.name, baseline: String(r.against.baseline), difference: r.against.mean, low: r.against.low, high: r.against.high, pairs: r.against.n }));
    if (against.length) {
      section.append(figure({ view: 'against', title: 'Difference from ' + against[0].baseline, name: file + '-against', rows: against, caption: 'Seed by seed, with the 95 % interval of the paired differences. Filled: the interval excludes 0.',
        columns: [words('policy', 'policy'), words('baseline', 'baseline'), number('difference', 'difference'), number('low', 'low'), number('high', 'high'), number('pairs', 'pairs')],
        paint: intervals(against.map((r) => ({ name: r.policy, mean: r.difference, low: r.low, high: r.high, strong: r.low > 0 || r.high < 0, text: r.policy + ': ' + quality(r.difference) + ' (' + quality(r.low) + ' to ' + quality(r.high) + ')' })), 'difference in ' + name, true) }));
    }
    const lines = known.map((r) => ({ name: r.name, points: policyWindows(cells.filter((c) => c.policy === r.name)) })).filter((l) => l.points.length);
    const points = lines.flatMap((l) => l.points), windows = windowsOf(points);
    const lineColumns = [words('policy', 'policy'), words('from', 'from', day), words('until', 'until', day), number(name, 'value'), number('seeds', 'seeds')];
    const say = (p) => p.policy + ', ' + day(p.from) + ' to ' + day(p.until) + ': ' + name + ' ' + quality(p.value);
    if (lines.length && lines.length <= 6) {
      section.append(figure({ view: 'lines', title: name + ' of the model in use, over data time', name: file + '-lines', rows: points, columns: lineColumns, caption: 'Mean over the seeds of a policy; each window with the newest model whose data end before it.',
        paint: timeLines(lines.map((l) => ({ name: l.name, points: l.points.map((p) => Object.assign({ text: say(p) }, p)) })), [], name) }));
    }
    if (lines.length) {
      section.append(figure({ view: 'windows', title: name + ' of each policy in each window', name: file + '-windows', rows: points, columns: lineColumns, caption: 'Mean over the seeds; a stronger tint is a larger number.',
        paint: heatMap({ columns: windows, rows: lines.map((l) => ({ name: l.name, cells: l.points.map((p) => ({ column: indexOf(windows, p), value: p.value, text: say(p) })) })) }) }));
    }
    section.append(figure({ view: 'costs', title: 'What each policy cost', name: file + '-costs', rows: flat, columns: columns, caption: 'Mean over its seeds, as if each pipeline had run alone: nothing shared, nothing found in a cache.', paint: barPanels(rows, measuresOf(rows, currency)) }));
    return section;
  }

  /* ---- the page ---- */

  function show(numbers) {
    const main = document.getElementById('report'), names = list(numbers.pipelines).map((p) => p.name);
    const title = numbers.comparison ? 'Which policy is worth its cost?' : names.length === 1 ? 'How ' + names[0] + ' went' : 'How ' + names.length + ' pipelines went';
    document.title = (numbers.comparison ? numbers.comparison.comparison : names.join(', ')) + ' \u2013 Weir report';
    redraws.length = 0;
    figures = 0;
    main.replaceChildren(el('h1', {}, title), el('p', { class: 'soft' }, ['Made ' + day(numbers.made) + ' UTC by weir ' + (numbers.platform || {}).version + '. ', link('All numbers as JSON', 'report.json', 'application/json', JSON.stringify(numbers, null, 1))]),
      ...(numbers.comparison ? [comparisonSection(numbers.comparison)] : []), ...list(numbers.pipelines).map(pipelineSection));
    redraws.forEach((redraw) => redraw());
  }

  function redrawAll(width) {
    for (const f of document.querySelectorAll('figure')) f.redraw(width);
  }

  show(JSON.parse(document.getElementById('numbers').textContent));
  let waits = 0;
  window.addEventListener('resize', () => { cancelAnimationFrame(waits); waits = requestAnimationFrame(() => redrawAll()); });
  window.addEventListener('beforeprint', () => redrawAll(680));
  window.addEventListener('afterprint', () => redrawAll());
}());
