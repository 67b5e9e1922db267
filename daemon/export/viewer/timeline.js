// Lanes of samples over time, one per thread, and below them the others (lanes.js); dragging selects a range.
'use strict';
const STATES = [['unknown', null], ['running', '#3aa655'], ['waiting for the GIL', '#e8892b'], ['idle', '#9aa1ab'],
                ['waiting for the GPU', '#8a63d2'], ['disk', '#d04444']];
let drag = null;

const leafOf = node => node > 0 ? trace.functionOf[node] : -1;
const timeAt = (canvas, x) => Math.max(0, Math.min(1, x / canvas.clientWidth)) * trace.length;

function drawAxis(paint, width, ink, line) {
  paint.font = '11px system-ui, sans-serif';
  paint.fillStyle = ink;
  const rough = trace.length / Math.max(2, width / 110);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(times => times * power).find(size => size >= rough) || rough;
  for (let at = 0; at <= trace.length; at += step) {
    const x = at / trace.length * width;
    paint.fillStyle = line;
    paint.fillRect(x, 0, 1, paint.canvas.height);
    paint.fillStyle = ink;
    if (x < width - 30) paint.fillText(at === 0 ? '0' : duration(at), x + 3, 11);
  }
}

// Each pixel shows the longest span in it.
function drawLane(paint, width, thread, top) {
  const scale = width / trace.length;
  const idle = getComputedStyle(document.documentElement).getPropertyValue('--idle');
  let column = -1, longest = 0;
  eachSpan(thread, (start, end, node, samples, state) => {
    const x = start * scale;
    const wide = Math.max((end - start) * scale, 1);
    if (wide <= 1.5 && Math.floor(x) === column && end - start <= longest) return;
    column = Math.floor(x);
    longest = end - start;
    const fn = leafOf(node);
    const left = Math.floor(x), right = Math.max(left + 1, Math.ceil(x + wide - 0.5));
    paint.fillStyle = choice.term && matchesNode(node) ? MATCHED : state === IDLE ? idle : colourOf(fn);
    paint.fillRect(left, top + 2, right - left, LANE - 9);
    if (STATES[state] && STATES[state][1]) {
      paint.fillStyle = STATES[state][1];
      paint.fillRect(left, top + LANE - 6, right - left, 3);
    }
  });
}

const matchedNodes = {term: '', nodes: null};
function matchesNode(node) {
  if (matchedNodes.term !== choice.term) {
    const functions = trace.functions.map((_, fn) => matches(fn, choice.term));
    const nodes = new Uint8Array(trace.parents.length);
    for (let i = 1; i < nodes.length; ++i) nodes[i] = functions[trace.functionOf[i]] || nodes[trace.parents[i]] ? 1 : 0;
    Object.assign(matchedNodes, {term: choice.term, nodes});
  }
  return matchedNodes.nodes[node] === 1;
}

function drawTimeline() {
  const canvas = byId('lane-canvas');
  const threads = chosenThreads();
  const width = canvas.clientWidth, height = AXIS + (threads.length + extraLanes.length) * LANE;
  const ratio = Math.min(devicePixelRatio || 1, 16000 / Math.max(height, 1));
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = height + 'px';
  const paint = canvas.getContext('2d');
  paint.scale(ratio, ratio);
  const style = getComputedStyle(document.documentElement);
  drawAxis(paint, width, style.getPropertyValue('--dim'), style.getPropertyValue('--line'));
  threads.forEach((thread, row) => drawLane(paint, width, thread, AXIS + row * LANE));
  extraLanes.forEach((lane, row) => lane.draw(paint, width, AXIS + (threads.length + row) * LANE));
  const range = drag || choice.range;
  if (range) {
    const [from, to] = range.map(at => at / trace.length * width);
    paint.fillStyle = style.getPropertyValue('--bg');
    paint.globalAlpha = 0.72;
    paint.fillRect(0, AXIS, from, height);
    paint.fillRect(to, AXIS, width - to, height);
    paint.globalAlpha = 1;
    paint.fillStyle = style.getPropertyValue('--accent');
    paint.fillRect(from - 1, 0, 2, height);
    paint.fillRect(to - 1, 0, 2, height);
  }
}

function showRange() {
  const text = byId('range');
  text.replaceChildren();
  if (!choice.range) {
    text.textContent = 'whole run, ' + duration(trace.length) + ' — drag to select a time range';
    return;
  }
  const [from, to] = choice.range;
  text.append(`${duration(from)} – ${duration(to)} (${duration(to - from)})`);
  const clear = element('button', '', 'Whole run');
  clear.type = 'button';
  clear.addEventListener('click', () => change({range: null}));
  text.append(clear);
}

function showLanes() {
  const names = byId('lane-names');
  names.replaceChildren(...chosenThreads().map(threadButton), ...extraLanes.map(laneButton));
}

function laneButton(lane) {
  const button = element('button', 'extra', lane.label);
  button.type = 'button';
  button.title = lane.title;
  return button;
}

function threadButton(index) {
  const thread = trace.threads[index];
  const button = element('button', '', thread.label);
  button.type = 'button';
  button.title = `${thread.process}, ${thread.label}: ${number(thread.samples)} ${trace.exact ? 'calls' : 'samples'}. Click to see only this thread` +
      (thread.thinned ? '. Long run: this lane, and any range of it, shows a random selection of its ' + (trace.exact ? 'calls' : 'samples') : '');
  button.addEventListener('click', () => change({threads: choice.threads && choice.threads.length === 1 ? null : [index]}));
  return button;
}

function describeAt(canvas, event) {
  const at = timeAt(canvas, event.offsetX);
  const row = Math.floor((event.offsetY - AXIS) / LANE), threads = chosenThreads();
  const thread = threads[row], extra = extraLanes[row - threads.length];
  if (extra) return `${duration(at)} · ${extra.at(at)}`;
  if (thread === undefined || event.offsetY < AXIS) return null;
  let found = null;
  eachSpan(thread, (start, end, node, samples, state) => {
    if (at >= start && at < end) found = {node, state};
  });
  const what = !found ? (trace.exact ? 'no call' : 'no sample') : found.node === 0 ? '[no Python frame]' : trace.functions[leafOf(found.node)][0] +
      '\n' + trace.functions[leafOf(found.node)][1] + ':' + trace.lineOf[found.node];
  return `${duration(at)} · ${trace.threads[thread].label}\n${what}` + (found && found.state ? '\n' + STATES[found.state][0] : '');
}

function listenToTimeline() {
  const canvas = byId('lane-canvas');
  let from = null;
  canvas.addEventListener('pointerdown', event => {
    from = timeAt(canvas, event.offsetX);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', event => {
    if (from === null) {
      const text = describeAt(canvas, event);
      if (text) showTip(event, text); else hideTip();
      return;
    }
    const to = timeAt(canvas, event.offsetX);
    drag = [Math.min(from, to), Math.max(from, to)];
    showTip(event, `${duration(drag[0])} – ${duration(drag[1])}`);
    drawTimeline();
  });
  canvas.addEventListener('pointerup', () => {
    const range = drag;
    from = drag = null;
    hideTip();
    const wide = range && (range[1] - range[0]) / trace.length * canvas.clientWidth >= 3;
    if (wide) change({range}); else drawTimeline();
  });
  canvas.addEventListener('pointerleave', hideTip);
  const seen = new Set();
  trace.threads.forEach((_, thread) => eachSpan(thread, (s, e, n, c, state) => seen.add(state)));
  STATES.forEach(([name, colour], state) => {
    if (!colour || !seen.has(state)) return;
    const item = element('span');
    const mark = element('i');
    mark.style.background = colour;
    item.append(mark, name);
    byId('legend').append(item);
  });
}
