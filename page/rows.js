/* From the numbers to rows, and values as texts: see README.md for the numbers. Pure; nothing here knows a page. */

const SHOWN = 60; /* rows of a picture; its table has all */
const DAY = 86400000;

/* ---- numbers and times as text ---- */

const isNumber = (value) => typeof value === 'number' && isFinite(value);
const list = (value) => (Array.isArray(value) ? value : []);
const clean = (text) => text.replace('-', '\u2212');

/* 10 to the power of n. */
function tenTo(n) {
  const above = (digit) =>
    digit === '-' ? '\u207b' : '\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079'[+digit];
  return '10' + [...String(n)].map(above).join('');
}
const powerOf = (value) => Math.floor(Math.log10(Math.abs(value)));

function short(value) {
  if (!isNumber(value)) return '\u2013';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e12 || size < 1e-3) return clean(`${(value / 10 ** powerOf(size)).toPrecision(3)}\u00b7`) + tenTo(powerOf(size));
  if (size >= 1e9) return clean(+(value / 1e9).toPrecision(3) + ' G');
  if (size >= 1e6) return clean(+(value / 1e6).toPrecision(3) + ' M');
  if (size >= 1e4) return clean(+(value / 1e3).toPrecision(3) + ' k');
  return clean(String(+value.toPrecision(size >= 1000 ? 4 : 3)));
}
const bytes = (value) => (isNumber(value) ? short(value) + (Math.abs(value) >= 1e4 ? 'B' : ' B') : '\u2013');
const seconds = (value) =>
  !isNumber(value) ? '\u2013' : value < 1e4 ? short(value) + ' s' : short(value / 3600) + ' h';
const quality = (value) =>
  !isNumber(value) ? '\u2013' : Math.abs(value) >= 1e5 ? short(value) : clean(value.toFixed(Math.abs(value) < 10 ? 3 : 1));
const tight = (value) => (isNumber(value) ? clean(value.toFixed(2).replace(/^(-?)0\./, '$1.')) : '\u2013');
const time = (text) => Date.parse(text);
const day = (text) =>
  String(text || '')
    .replace(/T00:00:00Z$/, '')
    .replace('T', ' ')
    .replace(/(:\d\d)(:\d\d)(\.\d+)?Z$/, '$1');
const newest = (rows) => rows.slice(-SHOWN);
const onlyNewest = (rows) =>
  rows.length > SHOWN ? ' Drawn are the newest ' + SHOWN + ' of ' + rows.length + '; the table has all.' : '';
const NAMES = { roc_auc: 'ROC-AUC', rmse: 'RMSE', mmd: 'MMD', ks: 'KS', psi: 'PSI', ddm: 'DDM' };
const nameOf = (name) => (Object.hasOwn(NAMES, name) ? NAMES[name] : String(name).replace(/_/g, ' '));
/* accuracy(by=label) is accuracy; top_n(n=5) is another metric than top_n(n=1). */
function metricName(metric) {
  const [, name, options] = /^([^(]*)(?:\((.*)\))?/.exec(metric);
  const told = (options || '').split(/, */).filter((o) => o && !o.startsWith('by='));
  return nameOf(name) + (told.length ? ` (${told.join(', ')})` : '');
}

/* ---- the rows as CSV ---- */

const csvCell = (value) => {
  if (value === null || value === undefined) return '';
  let text = String(value);
  if (typeof value === 'string' && /^[=+\-@\t\r]/.test(text)) text = "'" + text; /* no formula of a spreadsheet */
  return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
};
function csvOf(columns, rows) {
  return (
    [columns.map((c) => c.key)]
      .concat(rows.map((row) => columns.map((c) => row[c.key])))
      .map((cells) => cells.map(csvCell).join(','))
      .join('\r\n') + '\r\n'
  );
}

/* ---- what was measured ---- */

/* Evaluations and metrics of a pipeline's models, each pair once. */
function choicesOf(matrix) {
  const found = matrix.filter((r) => r.slice === null).map((r) => ({ evaluation: r.evaluation, metric: r.metric }));
  return [...new Map(found.map((c) => [c.evaluation + ' ' + c.metric, c])).values()];
}

const untilOf = (pipeline) => new Map(list(pipeline.report.triggers).map((t) => [t.trigger, t.until]));
const chosenRows = (pipeline, choice) =>
  pipeline.matrix.filter((r) => r.evaluation === choice.evaluation && r.metric === choice.metric && r.slice === null);

/* The newest model whose data end before each window: that which would have been in use. */
function composite(matrix, untils) {
  const windows = new Map();
  for (const row of matrix) {
    const until = untils.get(row.trigger);
    if (until === undefined || time(until) > time(row.from)) continue;
    const key = row.from + ' ' + row.until;
    const held = windows.get(key);
    if (!held || time(untils.get(held.trigger)) <= time(until)) windows.set(key, row);
  }
  return [...windows.values()].sort((a, b) => time(a.from) - time(b.from));
}

const windowsOf = (rows) =>
  [...new Map(rows.map((r) => [r.from + ' ' + r.until, r])).values()]
    .sort((a, b) => time(a.from) - time(b.from) || time(a.until) - time(b.until))
    .map((r) => ({ from: r.from, until: r.until }));
const indexOf = (windows, row) => windows.findIndex((w) => w.from === row.from && w.until === row.until);

/* The slices of a metric in the newest window of the model in use, or of the newest model where none was yet. */
function sliceRows(pipeline, choice) {
  const kind = (metric) => metric.split('(')[0];
  const sliced = pipeline.matrix.filter(
    (r) => r.evaluation === choice.evaluation && r.slice !== null && kind(r.metric) === kind(choice.metric)
  );
  const last = composite(sliced, untilOf(pipeline)).pop() || sliced[sliced.length - 1];
  return sliced
    .filter((r) => r.from === last.from && r.until === last.until && r.trigger === last.trigger)
    .sort((a, b) => (b.value || 0) - (a.value || 0));
}

/* ---- what it cost, and where the time went ---- */

function costRows(triggers) {
  return triggers.map((t) => {
    const kinds = Object.values(t.costs || {});
    const sum = (key) => kinds.reduce((all, c) => all + (c[key] || 0), 0);
    return {
      name: 'trigger ' + t.trigger,
      trigger: t.trigger,
      until: t.until,
      samples: t.samples === undefined ? null : t.samples,
      cpu_s: sum('cpu_seconds'),
      gpu_s: sum('gpu_seconds'),
      bytes: sum('bytes_read') + sum('bytes_sent'),
      money: sum('money'),
      currency: (kinds.find((c) => c.currency) || {}).currency || '',
      reason: t.reason
    };
  });
}

/* Measures that say something: those that are above 0 somewhere. */
const measuresOf = (rows, currency) =>
  [
    { title: 'triggers', key: 'triggers' },
    { title: 'samples trained', key: 'samples' },
    { title: 'CPU', key: 'cpu_s', show: seconds },
    { title: 'GPU', key: 'gpu_s', show: seconds },
    { title: 'bytes', key: 'bytes', show: bytes },
    { title: currency ? 'money, ' + currency : 'money', key: 'money' }
  ].filter((m) => rows.some((r) => r[m.key] > 0));

const STAGES = [
  ['seal', 'select and seal', 'fired', 'sealed'],
  ['start', 'until the first batch', 'sealed', 'first_batch'],
  ['train', 'train', 'first_batch', 'trained'],
  ['store', 'store', 'trained', 'stored']
];

/* The first part of each reason: the rest names the features that moved. */
const reasonRows = (triggers) =>
  triggers.map((t) => ({
    trigger: t.trigger,
    until: t.until,
    selected: t.selected,
    why: String(t.reason || '').split('; ')[0] + (t.skipped ? `; skipped: ${t.skipped}` : '')
  }));

/* Seconds of each stage of those triggers that have stored a model. */
function stageRows(triggers) {
  const lasted = (line, from, until) =>
    line[from] && line[until] ? Math.max(0, (time(line[until]) - time(line[from])) / 1000) : null;
  const stages = (line) => Object.fromEntries(STAGES.map(([key, , from, until]) => [key, lasted(line, from, until)]));
  return triggers
    .filter((t) => t.timeline && t.timeline.fired && t.timeline.stored)
    .map((t) => Object.assign({ name: 'trigger ' + t.trigger, trigger: t.trigger }, stages(t.timeline)));
}

/* ---- what was checked ---- */

/* Every number that a check compared with a limit. */
function checkRows(checks) {
  const rows = [];
  for (const check of checks) {
    const row = (what, score, limit, verdict) =>
      rows.push({
        what: what,
        check: check.check,
        at: check.at,
        score: isNumber(score) ? score : null,
        limit: isNumber(limit) ? limit : null,
        verdict: verdict === undefined ? null : String(verdict),
        trigger: check.trigger || null
      });
    for (const s of list(check.statistics)) {
      const isTest = s.limit_of === 'p_value';
      row(nameOf(s.statistic) + (isTest ? ', p value' : ''), isTest ? s.p_value : s.distance, s.limit, s.verdict);
    }
    for (const d of list(check.detectors)) row(nameOf(d.detector), d.found, d.limit, d.verdict);
    for (const c of list(check.criteria))
      row(metricName(check.metric) + ', ' + c.criterion, check.value, c.limit, c.verdict);
    if (isNumber(check.avoidable_limit))
      row('avoidable misclassifications', check.avoidable, check.avoidable_limit, check.verdict);
    if (check.area !== undefined) row('cost of waiting', check.area, check.limit, check.verdict);
  }
  return rows;
}

/* A list for each kind of check, in the order of time. */
function checksByKind(checks) {
  const rows = checkRows(checks).filter((r) => r.score !== null);
  return [...new Set(rows.map((r) => r.what))].map((what) =>
    rows.filter((r) => r.what === what).sort((a, b) => time(a.at) - time(b.at))
  );
}

/* ---- a comparison ---- */

const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);

/* The mean over the seeds of a policy, window by window. */
function policyWindows(cells) {
  const found = new Map();
  for (const w of cells.flatMap((cell) => list(cell.windows))) {
    const key = w.from + ' ' + w.until;
    if (!found.has(key)) found.set(key, { from: w.from, until: w.until, values: [] });
    if (isNumber(w.value)) found.get(key).values.push(w.value);
  }
  return [...found.values()]
    .map((w) => ({
      policy: cells[0].policy,
      from: w.from,
      until: w.until,
      value: mean(w.values),
      seeds: w.values.length
    }))
    .sort((a, b) => time(a.from) - time(b.from));
}

const orNull = (value) => (isNumber(value) ? value : null);

/* A row per policy; `priced`: its cost is money, else CPU seconds. */
function policyRows(comparison, priced) {
  const cost = priced ? 'money' : 'cpu_s';
  return list(comparison.policies).map((p) => {
    const cells = list(comparison.cells).filter((c) => c.policy === p.policy);
    const q = p.quality || {};
    const own = (key) => orNull((p.costs || {})[key]);
    return {
      name: p.policy,
      policy: p.policy,
      seeds_run: q.n === undefined ? cells.length : q.n,
      quality: orNull(q.mean),
      low: orNull(q.low),
      high: orNull(q.high),
      cost: own(cost),
      triggers: own('triggers'),
      samples: own('samples'),
      cpu_s: own('cpu_s'),
      gpu_s: own('gpu_s'),
      bytes: own('bytes'),
      money: own('money'),
      pareto: p.pareto === true,
      chosen: p.chosen === true || comparison.chosen === p.policy,
      against: p.against || null,
      seeds: cells
        .filter((c) => isNumber((c.quality || {}).value))
        .map((c) => ({ cost: c[cost], quality: c.quality.value }))
    };
  });
}

/* Differences from the baseline, where there is one. */
const againstRows = (policies) =>
  policies
    .filter((r) => r.against && isNumber(r.against.mean))
    .map((r) => ({
      policy: r.name,
      baseline: String(r.against.baseline),
      difference: r.against.mean,
      low: r.against.low,
      high: r.against.high,
      pairs: r.against.n
    }));
