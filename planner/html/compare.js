// SPDX-License-Identifier: Apache-2.0
// Several forecasts side by side; the first one is what the others are compared with.

function comparisonSection(data) {
  const c = data.comparison;
  const names = data.sides.map(side => side.side);
  const others = names.slice(1);
  const figures = table(
      [{head: '', cls: 'name'}, ...names.map(name => ({head: name, num: true})), ...others.map(name => ({head: `${name} against A`, num: true}))],
      c.figures.map(figure => ({cls: figure.part ? 'part' : null, cells: [figure.label, ...figure.texts, ...figure.changes]})));
  const row = setting => [el('code', {}, setting.path), ...setting.values.map(value => value ? value[0] : '–')];
  const settingsTable = list => table(
      [{head: 'setting', cls: 'name'}, ...names.map(name => ({head: name}))], list.map(row));
  const own = c.settings.filter(setting => !setting.catalog);
  const catalog = c.settings.filter(setting => setting.catalog);
  const memory = c.rows.map(r => [`${r.category}: ${r.name}`, ...r.sizes.map(size => size === null ? '–' : bytes(size))]);
  const memoryTable = list => table([{head: 'row', cls: 'name'}, ...names.map(name => ({head: name, num: true}))], list);
  return el('section', {},
      el('h2', {id: 'comparison'}, 'Comparison'),
      table([{head: ''}, {head: 'scenario', cls: 'name'}, {head: 'verdict'}, {head: 'file'}], data.sides.map(side => [side.side,
        el('a', {href: '#side-' + side.side}, side.name), el('span', {class: side.standing}, side.verdict), [el('code', {}, side.path), side.set.length > 0 && [' ', settings(side.set)]]])),
      figures,
      c.prices.map(sentence => el('p', {}, sentence)),
      others.map((_, i) => c.parts.length > 0 && differenceChart(c.parts, i + 1, names)),
      el('h3', {}, 'Settings that differ'),
      own.length ? settingsTable(own) : el('p', {}, 'None of the scenario files’ own.'),
      catalog.length > 0 && details(`${catalog.length} values of catalog entries that differ`, settingsTable(catalog)),
      memory.length > 0 && [el('h3', {}, 'Memory of the heaviest stage, rows that differ most'), memoryTable(memory.slice(0, 8))],
      memory.length > 8 && details(`${memory.length - 8} more rows`, memoryTable(memory.slice(8))));
}
