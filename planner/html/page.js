// SPDX-License-Identifier: Apache-2.0
// Puts the page together.

function infeasible(side) {
  return el('div', {class: 'problem', role: 'alert'},
      side.reasons.map(reason => [el('p', {}, el('b', {}, reason.rule + (reason.key ? ` (${reason.key}): ` : ': ')), reason.message),
        reason.remedy && el('p', {}, 'What helps: ' + reason.remedy)]),
      side.changes.length > 0 && table([{head: 'change that fits', cls: 'wide'}, {head: 'peak after', num: true}, {head: 'step after', num: true}],
          side.changes.map(([change, peak, step]) => [el('code', {}, change), peak, step])));
}

function runSection(side) {
  return [side.run && [el('h3', {}, 'Where the run goes'), wholeBar(side.run, duration, 'Where the run goes')],
    side.cost.length > 0 && [el('h3', {}, 'What it costs'), side.cost.length > 1 ? wholeBar(side.cost, dollars, 'What it costs')
        : el('p', {}, `${side.cost[0][0]}: ${dollars(side.cost[0][1])}`)]];
}

function notes(side) {
  const unknown = side.warnings.filter(([id]) => id.startsWith('unknown-'));
  const other = side.warnings.filter(([id]) => !id.startsWith('unknown-'));
  return [(other.length > 0 || unknown.length > 0) && el('h3', {}, 'Warnings and unknowns'),
    other.length > 0 && el('div', {class: 'notice'}, other.map(([id, message]) => el('p', {}, el('b', {}, id + ': '), message))),
    unknown.length > 0 && el('div', {class: 'notice'}, el('p', {}, el('b', {}, 'Unknown, and not guessed:')),
        unknown.map(([, message]) => el('p', {}, message)))];
}

function assumptions(side) {
  const rows = catalog => side.values.filter(value => (value[3] === 1) === catalog)
      .map(([path, value, origin]) => [el('code', {}, path), value, origin]);
  const columns = [{head: 'key', cls: 'name'}, {head: 'value'}, {head: 'origin', cls: 'wide'}];
  // What a machine reads is not printed.
  const screen = (title, ...content) => {
    const node = details(title, ...content);
    node.classList.add('screen');
    return node;
  };
  return [el('h3', {class: 'screen'}, 'Assumptions: every value and where it comes from'),
    screen(`${rows(false).length} values of the scenario, defaults included`, table(columns, rows(false))),
    screen(`${rows(true).length} values that came with catalog entries`, table(columns, rows(true))),
    side.files.length > 0 && screen('Files that took part', table([{head: 'file', cls: 'name'}, {head: 'SHA-256'}],
        side.files.map(([path, hash]) => [el('code', {}, path), el('code', {}, hash)])))];
}

function sideSection(data, side, first) {
  const several = data.sides.length > 1;
  const lines = list => table([{head: ''}, {head: ''}], list.map(([name, text]) => [name, text]));
  const question = lines(side.question);
  question.querySelector('thead').remove();
  return el('section', {class: 'side' + (first ? ' first' : '') + (several ? ' screen' : '')},
      el('h2', {id: 'side-' + side.side}, several ? side.side + ' · ' + side.name : 'Forecast', ' ',
          el('span', {class: 'verdict ' + side.standing}, side.verdict)),
      side.path && el('p', {class: 'where'}, el('code', {}, side.path), side.set.length > 0 && [' ', settings(side.set)], `, engine ${side.engine}`),
      !side.feasible && infeasible(side),
      cardList(side.cards), question,
      side.budget.length > 0 && [el('h3', {}, 'Budget'), table([{head: 'verdict'}, {head: 'line'}],
          side.budget.map(([verdict, text]) => [el('span', {class: verdict === 'PASS' ? 'good' : 'bad'}, verdict), text]))],
      side.memory && [el('h3', {}, 'Memory per GPU, stage by stage'), memorySection(data.looks.memory, side)],
      side.losses && [el('h3', {}, 'Where the step goes, from peak to MFU'), waterfallSection(side.losses)],
      side.gantt && [el('h3', {}, 'One step, stage by stage'), ganttSection(data.looks.tasks, side.gantt)],
      runSection(side), notes(side), assumptions(side));
}

function notComparedSection(list) {
  return el('section', {}, el('h2', {id: 'not-compared'}, 'Not compared'),
      el('p', {}, 'What the comparison says nothing about:'),
      el('ul', {}, list.map(item => el('li', {}, el('b', {}, item.subject + ': '), item.what + '.'))));
}

function build() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const main = document.getElementById('main');
  const several = data.sides.length > 1;
  data.sides.forEach((side, i) => main.append(sideSection(data, side, i === 0 && !several)));
  // A printed comparison stays short.
  if (several) main.append(el('p', {class: 'paper'}, 'Each side in full: this page on a screen, or foretrain report.'));
  if (data.plans) main.append(plansSection(data.plans, data.sides[0].name));
  if (data.not_compared.length > 0) main.append(notComparedSection(data.not_compared));
  watchCharts();
  document.documentElement.dataset.ready = 'yes';
}

build();
