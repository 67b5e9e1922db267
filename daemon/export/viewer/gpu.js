// GPU data: the lanes of the streams, and the page with the tables of GPU time.
'use strict';
// In the order of the page's JSON: the parts of a GPU's time, and the kinds of operations.
const GPU_TIME = [['kernels ran', '#3aa655'], ['copying, no kernel', '#3f8fd0'], ['idle: waiting for launches', '#e8892b'],
                  ['idle: the host had waited (sync)', '#8a63d2'], ['idle: nothing queued', '#9aa1ab']];
const GPU_KINDS = ['kernel', 'copy', 'memset', 'wait', 'overhead', 'graph'];
const COPY = 1, MEMSET = 2, WAIT = 3;
const STACK_SOURCES = ['none', 'exact', 'sampled', 'backward', 'at the launch'];

function kernelColour(name, kind) {
  if (kind === COPY || kind === MEMSET) return '#3f8fd0';
  if (kind === WAIT) return dark() ? '#4a3f63' : '#dcd0f2';
  return `hsl(${hash(trace.gpu.names[name]) % 360} ${dark() ? 42 : 60}% ${dark() ? 56 : 66}%)`;
}

// Calls visit(start, end, busy, name, kind, count) for each piece, in µs from the start of the run.
function eachPiece(lane, visit) {
  const {pieces} = lane;
  let at = 0;
  for (let i = 0; i < pieces.length; i += 6) {
    const start = at + pieces[i];
    at = start + pieces[i + 1];
    visit(start, at, pieces[i + 2], pieces[i + 3], pieces[i + 4], pieces[i + 5]);
  }
}

// If several operations share a pixel or a piece, its height is the share of the time in which one ran.
function drawPieces(paint, width, lane, top, high) {
  const scale = width / trace.length;
  let column = -1, longest = 0;
  eachPiece(lane, (start, end, busy, name, kind) => {
    const x = start * scale, wide = Math.max((end - start) * scale, 1);
    if (wide <= 1.5 && Math.floor(x) === column && busy <= longest) return;
    column = Math.floor(x);
    longest = busy;
    const tall = Math.max(high * Math.min(busy / Math.max(end - start, 1e-3), 1), 2);
    paint.fillStyle = choice.term && trace.gpu.names[name].toLowerCase().includes(choice.term) ? MATCHED : kernelColour(name, kind);
    paint.fillRect(Math.floor(x), top + high - tall, Math.max(Math.ceil(x + wide - 0.5) - Math.floor(x), 1), tall);
  });
}

function pieceText(lane, time) {
  let text = 'nothing';
  eachPiece(lane, (start, end, busy, name, kind, count) => {
    if (time < start || time >= end) return;
    text = trace.gpu.names[name] + `\n${GPU_KINDS[kind]}, ` +
        (count > 1 ? `the longest of ${number(count)} in ${duration(end - start)}, busy ${percent(busy, end - start)}` : duration(end - start));
  });
  return text;
}

function drawGpuBar(main, device) {
  const all = device.time.reduce((sum, part) => sum + part, 0);
  main.append(element('h2', '', `${device.label}: no kernel in ${percent(all - device.time[0], all)} of ${duration(all)}`));
  const bar = element('div', 'gpu-bar');
  const legend = element('p', 'gpu-legend');
  device.time.forEach((part, index) => {
    const [name, colour] = GPU_TIME[index];
    const piece = element('i');
    piece.style.width = 100 * part / Math.max(all, 1e-9) + '%';
    piece.style.background = colour;
    piece.title = `${name}: ${duration(part)}, ${percent(part, all)}`;
    bar.append(piece);
    const entry = element('span');
    const mark = element('i');
    mark.style.background = colour;
    entry.append(mark, `${name} ${percent(part, all)}`);
    legend.append(entry);
  });
  main.append(bar, legend);
}

// rows: [[cells…]]; the first cell is measured against `all`, the last one is the name.
function gpuTable(main, title, columns, rows, all) {
  main.append(element('h2', '', title));
  const table = element('table');
  const head = element('tr');
  columns.forEach((label, index) => head.append(element('th', index === columns.length - 1 ? 'name' : '', label)));
  table.append(element('thead'), element('tbody'));
  table.tHead.append(head);
  for (const [time, cells, name, file] of rows) {
    const line = element('tr');
    const bar = element('td', 'bar');
    const fill = element('i');
    fill.style.width = 100 * time / Math.max(all, 1e-9) + '%';
    bar.append(fill, element('b', '', percent(time, all)));
    line.append(bar, ...cells.map(text => element('td', '', text)));
    const cell = element('td', 'name', name);
    cell.title = name + (file ? '\n' + file : '');
    if (file) cell.append(element('span', '', file));
    line.append(cell);
    table.tBodies[0].append(line);
  }
  main.append(table);
}

function drawGpu(main) {
  const {gpu} = trace;
  const all = gpu.sources.reduce((sum, part) => sum + part, 0);
  gpu.devices.forEach(device => drawGpuBar(main, device));
  const found = STACK_SOURCES.map((source, index) => [source, gpu.sources[index]]).filter(([, time]) => time > 0);
  main.append(element('p', 'gpu-legend', 'GPU time by source of the Python stack of the launch: ' +
      found.map(([source, time]) => `${source} ${percent(time, all)}`).join(', ')));
  const wanted = text => !choice.term || text.toLowerCase().includes(choice.term);
  gpuTable(main, 'GPU time by kernel', ['%', 'Time', 'Count', 'Mean', 'Longest', 'Kernel'],
           gpu.kernels.filter(row => wanted(gpu.names[row[0]])).slice(0, ROWS).map(([name, , count, time, longest]) =>
               [time, [duration(time), number(count), duration(time / count), duration(longest)], gpu.names[name]]), all);
  const functionRows = rows => rows.filter(row => wanted(row[0] + ' ' + row[1])).slice(0, ROWS).map(([name, file, line, self, total, count]) =>
      [self, [duration(self), percent(total, all), duration(total), number(count)], name, file ? `${file}:${line}` : '']);
  const columns = what => ['Self %', 'Self', 'Total %', 'Total', 'Operations', what];
  if (gpu.functions.length) gpuTable(main, 'GPU time by Python function', columns('Function'), functionRows(gpu.functions), all);
  if (gpu.modules.length) gpuTable(main, 'GPU time by nn.Module', columns('Module'), functionRows(gpu.modules), all);
}
