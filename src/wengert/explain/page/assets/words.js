// A sentence in plain words for each moment.

const START = {
  reverse: "First every value is computed from its operands; then, from the result back, how much the result changes with each of them.",
  both: "First the values. Then both sweeps at once: downward, how fast each value changes; upward, how much the result changes with it.",
  forward: "Every value is computed from its operands, together with its rate of change along the direction of the inputs.",
  hvp: "Forward over reverse: the program computes the gradient, its own backward pass included, and a tangent with each value.",
};
const EACH = "Each number says how fast the result changes when that input alone changes.";
const END = {
  reverse: EACH,
  both: EACH,
  forward: "The tangent of the result says how fast it changes along the direction of the inputs.",
  hvp: "The tangents of the gradient are the product of the Hessian and the vector; the Hessian itself was never built.",
};
const LIST = new Intl.ListFormat("en");
const isPlain = (text) => /^-?[\d.]+(e[-+]\d+)?$/.test(text);

function spoken(frame) {
  if (frame.kind === "start") return START[data.mode];
  if (frame.kind === "end") return END[data.mode];
  const moves = frame.moves === undefined ? "" : `Down: ${spokenTangent(frame.moves)}`;
  return [moves, frame.kind === "tangent" ? "" : moves ? `Up: ${spokenStep(frame).replace(/^The /, "the ")}` : spokenStep(frame)].filter(Boolean).join(" ");
}

function spokenStep(frame) {
  const title = titles[frame.step];
  if (frame.kind === "seed") return back.value[frame.row] === "1" ? `The result ${title} changes exactly as fast as itself, so the backward pass starts with 1.` : `The backward pass starts at the result ${title}, with the given seed.`;
  if (frame.kind === "value") return spokenValue(frame.step, title);
  const from = titles[frame.target], local = edges.local[frame.edge];
  const many = arrivals[frame.target].length, count = arrivals[frame.target].indexOf(frame.row) + 1;
  const path = many > 1 ? ` This is path ${count} of ${many} from ${from} to the result; the paths are added.` : "";
  if (!isPlain(local)) return `The adjoint of ${title} is passed back to ${from} by the rule of ${phraseOf(frame.step)}; no Jacobian is built.${path}`;
  const passed = { 1: "unchanged", "-1": "with the opposite sign" }[local] || `times ${local}`;
  return `${title} changes ${speed(local)} ${from}, so its adjoint is passed back to ${from} ${passed}.${path}`;
}

function spokenTangent(step) {
  if (isPlain(steps.tangent[step])) return `${titles[step]} changes at the rate ${steps.tangent[step]}.`;
  return steps.operation[step] ? `the tangent of ${titles[step]} is computed from those of its operands.` : `${titles[step]} moves along the chosen direction.`;
}

// How fast one value changes when another one does.
const speed = (local) => (local === "1" ? "as fast as" : `${local} times as fast as`);

const phraseOf = (step) => data.phrases[steps.operation[step]] || "this operation";

function spokenValue(step, title) {
  const rate = hasTangents && !hasBoth ? steps.tangent[step] : "";
  if (!steps.operation[step] && rate) return `${title} is an input. Along the chosen direction it changes at the rate ${rate}.`;
  if (!steps.operation[step]) return `${title} is an input, given from outside.`;
  const used = [...new Set(entering[step].map((edge) => titles[edges.from[edge]]))];
  const slopes = entering[step].filter((edge) => isPlain(edges.local[edge])).slice(0, 2);
  const made = `${title} is ${phraseOf(step)}${used.length ? `, computed from ${LIST.format(used)}` : ""}.`;
  const rates = slopes.map((edge) => `${speed(edges.local[edge])} ${titles[edges.from[edge]]}`);
  return rates.length ? `${made} It changes ${rates.join(", and ")}.` : made;
}
