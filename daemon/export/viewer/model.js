// The trace in the page, and the sums made from it. Independent of the display.
'use strict';
const trace = JSON.parse(document.getElementById('trace').textContent);
const IDLE = 3;  // ThreadState::kIdle

// The current selection: everything that is shown is counted from it.
const choice = {threads: null, range: null, hideIdle: false, byThread: false, byLine: false, view: 'flame', term: '',
                focus: null};

const chosenThreads = () => choice.threads || trace.threads.map((_, index) => index);

// Calls visit(start, end, node, samples, state) for each span, in µs from the start of the run.
function eachSpan(thread, visit) {
  const spans = trace.threads[thread].spans;
  let at = 0;
  for (let i = 0; i < spans.length; i += 5) {
    const start = at + spans[i];
    at = start + spans[i + 1];
    visit(start, at, spans[i + 2], spans[i + 3], spans[i + 4]);
  }
}

// Samples per node of one thread, within the range. Spans on the edge of the range count in part.
function countThread(thread) {
  const counts = new Float64Array(trace.parents.length);
  if (!choice.range) {
    const totals = trace.threads[thread].totals;
    for (let i = 0; i < totals.length; i += 3) {
      counts[totals[i]] += totals[i + 1] - (choice.hideIdle ? totals[i + 2] : 0);
    }
    return counts;
  }
  const [from, to] = choice.range;
  eachSpan(thread, (start, end, node, samples, state) => {
    if (end <= from || start >= to || (choice.hideIdle && state === IDLE)) return;
    const part = (Math.min(end, to) - Math.max(start, from)) / Math.max(end - start, 1);
    counts[node] += Math.max(part * samples, part > 0 ? 1e-9 : 0);
  });
  return counts;
}

// For exact calls: how often each node was called in the whole recording, by the chosen threads.
function allCalls() {
  const sum = new Float64Array(trace.parents.length);
  for (const thread of chosenThreads()) {
    const calls = trace.threads[thread].calls || [];
    for (let i = 0; i < calls.length; i += 2) sum[calls[i]] += calls[i + 1];
  }
  return sum;
}

// As allCounts(), without the cost of tracing calls; null if that cost is not known, or for a part of the recording.
function allCorrected() {
  if (choice.range || choice.hideIdle || !trace.threads.some(thread => thread.corrected)) return null;
  const sum = new Float64Array(trace.parents.length);
  for (const thread of chosenThreads()) {
    const corrected = trace.threads[thread].corrected || [];
    for (let i = 0; i < corrected.length; i += 2) sum[corrected[i]] += corrected[i + 1];
  }
  return sum;
}

// Node ids grow from callers to callees, so one backward pass is enough.
function inclusive(counts) {
  const sums = Float64Array.from(counts);
  for (let node = sums.length - 1; node > 0; --node) sums[trace.parents[node]] += sums[node];
  return sums;
}

const frameKey = node => choice.byLine ? trace.functionOf[node] + ':' + trace.lineOf[node] : trace.functionOf[node];

function frameName(fn, line) {
  if (fn < 0) return '[no Python frame]';
  const [name] = trace.functions[fn];
  return choice.byLine && line > 0 ? `${name} :${line}` : name;
}

function childOf(parent, node) {
  const key = frameKey(node);
  let child = parent.index.get(key);
  if (!child) {
    const fn = trace.functionOf[node];
    const line = trace.lineOf[node];
    child = {name: frameName(fn, line), fn, line: choice.byLine ? line : 0, value: 0, children: [], index: new Map()};
    parent.index.set(key, child);
    parent.children.push(child);
  }
  return child;
}

const newRoot = name => ({name, fn: -1, line: 0, value: 0, children: [], index: new Map()});

// Adds the stacks of `counts` below `root`.
function addTree(root, counts, calls) {
  const sums = inclusive(counts);
  const merged = new Array(sums.length);
  merged[0] = root;
  root.value += sums[0];
  for (let node = 1; node < sums.length; ++node) {
    if (sums[node] <= 0) continue;
    merged[node] = childOf(merged[trace.parents[node]], node);
    merged[node].value += sums[node];
    if (calls) merged[node].calls = (merged[node].calls || 0) + calls[node];
  }
  if (counts[0] > 0 && sums[0] > 0) {
    const native = {name: '[no Python frame]', fn: -1, line: 0, value: counts[0], children: [], index: new Map()};
    root.children.push(native);
  }
}

function callTree() {
  const root = newRoot('all');
  if (!choice.byThread && trace.exact) {
    addTree(root, allCounts(), choice.range ? null : allCalls());
    return root;
  }
  for (const thread of chosenThreads()) {
    const counts = countThread(thread);
    if (!choice.byThread) {
      addTree(root, counts);
      continue;
    }
    const branch = newRoot(trace.threads[thread].label);
    addTree(branch, counts);
    if (branch.value > 0) {
      root.children.push(branch);
      root.value += branch.value;
    }
  }
  return root;
}

function allCounts() {
  const sum = new Float64Array(trace.parents.length);
  for (const thread of chosenThreads()) countThread(thread).forEach((count, node) => { sum[node] += count; });
  return sum;
}

// Visits every node with samples, callers first, depth first: enter(node), leave(node).
function walk(sums, enter, leave) {
  const children = trace.childLists || (trace.childLists = makeChildLists());
  const stack = [0];
  while (stack.length) {
    const node = stack.pop();
    if (node < 0) {
      leave(~node);
      continue;
    }
    if (node > 0) {
      enter(node);
      stack.push(~node);
    }
    for (const child of children[node]) if (sums[child] > 0) stack.push(child);
  }
}

function makeChildLists() {
  const lists = trace.parents.map(() => []);
  for (let node = 1; node < lists.length; ++node) lists[trace.parents[node]].push(node);
  return lists;
}

// {rows: [{fn, line, self, total, rawSelf, rawTotal, calls}], all, corrected}: total counts a recursive function once
// per sample. Raw values are as measured; they differ if the cost of tracing calls is subtracted.
function functionTable() {
  const raw = allCounts();
  const corrected = allCorrected();
  const counts = corrected || raw;
  const calls = allCalls();
  const rawSums = inclusive(raw);
  const sums = corrected ? inclusive(counts) : rawSums;
  const rows = new Map();
  const depth = new Map();
  const rowOf = node => {
    const key = frameKey(node);
    let row = rows.get(key);
    if (!row) {
      row = {fn: trace.functionOf[node], line: choice.byLine ? trace.lineOf[node] : 0, self: 0, total: 0, rawSelf: 0,
             rawTotal: 0, calls: 0};
      rows.set(key, row);
    }
    return row;
  };
  walk(rawSums, node => {
    const key = frameKey(node);
    const above = depth.get(key) || 0;
    depth.set(key, above + 1);
    const row = rowOf(node);
    row.self += counts[node];
    row.rawSelf += raw[node];
    row.calls += calls[node];
    if (above > 0) return;
    row.total += sums[node];
    row.rawTotal += rawSums[node];
  }, node => depth.set(frameKey(node), depth.get(frameKey(node)) - 1));
  if (raw[0] > 0) {
    rows.set('', {fn: -1, line: 0, self: counts[0], total: counts[0], rawSelf: raw[0], rawTotal: raw[0], calls: 0});
  }
  return {rows: [...rows.values()], all: sums[0], corrected: corrected !== null};
}

// Callers (growing away from the function) and callees of a function, by its outermost occurrences.
function sandwich(fn) {
  const counts = allCounts();
  const sums = inclusive(counts);
  const callers = newRoot(trace.functions[fn][0]);
  const callees = newRoot(trace.functions[fn][0]);
  callers.fn = callees.fn = fn;
  const merged = new Map();  // node → its node below callees
  let inside = 0;
  walk(sums, node => {
    const here = trace.functionOf[node] === fn;
    if (inside > 0) {
      const place = childOf(merged.get(trace.parents[node]), node);
      place.value += sums[node];
      merged.set(node, place);
    } else if (here) {
      merged.set(node, callees);
      callees.value += sums[node];
      callers.value += sums[node];
      let place = callers;
      for (let up = trace.parents[node]; up > 0; up = trace.parents[up]) {
        place = childOf(place, up);
        place.value += sums[node];
      }
    }
    if (here) ++inside;
  }, node => { if (trace.functionOf[node] === fn) --inside; });
  return {callers, callees, all: sums[0]};
}

// [{line, self, total}] of a function, highest total first.
function linesOf(fn) {
  const counts = allCounts();
  const sums = inclusive(counts);
  const lines = new Map();
  for (let node = 1; node < counts.length; ++node) {
    if (trace.functionOf[node] !== fn || sums[node] <= 0) continue;
    const line = lines.get(trace.lineOf[node]) || {line: trace.lineOf[node], self: 0, total: 0};
    line.self += counts[node];
    line.total += sums[node];
    lines.set(line.line, line);
  }
  return [...lines.values()].sort((a, b) => b.total - a.total);
}

function matches(fn, term) {
  if (fn < 0 || !term) return false;
  const [name, file] = trace.functions[fn];
  return (name + ' ' + file).toLowerCase().includes(term);
}
