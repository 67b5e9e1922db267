// Zoom, search and details inside an exported SVG flame graph. Names are inserted as text nodes only.
'use strict';
(() => {
  const LEFT = 10, WIDTH = 1180, CHARACTER = 6.9;
  const svg = document.documentElement;
  const byId = id => document.getElementById(id);
  const all = Number(svg.dataset.all);
  const frames = [...document.querySelectorAll('.frame')].map(group => ({
    group, x: Number(group.dataset.x), w: Number(group.dataset.w), d: Number(group.dataset.d),
    label: group.querySelector('title').textContent, rect: group.querySelector('rect'), text: group.querySelector('text')}));

  function zoom(to) {
    const scale = WIDTH / Math.max(to.w, 1);
    for (const frame of frames) {
      const above = frame.d >= to.d && frame.x >= to.x && frame.x + frame.w <= to.x + to.w;
      const below = frame.d < to.d && frame.x <= to.x && frame.x + frame.w >= to.x + to.w;
      frame.group.style.display = above || below ? '' : 'none';
      if (!above && !below) continue;
      const x = below ? LEFT : LEFT + (frame.x - to.x) * scale;
      const width = below ? WIDTH : frame.w * scale;
      frame.group.classList.toggle('past', below);
      frame.rect.setAttribute('x', x);
      frame.rect.setAttribute('width', Math.max(width - 0.4, 0.1));
      frame.text.setAttribute('x', x + 3);
      const name = frame.label.replace(/ \([^()]*\)$/, '');
      const fits = Math.floor((width - 6) / CHARACTER);
      frame.text.textContent = fits < 3 ? '' : name.length <= fits ? name : [...name].slice(0, fits - 2).join('') + '..';
    }
    byId('reset').setAttribute('visibility', to.d > 0 ? 'visible' : 'hidden');
  }

  function search(term) {
    const wanted = term.toLowerCase();
    const matched = frames.filter(frame => {
      const match = wanted !== '' && frame.d > 0 && frame.label.toLowerCase().includes(wanted);
      frame.rect.classList.toggle('match', match);
      return match;
    }).sort((a, b) => a.x - b.x || a.d - b.d);
    let sum = 0, end = -1;
    for (const frame of matched) {  // count each sample once: a matched frame covers the frames above it
      if (frame.x >= end) {
        sum += frame.w;
        end = frame.x + frame.w;
      }
    }
    byId('matched').textContent = wanted ? `Matched: ${(100 * sum / Math.max(all, 1)).toFixed(2)} %` : '';
  }

  const ask = () => {
    const term = prompt('Search functions and files (empty: no search)', '');
    if (term !== null) search(term);
  };
  for (const frame of frames) {
    frame.group.addEventListener('click', () => zoom(frame));
    frame.group.addEventListener('mouseenter', () => { byId('details').textContent = frame.label; });
    frame.group.addEventListener('mouseleave', () => { byId('details').textContent = ''; });
  }
  byId('reset').addEventListener('click', () => zoom(frames[0]));
  byId('search').addEventListener('click', ask);
  addEventListener('keydown', event => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'f') {
      event.preventDefault();
      ask();
    } else if (event.key === 'Escape' && frames.length) {
      zoom(frames[0]);
      search('');
    }
  });
})();
