/* From rows to pictures: each function returns what paints them into an SVG of a width, and returns the height. */

const NARROW = 560,
  ROW = 26;

/* About as wide as so many characters are. */
const widthOf = (characters) => characters * 6.4;
const longestName = (rows) => Math.max(1, ...rows.map((r) => lengthOf(r.name)));

/* ---- a line over data time, with what fired ---- */

/* lines: [{name, points: [{from, until, value, text}]}]; triggers: [{at, number, text}]. */
function timeLines(lines, triggers, title) {
  return (canvas, width) => {
    const height = width < NARROW ? 250 : 320,
      top = triggers.length ? 34 : 14,
      bottom = height - 34;
    const names = lines.length > 1 ? Math.min(widthOf(longestName(lines)) + 14, width * 0.3) : 28;
    const right = width - names;
    const points = lines.flatMap((line) => line.points);
    const range = span(
      points.map((p) => p.value),
      0.12
    );
    const left = roomOf(range);
    const times = span(
      points.flatMap((p) => [time(p.from), time(p.until)]).concat(triggers.map((t) => time(t.at))),
      0.01
    );
    const x = scale(times, [left, right]),
      y = scale(range, [bottom, top]);
    canvas.append(label(0, 10, cut(title, width, 7.6), 'soft'));
    valueAxis(canvas, y, range, left, right);
    timeAxis(canvas, x, times, bottom);
    let free = -Infinity;
    const isCrowded = (marks) => marks * 12 > right - left;
    const foot = isCrowded(triggers.length) ? top : bottom;
    for (const trigger of triggers) {
      const at = x(time(trigger.at));
      const group = draw('g', {}, rule(at, top - 6, at, foot, 'trigger'));
      if (at > free) {
        group.append(label(at, top - 10, '\u25bc' + trigger.number, 'soft small', 'middle'));
        free = at + 26;
      }
      canvas.append(mark(group, trigger.text));
    }
    lines.forEach((line, n) => {
      const at = (p) => [(x(time(p.from)) + x(time(p.until))) / 2, y(p.value)];
      const known = line.points.filter((p) => isNumber(p.value));
      canvas.append(
        draw('path', {
          class: 'line',
          'stroke-dasharray': ['none', '7 3', '2 3', '9 3 2 3', '4 2', '12 4'][n % 6],
          d: known
            .map(
              (p, i) =>
                (i ? 'L' : 'M') +
                at(p)
                  .map((v) => v.toFixed(1))
                  .join(' ')
            )
            .join('')
        })
      );
      for (const p of known) {
        if (lines.length === 1 && !isCrowded(known.length))
          canvas.append(rule(x(time(p.from)), at(p)[1], x(time(p.until)), at(p)[1], 'reach'));
        canvas.append(
          mark(
            draw('circle', {
              cx: at(p)[0],
              cy: at(p)[1],
              r: isCrowded(known.length) ? 2.5 : width < NARROW ? 3.5 : 4.5,
              class: n % 2 ? 'open' : 'dot',
              'data-value': p.value
            }),
            p.text
          )
        );
      }
    });
    if (lines.length > 1) nameLines(canvas, lines, y, right + 8, top, names - 8);
    return height;
  };
}

function nameLines(canvas, lines, y, at, top, room) {
  const ends = lines
    .map((line) => {
      const known = line.points.filter((p) => isNumber(p.value));
      return { name: line.name, y: known.length ? y(known[known.length - 1].value) : top };
    })
    .sort((a, b) => a.y - b.y);
  let free = top;
  for (const end of ends) {
    free = Math.max(free, end.y);
    canvas.append(label(at, free + 4, cut(end.name, room, 7.4), ''));
    free += 15;
  }
}

/* ---- a grid of rows and windows ---- */

/* grid: {rows: [{name, cells: [{column, value, text, served}]}], columns: [{from, until}], rowsTitle}. */
function heatMap(grid) {
  return (canvas, width) => {
    const longest = Math.max(3, longestName(grid.rows));
    const left = Math.min(longest * 6.7 + 14, width * 0.4),
      top = 8;
    const wide = Math.min(92, (width - left) / grid.columns.length),
      high = Math.max(16, Math.min(ROW, wide));
    const range = span(
      grid.rows.flatMap((r) => r.cells.map((c) => c.value)),
      0
    );
    const strength = scale(range, [0.04, 0.55]);
    grid.rows.forEach((row, i) => {
      const y = top + i * high;
      canvas.append(label(left - 8, y + high / 2 + 4, cut(row.name, left - 10, 6.8), 'soft', 'end'));
      for (const cell of row.cells)
        canvas.append(heatCell(cell, left + cell.column * wide, y, wide, high, strength(cell.value)));
    });
    const bottom = top + grid.rows.length * high;
    const begins = grid.columns.map((column, i) => ({ x: left + i * wide + 1, text: day(column.from), kind: 'start' }));
    labelsAlong(canvas, begins, bottom + 16, width);
    canvas.append(label(left + 1, bottom + 34, 'window, by its beginning', 'soft'));
    return bottom + 44;
  };
}

function heatCell(cell, x, y, wide, high, strength) {
  const group = draw('g', { 'data-value': isNumber(cell.value) ? cell.value : '' });
  if (isNumber(cell.value)) {
    group.append(
      draw('rect', {
        x: x + 0.5,
        y: y + 0.5,
        width: Math.max(1, wide - 1),
        height: high - 1,
        class: 'cell',
        'fill-opacity': strength.toFixed(3)
      })
    );
    const text = wide >= 44 ? quality(cell.value) : tight(cell.value);
    if (widthOf(text.length) <= wide && high >= 13) {
      group.append(label(x + wide / 2, y + high / 2 + 4, text, wide < 44 ? 'small' : '', 'middle'));
    } else {
      /* too narrow for digits: a bar says it without colour */
      group.append(
        draw('rect', {
          x: x + wide * 0.3,
          y: y + high - 1 - ((high - 3) * strength) / 0.55,
          width: Math.max(0.5, wide * 0.4),
          height: ((high - 3) * strength) / 0.55,
          fill: 'var(--ink)'
        })
      );
    }
  } else if (wide >= 10) {
    group.append(label(x + wide / 2, y + high / 2 + 4, '\u2013', 'soft', 'middle'));
  }
  if (cell.served)
    group.append(
      draw('rect', { x: x + 1.5, y: y + 1.5, width: Math.max(1, wide - 3), height: high - 3, class: 'served' })
    );
  return mark(group, cell.text);
}

/* ---- bars of several measures side by side ---- */

/* measures: [{title, key, show}]; rows with `name`. One column of bars per measure, as many beside each other as fit. */
function barPanels(rows, measures) {
  return (canvas, width) => {
    const longest = Math.max(2, longestName(rows));
    const names = Math.min(longest * 6.7 + 12, width * 0.42),
      one = 150;
    const beside = Math.max(1, Math.min(measures.length, Math.floor((width - names) / one)));
    const wide = (width - names) / beside,
      high = Math.max(15, Math.min(22, 900 / rows.length));
    let top = 0;
    for (let first = 0; first < measures.length; first += beside) {
      rows.forEach((row, i) =>
        canvas.append(
          label(names - 8, top + 26 + i * high + high / 2 + 4, cut(row.name, names - 8, 6.8), 'soft', 'end')
        )
      );
      measures
        .slice(first, first + beside)
        .forEach((measure, n) => bars(canvas, rows, measure, names + n * wide, top, wide, high));
      top += 26 + rows.length * high + 14;
    }
    return top;
  };
}

function bars(canvas, rows, measure, left, top, wide, high) {
  const most = Math.max(...rows.map((r) => (isNumber(r[measure.key]) ? r[measure.key] : 0))) || 1;
  const texts = rows.map((r) => (measure.show || short)(r[measure.key]));
  const x = scale([0, most], [0, Math.max(20, wide - 14 - 6.8 * Math.max(8, ...texts.map(lengthOf)))]);
  canvas.append(
    label(left, top + 14, cut(measure.title, wide - 8, 7.2), 'strong'),
    rule(left, top + 24, left, top + 26 + rows.length * high, 'axis')
  );
  rows.forEach((row, i) => {
    const value = row[measure.key],
      y = top + 26 + i * high,
      shown = (measure.show || short)(value);
    canvas.append(
      mark(
        draw('g', { 'data-value': isNumber(value) ? value : '' }, [
          draw('rect', {
            x: left,
            y: y + 3,
            width: isNumber(value) ? Math.max(0.5, x(value)) : 0,
            height: high - 6,
            class: 'bar'
          }),
          label(left + (isNumber(value) ? Math.max(0, x(value)) : 0) + 6, y + high / 2 + 4, shown)
        ]),
        row.name + ', ' + measure.title + ': ' + shown
      )
    );
  });
}

/* ---- time by stage ---- */

function hatches(canvas) {
  const shapes = [null, 'M0 6L6 0', 'M0 3H6', 'M3 0V6'];
  canvas.append(
    draw(
      'defs',
      {},
      shapes.map((d, i) =>
        draw(
          'pattern',
          {
            id: canvas.getAttribute('aria-labelledby') + 'hatch' + i,
            width: 6,
            height: 6,
            patternUnits: 'userSpaceOnUse'
          },
          [draw('rect', { width: 6, height: 6, class: 'part' + i })].concat(
            d ? [draw('path', { d: d, stroke: 'var(--paper)', 'stroke-width': 1.5 })] : []
          )
        )
      )
    )
  );
}

function stages(rows) {
  return (canvas, width) => {
    const left = widthOf(longestName(rows)) + 14,
      high = Math.max(15, Math.min(22, 900 / rows.length));
    const total = (row) => STAGES.reduce((sum, s) => sum + (row[s[0]] || 0), 0);
    const most = Math.max(...rows.map(total)) || 1,
      x = scale([0, most], [left, width - 24]);
    let at = left,
      top = 6;
    hatches(canvas);
    STAGES.forEach(([, title], i) => {
      const room = widthOf(title.length) + 34;
      if (at + room > width && at > left) {
        at = left;
        top += 18;
      }
      canvas.append(
        draw('rect', {
          x: at,
          y: top,
          width: 12,
          height: 12,
          fill: 'url(#' + canvas.getAttribute('aria-labelledby') + 'hatch' + i + ')'
        }),
        label(at + 17, top + 10, title)
      );
      at += room;
    });
    top += 22;
    rows.forEach((row, n) => {
      const y = top + n * high;
      let from = 0;
      canvas.append(label(left - 8, y + high / 2 + 4, row.name, 'soft', 'end'));
      STAGES.forEach(([key, title], i) => {
        if (!isNumber(row[key])) return;
        canvas.append(
          mark(
            draw('rect', {
              x: x(from),
              y: y + 2,
              width: Math.max(0.5, x(from + row[key]) - x(from)),
              height: high - 4,
              fill: 'url(#' + canvas.getAttribute('aria-labelledby') + 'hatch' + i + ')',
              'data-value': row[key]
            }),
            `${row.name}, ${title}: ${seconds(row[key])}`
          )
        );
        from += row[key];
      });
    });
    const bottom = top + rows.length * high + 4;
    amountAxis(canvas, x, most, bottom, ' s');
    return bottom + 26;
  };
}

/* ---- a score against its limit ---- */

function scores(rows, title) {
  return (canvas, width) => {
    const height = 230,
      top = 24,
      bottom = height - 34,
      right = width - 28;
    const range = span(
        rows.flatMap((r) => [r.score, r.limit, 0]),
        0.08
      ),
      times = span(
        rows.map((r) => time(r.at)),
        0.03
      );
    const shown = [Math.max(range[0], Math.min(0, ...rows.map((r) => r.score))), range[1]];
    const left = roomOf(shown);
    const x = scale(times, [left, right]),
      y = scale(shown, [bottom, top]);
    canvas.append(label(0, 10, cut(title, width, 7.6), 'soft'));
    valueAxis(canvas, y, shown, left, right);
    timeAxis(canvas, x, times, bottom);
    const path = (key) =>
      rows
        .filter((r) => isNumber(r[key]))
        .map((r, i) => (i ? 'L' : 'M') + x(time(r.at)).toFixed(1) + ' ' + y(r[key]).toFixed(1))
        .join('');
    canvas.append(
      draw('path', { class: 'limit', d: path('limit') }),
      draw('path', { class: 'line', d: path('score') })
    );
    const last = rows.filter((r) => isNumber(r.limit)).pop();
    if (last) canvas.append(label(right, y(last.limit) - 6, 'limit ' + short(last.limit), 'soft', 'end'));
    for (const row of rows) {
      if (!isNumber(row.score)) continue;
      const cx = x(time(row.at)),
        cy = y(row.score);
      canvas.append(
        mark(
          row.trigger
            ? draw('path', { class: 'fired', d: 'M' + cx + ' ' + (cy - 7) + 'l6.5 11h-13z', 'data-value': row.score })
            : draw('circle', { class: 'dot', cx: cx, cy: cy, r: 3.5, 'data-value': row.score }),
          'check ' +
            row.check +
            ', ' +
            day(row.at) +
            ': ' +
            short(row.score) +
            ' against ' +
            short(row.limit) +
            (row.trigger ? ', fired trigger ' + row.trigger : '')
        )
      );
    }
    return height;
  };
}

/* ---- values with intervals, a row each ---- */

/* rows: [{name, mean, low, high, text, strong}]; `zero`: a line there. */
function intervals(rows, title, zero) {
  return (canvas, width) => {
    const longest = longestName(rows);
    const values = rows.map((r) => quality(r.mean));
    const left = Math.min(longest * 8 + 18, width * 0.42),
      right = width - Math.max(64, 20 + widthOf(Math.max(...values.map((v) => v.length)))),
      high = ROW,
      bottom = rows.length * high + 6;
    const range = span(
        rows.flatMap((r) => [r.mean, r.low, r.high].concat(zero ? [0] : [])),
        0.06
      ),
      x = scale(range, [left, right]);
    const marks = ticks(range[0], range[1], Math.max(4, (right - left) / 90));
    for (const tick of marks) canvas.append(rule(x(tick.at), 0, x(tick.at), bottom, 'grid'));
    labelsAlong(
      canvas,
      marks.map((tick) => ({ x: x(tick.at), text: tick.text })),
      bottom + 18,
      width
    );
    if (zero) canvas.append(rule(x(0), 0, x(0), bottom, 'axis'));
    rows.forEach((row, i) => {
      const y = i * high + high / 2 + 2;
      canvas.append(label(left - 10, y + 4, cut(row.name, left - 12, 8), row.strong ? 'strong' : '', 'end'));
      if (!isNumber(row.mean)) return;
      const group = draw('g', { 'data-value': row.mean });
      if (isNumber(row.low) && isNumber(row.high)) {
        group.append(
          rule(x(row.low), y, x(row.high), y, 'reach'),
          rule(x(row.low), y - 4, x(row.low), y + 4, 'reach'),
          rule(x(row.high), y - 4, x(row.high), y + 4, 'reach')
        );
      }
      group.append(
        draw('circle', { cx: x(row.mean), cy: y, r: 4.5, class: row.strong ? 'dot' : 'open' }),
        label(width, y + 4, quality(row.mean), '', 'end')
      );
      canvas.append(mark(group, row.text));
    });
    canvas.append(label(width / 2, bottom + 36, cut(title, width, 7.6), 'soft', 'middle'));
    return bottom + 44;
  };
}

/* ---- cost against quality ---- */

/* rows: [{name, cost, quality, low, high, pareto, chosen, text, seeds: [{cost, quality}]}]. */
function costAgainstQuality(rows, costTitle, unit, qualityTitle) {
  return (canvas, width) => {
    const height = width < NARROW ? 340 : 420,
      top = 24,
      bottom = height - 46,
      right = width - 24;
    const most = Math.max(...rows.flatMap((r) => [r.cost].concat(r.seeds.map((s) => s.cost))).filter(isNumber)) || 1;
    const small = most < 1e-3 ? 10 ** powerOf(most) : 1; /* its power of ten goes to the title */
    const costs = [0, (most / small) * 1.08];
    const range = span(
      rows.flatMap((r) => [r.quality, r.low, r.high].concat(r.seeds.map((s) => s.quality))),
      0.08
    );
    const left = roomOf(range);
    const along = scale(costs, [left, right]),
      x = (cost) => along(cost / small),
      y = scale(range, [bottom, top]);
    const title = `${costTitle}, ${small < 1 ? tenTo(powerOf(most)) + ' ' : ''}${unit}`;
    canvas.append(
      label(0, 10, cut(qualityTitle, width, 7.6), 'soft'),
      label(width / 2, height - 8, cut(title, width, 7.6), 'soft', 'middle')
    );
    valueAxis(canvas, y, range, left, right);
    amountAxis(canvas, along, costs[1], bottom, '');
    const front = rows.filter((r) => r.pareto && isNumber(r.quality)).sort((a, b) => a.cost - b.cost);
    canvas.append(
      draw('path', {
        class: 'front',
        d:
          front
            .map((r, i) => (i ? 'H' + x(r.cost) + 'V' + y(r.quality) : 'M' + x(r.cost) + ' ' + y(r.quality)))
            .join('') + (front.length ? 'H' + right : '')
      })
    );
    for (const row of rows)
      for (const seed of row.seeds)
        canvas.append(draw('circle', { class: 'seed', cx: x(seed.cost), cy: y(seed.quality), r: 2 }));
    for (const row of rows) if (isNumber(row.quality)) canvas.append(policyMark(row, x, y));
    placeNames(canvas, rows, front, { x: x, y: y, left: left, bottom: bottom, width: width });
    return height;
  };
}

function policyMark(row, x, y) {
  const cx = x(row.cost),
    cy = y(row.quality),
    group = draw('g', { 'data-value': row.quality });
  if (isNumber(row.low) && isNumber(row.high)) {
    for (const end of [row.low, row.high]) group.append(rule(cx - 4, y(end), cx + 4, y(end), 'reach'));
    group.append(rule(cx, y(row.low), cx, y(row.high), 'reach'));
  }
  if (row.chosen) group.append(draw('circle', { cx: cx, cy: cy, r: 10, class: 'reach', fill: 'none' }));
  group.append(draw('circle', { cx: cx, cy: cy, r: 5.5, class: row.pareto ? 'dot' : 'open' }));
  return mark(group, row.text);
}

/* Each name beside its mark, at the first of ten places where nothing lies yet; a name that finds none is in the mark's
 * words and in the table. */
function placeNames(canvas, rows, front, { x, y, left, bottom, width }) {
  const known = rows.filter((r) => isNumber(r.quality));
  const taken = known
    .map((r) => [x(r.cost) - 6, y(r.quality) - 6, x(r.cost) + 6, y(r.quality) + 6])
    .concat(
      front.map((r, i) => [
        x(r.cost),
        y(r.quality) - 2,
        i + 1 < front.length ? x(front[i + 1].cost) : width,
        y(r.quality) + 2
      ]),
      front
        .slice(1)
        .map((r, i) => [
          x(r.cost) - 2,
          Math.min(y(r.quality), y(front[i].quality)),
          x(r.cost) + 2,
          Math.max(y(r.quality), y(front[i].quality))
        ]),
      known.filter((r) => isNumber(r.low)).map((r) => [x(r.cost) - 4, y(r.high), x(r.cost) + 4, y(r.low)])
    );
  for (const row of known) {
    const cx = x(row.cost),
      cy = y(row.quality),
      name = cut(row.name, width * 0.5, 7.2),
      wide = lengthOf(name) * 7.2;
    const places = [
      [12, 4],
      [-12 - wide, 4],
      [10, -10],
      [-10 - wide, -10],
      [10, 20],
      [-10 - wide, 20],
      [12, -26],
      [-12 - wide, -26],
      [12, 36],
      [-12 - wide, 36]
    ];
    const box = ([dx, dy]) => [cx + dx, cy + dy - 11, cx + dx + wide, cy + dy + 3];
    const free = (b) =>
      b[0] >= left && b[2] <= width && b[3] <= bottom && !taken.some((t) => b[0] < t[2] && b[2] > t[0] && b[1] < t[3] && b[3] > t[1]);
    const place = places.find((p) => free(box(p)));
    if (!place) continue;
    taken.push(box(place));
    canvas.append(label(cx + place[0], cy + place[1], name, row.chosen ? 'name strong' : 'name'));
  }
}
