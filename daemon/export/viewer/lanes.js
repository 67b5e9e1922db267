// The timeline's lanes other than threads: GPU streams, and numbers over time. Each lane: {label, title, draw, at}.
'use strict';
const LANE = 24, AXIS = 18;

// A value with its unit, as people write it.
function quantity(value, unit) {
  if (unit === 'B') {
    const power = Math.min(4, Math.floor(Math.log2(Math.max(value, 1)) / 10));
    return (value / 1024 ** power).toFixed(power > 1 ? 1 : 0) + ' ' + ['B', 'KiB', 'MiB', 'GiB', 'TiB'][power];
  }
  if (unit === 'mW') return (value / 1000).toFixed(1) + ' W';
  return number(value) + (unit ? ' ' + unit : '');
}

// The index in points of the last point at or before a time; -1: there is none.
function pointAt(points, at) {
  let low = 0, high = points.length / 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[2 * middle] <= at) low = middle + 1; else high = middle;
  }
  return low - 1;
}

// A step for each value; values within one pixel are drawn over each other.
function drawCounter(paint, width, counter, top) {
  const {points} = counter;
  const full = Math.max(counter.most || counter.peak, 1);
  const style = getComputedStyle(document.documentElement);
  const scale = width / trace.length, high = LANE - 5;
  paint.fillStyle = style.getPropertyValue('--count');
  for (let i = 0; i < points.length; i += 2) {
    const from = points[i] * scale;
    const to = (i + 2 < points.length ? points[i + 2] : trace.length) * scale;
    const tall = Math.min(points[i + 1] / full, 1) * high;
    paint.fillRect(from, top + LANE - 2 - tall, Math.max(to - from, 1), tall);
  }
  paint.fillStyle = style.getPropertyValue('--line');
  paint.fillRect(0, top + LANE - 2, width, 1);
}

function counterLane(counter) {
  const device = /^GPU \d+/.exec(counter.group);
  return {
    label: `${device ? device[0] : counter.group} ${counter.name}`,
    title: `${counter.group}: ${counter.name}, mean ${quantity(counter.mean, counter.unit)}, most ${quantity(counter.peak, counter.unit)}` +
        (counter.most ? ` of ${quantity(counter.most, counter.unit)}` : ''),
    draw: (paint, width, top) => drawCounter(paint, width, counter, top),
    at: time => {
      const index = pointAt(counter.points, time);
      return `${counter.group}\n${counter.name}: ` + (index < 0 ? 'no value yet' : quantity(counter.points[2 * index + 1], counter.unit));
    },
  };
}

function streamLane(lane) {
  const device = /^GPU \d+/.exec(lane.device);
  return {
    label: `${device ? device[0] : lane.device} ${lane.label}`,
    title: `${lane.device}, ${lane.label}`,
    draw: (paint, width, top) => drawPieces(paint, width, lane, top + 2, LANE - 6),
    at: time => `${lane.device}, ${lane.label}\n${pieceText(lane, time)}`,
  };
}

const extraLanes = [...(trace.gpu ? trace.gpu.lanes : []).map(streamLane), ...(trace.counters || []).map(counterLane)];
