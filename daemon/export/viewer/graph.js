// Flame graphs and icicles (by d3-flame-graph), and the details of the frame under the pointer.
'use strict';
const charts = [];

// The number of rows of a tree whose frames are wide enough to be seen.
function rowsOf(root, narrowest) {
  let rows = 0;
  for (let row = [root]; row.length; ++rows) {
    row = row.flatMap(node => node.children).filter(node => node.value > narrowest);
  }
  return rows;
}

const CELL = 19, NARROWEST = 0.4;

function drawGraph(host, tree, inverted, all) {
  if (!(tree.value > 0)) {
    host.append(element('p', 'empty', 'No samples here. Choose a longer range, other threads, or show idle time.'));
    return;
  }
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const width = Math.max(320, host.clientWidth - 2);
  const chart = d3flame.flamegraph()
      .width(width)
      .height(rowsOf(tree, tree.value * NARROWEST / width) * CELL)
      .cellHeight(CELL)
      .transitionDuration(0)  // no animation at first; zooming is animated
      .minFrameSize(NARROWEST)
      .inverted(inverted)
      .sort((a, b) => b.data.value - a.data.value || (a.data.name < b.data.name ? -1 : 1))
      .setColorMapper(d => d.highlight ? MATCHED : colourOf(d.data.fn))
      .setSearchMatch((d, term) => matches(d.data.fn, term))
      .setSearchHandler(() => {})
      .setDetailsHandler(() => {})
      .tooltip(() => {})
      .onHover(d => describe(d.data, all))
      .onClick(d => describe(d.data, all, true));
  const tip = () => {};
  tip.show = (event, d) => showTip(event, frameText(d.data, all));
  tip.hide = hideTip;
  chart.tooltip(tip);
  d3flame.select(host).datum(tree).call(chart);
  chart.transitionDuration(calm ? 0 : 180);
  charts.push(chart);
  if (!inverted) host.scrollIntoView({block: 'end'});
  if (choice.term) chart.search(choice.term);
}

function place(data) {
  if (data.fn < 0) return '';
  const [, file, line] = trace.functions[data.fn];
  return file ? file + (data.line || line ? ':' + (data.line || line) : '') : '';
}

const weight = value => trace.exact ? duration(value * trace.usPerSample) : `${number(value)} samples · ≈ ${duration(value * trace.usPerSample)}`;
const share = (data, all) => `${percent(data.value, all)} · ${weight(data.value)}` +
    (data.calls ? ` · ${number(data.calls)} calls` : '');
const frameText = (data, all) => [data.name, place(data), share(data, all)].filter(Boolean).join('\n');

// If `pinned`, shows the lines of the function too.
function describe(data, all, pinned) {
  const what = element('div', 'what');
  what.append(element('b', '', data.name), element('span', 'numbers', share(data, all)));
  if (data.fn >= 0) {
    const look = element('button', '', 'Callers and callees');
    look.type = 'button';
    look.addEventListener('click', () => change({view: 'sandwich', focus: data.fn}));
    what.append(look);
  }
  const parts = [what, element('div', 'file', place(data))];
  if (pinned && data.fn >= 0) {
    const lines = element('div', 'lines', 'Lines: ');
    linesOf(data.fn).slice(0, 8).forEach((row, i) => {
      lines.append(i ? ' · ' : '', element('b', '', String(row.line)), ` ${percent(row.total, all)}` +
          (row.self > 0 ? ` (self ${percent(row.self, all)})` : ''));
    });
    parts.push(lines);
  }
  byId('details').replaceChildren(...parts);
}

function drawFlame(main, inverted) {
  const tree = callTree();
  const host = element('div', 'graph');
  main.append(host);
  drawGraph(host, tree, inverted, tree.value);
  return tree;
}

function drawSandwich(main) {
  if (choice.focus === null) {
    const rows = functionTable().rows.sort((a, b) => b.self - a.self);
    const first = rows.find(row => row.fn >= 0);
    if (first) choice.focus = first.fn;
  }
  if (choice.focus === null) {
    main.append(element('p', 'empty', 'No samples here.'));
    return;
  }
  const {callers, callees, all} = sandwich(choice.focus);
  const [name, file] = trace.functions[choice.focus];
  main.append(element('h2', '', `Callers of ${name}`));
  const above = element('div', 'graph');
  main.append(above);
  drawGraph(above, callers, false, all);
  main.append(element('h2', '', `Callees of ${name}` + (file ? ` · ${file}` : '')));
  const below = element('div', 'graph');
  main.append(below);
  drawGraph(below, callees, true, all);
  main.scrollTop = 0;
}
