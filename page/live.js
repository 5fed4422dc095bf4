/* The platform while it works: parts of the page come as events (server-sent), each redrawn alone when it has changed. */

const RETRY_MS = 5000;
const SILENCE_MS = 30000; /* three beats */
const PAUSE_MS = 100; /* what comes together is drawn together */

/* ---- the numbers, as they came last ---- */

const known = { status: {}, workers: {}, erasures: {}, pipelines: new Map() };

/* Answers of the topics `report` and `models` in the shape of README.md. */
function matrixRow(trigger, evaluation) {
  const [, metric, slice] = /^([^[]*)\[(.*)\]$/.exec(evaluation.metric) || [null, evaluation.metric, null];
  return {
    model: trigger.model,
    trigger: trigger.trigger,
    evaluation: evaluation.name,
    metric: metric,
    slice: slice,
    from: evaluation.from,
    until: evaluation.to,
    samples: evaluation.samples,
    value: isNumber(evaluation.value) ? evaluation.value : null
  };
}
function pipelineOf(name, parts) {
  const models = list((parts.models || {}).models);
  return {
    name: name,
    state: parts.report.state,
    report: parts.report,
    matrix: list(parts.report.triggers).flatMap((t) => list(t.evaluations).map((e) => matrixRow(t, e))),
    models: models,
    active: (models.find((m) => m.active) || { model: null }).model
  };
}

/* ---- what is waited for ---- */

const STAGES_WAITED = {
  locate: ', for storage to say where samples are',
  read: ', for samples to be read',
  operators: ', for operators',
  transfer: ', for finished batches on their way',
  trainer: ': workers keep up'
};
const percent = (part) => `${Math.round(100 * part)} %`;

function doingOf(pipeline) {
  const p = pipeline.progress;
  if (!p) return pipeline.state === 'FAILED' ? 'weir status says why' : pipeline.doing;
  if (!p.samples_total) return `${p.mode} for trigger ${p.trigger}, which begins`;
  const loss = isNumber(p.loss) ? `, loss ${quality(p.loss)}` : '';
  return (
    `${p.mode} for trigger ${p.trigger}, ${percent(p.samples / p.samples_total)} of ${short(p.samples_total)} samples` +
    `${loss}; its trainer has waited ${percent(p.stall_fraction)} of its time${STAGES_WAITED[p.stage] || ''}`
  );
}
const checkOf = ({ check }) =>
  check ? `check ${check.check} at ${day(check.at)} ${check.verdict ? 'fired' : 'did not fire'}: ${check.because}` : '';

const lower = (text) => String(text || '').toLowerCase();
const leftOut = (part, words) => (part.left_out ? [el('p', { class: 'soft' }, `${part.left_out} more: ${words}`)] : []);

function pipelinesSection() {
  const { status } = known;
  const rows = list(status.pipelines).map((p) => ({ ...p, doing: doingOf(p), check: checkOf(p) }));
  const trainers = status.trainers || {};
  const columns = [
    words('pipeline', 'pipeline'),
    words('state', 'state', lower),
    words('what it does, or waits for', 'doing'),
    words('newest check', 'check'),
    number('triggers', 'triggers'),
    number('models', 'models'),
    words('active model', 'active_model')
  ];
  return el('section', { 'aria-label': 'pipelines', 'data-part': 'status' }, [
    el('h2', {}, 'Pipelines'),
    facts([
      ['trainers at work', trainers.slots === undefined ? '' : `${trainers.busy} of ${trainers.slots}`],
      ['runs that wait for one', trainers.waiting],
      ['GPUs in use', trainers.gpus ? `${trainers.gpus_busy} of ${trainers.gpus}` : ''],
      ['erasures under way', status.erasures_open_count],
      ['held', status.held ? 'pipelines stay as they are' : '']
    ]),
    rows.length ? tableOf('pipelines', columns, rows) : el('p', { class: 'soft' }, 'There is no pipeline yet.'),
    ...leftOut(status, 'weir status has all')
  ]);
}

/* ---- the pool ---- */

function poolSection() {
  const { workers } = known;
  const pool = workers.pool || {};
  const members = new Map(list(pool.members).map((m) => [m.worker, m]));
  const rows = list(workers.workers).map((w) => ({ ...(members.get(w.worker) || {}), ...w }));
  const runs = list(workers.runs).map((r) => ({ ...r, ...(r.scaling || {}), stall_fraction: r.stall_fraction }));
  const found = [
    el('h2', {}, 'Pool'),
    facts([
      ['workers heard', workers.pool || rows.length ? String(rows.length + (workers.left_out || 0)) : ''],
      ['wanted', pool.target],
      ['bounds', pool.max === undefined ? '' : `${pool.min} to ${pool.max}`],
      ['set by hand', pool.set]
    ])
  ];
  if (runs.length) {
    const columns = [
      number('run', 'run'),
      number('workers', 'workers'),
      number('waits', 'stall_fraction', percent),
      words('for', 'stage'),
      number('batches a second wanted', 'wanted_batches_a_second', short),
      number('made', 'made_batches_a_second', short),
      words('why so many workers', 'why')
    ];
    found.push(tableOf('runs', columns, runs));
  }
  if (rows.length) {
    const columns = [
      words('worker', 'worker'),
      words('state', 'state'),
      words('since', 'since', day),
      number('leases', 'leases'),
      number('queued', 'queued'),
      number('CPU', 'cpu_seconds', seconds),
      number('read', 'bytes_read', bytes),
      words('', 'unreached', (v) => (v ? 'is not reached' : ''))
    ];
    found.push(tableOf('workers', columns, rows), ...leftOut(workers, 'weir workers has all'));
  }
  if (!runs.length && !rows.length) found.push(el('p', { class: 'soft' }, 'No run is under way.'));
  return el('section', { 'aria-label': 'pool', 'data-part': 'workers' }, found);
}

/* ---- erasures ---- */

function erasuresSection() {
  const { erasures } = known;
  const far = (e) => (e.finished ? Infinity : e.due ? time(e.due) : Number.MAX_VALUE);
  const rows = list(erasures.erasures)
    .slice()
    .sort((a, b) => far(a) - far(b) || b.erasure - a.erasure);
  const columns = [
    number('erasure', 'erasure'),
    words('state', 'state', lower),
    words('what it does', 'doing'),
    words('due', 'due', day),
    words('', 'overdue', (v) => (v ? 'overdue' : '')),
    words('dataset', 'dataset'),
    number('samples', 'samples'),
    words('accepted', 'accepted', day),
    words('in force', 'in_force', day),
    words('models replaced', 'models_replaced', day),
    words('finished', 'finished', day)
  ];
  return el('section', { 'aria-label': 'erasures', 'data-part': 'erasures' }, [
    el('h2', {}, 'Erasures'),
    rows.length ? tableOf('erasures', columns, rows) : el('p', { class: 'soft' }, 'Nobody has asked for one.'),
    ...leftOut(erasures, 'weir erase list has all')
  ]);
}

/* ---- the log of events ---- */

const LINES_MAX = 200;
const log = el('ol', { class: 'log', role: 'log', 'aria-live': 'off', 'aria-label': 'events, newest first', tabindex: 0 });
let arrived = []; /* lines that are not drawn yet */
let newestLine = 0; /* its number */

function takeLine(line) {
  if (line.number <= newestLine) forgetLines(); /* another platform's: numbers only grow */
  newestLine = line.number;
  arrived.push(line);
  if (arrived.length > LINES_MAX) arrived.shift();
}
function forgetLines() {
  arrived = [];
  newestLine = 0;
  log.replaceChildren();
}
const lineOf = (line) =>
  el('li', { 'data-number': line.number }, [
    el('time', { datetime: line.at, class: 'soft' }, day(line.at)),
    el('span', {}, [line.of === null ? '' : el('b', {}, `${line.of} `), line.line])
  ]);

/* Lines that came since go on top of those that are there. */
function drawLines() {
  log.prepend(...arrived.reverse().map(lineOf));
  arrived = [];
  while (log.children.length > LINES_MAX) log.lastChild.remove();
  if (!log.isConnected) {
    place(el('section', { 'aria-label': 'events', 'data-part': 'events' }, [el('h2', {}, 'Events'), log]));
  }
}

/* ---- a pipeline ---- */

function modelsTable(name, models) {
  const columns = [
    words('model', 'model'),
    number('trigger', 'trigger'),
    words('came from', 'parent'),
    words('state', 'state'),
    words('in use', 'active', yes),
    words('data until', 'until', day),
    number('bytes', 'bytes', bytes)
  ];
  return tableOf(`models of ${name}`, columns, models.slice().reverse());
}

function planTable(name, plan) {
  const columns = [
    words('operator', 'operator'),
    words('place', 'place'),
    words('moved up', 'moved', yes),
    number('CPU', 'cpu_seconds', seconds),
    number('bytes in', 'bytes_in', bytes),
    number('bytes out', 'bytes_out', bytes)
  ];
  const limits = plan.limits || {};
  return el('div', {}, [
    tableOf(`plan of ${name}, run ${plan.run}`, columns, list(plan.operators)),
    el('p', { class: 'soft' }, [plan.why, limits.why ? ` It is limited: ${limits.why}` : ''])
  ]);
}

function livePipelineSection(name) {
  const parts = known.pipelines.get(name);
  const pipeline = pipelineOf(name, parts);
  const section = pipelineSection(pipeline);
  section.dataset.part = `pipeline ${name}`;
  if (pipeline.models.length) section.append(modelsTable(name, pipeline.models));
  if (parts.plan) section.append(planTable(name, parts.plan));
  if (parts.report.evaluations_left_out) {
    section.append(el('p', { class: 'soft' }, 'Evaluations of older triggers are left out: weir report has all.'));
  }
  return section;
}

/* ---- drawing ---- */

const REACHED = 'a, select, summary, [tabindex]';

/* Elements of a section by the figure or table that they are in, and their place there: figures come as there is more to
   show. */
function placed(section, selector) {
  const found = new Map(), counts = new Map();
  for (const one of section.querySelectorAll(selector)) {
    const around = one.closest('[data-view], .wide');
    const name = (around && (around.dataset.view || around.getAttribute('aria-label'))) || '';
    const nth = counts.get(name) || 0;
    counts.set(name, nth + 1);
    found.set(`${name} ${nth}`, one);
  }
  return found;
}

/* Opens, chooses and focuses in a section what was so in the one before it. */
function takeOver(before, after) {
  const old = placed(before, REACHED), now = placed(after, REACHED);
  const choice = before.querySelector('select'), next = after.querySelector('select');
  if (choice && next && choice.selectedIndex < next.length) {
    next.selectedIndex = choice.selectedIndex;
    next.dispatchEvent(new Event('change'));
  }
  const details = placed(after, 'details');
  placed(before, 'details').forEach((one, at) => {
    if (one.open && details.has(at)) details.get(at).open = true;
  });
  const focused = [...old.keys()].find((at) => old.get(at) === document.activeElement);
  const scrolled = [...placed(before, '.wide')].map(([at, one]) => [at, one.scrollLeft, one.scrollTop]);
  return () => {
    if (now.has(focused)) now.get(focused).focus({ preventScroll: true });
    const tables = placed(after, '.wide');
    for (const [at, left, top] of scrolled) {
      if (tables.has(at)) [tables.get(at).scrollLeft, tables.get(at).scrollTop] = [left, top];
    }
  };
}

/* Sections of the platform come before those of pipelines, which follow each other as they came. */
const ORDER = ['status', 'workers', 'erasures', 'events'];
const rankOf = (section) => (ORDER.indexOf(section.dataset.part) + 1 || ORDER.length + 1);

function place(section) {
  const main = document.getElementById('report');
  const sections = [...main.querySelectorAll('[data-part]')];
  const before = sections.find((one) => one.dataset.part === section.dataset.part);
  if (!before) {
    main.insertBefore(section, sections.find((one) => rankOf(one) > rankOf(section)) || null);
    redraw(section);
    return;
  }
  const restore = takeOver(before, section);
  before.replaceWith(section);
  redraw(section);
  restore();
}

/* Pipelines that are gone go. */
function dropOthers() {
  const names = new Set(list(known.status.pipelines).map((p) => p.pipeline));
  for (const name of [...known.pipelines.keys()]) {
    if (!names.has(name)) known.pipelines.delete(name);
  }
  for (const section of [...document.querySelectorAll('[data-part^="pipeline "]')]) {
    if (!known.pipelines.has(section.dataset.part.slice('pipeline '.length))) section.remove();
  }
}

const SECTIONS = { status: pipelinesSection, workers: poolSection, erasures: erasuresSection };
const changed = new Set();
let pause = 0;

function drawChanged() {
  pause = 0;
  for (const what of Object.keys(SECTIONS)) if (changed.has(what)) place(SECTIONS[what]());
  for (const [name, parts] of known.pipelines) if (changed.has(parts) && parts.report) place(livePipelineSection(name));
  if (changed.has('status')) dropOthers();
  if (changed.has('lines')) drawLines();
  changed.clear();
}

function note(what) {
  changed.add(what);
  pause = pause || setTimeout(drawChanged, PAUSE_MS);
}

/* ---- events ---- */

const clock = () => new Date().toLocaleTimeString();
let source, heard, wasLost = false;

function say(text, isLost) {
  const line = document.getElementById('standing');
  if (line.textContent !== text) line.textContent = text;
  line.className = isLost ? 'lost' : 'soft';
}

function hear(isNews) {
  heard = Date.now();
  if (isNews || wasLost) say(`Connected. What is shown was true at ${clock()}.`, false);
  wasLost = false;
}

function lose(why) {
  if (!wasLost) say(`${why} since ${clock()}: what is shown may be old. Trying again.`, true);
  wasLost = true;
}

function connect() {
  source = new EventSource(newestLine ? `events?after=${newestLine}` : 'events');
  heard = Date.now();
  source.addEventListener('beat', () => hear(false));
  for (const what of Object.keys(SECTIONS)) {
    source.addEventListener(what, (event) => {
      known[what] = JSON.parse(event.data);
      note(what);
      hear(true);
    });
  }
  for (const what of ['report', 'models', 'plan']) {
    source.addEventListener(what, (event) => {
      const part = JSON.parse(event.data);
      if (!known.pipelines.has(part.pipeline)) known.pipelines.set(part.pipeline, {});
      const parts = known.pipelines.get(part.pipeline);
      parts[what] = part;
      note(parts);
      hear(true);
    });
  }
  source.addEventListener('line', (event) => {
    takeLine(JSON.parse(event.data));
    note('lines');
    hear(false);
  });
  source.onerror = () => {
    lose('No connection to the platform');
    if (source.readyState === EventSource.CLOSED) again();
  };
}

/* The browser itself tries again after a lost connection, and names the newest line, but not after a refusal or
 * silence. */
function again() {
  source.close();
  setTimeout(enter, RETRY_MS);
}

/* ---- who may look ---- */

const LOGIN = 'login';

/* Connects, or asks for a token: from another host one is needed. */
async function enter() {
  try {
    const answer = await fetch(LOGIN);
    if (answer.status === 401) askForToken();
    else connect();
  } catch {
    lose('No connection to the platform');
    setTimeout(enter, RETRY_MS);
  }
}

function askForToken() {
  const field = el('input', { type: 'password', id: 'token', autocomplete: 'off', required: '' });
  const form = el('form', { id: 'entrance' }, [
    el('label', { for: 'token' }, 'Token'),
    field,
    ' ',
    el('button', {}, 'Look')
  ]);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    try {
      const answer = await fetch(LOGIN, { headers: { Authorization: `Bearer ${field.value.trim()}` } });
      field.value = '';
      if (!answer.ok) return say('This token is not let in.', true);
      form.remove();
      connect();
    } catch {
      say('No connection to the platform.', true);
    }
  });
  if (document.getElementById('entrance')) return;
  forget();
  document.getElementById('report').append(form);
  say('This page is for those who have a token: weir tokens new makes one.', false);
  field.focus();
}

/* Whoever is let in no longer sees nothing any more. */
function forget() {
  for (const section of document.querySelectorAll('[data-part]')) section.remove();
  forgetLines();
  Object.assign(known, { status: {}, workers: {}, erasures: {}, pipelines: new Map() });
}

setInterval(() => {
  if (!source || source.readyState !== EventSource.OPEN || Date.now() - heard < SILENCE_MS) return;
  lose('The platform is silent');
  again();
}, RETRY_MS);

document.getElementById('report').append(
  el('h1', {}, 'What the platform does'),
  el('p', { id: 'standing', class: 'soft', role: 'status' }, 'Connecting.')
);
enter();
