// SPDX-License-Identifier: Apache-2.0
'use strict';
// Numbers and elements, drawings that follow the width of the page, and one tooltip for all of them. Text of
// the data becomes text nodes only.

function fixed(value, decimals) {
  const [whole, rest] = value.toFixed(decimals).split('.');
  return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (rest ? '.' + rest : '');
}

/** About three significant digits. */
function seconds(value) {
  const short = number => number === 0 ? '0' : fixed(number, number >= 100 ? 0 : number >= 10 ? 1 : number >= 1 ? 2 : Math.min(6, 2 - Math.floor(Math.log10(number))));
  if (value >= 1 || value === 0) return short(value) + ' s';
  if (value >= 1e-3) return short(value * 1e3) + ' ms';
  return short(value * 1e6) + ' us';
}

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// --- drawings --------------------------------------------------------------------------------

const drawings = [];  // {box, resize(width)}

function redraw(width) {
  hideTip();
  for (const {box, resize} of drawings) {
    const room = width || Math.floor(box.clientWidth);
    if (room > 0) resize(room);
  }
}

function watchDrawings() {
  redraw();
  let width = window.innerWidth;
  window.addEventListener('resize', () => {
    if (!window.printing && window.innerWidth !== width) redraw();
    width = window.innerWidth;
  });
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => redraw());
  // A page of A4 is about 690 pixels wide inside its margins.
  window.addEventListener('beforeprint', () => { window.printing = true; redraw(690); });
  window.addEventListener('afterprint', () => { window.printing = false; redraw(); });
}

// --- the tooltip -----------------------------------------------------------------------------

/** Lines are texts, or pairs of name and value; the first one is strong. */
function showTip(lines, x, y) {
  const tip = document.getElementById('tip');
  tip.replaceChildren(...lines.map((line, i) => Array.isArray(line)
      ? el('div', {class: 'row'}, el('span', {}, line[0]), el('span', {}, line[1]))
      : el(i === 0 ? 'b' : 'div', {}, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 14 + box.width > window.innerWidth ? x - box.width - 10 : x + 14;
  const top = y + 14 + box.height > window.innerHeight ? y - box.height - 10 : y + 14;
  tip.style.left = Math.max(4, left) + 'px';
  tip.style.top = Math.max(4, top) + 'px';
}

function hideTip() { document.getElementById('tip').hidden = true; }

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
