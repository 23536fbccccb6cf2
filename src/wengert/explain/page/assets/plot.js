// A small plot of the result against the input that was changed last, with its tangent line.

const PLOT = { left: 6, right: 6, top: 8, bottom: 8 }, POINTS = 121;

class Plot {
  constructor(svg) {
    this.svg = svg;
    [this.zero, this.curve, this.line] = ["axis", "curve", "slope"].map((name) => draw("path", { class: name }, svg));
    this.point = draw("circle", { r: 4, class: "at" }, svg);
  }

  // The result along one element of an input, between two bounds.
  show(input, index, low, high, name) {
    const at = inputs.map((list) => [...list]), xs = [], ys = [];
    for (let k = 0; k < POINTS; k++) {
      at[input][index] = xs[k] = low + ((high - low) * k) / (POINTS - 1);
      ys[k] = runProgram(at).result[0];
    }
    const here = inputs[input][index], [y, slope] = slopeAt(inputs, input, index);
    const known = [...ys, y].filter(Number.isFinite);
    if (!known.length) return;
    const sorted = [...known].sort((p, q) => p - q), cut = (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
    let [bottom, top] = [Math.min(cut(0.02), y), Math.max(cut(0.98), y)].map((z, i) => (Number.isFinite(z) ? z : sorted[i ? sorted.length - 1 : 0]));
    if (bottom === top) [bottom, top] = [bottom - 1, top + 1];
    const width = this.svg.clientWidth || 230, height = this.svg.clientHeight || 112;
    const px = (x) => PLOT.left + ((x - low) / (high - low)) * (width - PLOT.left - PLOT.right);
    const py = (z) => height - PLOT.bottom - ((z - bottom) / (top - bottom)) * (height - PLOT.top - PLOT.bottom);
    let path = "";
    ys.forEach((z, k) => { path += Number.isFinite(z) ? `${k && Number.isFinite(ys[k - 1]) ? "L" : "M"}${px(xs[k]).toFixed(1)} ${Math.max(-999, Math.min(999, py(z))).toFixed(1)}` : ""; });
    this.curve.setAttribute("d", path);
    const reach = (high - low) * 0.22, ends = [here - reach, here + reach];
    const isKnown = [slope, y, here].every(Number.isFinite);
    this.line.setAttribute("d", isKnown ? `M${px(ends[0])} ${py(y + slope * (ends[0] - here))}L${px(ends[1])} ${py(y + slope * (ends[1] - here))}` : "");
    this.zero.setAttribute("d", bottom < 0 && top > 0 ? `M${PLOT.left} ${py(0)}H${width - PLOT.right}` : "");
    this.point.setAttribute("cx", Number.isFinite(here) ? px(here) : -20);
    this.point.setAttribute("cy", Number.isFinite(y) ? py(y) : -20);
    const words = `${data.name} against ${name}: value ${formatNumber(y)}, slope ${formatNumber(slope)}`;
    this.svg.setAttribute("aria-label", words);
    $("plot-note").textContent = `slope ${formatNumber(slope)} along ${name}`;
  }
}
