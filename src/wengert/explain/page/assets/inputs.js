// Sliders and fields for the inputs: one for each number of a small input.

const FIELDS = 24;

// A round step of about a four-hundredth of the range.
function roundStep(range) {
  const power = 10 ** Math.floor(Math.log10(range / 400)), factor = range / 400 / power;
  return power * (factor > 5 ? 10 : factor > 2 ? 5 : factor > 1 ? 2 : 1);
}

function elementName(input, index) {
  const { shape } = readSpec(steps.spec[input]);
  if (!shape.length) return data.inputs[input];
  const at = [];
  for (let k = shape.length - 1, rest = index; k >= 0; rest = Math.floor(rest / shape[k--])) at.unshift(rest % shape[k]);
  return `${data.inputs[input]}[${at.join(", ")}]`;
}

// A flat list as nested ones.
function nested(list, shape) {
  if (!shape.length) return list[0];
  const inner = list.length / shape[0];
  return Array.from({ length: shape[0] }, (_, i) => nested(list.slice(i * inner, (i + 1) * inner), shape.slice(1)));
}

const namedInputs = () => Object.fromEntries(data.inputs.map((name, i) => [name, nested(inputs[i], readSpec(steps.spec[i]).shape)]));

class Inputs {
  constructor(panel, changed) {
    this.changed = changed;
    this.fields = [];
    panel.hidden = false;
    if (!isLive) {
      $("inputs-list").append(element("p", "missing", `The inputs cannot be changed here: ${data.live.reason}. The player shows the recorded run.`));
      $("plot-box").hidden = $("reset").hidden = true;
      return;
    }
    this.plot = new Plot($("plot"));
    recorded.forEach((list, input) => { if (data.live.smooth[input]) list.forEach((value, index) => this.fields.length < FIELDS && this.add(input, index, value)); });
    const hidden = recorded.reduce((sum, list) => sum + list.length, 0) - this.fields.length;
    if (hidden > 0) $("inputs-list").append(element("p", "missing", `${hidden} more numbers of the inputs keep their values.`));
    $("reset").addEventListener("click", () => this.set(recorded));
    this.choose(this.fields[0]);
    new ResizeObserver(() => this.refresh()).observe($("plot"));
  }

  add(input, index, value) {
    const name = elementName(input, index), row = element("div", "input-row");
    const centre = Number.isFinite(value) ? value : 0, reach = 2 * Math.max(Math.abs(centre), 1), step = roundStep(2 * reach);
    const [low, high] = [Math.floor((centre - reach) / step) * step, Math.ceil((centre + reach) / step) * step];
    const slider = Object.assign(element("input"), { type: "range", min: low, max: high, step: "any" });
    const field = Object.assign(element("input", "number"), { type: "number", step: "any" });
    const label = element("button", "input-name", name);
    label.type = "button";
    label.title = `Plot ${data.name} against ${name}`;
    slider.setAttribute("aria-label", `${name}, slider`);
    field.setAttribute("aria-label", name);
    const made = { input, index, low, high, slider, field, label, row, name };
    const put = (source, round) => {
      const x = Number(source.value);
      if (source.value === "" || !Number.isFinite(x)) return;
      inputs[input][index] = round ? Number((Math.round(x / step) * step).toPrecision(12)) : x;
      this.choose(made);
    };
    slider.addEventListener("input", () => put(slider, true));
    slider.addEventListener("keydown", (event) => {
      const moves = { ArrowRight: step, ArrowUp: step, ArrowLeft: -step, ArrowDown: -step };
      if (!(event.key in moves)) return;
      event.preventDefault();
      slider.value = Math.min(high, Math.max(low, inputs[input][index] + moves[event.key]));
      put(slider, true);
    });
    field.addEventListener("input", () => put(field, false));
    label.addEventListener("click", () => this.choose(made));
    row.append(label, slider, field);
    $("inputs-list").append(row);
    this.fields.push(made);
  }

  // Plot against one input, and show all numbers for the present ones.
  choose(chosen) {
    this.chosen = chosen || this.chosen;
    recomputeAll();
    this.refresh();
    this.changed();
    if (parent !== window) parent.postMessage({ wengert: "inputs", values: namedInputs() }, "*");
  }

  set(lists) {
    lists.forEach((list, i) => { inputs[i] = [...list]; });
    this.choose();
  }

  refresh() {
    for (const made of this.fields) {
      const x = inputs[made.input][made.index];
      made.slider.value = x;
      if (document.activeElement !== made.field) made.field.value = Number.isFinite(x) ? Number(x.toPrecision(12)) : "";
      made.row.classList.toggle("chosen", made === this.chosen);
      made.label.setAttribute("aria-pressed", String(made === this.chosen));
    }
    $("reset").disabled = isRecorded();
    if (!this.chosen) return;
    const { input, index, low, high, name } = this.chosen, x = inputs[input][index];
    const [first, last] = Number.isFinite(x) ? [Math.min(low, x), Math.max(high, x)] : [low, high];
    this.plot.show(input, index, first, last, name);
  }
}
