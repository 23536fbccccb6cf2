// What is known at which time. A frame is one moment: a value computed, or a term of an adjoint that arrives. With both
// sweeps, values come first; then each frame has a tangent further down the graph, and a term further up.

const $ = (id) => document.getElementById(id);

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// Large data is compressed.
async function readData(text) {
  if (text.startsWith("{")) return JSON.parse(text);
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

const data = await readData($("data").textContent);
const { steps, edges, back, drawing } = data;
const count = steps.title.length;
const hasTangents = "tangent" in steps;
const hasAdjoints = data.mode === "reverse" || data.mode === "both";
const hasBoth = hasTangents && hasAdjoints;
const SWEEPS = ["value", ...(hasTangents ? ["tangent"] : []), ...(hasAdjoints ? ["adjoint"] : [])];

// Captured arrays come after the steps.
const titles = steps.title.concat(data.data.title);
const kinds = steps.kind.concat(data.data.title.map(() => "data"));

const frames = [{ kind: "start" }];
const valueFrame = new Int32Array(titles.length);
for (let step = 0; step < count; step++) {
  valueFrame[step] = frames.length;
  frames.push({ kind: "value", step });
}
const turn = frames.length;

// For each step the rows of `back` that add to its adjoint, in order of time.
const arrivals = Array.from({ length: titles.length }, () => []);
const rowOfEdge = new Int32Array(edges.from.length).fill(-1);
const backFrame = new Int32Array(back.step.length);
for (let row = 0; row < back.step.length; row++) {
  backFrame[row] = frames.length;
  arrivals[back.step[row]].push(row);
  const edge = back.edge[row];
  if (edge >= 0) rowOfEdge[edge] = row;
  frames.push(edge < 0 ? { kind: "seed", step: back.step[row], row } : { kind: "term", step: edges.to[edge], target: back.step[row], edge, row });
}

// When the tangent of a step is computed: with its value, or in the sweep beside that of the adjoints.
const tangentFrame = valueFrame.slice();
if (hasBoth) {
  let time = turn;
  for (let step = 0; step < count; step++) {
    if (!steps.tangent[step]) continue;
    if (time === frames.length) frames.push({ kind: "tangent" });
    frames[time].moves = step;
    tangentFrame[step] = time++;
  }
}
frames.push({ kind: "end" });
const lastFrame = frames.length - 1;

// The edges that enter and leave each value.
const entering = Array.from({ length: titles.length }, () => []);
const leaving = Array.from({ length: titles.length }, () => []);
edges.from.forEach((from, edge) => {
  leaving[from].push(edge);
  entering[edges.to[edge]].push(edge);
});

const isKnown = (step, time) => step >= count || time >= valueFrame[step];

// How many terms of a step's adjoint have arrived.
function countArrived(step, time) {
  const rows = arrivals[step];
  let low = 0, high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (backFrame[rows[middle]] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function valueAt(step, time) {
  if (step >= count) return data.data.value[step - count];
  return isKnown(step, time) ? steps.value[step] : "";
}

const tangentAt = (step, time) => (hasTangents && step < count && time >= tangentFrame[step] ? steps.tangent[step] : "");

function adjointAt(step, time) {
  const many = countArrived(step, time);
  return many ? back.total[arrivals[step][many - 1]] : "";
}

// Adjoints and tangents are called as in the formulas: v̄1 and v̇1, or, where there are names of the user, grad_s3 and d_s3.
const adjointName = (title) => (data.byLabel ? `v\u0304${title.slice(1)}` : `grad_${title}`);
const tangentName = (title) => (data.byLabel ? `v\u0307${title.slice(1)}` : `d_${title}`);

// The terms of an adjoint so far, as one sum; the first and the last few where there are many.
function sumOf(step, many, column) {
  const rows = arrivals[step].slice(0, many);
  const texts = rows.map((row) => column === "value" || !back[column][row] ? back.value[row] : back[column][row]);
  const shown = texts.length > 6 ? [...texts.slice(0, 2), `… ${texts.length - 4} more …`, ...texts.slice(-2)] : texts;
  return shown.map((text, i) => (i && text.startsWith("-") && column === "value" ? `(${text})` : text)).join(" + ");
}

// Strings with equals signs between them; the one with numbers is left out if the result would be long.
function chain(parts, limit = 120) {
  const joined = (some) => some.filter((part, i) => part && part !== some[i - 1]).join(" = ");
  const all = joined(parts);
  return all.length > limit && parts.length > 3 ? joined([...parts.slice(0, -2), ...parts.slice(-1)]) : all;
}
const isComputed = (frame) => frame.kind === "value" && steps.operation[frame.step] !== "";

// The arrays of a value and of its adjoint, if they have elements to draw.
const arrayOf = (step) => { const found = step < count ? steps.array?.[step] : data.data.array[step - count]; return found?.numbers ? found : null; };
const adjointArray = (step, time) => { const many = countArrived(step, time); return many ? back.array?.[arrivals[step][many - 1]] : null; };
