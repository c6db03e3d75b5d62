// SPDX-License-Identifier: Apache-2.0
'use strict';
// Numbers as people read them, and elements. Text of the data becomes text nodes only.

const GIB = 1073741824;

function fixed(value, decimals) {
  const [whole, rest] = Math.abs(value).toFixed(decimals).split('.');
  const text = whole.replace(/\B(?=(\d{3})+$)/g, ',') + (rest ? '.' + rest : '');
  return (value < 0 && Number(text.replace(/[,.]/g, '')) !== 0 ? '-' : '') + text;
}

/** About three significant digits. */
function short(value) {
  const size = Math.abs(value);
  if (size === 0) return '0';
  return fixed(value, size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : Math.min(6, 2 - Math.floor(Math.log10(size))));
}

function bytes(value) {
  if (Math.abs(value) >= 0.1 * GIB) return fixed(value / GIB, 1) + ' GiB';
  return fixed(value / 1048576, 1) + ' MiB';
}

function seconds(value) {
  const size = Math.abs(value);
  if (size >= 1 || size === 0) return short(value) + ' s';
  if (size >= 1e-3) return short(value * 1e3) + ' ms';
  return short(value * 1e6) + ' us';
}

/** Of a mark on an axis: without zeros that say nothing. */
function axisSeconds(value) {
  const [number, unit] = seconds(value).split(' ');
  return (number.includes('.') ? number.replace(/\.?0+$/, '') : number) + ' ' + unit;
}

function duration(value) {
  if (value >= 2 * 86400) return short(value / 86400) + ' days';
  if (value >= 3600) return short(value / 3600) + ' hours';
  if (value >= 60) return short(value / 60) + ' minutes';
  return seconds(value);
}

const percent = share => fixed(share * 100, 1) + ' %';
const dollars = value => '$' + fixed(value, 0);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    // The page's policy runs its own style sheet alone: no style attribute, but properties.
    if (name === 'style') node.style.cssText = value;
    else node.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false)
      node.append(child instanceof Node ? child : document.createTextNode(child));
  return node;
}

const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const shape = (tag, attributes, ...children) =>
    fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

/** Columns: {head, num, cls}. Cells are texts or nodes. */
function table(columns, rows, caption) {
  const cls = c => [c.num && 'num', c.cls].filter(Boolean).join(' ') || null;
  return el('div', {class: 'scroll'}, el('table', {},
      caption && el('caption', {}, caption),
      el('thead', {}, el('tr', {}, columns.map(c => el('th', {class: c.num && 'num', scope: 'col'}, c.head)))),
      el('tbody', {}, rows.map(row => el('tr', {class: row.cls},
          (row.cells || row).map((cell, i) => el('td', {class: cls(columns[i])}, cell)))))));
}

function details(title, ...content) {
  return el('details', {}, el('summary', {}, title), ...content);
}

/** Items: {color, text}. */
function legend(items) {
  return el('ul', {class: 'legend'}, items.map(item => el('li', {},
      el('span', {class: 'swatch', style: 'background:' + item.color}), item.text)));
}
