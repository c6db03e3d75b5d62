// SPDX-License-Identifier: Apache-2.0
// A step played back: the lines of the fabric coloured by their use, and a mark on the step's chart.

/** As scene.cpp: from pale blue, idle, over yellow to red. */
function heat(share) {
  const mix = (from, to, at) => from + (to - from) * at;
  const low = Math.min(1, 2 * share), high = Math.max(0, 2 * share - 1);
  const part = (idle, half, full) => Math.round(mix(mix(idle, half, low), full, high));
  return `rgb(${part(0x9c, 0xf2, 0xc8)},${part(0xb8, 0xb7, 0x10)},${part(0xd6, 0x05, 0x10)})`;
}

/** A frame has a letter per line: A idle, then to z, which is the busiest of the step. */
function shareOf(frame, line) {
  const code = frame.charCodeAt(line);
  return (code < 97 ? code - 65 : code - 71) / 51;
}

/** Sides share one clock: a step that is over is idle. */
function playBack(replay, views) {
  const moments = Math.max(...replay.sides.map(side => side.frames.length));
  const sides = replay.sides.map((side, i) => ({...side, view: views[i],
    lines: [...document.querySelectorAll(`#fabric-${side.side} line`)]}));
  const slider = el('input', {type: 'range', min: '0', max: String(moments - 1), value: '0', class: 'moment', 'aria-label': 'Moment of the step'});
  const play = el('button', {type: 'button'}, 'Play'), words = el('p', {class: 'status'});
  const showSide = (side, at) => {
    const frame = at < side.seconds ? side.frames[Math.floor(at / side.seconds * side.frames.length)] : null;
    let most = 0;
    side.lines.forEach((line, i) => {
      const share = frame === null ? 0 : shareOf(frame, i);
      most = Math.max(most, share);
      line.setAttribute('stroke', heat(share));
      line.setAttribute('stroke-opacity', String(0.15 + 0.8 * share));
    });
    side.view.mark = Math.min(at, side.seconds) / side.view.gantt.unit_s;
    if (side.view.pen) side.view.draw();
    const name = sides.length > 1 ? `${side.side}: ` : '';
    if (frame === null) return `${name}the step of ${seconds(side.seconds)} is over`;
    return `${name}${seconds(at)} of ${seconds(side.seconds)}, ` + (side.inside ? 'all traffic stays inside the host' :
      `the busiest cable moves ${fixed(100 * most * replay.top, 0)} % of its rate`);
  };
  const show = () => {
    const at = (Number(slider.value) + 0.5) / moments * replay.seconds;
    words.textContent = sides.map(side => showSide(side, at)).join('; ');
    slider.setAttribute('aria-valuetext', words.textContent);
  };
  let timer = null;
  const stop = () => { clearInterval(timer); timer = null; play.textContent = 'Play'; };
  const next = () => {
    slider.value = String(Number(slider.value) + 1);
    show();
    if (Number(slider.value) >= moments - 1) stop();
  };
  play.addEventListener('click', () => {
    if (timer !== null) return stop();
    if (Number(slider.value) >= moments - 1) slider.value = '0';
    play.textContent = 'Pause';
    timer = setInterval(next, 60);
  });
  slider.addEventListener('input', show);
  document.getElementById('replay').replaceChildren(el('div', {class: 'tools'}, play, slider), words);
  show();
}
