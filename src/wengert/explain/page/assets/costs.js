// What has been spent at each moment: arithmetic, of each sweep, and memory held for the backward pass.

const { costs } = data;

// Cumulative flops of each sweep and the bytes held, by frame.
const spent = Object.fromEntries(SWEEPS.map((name) => [name, new Float64Array(frames.length)]));
const held = new Float64Array(frames.length);
frames.forEach((frame, time) => {
  if (time) for (const column of [...Object.values(spent), held]) column[time] = column[time - 1];
  if (frame.kind === "value") {
    spent.value[time] += costs.value[frame.step];
    held[time] += hasAdjoints ? costs.kept[frame.step] : 0;
  }
  const moved = hasBoth ? frame.moves : frame.kind === "value" ? frame.step : undefined;
  if (hasTangents && moved !== undefined) spent.tangent[time] += costs.tangent[moved];
  if (frame.kind === "term") {
    spent.adjoint[time] += costs.term[frame.row];
    const next = frames[time + 1];
    if (next.step !== frame.step) held[time] = Math.max(0, held[time] - costs.kept[frame.step]);
  }
  if (frame.kind === "end") held[time] = 0;
});
const mostHeld = held.reduce((most, x) => Math.max(most, x), 0);
const mostSpent = SWEEPS.reduce((sum, name) => sum + spent[name][lastFrame], 0);
const gauges = SWEEPS.map((name) => ({ name, number: element("dd", `number ${name}`), bar: element("span", name) }));
for (const { name, number, bar } of gauges) {
  const part = element("div");
  part.append(element("dt", "", `${name}s`), number);
  $("flops").append(part);
  $("flops-bar").append(bar);
}

function bytesText(bytes) {
  const units = ["B", "kB", "MB", "GB"], k = bytes > 0 ? Math.min(3, Math.floor(Math.log10(bytes) / 3)) : 0;
  return `${Number((bytes / 1000 ** k).toPrecision(3))} ${units[k]}`;
}

function showCosts(time) {
  const part = (x, whole) => `${whole ? (100 * x) / whole : 0}%`;
  for (const { name, number, bar } of gauges) {
    number.textContent = spent[name][time].toLocaleString("en");
    bar.style.width = part(spent[name][time], mostSpent);
  }
  $("held-cost").hidden = !hasAdjoints;
  $("held").textContent = bytesText(held[time]);
  $("held-bar").style.width = part(held[time], mostHeld);
}
