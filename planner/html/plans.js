// SPDX-License-Identifier: Apache-2.0
// The best plans of a search: time against memory, and machines against each other.

/** Points: {x, y, kind, tip}; front: points of a line. Kind: best, front, other, own. */
function scatter(points, front, xTitle, yTitle, xText, yText, title) {
  const span = (values, room) => {
    const low = Math.min(...values), high = Math.max(...values);
    const margin = (high - low) * room || Math.abs(high) * 0.1 || 1;
    return [Math.max(0, low - margin), high + margin];
  };
  const [x0, x1] = span(points.map(p => p.x), 0.08);
  const [y0, y1] = span(points.map(p => p.y), 0.12);
  return chart(width => {
    const left = 66, top = 24, high = width < 620 ? 250 : 310, plot = width - left - 16;
    const x = v => left + (v - x0) / (x1 - x0) * plot;
    const y = v => top + high * (1 - (v - y0) / (y1 - y0));
    const grid = [ticks(y0, y1, 6).map(at => [line(left, y(at), left + plot, y(at), 'grid'), label(left - 7, y(at) + 4, yText(at), 'end', 'soft')]),
      ticks(x0, x1, width < 620 ? 4 : 8).map(at => [line(x(at), top, x(at), top + high, 'grid'), label(x(at), top + high + 18, xText(at), 'middle', 'soft')])];
    const marks = points.map(p => {
      const px = x(p.x), py = y(p.y);
      const mark = p.kind === 'own'
          ? shape('path', {d: `M${px} ${py - 8}L${px + 8} ${py}L${px} ${py + 8}L${px - 8} ${py}Z`, fill: 'var(--red)', stroke: 'var(--ground)'})
          : shape('circle', {cx: px, cy: py, r: p.kind === 'other' ? 4.5 : 6,
            fill: p.kind === 'other' ? 'var(--grey)' : p.kind === 'best' ? 'var(--orange)' : 'var(--blue)', stroke: 'var(--ground)'});
      return explain(mark, p.tip);
    });
    const drawn = picture(width, top + high + 42, title, grid,
        front.length > 1 && shape('polyline', {points: front.map(p => `${x(p.x)},${y(p.y)}`).join(' '), fill: 'none', stroke: 'var(--blue)', 'stroke-width': 1.5}),
        marks, label(6, 13, yTitle, 'start', 'soft'), label(left + plot, top + high + 38, xTitle, 'end', 'soft'));
    walk(drawn, marks);
    return drawn;
  });
}

function planTip(name, plan) {
  return [name, plan.name || '', ['step', plan.step === null ? 'unknown' : seconds(plan.step)],
    ['MFU', plan.mfu === null ? 'unknown' : percent(plan.mfu)], ['peak memory', bytes(plan.peak)],
    ['GPUs', fixed(plan.gpus, 0)], ['time to train', plan.run === null ? 'unknown' : duration(plan.run)],
    ['cost', plan.usd === null ? 'unknown' : dollars(plan.usd)]].filter(line => line !== '');
}

function memoryScatter(plans) {
  const pace = plan => plan.step / plan.batch * plans.plans[0].batch;
  const points = plans.plans.map((plan, i) => ({x: plan.peak / GIB, y: pace(plan), front: plan.front,
    kind: i === 0 ? 'best' : plan.front ? 'front' : 'other', tip: () => planTip('Plan ' + (i + 1), plan)}));
  const front = points.filter(p => p.front).sort((a, b) => a.x - b.x);
  if (plans.own) points.push({x: plans.own.peak / GIB, y: pace(plans.own), kind: 'own', tip: () => planTip('The scenario’s own plan', plans.own)});
  return [scatter(points, front, 'peak memory per GPU, GiB', 'step time for the same sequences', v => fixed(v, 0), axisSeconds, 'Step time against memory'),
    legend([{color: 'var(--orange)', text: 'fastest plan'}, {color: 'var(--blue)', text: 'Pareto front: no other plan shown is both faster and smaller'},
      {color: 'var(--grey)', text: 'other plans'}, ...(plans.own ? [{color: 'var(--red)', text: 'the scenario’s own plan (diamond)'}] : [])])];
}

function machineScatter(plans) {
  const timed = plans.pareto.every(plan => plan.run !== null && plan.gpu_hours !== null);
  const points = plans.pareto.map(plan => ({
    x: timed ? plan.gpu_hours / 1000 : plan.gpus, y: timed ? plan.run / 86400 : plan.step, kind: 'front', tip: () => planTip(fixed(plan.gpus, 0) + ' GPUs', plan)}));
  const front = points.slice().sort((a, b) => a.x - b.x);
  return [el('h3', {}, 'Machines: time against ' + (timed ? 'GPU-hours' : 'GPUs')),
    scatter(points, front, timed ? 'thousand GPU-hours' : 'GPUs', timed ? 'days to train' : 'step time', v => short(v), timed ? v => short(v) : axisSeconds, 'Machines'),
    el('p', {class: 'soft'}, 'Each point is the best plan of a machine that no other beats on both axes.')];
}

function planTable(plans) {
  const priced = plans.plans.some(plan => plan.usd !== null);
  const text = (value, form) => value === null ? 'unknown' : form(value);
  return table([{head: '#', num: true}, {head: 'plan', cls: 'wide'}, {head: 'step', num: true}, {head: 'MFU', num: true}, {head: 'peak memory', num: true},
    {head: 'time to train', num: true}, {head: 'GPU-hours', num: true}, ...(priced ? [{head: 'cost', num: true}] : [])],
      plans.plans.map((plan, i) => ({cls: i === 0 ? 'best' : null, cells: [String(i + 1), plan.name, text(plan.step, seconds), text(plan.mfu, percent), bytes(plan.peak),
        text(plan.run, duration), text(plan.gpu_hours, v => fixed(v, 0)), ...(priced ? [text(plan.usd, dollars)] : [])]})));
}

function plansSection(plans, name) {
  const found = plans.plans.length > 0;
  const own = plans.own;
  return el('section', {}, el('h2', {id: 'plans'}, 'Plans for ' + name),
      el('p', {}, `${fixed(plans.evaluated, 0)} combinations were tried, ${fixed(plans.feasible, 0)} are legal and fit. ` +
          (found ? `The best ${plans.plans.length} are shown, timed by the critical path of the step.` : 'None can run.')),
      own && own.rank !== null && el('p', {}, `The scenario’s own plan is number ${fixed(own.rank, 0)} of the feasible ones. ` + (own.rank > 1 && own.why ? 'Plan 1 against it: ' + own.why : '')),
      found && memoryScatter(plans),
      found && [planTable(plans), el('p', {}, 'Plan 1: ', settings(plans.plans[0].set))],
      plans.pareto.length > 1 && machineScatter(plans),
      details('What was tried, and what was refused',
          table([{head: 'axis', cls: 'name'}, {head: 'values', cls: 'wide'}], plans.axes),
          table([{head: 'rule', cls: 'name'}, {head: 'combinations', num: true}, {head: 'for example', cls: 'wide'}],
              plans.rejected.map(([rule, count, example]) => [rule, fixed(count, 0), example]))));
}
