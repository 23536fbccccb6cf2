// What an operation does to shapes: operands and result as rectangles, axes that vanish hatched, copies dashed.

const SKETCH_HEIGHT = 46, SIGNS = { product: "·", window: "∗", shapes: ",", reduction: "" };

function sketchSize([rows, columns]) {
  const most = Math.max(rows, columns, 1), unit = Math.min(7, 30 / most);
  return [Math.max(5, columns * unit), Math.max(5, rows * unit)];
}

// The last two axes of a shape; a vector is a row, or a column where it stands at the right of a product.
function matrixOf(shape, isColumn) {
  if (shape.length < 2) return isColumn ? [shape[0] ?? 1, 1] : [1, shape[0] ?? 1];
  return [shape.slice(0, -1).reduce((a, b) => a * b, 1), shape[shape.length - 1]];
}

function drawSketch(parent, step) {
  parent.replaceChildren();
  const sketch = data.sketches[step];
  parent.toggleAttribute("hidden", !sketch);
  if (!sketch) return;
  const svg = draw("svg", { class: "sketch", height: SKETCH_HEIGHT + 14, role: "img" });
  let x = 4;
  const write = (content, at, y, className) => { draw("text", { x: at, y, class: className }, svg).textContent = content; };
  const place = (shape, kind, isColumn) => {
    const [wide, high] = sketchSize(matrixOf(shape, isColumn)), y = (SKETCH_HEIGHT - high) / 2;
    draw("rect", { x, y, width: wide, height: high, class: `shape ${kind}` }, svg);
    const label = shape.length ? shape.join("×") : "1";
    const room = Math.max(wide, width(label, false) * 10);
    write(label, x + wide / 2, SKETCH_HEIGHT + 10, "shape-label");
    const left = x;
    x += (wide + room) / 2 + 6;
    return [left, y, wide, high];
  };
  const out = sketch.shape;
  sketch.operands.forEach(([, shape], i) => {
    if (i) { write(SIGNS[sketch.kind] || ",", x, SKETCH_HEIGHT / 2 + 5, "shape-sign"); x += 14; }
    const isColumn = sketch.kind === "product" && i === 1;
    const [left, y, wide, high] = place(shape, "operand", isColumn);
    if (sketch.kind === "reduction") hatch(svg, left, y, wide, high, shape, sketch.axes);
    if (sketch.kind === "product") inner(svg, left, y, wide, high, i);
    if (sketch.kind === "shapes" && shape.length && out.length && shape.join() !== out.join()) x = spreadCopies(svg, left, y, wide, high, x);
    if (sketch.kind === "window" && i === 0) draw("rect", { x: left + 1, y, width: Math.min(wide * 0.35, 12), height: Math.min(high, 12), class: "shape window" }, svg);
  });
  write("→", x, SKETCH_HEIGHT / 2 + 5, "shape-sign");
  x += 18;
  place(out, "out", sketch.kind === "product" && sketch.operands[1]?.[1].length === 1);
  svg.setAttribute("width", x + 6);
  svg.setAttribute("aria-label", sketchWords(sketch));
  parent.append(svg);
}

function sketchWords(sketch) {
  const given = sketch.operands.map(([name, shape]) => `${name} of shape ${shape.join(" by ") || "one number"}`).join(" and ");
  const made = sketch.shape.join(" by ") || "one number";
  return {
    product: `${given}: the inner axis is summed, which leaves ${made}`,
    reduction: `${given}: the hatched axes are reduced, which leaves ${made}`,
    window: `${given}: a window moves over it, which gives ${made}`,
    shapes: `${given} give ${made}`,
  }[sketch.kind];
}

// Lines along the axes that vanish.
function hatch(svg, x, y, wide, high, shape, axes) {
  const across = axes.includes(shape.length - 1), down = axes.some((axis) => axis < shape.length - 1);
  for (let k = 1; k < 6; k++) {
    if (across) draw("path", { d: `M${x} ${y + (high * k) / 6}h${wide}`, class: "hatch" }, svg);
    if (down) draw("path", { d: `M${x + (wide * k) / 6} ${y}v${high}`, class: "hatch" }, svg);
  }
}

// A row of the left factor and a column of the right one.
function inner(svg, x, y, wide, high, operand) {
  const size = operand ? { width: Math.min(4, wide), height: high } : { width: wide, height: Math.min(4, high) };
  draw("rect", { x, y, ...size, class: "shape inner" }, svg);
}

// Dashed copies, where an operand is broadcast.
function spreadCopies(svg, x, y, wide, high, end) {
  for (let k = 1; k < 3; k++) draw("rect", { x: x + 3 * k, y: y + 4 * k, width: wide, height: high, class: "shape copy" }, svg);
  return end + 8;
}
