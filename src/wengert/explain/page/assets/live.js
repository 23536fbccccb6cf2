// Inputs that can be changed: all numbers of the page are computed again, and written into its columns.

const isLive = recompute !== null;
const recorded = isLive ? data.live.inputs.map((list) => list.map(Number)) : [];
const inputs = recorded.map((list) => [...list]);
// The columns of the recorded run.
const texts = { steps: { ...steps }, edges: { ...edges }, back: { ...back }, results: data.results };

// The results of the generated program, by what they are.
function runProgram(at) {
  const flat = recompute(...at.map((list, i) => (readSpec(steps.spec[i]).shape.length ? list : list[0])));
  const parts = {};
  let start = 0;
  for (const [name, size] of Object.entries(data.live.sizes)) parts[name] = flat.slice(start, (start += size));
  return parts;
}

const elementOf = (x, i) => (x === null || x === undefined ? 0 : typeof x === "number" ? x : x[i]);

// The result and its slope with respect to one element of one input.
function slopeAt(at, input, index) {
  const found = runProgram(at);
  return [found.result[0], elementOf(found.gradient[input], index)];
}

const isRecorded = () => inputs.every((list, i) => list.every((x, k) => Object.is(x, recorded[i][k])));

// The entry of an array for the heat maps.
function arrayEntry(x, spec) {
  const { shape } = readSpec(spec);
  if (x === null || typeof x === "number" || !shape.length) return null;
  const columns = shape[shape.length - 1];
  return { shape, grid: [x.length / columns || 0, columns], numbers: x.map((y) => (Number.isFinite(y) ? y : null)) };
}

// A formula with numbers: negative ones have parentheses, unless they stand first.
function fill(template, found) {
  const lists = { v: found.values, d: found.tangents, a: found.adjoints };
  return template.replace(/⟦([vda])(\d+)⟧/g, (_, kind, step, at) => {
    const x = lists[kind][step], text = x === null || x === undefined ? "0" : formatValue(x, steps.spec[step]);
    return text.startsWith("-") && at > 0 && !/[([]$/.test(template.slice(0, at)) ? `(${text})` : text;
  });
}

function recomputeAll() {
  if (isRecorded()) {
    Object.assign(steps, texts.steps);
    Object.assign(edges, texts.edges);
    Object.assign(back, texts.back);
    data.results = texts.results;
    return showPath([]);
  }
  const found = runProgram(inputs);
  found.adjoints = {};
  back.step.forEach((step, row) => { found.adjoints[step] = found.totals[row]; });
  const text = (x, step) => (x === null || x === undefined ? "" : formatValue(x, steps.spec[step]));
  steps.value = found.values.map(text);
  steps.numbers = data.live.valueTemplates.map((template) => fill(template, found));
  if (texts.steps.array) steps.array = found.values.map((x, step) => arrayEntry(x, steps.spec[step]));
  if (hasTangents) {
    steps.tangent = found.tangents.map(text);
    steps.tangentNumbers = data.live.tangentTemplates.map((template) => fill(template, found));
    if (texts.steps.tangentArray) steps.tangentArray = found.tangents.map((x, step) => arrayEntry(x, steps.spec[step]));
  }
  if (hasAdjoints) {
    back.value = found.terms.map((x, row) => text(x, back.step[row]));
    back.total = found.totals.map((x, row) => text(x, back.step[row]));
    back.numbers = data.live.backTemplates.map((template) => fill(template, found));
    if (texts.back.array) back.array = found.totals.map((x, row) => arrayEntry(x, steps.spec[back.step[row]]));
  }
  edges.local = found.locals.map((x, edge) => (x === null ? texts.edges.local[edge] && "" : text(x, edges.to[edge])));
  data.results = data.outputs.length === texts.results.length ? data.outputs.map((step) => steps.value[step]) : texts.results;
  showPath(data.live.decisions.filter(({ value }, i) => value.some((x, k) => !Object.is(Number(x) + 0, elementOf(found.decisions[i], k) + 0))));
}

// A branch or loop that would take another path at these inputs.
function showPath(changed) {
  $("path").hidden = !changed.length;
  if (!changed.length) return;
  const lines = [...new Set(changed.map(({ line }) => line).filter((line) => line !== null))];
  $("path").textContent = `At these inputs the program would take another path${lines.length ? ` (line ${lines.join(", ")})` : ""}. Shown are the numbers of the recorded path.`;
}
