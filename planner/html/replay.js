// SPDX-License-Identifier: Apache-2.0
// A step played back: the lines of the fabric coloured by their use, and a mark on the step's chart.

/** As fabric_svg.cpp: from idle blue over yellow to red. */
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

function playBack(replay, view) {
  const lines = [...document.querySelectorAll('#fabric line')], last = replay.frames.length - 1;
  const slider = el('input', {type: 'range', min: '0', max: String(last), value: '0', class: 'moment', 'aria-label': 'Moment of the step'});
  const play = el('button', {type: 'button'}, 'Play'), words = el('p', {class: 'status'});
  const show = () => {
    const frame = replay.frames[slider.value], at = (Number(slider.value) + 0.5) / (last + 1) * replay.seconds;
    let most = 0;
    lines.forEach((line, i) => {
      const share = shareOf(frame, i);
      most = Math.max(most, share);
      line.setAttribute('stroke', heat(share));
      line.setAttribute('stroke-opacity', String(0.15 + 0.8 * share));
    });
    view.mark = at / view.gantt.unit_s;
    if (view.pen) view.draw();
    words.textContent = `${seconds(at)} of ${seconds(replay.seconds)}: the busiest cable moves ${fixed(100 * most * replay.top, 0)} % of its rate`;
    slider.setAttribute('aria-valuetext', words.textContent);
  };
  let timer = null;
  const stop = () => { clearInterval(timer); timer = null; play.textContent = 'Play'; };
  const next = () => {
    slider.value = String(Number(slider.value) + 1);
    show();
    if (Number(slider.value) >= last) stop();
  };
  play.addEventListener('click', () => {
    if (timer !== null) return stop();
    if (Number(slider.value) >= last) slider.value = '0';
    play.textContent = 'Pause';
    timer = setInterval(next, 60);
  });
  slider.addEventListener('input', show);
  document.getElementById('replay').replaceChildren(el('div', {class: 'tools'}, play, slider), words);
  show();
}
