// SPDX-License-Identifier: Apache-2.0
// Headline numbers with their bands.

/** Low, value and high on a line from the smaller half to the larger one and a half. */
function bandMark(card) {
  const reach = Math.max(card.high - card.number, card.number - card.low) * 1.6;
  const x = value => 50 + (value - card.number) / reach * 50;
  return shape('svg', {viewBox: '0 0 100 12', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
      rect(0, 5, 100, 2, 'var(--track)'),
      rect(x(card.low), 3, x(card.high) - x(card.low), 6, 'var(--sky)'),
      rect(49.3, 1, 1.4, 10, 'var(--mark)'));
}

function meterMark(share) {
  const over = share > 1;
  const scale = over ? 100 / share : 100;
  return shape('svg', {viewBox: '0 0 100 12', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
      rect(0, 3, 100, 6, 'var(--track)'),
      rect(0, 3, Math.min(share, 1) * scale, 6, 'var(--blue)'),
      over && rect(scale, 3, 100 - scale, 6, 'var(--red)'),
      over && rect(scale - 0.5, 1, 1, 10, 'var(--mark)'));
}

function cardList(cards) {
  return el('ul', {class: 'cards'}, cards.map(card => el('li', {class: 'card'},
      el('div', {class: 'label'}, card.label),
      el('div', {class: 'value' + (card.value === 'unknown' ? ' unknown' : '')}, card.value),
      card.band && el('div', {class: 'band'}, card.band),
      card.band && bandMark(card),
      card.share !== null && meterMark(card.share),
      el('div', {class: 'note'}, card.note))));
}

/** A whole in parts, [name, value], as one bar with a legend. */
function wholeBar(parts, text, title) {
  const colours = ['--green', '--sky', '--blue', '--orange', '--red', '--pink', '--yellow', '--grey', '--line'];
  const total = parts.reduce((sum, part) => sum + part[1], 0);
  const bar = chart(width => {
    let x = 0;
    const marks = parts.map(([name, value], i) => {
      const mark = rect(x, 2, value / total * width, 30, `var(${colours[i]})`, {stroke: 'var(--ground)'});
      x += value / total * width;
      return explain(mark, () => [name, text(value) + ', ' + percent(value / total)]);
    });
    const drawn = picture(width, 34, title, marks);
    walk(drawn, marks);
    return drawn;
  });
  return [bar, legend(parts.map(([name, value], i) => ({
    color: `var(${colours[i]})`, text: `${name} ${text(value)} (${percent(value / total)})`})))];
}
