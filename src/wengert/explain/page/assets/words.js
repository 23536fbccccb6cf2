// A sentence in plain words for each moment.

const START = {
  reverse: "First every value is computed from its operands; then, from the result back, how much the result changes with each of them.",
  both: "Values and tangents are computed forward; then, from the result back, how much the result changes with each value.",
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
  const title = titles[frame.step];
  if (frame.kind === "seed") return `The result ${title} changes exactly as fast as itself, so the backward pass starts with 1 for each unit of it.`;
  if (frame.kind === "value") return spokenValue(frame.step, title);
  const from = titles[frame.target], local = edges.local[frame.edge];
  const many = arrivals[frame.target].length, count = arrivals[frame.target].indexOf(frame.row) + 1;
  const path = many > 1 ? ` This is path ${count} of ${many} by which ${from} reaches the result; the paths are added.` : "";
  const rule = `the rule of ${phraseOf(frame.step)}, element by element or as a product: no Jacobian is built`;
  if (!isPlain(local)) return `The adjoint of ${title} is passed back to ${from} by ${rule}.${path}`;
  return `${title} changes ${local} times as fast as ${from}, so its adjoint is passed back to ${from} times ${local}.${path}`;
}

const phraseOf = (step) => data.phrases[steps.operation[step]] || "this operation";

function spokenValue(step, title) {
  const rate = hasTangents ? steps.tangent[step] : "";
  if (!steps.operation[step] && rate) return `${title} is an input. Along the chosen direction it changes at the rate ${rate}.`;
  if (!steps.operation[step]) return `${title} is an input, given from outside.`;
  const used = [...new Set(entering[step].map((edge) => titles[edges.from[edge]]))];
  const slopes = entering[step].filter((edge) => isPlain(edges.local[edge])).slice(0, 2);
  const made = `${title} is ${phraseOf(step)}${used.length ? `, computed from ${LIST.format(used)}` : ""}.`;
  const rates = slopes.map((edge) => `${edges.local[edge]} times as fast as ${titles[edges.from[edge]]}`);
  return rates.length ? `${made} It changes ${rates.join(", and ")}.` : made;
}
