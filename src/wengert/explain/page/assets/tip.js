// The tooltip at the pointer or the focus: the local derivative, and what flows through it.

const tip = $("tip");

function showTip(lines, box) {
  tip.replaceChildren(...lines.map(([className, text]) => element("p", className, text)));
  tip.hidden = false;
  const room = 8;
  const left = Math.min(Math.max(box.left + box.width / 2 - tip.offsetWidth / 2, room), innerWidth - tip.offsetWidth - room);
  const above = box.top - tip.offsetHeight - room;
  const below = Math.min(box.bottom + room, innerHeight - tip.offsetHeight - room);
  tip.style.left = `${left}px`;
  tip.style.top = `${above < room ? below : above}px`;
}

const hideTip = () => { tip.hidden = true; };

// Hover, focus and tap show the same tooltip.
function showOn(target, lines, box = () => target.getBoundingClientRect()) {
  const show = (event) => {
    const at = event.clientX === undefined || event.type === "focus" ? box() : new DOMRect(event.clientX, event.clientY - 8, 0, 16);
    showTip(lines(), at);
  };
  target.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse" && !event.buttons) show(event); });
  target.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hideTip(); });
  target.addEventListener("focus", () => { if (target.matches(":focus-visible")) showTip(lines(), box()); });
  target.addEventListener("blur", hideTip);
  target.addEventListener("click", (event) => { event.stopPropagation(); show(event); });
}

document.addEventListener("click", hideTip);

const derivative = (edge) => `∂${titles[edges.to[edge]]}/∂${titles[edges.from[edge]]}`;

function edgeTip(edge, time) {
  const to = edges.to[edge], row = rowOfEdge[edge];
  const lines = [];
  if (kinds[edges.from[edge]] === "data") lines.push(["strong", `${titles[edges.from[edge]]} is data: no derivative`]);
  else if (!isKnown(to, time)) lines.push(["strong", `${derivative(edge)}: known once ${titles[to]} is computed`]);
  else if (edges.local[edge]) lines.push(["strong", `${derivative(edge)} = ${edges.local[edge]}`]);
  else lines.push(["strong", `${derivative(edge)} is a matrix, which is never built`]);
  if (hasTangents && edges.local[edge] && tangentAt(edges.from[edge], time) && isKnown(to, time))
    lines.push(["forward", `on: ${tangentName(titles[edges.from[edge]])} = ${tangentAt(edges.from[edge], time)}, times this`]);
  if (row >= 0 && backFrame[row] <= time)
    lines.push(["back", `back: ${chain([back.formula[row], back.numbers[row], back.value[row]])}`]);
  else if (row >= 0 && back.formula[row]) lines.push(["back", `in the backward pass: ${back.formula[row]}`]);
  else if (hasAdjoints && row < 0 && time >= turn) lines.push(["", "no derivative flows back here"]);
  return lines;
}

function stepTip(step, time) {
  const lines = [["strong", step < count && steps.label[step] !== titles[step] ? `${titles[step]}  (${steps.label[step]})` : titles[step]]];
  if (step < count) lines.push(["", chain([titles[step], steps.formula[step], isKnown(step, time) ? steps.numbers[step] : "", valueAt(step, time)])]);
  else lines.push(["", valueAt(step, time)]);
  for (const edge of entering[step].slice(0, 6)) if (edges.local[edge] && isKnown(step, time)) lines.push(["", `${derivative(edge)} = ${edges.local[edge]}`]);
  if (tangentAt(step, time)) lines.push(["forward", chain([tangentName(titles[step]), steps.tangentFormula[step], steps.tangentNumbers[step], steps.tangent[step]])]);
  const many = countArrived(step, time);
  if (many) lines.push(["back", chain([adjointName(titles[step]), sumOf(step, many, "formula"), sumOf(step, many, "value"), adjointAt(step, time)])]);
  if (arrivals[step].length > 1) lines.push(["back", `${many} of ${arrivals[step].length} paths have arrived`]);
  return lines;
}
