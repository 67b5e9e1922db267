// The page: the state of its controls, the table, and redrawing on every change.
'use strict';
const order = {by: 'self', down: true};
const ROWS = 500;

function drawTable(main) {
  const {rows, all, corrected} = functionTable();
  const shown = rows.filter(row => !choice.term || matches(row.fn, choice.term));
  const name = row => frameName(row.fn, row.line);
  shown.sort((a, b) => (order.by === 'name' ? name(a).localeCompare(name(b)) : a[order.by] - b[order.by]) * (order.down ? -1 : 1));
  const table = element('table');
  const head = element('tr');
  const columns = [['self', 'Self'], ['total', 'Total'], ...(corrected ? [['rawSelf', 'Raw self'], ['rawTotal', 'Raw total']] : []),
                   ...(trace.exact ? [['calls', 'Calls']] : []), ['name', 'Function']];
  columns.forEach(([by, label]) => {
    const cell = element('th', by === 'name' ? 'name' : '', label + (order.by === by ? (order.down ? ' ▾' : ' ▴') : ''));
    if (by === 'self' || by === 'total') cell.colSpan = 2;
    cell.addEventListener('click', () => {
      Object.assign(order, {by, down: order.by === by ? !order.down : by !== 'name'});
      draw();
    });
    head.append(cell);
  });
  table.append(element('thead'), element('tbody'));
  table.tHead.append(head);
  for (const row of shown.slice(0, ROWS)) table.tBodies[0].append(tableRow(row, name(row), all, corrected));
  main.append(shown.length ? table : element('p', 'empty', 'No functions here.'));
  if (shown.length > ROWS) main.append(element('p', 'empty', `… and ${number(shown.length - ROWS)} more: search for them.`));
}

function tableRow(row, name, all, corrected) {
  const line = element('tr', row.fn === choice.focus ? 'chosen' : '');
  for (const value of [row.self, row.total]) {
    const bar = element('td', 'bar');
    const fill = element('i');
    fill.style.width = 100 * value / Math.max(all, 1) + '%';
    bar.append(fill, element('b', '', percent(value, all)));
    line.append(bar, element('td', '', trace.exact ? duration(value * trace.usPerSample) : number(value)));
  }
  for (const value of corrected ? [row.rawSelf, row.rawTotal] : []) line.append(element('td', '', duration(value * trace.usPerSample)));
  if (trace.exact) line.append(element('td', '', choice.range ? '' : number(row.calls)));
  const cell = element('td', 'name', name);
  const file = place(row);
  cell.append(element('span', '', file));
  cell.title = name + '\n' + file;
  line.append(cell);
  line.addEventListener('mouseenter', () => describe({name, fn: row.fn, line: row.line, value: row.total}, all, true));
  if (row.fn >= 0) line.addEventListener('click', () => change({view: 'sandwich', focus: row.fn}));
  return line;
}

// Shows the share of samples with a matching frame anywhere on their stack.
function showMatched() {
  if (!choice.term) {
    byId('matched').textContent = '';
    return;
  }
  const counts = allCounts();
  let all = 0, matched = 0;
  counts.forEach((count, node) => {
    all += count;
    if (count > 0 && matchesNode(node)) matched += count;
  });
  byId('matched').textContent = percent(matched, all) + ' match';
}

function draw() {
  hideTip();
  const main = byId('main');
  charts.splice(0).forEach(chart => chart.destroy());
  main.replaceChildren();
  for (const button of byId('views').children) button.setAttribute('aria-selected', String(button.dataset.view === choice.view));
  ({flame: () => drawFlame(main, false), icicle: () => drawFlame(main, true), table: () => drawTable(main),
    sandwich: () => drawSandwich(main), gpu: () => drawGpu(main),
    memory: () => main.append(byId('memory').content.cloneNode(true))})[choice.view]();
  showLanes();
  showRange();
  drawTimeline();
  showMatched();
}

function change(changes) {
  Object.assign(choice, changes);
  draw();
}

function fillThreads() {
  const list = byId('threads');
  const add = (host, text, value) => {
    const option = element('option', '', text);
    option.value = value;
    host.append(option);
  };
  add(list, `all ${trace.threads.length}`, '');
  const processes = new Map();
  trace.threads.forEach((thread, index) => {
    if (!processes.has(thread.process)) processes.set(thread.process, []);
    processes.get(thread.process).push(index);
  });
  for (const [process, threads] of processes) {
    const group = element('optgroup');
    group.label = process;
    if (processes.size > 1 && threads.length > 1) add(group, `all ${threads.length} of ${process}`, threads.join());
    threads.forEach(index => add(group, `${trace.threads[index].label} · ${number(trace.threads[index].samples)}`, String(index)));
    list.append(group);
  }
  list.addEventListener('change', () => change({threads: list.value ? list.value.split(',').map(Number) : null}));
}

function showHeader() {
  document.title = trace.title + ' · ptrace-prof';
  byId('title').textContent = trace.title;
  byId('title').title = trace.title;
  trace.facts.forEach(([name, value]) => {
    const pair = element('div');
    pair.append(element('dt', '', name), element('dd', '', value));
    byId('facts').append(pair);
  });
  trace.cautions.forEach(text => byId('cautions').append(element('p', '', text)));
}

function reset() {
  byId('search').value = '';
  byId('threads').value = '';
  change({range: null, term: '', threads: null});
}

function listen() {
  byId('views').addEventListener('click', event => { if (event.target.dataset.view) change({view: event.target.dataset.view}); });
  [['by-thread', 'byThread'], ['by-line', 'byLine'], ['hide-idle', 'hideIdle']].forEach(([id, key]) =>
      byId(id).addEventListener('change', event => change({[key]: event.target.checked})));
  let waiting = 0;
  byId('search').addEventListener('input', event => {
    clearTimeout(waiting);
    waiting = setTimeout(() => change({term: event.target.value.trim().toLowerCase()}), 120);
  });
  byId('reset').addEventListener('click', reset);
  byId('theme').addEventListener('click', () => {
    document.documentElement.dataset.theme = dark() ? 'light' : 'dark';
    draw();
  });
  document.addEventListener('keydown', event => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'f') {
      event.preventDefault();
      byId('search').focus();
      byId('search').select();
    } else if (event.key === 'Escape') {
      reset();
    }
  });
  let resizing = 0;
  addEventListener('resize', () => {
    clearTimeout(resizing);
    resizing = setTimeout(draw, 100);
  });
}

document.documentElement.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
choice.byThread = byId('by-thread').checked = new Set(trace.threads.map(thread => thread.process)).size > 1;
byId('by-line').checked = byId('hide-idle').checked = false;
const HAS = {gpu: !!trace.gpu, memory: !!byId('memory')};
for (const button of byId('views').children) button.hidden = HAS[button.dataset.view] === false;
if (trace.gpu && !trace.threads.length) choice.view = 'gpu';
showHeader();
fillThreads();
listenToTimeline();
listen();
draw();
document.documentElement.dataset.ready = 'yes';
