// The inside of a group: as many of its values as can be read at once, around the one that is computed now.

const WINDOW = 24;

// Boxes in layers, each below its operands; operands from outside the window are repeated beside each use.
function windowScene(group, time, canvas) {
  const { members } = group, frame = frames[time];
  const current = frame.step !== undefined && groupOf[frame.step] === groupOf[members[0]] ? before(members, frame.step) - 1 : time >= turn ? members.length - 1 : 0;
  const { period } = group, size = period || WINDOW;
  const first = period ? Math.floor(current / period) * period : Math.max(0, Math.min(Math.floor(current / (WINDOW / 2)) * (WINDOW / 2), members.length - WINDOW));
  const inside = members.slice(first, first + size);
  const boxes = inside.map((step) => ({ step, group: -1, width: BOX_WIDTH, height: BOX_HEIGHT, layer: 0 }));
  const index = new Map(inside.map((step, i) => [step, i]));
  const lines = [];
  inside.forEach((step, i) => {
    for (const edge of entering[step]) {
      const from = edges.from[edge];
      let a = index.get(from);
      if (a === undefined) {
        a = boxes.length;
        boxes.push({ step: from, group: -1, ghost: true, beside: i, width: BOX_WIDTH, height: BOX_HEIGHT });
      } else boxes[i].layer = Math.max(boxes[i].layer, boxes[a].layer + 1);
      lines.push({ a, b: i, edge, bends: [] });
    }
  });
  for (const box of boxes) if (box.ghost) box.layer = boxes[box.beside].layer - 1;
  const sideways = canvas.clientWidth > canvas.clientHeight * 1.4;
  arrange(boxes, lines, sideways);
  const last = first + inside.length;
  return {
    boxes, lines, sideways,
    note: period ? `step ${first / period + 1} of ${members.length / period}, ${group.heading}` : `${group.heading}: operations ${first + 1} to ${last} of ${members.length}`,
    leaves: (step) => step !== undefined && groupOf[step] === groupOf[members[0]] && !index.has(step),
  };
}

function arrange(boxes, lines, sideways) {
  const rows = new Map();
  for (const box of boxes) rows.set(box.layer, [...(rows.get(box.layer) || []), box]);
  const above = new Map(), below = new Map();
  for (const { a, b } of lines) {
    above.set(boxes[b], [...(above.get(boxes[b]) || []), boxes[a]]);
    below.set(boxes[a], [...(below.get(boxes[a]) || []), boxes[b]]);
  }
  const levels = [...rows.keys()].sort((p, q) => p - q);
  const step = sideways ? BOX_HEIGHT + 24 : BOX_WIDTH + 24, depth = sideways ? BOX_WIDTH + 60 : BOX_HEIGHT + 52;
  const centre = (row) => row.forEach((box, i) => { box.across = (i - (row.length - 1) / 2) * step; });
  levels.forEach((level) => centre(rows.get(level)));
  const mean = (near, box) => (near ? near.reduce((sum, other) => sum + other.across, 0) / near.length : box.across);
  for (let sweep = 0; sweep < 6; sweep++) {
    const near = sweep % 2 ? below : above;
    for (const level of sweep % 2 ? [...levels].reverse() : levels) {
      const row = rows.get(level);
      const goals = new Map(row.map((box) => [box, mean(near.get(box), box)]));
      row.sort((p, q) => goals.get(p) - goals.get(q));
      row.forEach((box, i) => { box.across = i ? Math.max(goals.get(box), row[i - 1].across + step) : goals.get(box); });
      const drift = row.reduce((sum, box) => sum + goals.get(box) - box.across, 0) / row.length;
      row.forEach((box) => { box.across += drift; });
    }
  }
  for (const box of boxes) [box.x, box.y] = sideways ? [box.layer * depth, box.across] : [box.across, box.layer * depth];
}
