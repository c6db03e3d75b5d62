// SPDX-License-Identifier: Apache-2.0
// From the step that peak FLOP/s would take to the forecast one, and from one step to another.

/** Rows: {name, from, to, color, texts, tip, strong}; from and to in seconds. Heads: of the two texts. */
function bridge(rows, title, heads, start, end) {
  return chart(width => {
    const narrow = width < 620;
    const names = narrow ? 0 : 176, values = narrow ? 0 : 176, rowHigh = narrow ? 42 : 27, top = narrow ? 6 : 24;
    const plot = width - names - values - 14;
    const x = at => names + 6 + (at - start) / (end - start) * plot;
    const high = top + rows.length * rowHigh;
    const grid = ticks(start, end, narrow ? 4 : 8).map(at => [line(x(at), top, x(at), high, 'grid'),
      label(x(at), high + 17, axisSeconds(at), x(at) < 20 ? 'start' : 'middle', 'soft')]);
    const marks = [];
    const drawn = rows.map((row, i) => {
      const y = top + i * rowHigh + (narrow ? 17 : 4);
      const from = x(Math.min(row.from, row.to)), to = x(Math.max(row.from, row.to));
      const mark = rect(from, y, Math.max(to - from, 1.5), 19, row.color);
      explain(mark, row.tip);
      marks.push(mark);
      const join = i + 1 < rows.length && line(x(row.to), y + 19, x(row.to), y + rowHigh, null,
          {stroke: 'var(--grey)', 'stroke-dasharray': '2 2'});
      const weight = row.strong ? 'font-weight:650' : null;
      const text = narrow
          ? [label(6, y - 4, row.name), label(width - 4, y - 4, row.texts.join(' · '), 'end')]
          : [label(names - 4, y + 14, fit(row.name, names), 'end'), label(width - 86, y + 14, row.texts[0], 'end'),
            label(width - 4, y + 14, row.texts[1] || '', 'end')];
      for (const node of text) if (weight) node.style.cssText = weight;
      return [mark, join, text];
    });
    const top2 = narrow ? [] : [label(width - 86, 14, heads[0], 'end', 'soft'), label(width - 4, 14, heads[1], 'end', 'soft')];
    const result = picture(width, high + 24, title, grid, top2, drawn);
    walk(result, marks);
    return result;
  });
}

function settings(list) {
  return el('code', {}, list.map(word => '--set ' + (/[\s"'*?{}[\]$;&|<>()]/.test(word) ? `'${word}'` : word)).join(' '));
}

function lossTip(loss, step) {
  const lines = [`${loss.label}: ${seconds(loss.time)}`, `${percent(loss.time / step)} of the step; MFU after it ${percent(loss.mfu_after)}`, loss.cause];
  if (loss.lever)
    lines.push(`Less with ${loss.lever.set.join(' ')}: step ${seconds(loss.lever.step_after)}`);
  return lines;
}

function waterfallSection(all) {
  let at = all.ideal;
  const rows = [{name: 'model FLOPs at peak', from: 0, to: all.ideal, color: 'var(--part-ideal)', texts: [seconds(all.ideal), '100.0 %'],
    tip: () => [`Model FLOPs at peak: ${seconds(all.ideal)}`, all.ideal_cause]}];
  for (const loss of all.losses) {
    const from = at;
    at += loss.time;
    rows.push({name: loss.label, from, to: at, color: `var(--part-${loss.key})`,
      texts: [(loss.time < 0 ? '' : '+') + seconds(loss.time), percent(loss.mfu_after)], tip: () => lossTip(loss, all.step)});
  }
  rows.push({name: '= step', from: 0, to: all.step, color: 'var(--mark)', strong: true, texts: [seconds(all.step), percent(all.mfu)],
    tip: () => [`Step: ${seconds(all.step)}`, `MFU ${percent(all.mfu)}`]});
  return [el('p', {}, `The model’s FLOPs at the peak rate of every GPU would take ${seconds(all.ideal)}. Everything below adds to ` +
      `that; the last column is what is left of the MFU after it.`),
    bridge(rows, 'From peak FLOP/s to the step', ['time', 'MFU after it'], 0, Math.max(all.step, at) * 1.01),
    details('Why, and what would be less', el('p', {class: 'soft'}, 'One change at a time, forecast with the closed form; “none” means that no setting that was tried shortens it and fits.'),
        table([{head: 'loss', cls: 'name'}, {head: 'time', num: true}, {head: 'share', num: true}, {head: 'cause', cls: 'wide'}, {head: 'less with', cls: 'wide'}],
            all.losses.map(loss => [loss.label, seconds(loss.time), percent(loss.time / all.step), loss.cause,
              loss.lever ? [settings(loss.lever.set), ` step ${seconds(loss.lever.step_before)} → ${seconds(loss.lever.step_after)}, peak ${bytes(loss.lever.peak)}`] : 'none'])))];
}
