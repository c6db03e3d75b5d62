// SPDX-License-Identifier: Apache-2.0
// Memory per pipeline stage as stacks under the capacity.

function memoryTip(looks, memory, stage) {
  const parts = stage.parts.map((size, i) => [looks[i][1], size]).filter(part => part[1] > 0);
  parts.sort((a, b) => b[1] - a[1]);
  return [`Stage ${stage.stage}: ${bytes(stage.peak)} of ${bytes(memory.usable)} usable`,
    `${stage.layers} layers, peak in the ${stage.phase}`,
    ...parts.map(([name, size]) => [name, bytes(size)])];
}

function memoryChart(looks, memory) {
  return chart(width => {
    const left = 46, top = 26, high = 240, plot = width - left - 10;
    const most = Math.max(memory.capacity, ...memory.stages.map(s => s.peak)) * 1.06 / GIB;
    const y = size => top + high * (1 - size / GIB / most);
    const slot = plot / memory.stages.length;
    const wide = Math.min(74, slot * 0.78);
    const every = Math.max(1, Math.ceil(26 / slot));
    const grid = ticks(0, most, 6).map(at => [line(left, y(at * GIB), left + plot, y(at * GIB), 'grid'),
      label(left - 7, y(at * GIB) + 4, fixed(at, 0), 'end', 'soft')]);
    const marks = [], peaks = [];
    const stacks = memory.stages.map((stage, n) => {
      const x = left + slot * n + (slot - wide) / 2;
      let sum = 0;
      const boxes = stage.parts.map((size, i) => {
        const from = sum;
        sum += size;
        return size > 0 && rect(x, y(sum), wide, y(from) - y(sum), `var(--memory-${looks[i][0]})`,
            {stroke: 'var(--ground)', 'stroke-width': 0.6});
      });
      const mark = rect(x - 1, y(sum), wide + 2, y(0) - y(sum), 'transparent');
      explain(mark, () => memoryTip(looks, memory, stage));
      marks.push(mark);
      const shown = n % every === 0 || stage.stage === memory.peak_stage;
      peaks.push(slot > 34 && label(x + wide / 2, y(sum) - 5, fixed(stage.peak / GIB, 1), 'middle'));
      return [boxes, shown && label(x + wide / 2, top + high + 17, String(stage.stage), 'middle', 'soft'), mark];
    });
    const limit = (size, text, dash, below) => [
      line(left, y(size), left + plot, y(size), null, {stroke: 'var(--mark)', 'stroke-width': 1.4, 'stroke-dasharray': dash}),
      label(left + plot, y(size) + (below ? 15 : -5), text, 'end')];
    const drawn = picture(width, top + high + 40, 'Memory per pipeline stage', grid, stacks,
        limit(memory.capacity, 'capacity ' + bytes(memory.capacity), '2 3', false),
        limit(memory.usable, 'usable ' + bytes(memory.usable), null, true), peaks,
        label(left - 7, 12, 'GiB per GPU', 'start', 'soft'),
        label(left + plot / 2, top + high + 36, 'pipeline stage', 'middle', 'soft'));
    walk(drawn, marks);
    return drawn;
  });
}

function memorySection(looks, side) {
  const memory = side.memory;
  const peak = memory.stages.find(stage => stage.stage === memory.peak_stage) || memory.stages[0];
  const used = looks.map((_, i) => memory.stages.some(stage => stage.parts[i] > 0));
  const shown = looks.map((_, i) => i).filter(i => used[i]);
  const stages = table(
      [{head: 'stage', num: true}, {head: 'layers', num: true}, ...shown.map(i => ({head: looks[i][1], num: true})),
        {head: 'peak', num: true}, {head: 'of usable', num: true}],
      memory.stages.map(stage => ({cls: stage === peak ? 'best' : null, cells: [String(stage.stage), String(stage.layers),
        ...shown.map(i => bytes(stage.parts[i])), bytes(stage.peak), percent(stage.peak / memory.usable)]})));
  const names = Object.fromEntries(looks);
  const rows = peak.rows.slice().sort((a, b) => b[2] - a[2]);
  return [el('p', {}, 'It ' + side.memory_verdict + '.'),
    memoryChart(looks, memory),
    legend(shown.map(i => ({color: `var(--memory-${looks[i][0]})`, text: looks[i][1]}))),
    details('All stages as a table', stages),
    details(`Every row of stage ${peak.stage}, the heaviest; its peak is in the ${peak.phase}`, table(
        [{head: 'row', cls: 'name'}, {head: 'category'}, {head: 'size', num: true}, {head: 'share', num: true}],
        rows.map(([category, name, size]) => [name, names[category] || category, bytes(size), percent(size / peak.peak)])))];
}
