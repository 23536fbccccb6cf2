// What can be drawn: boxes with positions, edges with curves, groups with members, and the width of strings.

const SVG = "http://www.w3.org/2000/svg";
const [BOX_WIDTH, BOX_HEIGHT] = drawing.box;
const [LINE_WIDTH] = drawing.line;

function draw(tag, attributes, parent) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (parent) parent.append(made);
  return made;
}

const pencil = document.createElement("canvas").getContext("2d");
const widths = new Map();

// The width of a string in font sizes: a little more than measured, as every digit counts as the widest one.
function width(content, bold) {
  const key = bold ? `b${content}` : content;
  if (!widths.has(key)) {
    if (widths.size > 50000) widths.clear();
    pencil.font = `${bold ? 650 : 400} 100px ${getComputedStyle(document.body).fontFamily}`;
    widths.set(key, pencil.measureText(content).width / 97);
  }
  return widths.get(key);
}

// The group of each step, and when its members are done in the backward pass.
const groupOf = new Int32Array(titles.length).fill(-1);
const groups = drawing.groups.map((group, g) => {
  let step = 0;
  const members = group.steps.map((distance) => (step += distance));
  members.forEach((member) => { groupOf[member] = g; });
  const done = members.filter((m) => arrivals[m].length).map((m) => backFrame[arrivals[m][arrivals[m].length - 1]]).sort((a, b) => a - b);
  return { ...group, members, done };
});

function before(sorted, limit) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

// A scene of everything: values, or the lines of a large program.
function wholeScene(sideways) {
  const way = sideways ? drawing.sideways : drawing.down;
  const boxes = drawing.boxes.map((id, i) => ({
    step: id >= 0 ? id : -1, group: id < 0 ? -1 - id : -1, x: way.centres[i][0], y: way.centres[i][1], width: id < 0 ? LINE_WIDTH : BOX_WIDTH, height: BOX_HEIGHT,
  }));
  const lines = drawing.edges.map(([a, b, edge], i) => ({ a, b, edge, bends: way.bends[i] }));
  return { boxes, lines, sideways };
}

function extent(scene) {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const box of scene.boxes) {
    left = Math.min(left, box.x - box.width / 2);
    right = Math.max(right, box.x + box.width / 2);
    top = Math.min(top, box.y - box.height / 2);
    bottom = Math.max(bottom, box.y + box.height / 2);
  }
  for (const line of scene.lines) for (const [x, y] of line.bends) {
    left = Math.min(left, x - 6), right = Math.max(right, x + 6), top = Math.min(top, y - 6), bottom = Math.max(bottom, y + 6);
  }
  return { left, top, width: right - left, height: bottom - top };
}

// Edges end side by side, in the order of where they come from.
function spread(scene) {
  const across = scene.sideways ? "y" : "x", size = scene.sideways ? "height" : "width";
  const origin = (line) => (line.bends.length ? line.bends[line.bends.length - 1][scene.sideways ? 1 : 0] : scene.boxes[line.a][across]);
  const ends = new Map();
  for (const line of scene.lines) ends.set(line.b, [...(ends.get(line.b) || []), line]);
  for (const [b, lines] of ends) {
    const box = scene.boxes[b], gap = Math.min(22, (box[size] - 24) / lines.length);
    lines.sort((p, q) => origin(p) - origin(q));
    lines.forEach((line, i) => { line.port = (i - (lines.length - 1) / 2) * gap; });
  }
}

function curve(scene, line) {
  const { sideways } = scene, from = scene.boxes[line.a], to = scene.boxes[line.b];
  const along = (box) => (sideways ? box.x : box.y), across = (box) => (sideways ? box.y : box.x);
  const half = (box) => (sideways ? box.width : box.height) / 2;
  const sign = along(from) <= along(to) ? 1 : -1;
  const points = [[along(from) + sign * half(from), across(from)]];
  for (const [x, y] of line.bends) {
    const [u, v] = sideways ? [x, y] : [y, x];
    points.push([u - sign * BOX_HEIGHT / 2, v], [u + sign * BOX_HEIGHT / 2, v]);
  }
  points.push([along(to) - sign * (half(to) + 5), across(to) + (line.port || 0)]);
  const text = ([u, v]) => (sideways ? `${u} ${v}` : `${v} ${u}`);
  let path = `M${text(points[0])}`;
  for (let i = 1; i < points.length; i++) {
    const [[u, v], [s, t]] = [points[i - 1], points[i]], middle = (u + s) / 2;
    path += v === t ? `L${text([s, t])}` : `C${text([middle, v])} ${text([middle, t])} ${text([s, t])}`;
  }
  const [[u, v], [s, t]] = points.slice(-2);
  line.middle = sideways ? { x: (u + s) / 2, y: (v + t) / 2 } : { x: (v + t) / 2, y: (u + s) / 2 };
  return path;
}
