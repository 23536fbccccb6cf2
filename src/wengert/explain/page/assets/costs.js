// What has been spent at each moment: arithmetic, and memory held for the backward pass.

const { costs } = data;

// Cumulative flops and the bytes held, by frame.
const spent = new Float64Array(frames.length), held = new Float64Array(frames.length);
frames.forEach((frame, time) => {
  const before = time ? spent[time - 1] : 0, kept = time ? held[time - 1] : 0;
  [spent[time], held[time]] = [before, kept];
  if (frame.kind === "value") {
    spent[time] += costs.value[frame.step] + (costs.tangent ? costs.tangent[frame.step] : 0);
    held[time] += hasAdjoints ? costs.kept[frame.step] : 0;
  }
  if (frame.kind === "term") {
    spent[time] += costs.term[frame.row];
    const next = frames[time + 1];
    if (next.step !== frame.step) held[time] = Math.max(0, kept - costs.kept[frame.step]);
  }
  if (frame.kind === "end") held[time] = 0;
});
const mostHeld = held.reduce((most, x) => Math.max(most, x), 0);

function bytesText(bytes) {
  const units = ["B", "kB", "MB", "GB"], k = bytes > 0 ? Math.min(3, Math.floor(Math.log10(bytes) / 3)) : 0;
  return `${Number((bytes / 1000 ** k).toPrecision(3))} ${units[k]}`;
}

function showCosts(time) {
  const part = (x, whole) => `${whole ? (100 * x) / whole : 0}%`;
  $("flops").textContent = spent[time].toLocaleString("en");
  $("flops-bar").style.width = part(spent[time], spent[lastFrame]);
  $("held-cost").hidden = !hasAdjoints;
  $("held").textContent = bytesText(held[time]);
  $("held-bar").style.width = part(held[time], mostHeld);
}
