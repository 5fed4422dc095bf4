/* The sections of a page, in their order: show(numbers). */

const number = (title, key, show) => ({ title: title, key: key, number: true, show: show });
const words = (title, key, show) => ({ title: title, key: key, show: show });
const yes = (value) => (value ? 'yes' : 'no');
const between = (low, high) => (isNumber(low) ? ` (${quality(low)} to ${quality(high)})` : '');
const WINDOW = [words('from', 'from', day), words('until', 'until', day)];

function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== '' && value !== null && value !== undefined);
  return el(
    'dl',
    { class: 'facts' },
    known.map(([name, value]) => el('div', {}, [el('dt', {}, name), el('dd', {}, value)]))
  );
}

/* Facts in more than a word, a line each. */
function setup(pairs) {
  const row = ([name, value]) => el('div', {}, [el('dt', {}, name), el('dd', {}, value)]);
  return el('dl', { class: 'setup' }, pairs.filter(([, value]) => value).map(row));
}

/* ---- how good a pipeline's models are ---- */

const measured = (name) => [
  ...WINDOW,
  number('trigger', 'trigger'),
  words('model', 'model'),
  number(name, 'value'),
  number('samples', 'samples')
];

function inUseFigure(pipeline, choice, name, served) {
  const say = (r) =>
    `${day(r.from)} to ${day(r.until)}: ${name} ${quality(r.value)}, model of trigger ${r.trigger}, ` +
    `${r.samples} samples`;
  const points = served.map((r) => Object.assign({ text: say(r) }, r));
  const triggers = list(pipeline.report.triggers).map((t) => ({
    at: t.until,
    number: t.trigger,
    text: `trigger ${t.trigger}, ${day(t.until)}: ${t.reason || 'no reason is kept'}`
  }));
  return figure({
    view: 'composite',
    title: name + ' of the model in use, over data time',
    name: `${pipeline.name}-${choice.evaluation}-in-use`,
    columns: measured(name),
    rows: served,
    caption:
      `Each window of ${choice.evaluation} with the newest model whose data end before it. ` +
      '\u25bc is a trigger, by its number.',
    paint: timeLines([{ name: name, points: points }], triggers, name)
  });
}

function matrixFigure(pipeline, choice, name, rows, served) {
  const models = [...new Set(rows.map((r) => r.trigger))].sort((a, b) => a - b);
  const drawn = new Set(newest(models));
  const windows = windowsOf(rows.filter((r) => drawn.has(r.trigger))).slice(-2 * SHOWN);
  const inUse = new Set(served);
  const cell = (r) => ({
    column: indexOf(windows, r),
    value: r.value,
    served: inUse.has(r),
    text:
      `model of trigger ${r.trigger}, ${day(r.from)} to ${day(r.until)}: ${name} ${quality(r.value)}` +
      (inUse.has(r) ? ', in use' : '')
  });
  const cells = (m) => rows.filter((r) => r.trigger === m && indexOf(windows, r) >= 0).map(cell);
  return figure({
    view: 'matrix',
    title: name + ' of each model in each window',
    name: `${pipeline.name}-${choice.evaluation}-models`,
    columns: measured(name),
    rows: rows,
    caption:
      'A row is the model of a trigger, a column a window; a stronger tint is a larger number. ' +
      'Framed: the model in use then.' +
      onlyNewest(models),
    paint: heatMap({ columns: windows, rows: newest(models).map((m) => ({ name: 'trigger ' + m, cells: cells(m) })) })
  });
}

function slicesFigure(pipeline, choice, name, slices) {
  const say = (r) => `${r.slice}: ${quality(r.value)}, ${r.samples} samples`;
  const marks = slices.map((r) => ({ name: r.slice, mean: r.value, strong: true, text: say(r) }));
  return figure({
    view: 'slices',
    title: name + ' by slice',
    name: `${pipeline.name}-${choice.evaluation}-slices`,
    columns: [words('slice', 'slice'), ...measured(name)],
    rows: slices,
    caption: `The model in use in the newest window, ${day(slices[0].from)} to ${day(slices[0].until)}.`,
    paint: intervals(marks, name)
  });
}

function qualityFigures(pipeline, choice) {
  const name = metricName(choice.metric);
  const rows = chosenRows(pipeline, choice);
  const served = composite(rows, untilOf(pipeline));
  const slices = sliceRows(pipeline, choice);
  return [
    ...(served.length ? [inUseFigure(pipeline, choice, name, served)] : []),
    matrixFigure(pipeline, choice, name, rows, served),
    ...(slices.length ? [slicesFigure(pipeline, choice, name, slices)] : [])
  ];
}

function qualitySection(pipeline) {
  const choices = choicesOf(pipeline.matrix);
  if (!choices.length) return [el('p', { class: 'soft' }, 'No model was evaluated yet.')];
  const first = Math.max(
    0,
    choices.findIndex((c) => /^(roc_auc|accuracy|rmse)/.test(c.metric))
  );
  const holder = el('div', {}, qualityFigures(pipeline, choices[first]));
  if (choices.length === 1) return [holder];
  const option = (c, i) =>
    el('option', i === first ? { value: i, selected: '' } : { value: i }, `${c.evaluation}: ${metricName(c.metric)}`);
  const select = el('select', {}, choices.map(option));
  select.addEventListener('change', () => {
    holder.replaceChildren(...qualityFigures(pipeline, choices[+select.value]));
    redraw(holder);
  });
  return [el('label', {}, ['Evaluation and metric ', select]), holder];
}

/* ---- what a pipeline's triggers cost, and why they fired ---- */

function checkFigure(pipeline, rows) {
  const what = rows[0].what;
  return figure({
    view: 'checks',
    title: what + ' against its limit',
    name: `${pipeline.name}-${what}`,
    columns: [
      number('check', 'check'),
      words('at', 'at', day),
      number('score', 'score'),
      number('limit', 'limit'),
      words('verdict', 'verdict'),
      number('trigger', 'trigger')
    ],
    rows: rows,
    caption:
      'The newest checks of the trigger policy; a triangle fired.' +
      (/p value$/.test(what) ? ' Below the limit speaks for a change.' : ''),
    paint: scores(rows, what)
  });
}

function costsFigure(pipeline, rows, measures) {
  return figure({
    view: 'costs',
    title: 'What each trigger cost',
    name: pipeline.name + '-costs',
    columns: [
      number('trigger', 'trigger'),
      words('until', 'until', day),
      ...measures.map((m) => number(m.title + (m.show === seconds ? ', s' : ''), m.key)),
      words('why', 'reason')
    ],
    rows: rows,
    caption: 'Everything that was run for it: scoring, training and evaluation.' + onlyNewest(rows),
    paint: barPanels(newest(rows), measures)
  });
}

function stagesFigure(pipeline, rows) {
  return figure({
    view: 'stages',
    title: 'Time by stage',
    name: pipeline.name + '-stages',
    columns: [number('trigger', 'trigger'), ...STAGES.map(([key, title]) => number(title + ', s', key))],
    rows: rows,
    caption: 'From the trigger to the stored model, a row per trigger.' + onlyNewest(rows),
    paint: stages(newest(rows))
  });
}

/* For paper and for readers without a mouse, what a mark of a trigger says. */
function reasons(rows) {
  const LISTED = 20;
  const columns = [
    number('trigger', 'trigger'),
    words('until', 'until', day),
    number('selected', 'selected'),
    words('why', 'why')
  ];
  const title = 'Why each trigger fired' + (rows.length > LISTED ? `: the newest ${LISTED} of ${rows.length}` : '');
  return rows.length ? [el('h3', { class: 'apart' }, title), tableOf(title, columns, rows.slice(-LISTED))] : [];
}

function triggerFigures(pipeline, costs) {
  if (!costs.length) return [el('p', { class: 'soft' }, 'Nothing has fired yet.')];
  const measures = measuresOf(costs, costs[0].currency);
  const steps = stageRows(list(pipeline.report.triggers));
  return [
    ...(measures.length ? [costsFigure(pipeline, costs, measures)] : []),
    ...(steps.length ? [stagesFigure(pipeline, steps)] : [])
  ];
}

function pipelineSection(pipeline) {
  const costs = costRows(list(pipeline.report.triggers));
  const config = pipeline.report.config || {};
  const sum = (key) => costs.reduce((all, r) => all + (r[key] || 0), 0);
  return el('section', { 'aria-label': 'pipeline ' + pipeline.name }, [
    el('h2', {}, pipeline.name),
    facts([
      ['state', String(pipeline.state || '').toLowerCase()],
      ['triggers', String(costs.length)],
      ['models stored', String(list(pipeline.models).length)],
      ['samples trained', short(sum('samples'))],
      ['CPU', seconds(sum('cpu_s'))],
      ['GPU', sum('gpu_s') ? seconds(sum('gpu_s')) : ''],
      ['bytes', bytes(sum('bytes'))],
      ['money', sum('money') ? `${short(sum('money'))} ${costs[0].currency}` : '']
    ]),
    setup([
      ['datasets', list(config.datasets).join(', ')],
      ['trigger', config.trigger],
      ['selection', config.selection],
      ['training', config.training]
    ]),
    ...qualitySection(pipeline),
    ...reasons(reasonRows(list(pipeline.report.triggers))),
    ...checksByKind(list(pipeline.report.checks)).map((rows) => checkFigure(pipeline, rows)),
    ...triggerFigures(pipeline, costs)
  ]);
}

/* ---- a comparison ---- */

/* The facts that all figures of a comparison share. */
function judged(comparison) {
  const cells = list(comparison.cells);
  const judge = comparison.judge || {};
  const priced = cells.some((c) => c.money > 0);
  return {
    cells: cells,
    judge: judge,
    metric: metricName(judge.metric || 'quality'),
    file: comparison.comparison || 'comparison',
    priced: priced,
    currency: (cells.find((c) => c.currency) || {}).currency || '',
    policies: policyRows(comparison, priced)
  };
}

const policyColumns = (all) => [
  words('policy', 'policy'),
  number(all.metric, 'quality'),
  number('low', 'low'),
  number('high', 'high'),
  number('seeds', 'seeds_run'),
  number('triggers', 'triggers'),
  number('samples', 'samples'),
  number('CPU, s', 'cpu_s'),
  number('GPU, s', 'gpu_s'),
  number('bytes', 'bytes'),
  number(all.currency ? 'money, ' + all.currency : 'money', 'money'),
  words('on the front', 'pareto', yes),
  words('chosen', 'chosen', yes)
];
const only = (columns, rows) => rows.map((r) => Object.fromEntries(columns.map((c) => [c.key, r[c.key]])));

function frontFigure(all, known) {
  const columns = policyColumns(all);
  const unit = all.priced ? all.currency || 'money' : 'CPU s';
  return figure({
    view: 'pareto',
    title: 'Cost against quality',
    name: all.file + '-policies',
    columns: columns,
    rows: only(columns, all.policies),
    caption:
      'A mark is the mean of a policy over its seeds, with its 95 % interval; small rings are single seeds. Filled, ' +
      'on the dashed line: no policy is both cheaper and better. Encircled: chosen on the earlier windows.',
    paint: costAgainstQuality(known, 'cost of a policy by itself', unit, all.metric)
  });
}

function policiesFigure(all, known) {
  const columns = policyColumns(all).slice(0, 5);
  const sign = all.judge.better === 'lower' ? 1 : -1;
  const sorted = known.slice().sort((a, b) => sign * (a.quality - b.quality));
  const mark = (r) => ({ name: r.name, mean: r.quality, low: r.low, high: r.high, strong: r.pareto, text: r.text });
  return figure({
    view: 'policies',
    title: all.metric + ' of each policy',
    name: all.file + '-quality',
    columns: columns,
    rows: only(columns, sorted),
    caption: 'Mean and 95 % interval over the seeds. Filled: on the front.',
    paint: intervals(sorted.map(mark), all.metric)
  });
}

function againstFigure(all, rows) {
  const mark = (r) => ({
    name: r.policy,
    mean: r.difference,
    low: r.low,
    high: r.high,
    strong: r.low > 0 || r.high < 0,
    text: `${r.policy}: ${quality(r.difference)}${between(r.low, r.high)}`
  });
  return figure({
    view: 'against',
    title: 'Difference from ' + rows[0].baseline,
    name: all.file + '-against',
    columns: [
      words('policy', 'policy'),
      words('baseline', 'baseline'),
      number('difference', 'difference'),
      number('low', 'low'),
      number('high', 'high'),
      number('pairs', 'pairs')
    ],
    rows: rows,
    caption: 'Seed by seed, with the 95 % interval of the paired differences. Filled: the interval excludes 0.',
    paint: intervals(rows.map(mark), 'difference in ' + all.metric, true)
  });
}

function windowFigures(all, known) {
  const LINES = 6; /* more cannot be told apart */
  const lines = known
    .map((r) => ({ name: r.name, points: policyWindows(all.cells.filter((c) => c.policy === r.name)) }))
    .filter((l) => l.points.length);
  const rows = lines.flatMap((l) => l.points);
  const windows = windowsOf(rows);
  const columns = [words('policy', 'policy'), ...WINDOW, number(all.metric, 'value'), number('seeds', 'seeds')];
  const say = (p) => `${p.policy}, ${day(p.from)} to ${day(p.until)}: ${all.metric} ${quality(p.value)}`;
  const point = (p) => Object.assign({ text: say(p) }, p);
  const cell = (p) => ({ column: indexOf(windows, p), value: p.value, text: say(p) });
  const shown = (view, title, caption, paint) =>
    figure({
      view: view,
      title: title,
      name: `${all.file}-${view}`,
      columns: columns,
      rows: rows,
      caption: 'Mean over the seeds of a policy; ' + caption,
      paint: paint
    });
  const overTime = () =>
    shown(
      'lines',
      all.metric + ' of the model in use, over data time',
      'each window with the newest model whose data end before it.',
      timeLines(
        lines.map((l) => ({ name: l.name, points: l.points.map(point) })),
        [],
        all.metric
      )
    );
  const byWindow = () =>
    shown(
      'windows',
      all.metric + ' of each policy in each window',
      'a stronger tint is a larger number.',
      heatMap({ columns: windows, rows: lines.map((l) => ({ name: l.name, cells: l.points.map(cell) })) })
    );
  return lines.length ? [...(lines.length <= LINES ? [overTime()] : []), byWindow()] : [];
}

function policyCostsFigure(all) {
  const columns = policyColumns(all);
  return figure({
    view: 'costs',
    title: 'What each policy cost',
    name: all.file + '-costs',
    columns: columns,
    rows: only(columns, all.policies),
    caption: 'Mean over its seeds, as if each pipeline had run alone: nothing shared, nothing found in a cache.',
    paint: barPanels(all.policies, measuresOf(all.policies, all.currency))
  });
}

function comparisonFigures(all) {
  const say = (r) =>
    `${r.name}: ${all.metric} ${quality(r.quality)}${between(r.low, r.high)}, ${r.seeds_run} seeds, ` +
    `cost ${short(r.cost)} ${all.priced ? all.currency : 'CPU s'}` +
    (r.pareto ? ', on the front' : '') +
    (r.chosen ? ', chosen' : '');
  const known = all.policies.filter((r) => r.quality !== null).map((r) => Object.assign({ text: say(r) }, r));
  const against = againstRows(all.policies);
  if (!known.length) return [el('p', { class: 'soft' }, 'No policy is judged yet.')];
  return [
    frontFigure(all, known),
    policiesFigure(all, known),
    ...(against.length ? [againstFigure(all, against)] : []),
    ...windowFigures(all, known),
    policyCostsFigure(all)
  ];
}

function comparisonSection(comparison) {
  const all = judged(comparison);
  return el('section', { 'aria-label': 'comparison ' + all.file }, [
    el('h2', {}, all.file),
    facts([
      ['state', comparison.state],
      ['policies', String(all.policies.length)],
      ['pipelines', String(all.cells.length)],
      ['judged by', all.metric],
      ['judged from', day(all.judge.from)],
      ['until', day(all.judge.until)],
      ['chosen', comparison.chosen]
    ]),
    setup([['run on', [...new Set(all.cells.map((c) => c.machine).filter(Boolean))].join('; ')]]),
    ...comparisonFigures(all)
  ]);
}

/* ---- the page ---- */

function titleOf(numbers, names) {
  if (numbers.comparison) return 'Which policy is worth its cost?';
  return names.length === 1 ? `How ${names[0]} went` : `How ${names.length} pipelines went`;
}

/* Shows the numbers in the place of what was shown before. */
function show(numbers) {
  const main = document.getElementById('report');
  const names = list(numbers.pipelines).map((p) => p.name);
  const { version, machine } = numbers.platform || {};
  const subject = numbers.comparison ? numbers.comparison.comparison : names.join(', ');
  document.title = `${subject} \u2013 Weir report`;
  main.replaceChildren(
    el('h1', {}, titleOf(numbers, names)),
    el('p', { class: 'soft' }, [
      `Made ${day(numbers.made)} UTC by weir ${version}${machine ? `, of what ran on ${machine}` : ''}. `,
      link('All numbers as JSON', 'report.json', 'application/json', JSON.stringify(numbers, null, 1))
    ]),
    ...(numbers.comparison ? [comparisonSection(numbers.comparison)] : []),
    ...list(numbers.pipelines).map(pipelineSection)
  );
  redraw(main);
}

let frame = 0;
window.addEventListener('resize', () => {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(() => redraw(document));
});
window.addEventListener('beforeprint', () => redraw(document, 680));
window.addEventListener('afterprint', () => redraw(document));
