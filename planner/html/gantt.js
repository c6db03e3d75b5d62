// SPDX-License-Identifier: Apache-2.0
// The chart of a step: a canvas that zooms, with a lane per stage, work above traffic.

const NARROWEST = 3;  // pixels of a span that is drawn by itself
const SPAN = 5;  // numbers per span: start, length, role, micro-batch, chunk

/** First span of a flat list that ends after `at`; spans of one list do not overlap. */
function firstAfter(spans, at) {
  let low = 0, high = spans.length / SPAN;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle * SPAN] + spans[middle * SPAN + 1] <= at) low = middle + 1; else high = middle;
  }
  return low;
}

/** From a forward pass to the next, in the median: what a schedule repeats; 0 of too few. */
function roundOf(spans) {
  const gaps = [];
  for (let at = 0, before = null; at < spans.length; at += SPAN) {
    if (spans[at + 2] !== 0) continue;
    if (before !== null) gaps.push(spans[at] - before);
    before = spans[at];
  }
  return gaps.length < 8 ? 0 : gaps.sort((a, b) => a - b)[gaps.length >> 1];
}

function spanWords(looks, gantt, laneAt, spans, i) {
  const at = i * SPAN, micro = spans[at + 3], chunk = spans[at + 4];
  const name = looks[spans[at + 2]][0];
  return [`Stage ${laneAt}: ${name}` + (micro >= 0 ? ` of micro-batch ${micro}` : '') + (chunk > 0 ? `, chunk ${chunk}` : ''),
    ['from', seconds(spans[at] * gantt.unit_s)], ['lasts', seconds(spans[at + 1] * gantt.unit_s)]];
}

class Gantt {
  constructor(looks, gantt) {
    Object.assign(this, {looks, gantt, from: 0, to: gantt.end, critical: true, chosen: null, width: 0});
    this.canvas = el('canvas', {tabindex: '0', role: 'application',
      'aria-label': `Chart of one step with ${gantt.lanes.length} stages. Plus and minus zoom, left and right go from task to task, up and down from stage to stage, Home shows the whole step.`});
    this.status = el('p', {class: 'status', 'aria-live': 'polite'}, 'Drag to move, Ctrl and wheel to zoom; with the keyboard: arrows, plus, minus, Home.');
    this.lane = Math.max(9, Math.min(30, Math.floor(430 / gantt.lanes.length)));
    this.left = 62;
    for (const lane of gantt.lanes) lane.round = roundOf(lane.work);
    this.listen();
  }

  get plot() { return this.width - this.left - 8; }
  x(at) { return this.left + (at - this.from) / (this.to - this.from) * this.plot; }
  time(x) { return this.from + (x - this.left) / this.plot * (this.to - this.from); }

  resize(width) {
    this.width = width;
    this.high = this.gantt.lanes.length * this.lane + 26;
    const scale = Math.max(2, window.devicePixelRatio || 1);
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(this.high * scale);
    this.canvas.style.height = 'auto';
    this.canvas.style.aspectRatio = `${width} / ${this.high}`;
    this.pen = this.canvas.getContext('2d');
    this.pen.setTransform(scale, 0, 0, scale, 0, 0);
    this.draw();
  }

  colours() {
    // While the page is made ready for paper, its style is still that of the screen.
    if (window.printing)
      return {ink: '#000', soft: '#444', idle: '#eee', grid: '#c4c9cf', mark: '#000', ground: '#fff', roles: this.looks.map(look => look[1])};
    const style = getComputedStyle(document.documentElement);
    const of = name => style.getPropertyValue(name).trim();
    return {ink: of('--ink'), soft: of('--soft'), idle: of('--idle'), grid: of('--line'), mark: of('--mark'), ground: of('--ground'),
      roles: this.looks.map((_, role) => of(`--task-${role}`))};
  }

  draw() {
    const {pen, gantt} = this, colour = this.colours();
    pen.fillStyle = colour.ground;
    pen.fillRect(0, 0, this.width, this.high);
    pen.font = '12px system-ui, "DejaVu Sans", sans-serif';
    gantt.lanes.forEach((lane, i) => this.drawLane(lane, i, colour));
    this.drawGaps(colour);
    if (this.critical) this.drawCritical(colour);
    if (this.chosen) this.drawChosen(colour);
    if (this.mark !== undefined) this.drawMark(colour);
    this.drawAxis(colour);
  }

  /** Where a replay is. */
  drawMark(colour) {
    if (this.mark < this.from || this.mark > this.to) return;
    this.pen.fillStyle = colour.mark;
    this.pen.fillRect(this.x(this.mark) - 1, 0, 2, this.gantt.lanes.length * this.lane);
  }

  band(i, traffic) {
    const top = i * this.lane;
    return traffic ? [top + this.lane * 0.68, Math.max(2, this.lane * 0.2)] : [top + 1, this.lane * 0.64 - 1];
  }

  drawLane(lane, i, colour) {
    const {pen} = this, every = this.lane >= 14 ? 1 : Math.ceil(14 / this.lane);
    pen.fillStyle = colour.idle;
    pen.fillRect(this.left, i * this.lane + 1, this.plot, this.lane - 2);
    for (const traffic of [false, true]) this.drawSpans(traffic ? lane.traffic : lane.work, this.band(i, traffic), colour, traffic, lane.round);
    pen.fillStyle = colour.soft;
    pen.textAlign = 'right';
    pen.textBaseline = 'middle';
    if (i % every === 0) pen.fillText((this.plot > 420 ? 'stage ' : '') + i, this.left - 7, (i + 0.5) * this.lane);
  }

  drawSpans(spans, [y, height], colour, traffic, round) {
    const first = firstAfter(spans, this.from);
    let last = first;
    while (last * SPAN < spans.length && spans[last * SPAN] < this.to) ++last;
    if (last - first > this.plot / NARROWEST) return this.drawDense(spans, first, last, y, height, colour, round);
    const {pen} = this;
    pen.textAlign = 'center';
    for (let i = first; i < last; ++i) {
      const at = i * SPAN, x0 = Math.max(this.x(spans[at]), this.left);
      const wide = Math.min(this.x(spans[at] + spans[at + 1]), this.left + this.plot) - x0;
      pen.fillStyle = colour.roles[spans[at + 2]];
      pen.fillRect(x0, y, Math.max(wide - (wide > 4 ? 0.7 : 0), 0.5), height);
      if (traffic || wide < 20 || height < 11 || spans[at + 3] < 0) continue;
      pen.fillStyle = spans[at + 2] === 0 ? '#ffffff' : '#111111';
      pen.fillText(String(spans[at + 3]), x0 + wide / 2, y + height / 2 + 0.5);
    }
  }

  /** Narrow spans in bins of whole rounds, each as high as its shares; the rest is idle. Shorter bins would beat with the rounds. */
  drawDense(spans, first, last, y, height, colour, round) {
    const {pen} = this, least = NARROWEST * (this.to - this.from) / this.plot, step = round > 0 ? Math.ceil(least / round) * round : least;
    let i = first;
    for (let bin = Math.floor(this.from / step); bin * step < this.to; ++bin) {
      const from = Math.max(this.from, bin * step), to = Math.min(this.to, (bin + 1) * step), sums = {};
      while (i < last && spans[i * SPAN] + spans[i * SPAN + 1] <= from) ++i;
      for (let k = i; k < last && spans[k * SPAN] < to; ++k) {
        const part = Math.min(to, spans[k * SPAN] + spans[k * SPAN + 1]) - Math.max(from, spans[k * SPAN]);
        sums[spans[k * SPAN + 2]] = (sums[spans[k * SPAN + 2]] || 0) + part;
      }
      let top = y + height;
      for (const role of Object.keys(sums)) {
        const high = height * Math.min(1, sums[role] / (to - from));
        pen.fillStyle = colour.roles[role];
        pen.fillRect(this.x(from), top -= high, this.x(to) - this.x(from) + 0.05, high);
      }
    }
  }

  drawGaps(colour) {
    const {windows} = this.gantt;
    for (let i = 0; i + 1 < windows.length; ++i) {
      const x0 = Math.max(this.x(windows[i][1]), this.left), x1 = Math.min(this.x(windows[i + 1][0]), this.left + this.plot);
      if (x1 <= x0) continue;
      this.pen.fillStyle = colour.ground;
      this.pen.fillRect(x0, 0, x1 - x0, this.high - 24);
      this.pen.fillStyle = colour.soft;
      this.pen.textAlign = 'center';
      if (x1 - x0 > 150) this.pen.fillText('steady state, not listed', (x0 + x1) / 2, (this.high - 24) / 2);
    }
  }

  drawCritical(colour) {
    const {pen} = this, list = this.gantt.critical;
    pen.strokeStyle = colour.mark;
    pen.lineWidth = 1.3;
    for (let at = 0; at < list.length; at += 4) {
      const [y, height] = this.band(list[at], list[at + 1] === 1);
      const x0 = Math.max(this.x(list[at + 2]), this.left), x1 = Math.min(this.x(list[at + 2] + list[at + 3]), this.left + this.plot);
      if (x1 > x0) pen.strokeRect(x0 + 0.5, y + 0.5, Math.max(x1 - x0 - 1, 0.5), height - 1);
    }
  }

  drawChosen(colour) {
    const [i, traffic, index] = this.chosen, lane = this.gantt.lanes[i], spans = traffic ? lane.traffic : lane.work;
    const [y, height] = this.band(i, traffic), x0 = this.x(spans[index * SPAN]);
    this.pen.strokeStyle = colour.mark;
    this.pen.lineWidth = 3;
    this.pen.strokeRect(x0 - 1, y - 1, Math.max(this.x(spans[index * SPAN] + spans[index * SPAN + 1]) - x0, 2) + 2, height + 2);
  }

  drawAxis(colour) {
    const {pen} = this, unit = this.gantt.unit_s, y = this.gantt.lanes.length * this.lane + 4;
    pen.fillStyle = colour.soft;
    pen.strokeStyle = colour.grid;
    pen.lineWidth = 1;
    pen.textAlign = 'center';
    pen.textBaseline = 'top';
    const span = (this.to - this.from) * unit, most = Math.max(2, Math.floor(this.plot / 110));
    const step = tick(span, most), decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    for (const at of ticks(this.from * unit, this.to * unit, most)) {
      const x = this.x(at / unit);
      pen.beginPath();
      pen.moveTo(x, y - 3);
      pen.lineTo(x, y + 2);
      pen.stroke();
      if (x > this.left + 12 && x < this.width - 24) pen.fillText(fixed(at, Math.min(decimals, 7)) + ' s', x, y + 5);
    }
  }

  // --- looking around --------------------------------------------------------------------------

  view(from, to) {
    const {end} = this.gantt, length = Math.min(end, Math.max(to - from, 200));
    this.from = Math.min(Math.max(0, from), end - length);
    this.to = this.from + length;
    this.draw();
  }

  zoom(factor, around) {
    const at = around === undefined ? (this.from + this.to) / 2 : around;
    this.view(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  whole() { this.view(0, this.gantt.end); }

  hit(x, y) {
    const i = Math.floor(y / this.lane);
    if (x < this.left || i < 0 || i >= this.gantt.lanes.length) return null;
    for (const traffic of [false, true]) {
      const [top, height] = this.band(i, traffic);
      if (y < top - 1 || y > top + height + 1) continue;
      const spans = traffic ? this.gantt.lanes[i].traffic : this.gantt.lanes[i].work;
      const at = firstAfter(spans, this.time(x));
      if (at * SPAN < spans.length && spans[at * SPAN] <= this.time(x)) return [i, traffic, at];
    }
    return null;
  }

  words([i, traffic, at]) {
    const lane = this.gantt.lanes[i];
    return spanWords(this.looks, this.gantt, i, traffic ? lane.traffic : lane.work, at);
  }

  choose(lane, index) {
    const spans = this.gantt.lanes[lane].work;
    if (!spans.length) return;
    const at = Math.max(0, Math.min(spans.length / SPAN - 1, index));
    this.chosen = [lane, false, at];
    const from = spans[at * SPAN], to = from + spans[at * SPAN + 1], length = this.to - this.from;
    if (from < this.from || to > this.to) this.view(from - length / 3, from - length / 3 + length); else this.draw();
    this.status.textContent = this.words(this.chosen).map(part => Array.isArray(part) ? part.join(' ') : part).join(', ');
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [lane, , at] = this.chosen || [0, false, firstAfter(this.gantt.lanes[0].work, this.from) - 1];
    const moveTo = next => this.choose(next, firstAfter(this.gantt.lanes[next].work, this.chosen
        ? this.gantt.lanes[lane].work[at * SPAN] : this.from));
    const act = {'+': () => this.zoom(0.6), '=': () => this.zoom(0.6), '-': () => this.zoom(1 / 0.6), Home: () => this.whole(),
      ArrowRight: () => this.choose(lane, at + 1), ArrowLeft: () => this.choose(lane, at - 1),
      ArrowDown: () => moveTo(Math.min(this.gantt.lanes.length - 1, this.chosen ? lane + 1 : 0)), ArrowUp: () => moveTo(Math.max(0, lane - 1)),
      Escape: () => { this.chosen = null; this.draw(); }}[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  listen() {
    const {canvas} = this;
    let grabbed = null;
    canvas.addEventListener('pointerdown', event => { grabbed = {x: event.clientX, from: this.from, to: this.to}; canvas.setPointerCapture(event.pointerId); hideTip(); });
    canvas.addEventListener('pointerup', () => { grabbed = null; });
    canvas.addEventListener('pointermove', event => {
      if (grabbed) {
        const move = (grabbed.x - event.clientX) / this.plot * (grabbed.to - grabbed.from);
        this.view(grabbed.from + move, grabbed.to + move);
        return;
      }
      const hit = this.hit(event.offsetX, event.offsetY);
      if (hit) showTip(this.words(hit), event.clientX, event.clientY); else hideTip();
    });
    canvas.addEventListener('pointerleave', hideTip);
    canvas.addEventListener('wheel', event => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.time(event.offsetX));
    }, {passive: false});
    canvas.addEventListener('keydown', event => this.key(event));
  }
}

function drawStep(room, looks, gantt) {
  const view = new Gantt(looks, gantt);
  const button = (text, act) => { const node = el('button', {type: 'button'}, text); node.addEventListener('click', act); return node; };
  const critical = el('input', {type: 'checkbox', checked: 'checked'});
  critical.addEventListener('change', () => { view.critical = critical.checked; view.draw(); });
  const pass = gantt.lanes[0].work[1] || gantt.end / 20;
  const box = el('div', {class: 'chart'}, view.canvas);
  room.replaceChildren(el('div', {class: 'tools'}, button('Zoom in', () => view.zoom(0.5)), button('Zoom out', () => view.zoom(2)),
      button('Whole step', () => view.whole()), button('Beginning', () => view.view(0, pass * 30)), button('End', () => view.view(gantt.end - pass * 30, gantt.end)),
      el('label', {}, critical, ' outline the critical path')), box, view.status);
  drawings.push({box, resize: width => view.resize(width)});
  return view;
}
