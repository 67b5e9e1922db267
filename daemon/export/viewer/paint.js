// Colours and numbers for the display, and helpers to make elements. Names are inserted as text only.
'use strict';
const byId = id => document.getElementById(id);
const dark = () => document.documentElement.dataset.theme === 'dark';

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function hash(text) {
  let value = 2166136261;
  for (let i = 0; i < text.length; ++i) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  return value >>> 0;
}

// Functions of one package share a hue; each function has its own shade of it.
const packageOf = file => {
  const parts = file.replace(/^.*\/(site-packages|dist-packages|lib\/python[0-9.]+)\//, '').split('/').filter(Boolean);
  return file.startsWith('/') && parts.join('/') === file.slice(1) ? parts.slice(0, -1).join('/') : parts[0] || '';
};
const colours = new Map();
function colourOf(fn) {
  if (fn < 0) return dark() ? '#7d838d' : '#c9cdd3';
  const key = fn * 2 + (dark() ? 1 : 0);
  let colour = colours.get(key);
  if (!colour) {
    const [name, file, , marker] = trace.functions[fn];
    const shade = hash(name) % 100 / 100;
    const hue = hash(packageOf(file)) * 47 % 360;
    colour = marker ? (dark() ? '#a3a8b0' : '#b6bac0')
                    : `hsl(${hue} ${dark() ? 48 : 68}% ${(dark() ? 60 : 70) + shade * 11}%)`;
    colours.set(key, colour);
  }
  return colour;
}
const MATCHED = '#e0218a';

const number = value => Math.round(value).toLocaleString('en-US');
const percent = (part, whole) => whole > 0 ? (100 * part / whole).toFixed(part === whole ? 0 : 2) + ' %' : '0 %';
function duration(us) {
  if (us < 1000) return us.toFixed(trace.exact && us < 100 ? 2 : 0) + ' µs';
  if (us < 1e6) return (us / 1000).toFixed(1) + ' ms';
  return us < 120e6 ? (us / 1e6).toFixed(2) + ' s' : Math.floor(us / 60e6) + ' min ' + Math.floor(us / 1e6 % 60) + ' s';
}

function showTip(event, text) {
  const tip = byId('tip');
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + 'px';
  tip.style.top = (event.clientY + box.height + 24 < innerHeight ? event.clientY + 16 : event.clientY - box.height - 10) + 'px';
}
const hideTip = () => { byId('tip').hidden = true; };
