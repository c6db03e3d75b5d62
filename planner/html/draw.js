// SPDX-License-Identifier: Apache-2.0
// Charts that follow the width of the page, and one tooltip for all of them.

const charts = [];

/** A chart that is drawn anew when its width changes; draw(width) returns a node. */
function chart(draw) {
  const box = el('div', {class: 'chart'});
  const entry = {box, width: 0, redraw(width) {
    if (width <= 0 || width === this.width) return;
    this.width = width;
    hideTip();
    box.replaceChildren(draw(width));
  }};
  charts.push(entry);
  return box;
}

function redrawAll(width) {
  for (const entry of charts) entry.redraw(width || Math.floor(entry.box.clientWidth));
}

function redrawColours() {
  for (const entry of charts) { entry.width = 0; entry.redraw(Math.floor(entry.box.clientWidth)); }
}

function watchCharts() {
  redrawAll();
  if (window.ResizeObserver) {
    const observer = new ResizeObserver(() => requestAnimationFrame(() => { if (!window.printing) redrawAll(); }));
    observer.observe(document.getElementById('main'));
  }
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  if (dark.addEventListener) dark.addEventListener('change', redrawColours);
  // A page of A4 is about 690 pixels wide inside its margins.
  window.addEventListener('beforeprint', () => {
    window.printing = true;
    for (const box of document.querySelectorAll('details:not(.screen)'))
      if (!box.open) { box.open = true; box.dataset.opened = '1'; }
    for (const entry of charts) entry.width = 0;
    redrawAll(690);
  });
  window.addEventListener('afterprint', () => {
    window.printing = false;
    for (const box of document.querySelectorAll('details[data-opened]')) {
      box.open = false;
      delete box.dataset.opened;
    }
    redrawColours();
  });
}

// --- tooltip ---------------------------------------------------------------------------------

/** Lines: the first one is the heading; others are texts or [label, value]. */
function showTip(lines, x, y) {
  const tip = document.getElementById('tip');
  tip.replaceChildren(el('b', {}, lines[0]), ...lines.slice(1).map(line => Array.isArray(line)
      ? el('div', {class: 'row'}, el('span', {}, line[0]), el('span', {}, line[1]))
      : el('div', {}, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 14 + box.width > window.innerWidth ? x - box.width - 12 : x + 14;
  const top = y + 14 + box.height > window.innerHeight ? y - box.height - 10 : y + 14;
  tip.style.left = Math.max(4, left) + 'px';
  tip.style.top = Math.max(4, top) + 'px';
}

function hideTip() { document.getElementById('tip').hidden = true; }

/** Explains a mark on hover and on focus; its words are its name for a screen reader, too. */
function explain(node, lines) {
  const words = lines().map(line => Array.isArray(line) ? line.join(' ') : line).join('; ');
  node.setAttribute('aria-label', words);
  node.setAttribute('role', 'img');
  node.addEventListener('mousemove', event => showTip(lines(), event.clientX, event.clientY));
  node.addEventListener('mouseleave', hideTip);
  node.addEventListener('focus', () => {
    const box = node.getBoundingClientRect();
    showTip(lines(), box.left + box.width / 2, box.top + box.height / 2);
  });
  node.addEventListener('blur', hideTip);
  return node;
}

/** One stop of the Tab key for all marks of a chart; arrow keys go from mark to mark. */
function walk(root, marks) {
  marks.forEach((mark, i) => mark.setAttribute('tabindex', i === 0 ? '0' : '-1'));
  root.addEventListener('keydown', event => {
    const at = marks.indexOf(document.activeElement);
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (event.key === 'Escape') hideTip();
    if (at < 0 || !step) return;
    event.preventDefault();
    const next = marks[Math.min(marks.length - 1, Math.max(0, at + step))];
    marks[at].setAttribute('tabindex', '-1');
    next.setAttribute('tabindex', '0');
    next.focus();
  });
}

// --- axes ------------------------------------------------------------------------------------

/** 1, 2 or 5 times a power of ten, so that there are at most `most` steps. */
function tick(length, most) {
  let step = Math.pow(10, Math.floor(Math.log10(length / most)));
  while (length / step > most) step *= String(step)[0] === '2' || /^0\.0*2/.test(String(step)) ? 2.5 : 2;
  return step;
}

function ticks(from, to, most) {
  const step = tick(to - from, most);
  const list = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; ++i) list.push(i * step);
  return list;
}

function picture(width, height, label, ...children) {
  return shape('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'group', 'aria-label': label}, ...children);
}

const label = (x, y, text, anchor, cls) =>
    shape('text', {x, y, 'text-anchor': anchor || 'start', class: cls}, text);
const line = (x1, y1, x2, y2, cls, more) => shape('line', {x1, y1, x2, y2, class: cls, ...more});
const rect = (x, y, width, height, color, more) =>
    shape('rect', {x, y, width: Math.max(width, 0), height: Math.max(height, 0), fill: color, ...more});

/** Cuts a text to about that many pixels at 12.5 px. */
function fit(text, pixels) {
  const room = Math.floor(pixels / 6.4);
  return text.length <= room ? text : text.slice(0, Math.max(1, room - 1)) + '…';
}
