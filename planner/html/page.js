// SPDX-License-Identifier: Apache-2.0
// Draws the steps where the page has room for them.

function build() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const rooms = [...document.querySelectorAll('.step')];
  const views = data.sides.map(({side, gantt}) => drawStep(rooms.find(room => room.dataset.side === side), data.tasks, gantt));
  if (data.replay) playBack(data.replay, views);
  watchDrawings();
  document.documentElement.dataset.ready = 'yes';
}

build();
