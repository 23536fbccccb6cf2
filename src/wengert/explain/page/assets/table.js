// The trace as a table: a row for each value, with formula and number in each column. Only the rows in view exist.

class Trace {
  constructor(scroll, head, body) {
    [this.scroll, this.body] = [scroll, body];
    this.columns = SWEEPS;
    const row = element("tr");
    for (const name of ["name", ...this.columns]) {
      const cell = element("th", name, { name: "", value: "Value", tangent: "Tangent ↓", adjoint: "Adjoint ↑" }[name]);
      cell.scope = "col";
      if (name === "name") cell.append(element("span", "hidden", "Name"));
      row.append(cell);
    }
    head.append(row);
    scroll.firstElementChild.setAttribute("aria-rowcount", count + 1);
    const longest = titles.slice(0, count).reduce((most, title) => Math.max(most, title.length), 4);
    scroll.style.setProperty("--name", `${Math.min(longest, 14)}ch`);
    this.time = 0;
    this.rowHeight = 46;
    [this.above, this.below] = [element("tr", "spacer"), element("tr", "spacer")];
    for (const spacer of [this.above, this.below]) spacer.append(Object.assign(element("td"), { colSpan: this.columns.length + 1 }));
    scroll.addEventListener("scroll", () => this.render(), { passive: true });
    new ResizeObserver(() => { this.render(); this.follow(); }).observe(scroll);
  }

  update(time) {
    this.time = time;
    this.follow();
    this.render();
  }

  get room() {
    return this.scroll.clientHeight - this.scroll.querySelector("thead").offsetHeight;
  }

  // Bring the row that changes into view, and the row it comes from if both fit.
  follow() {
    const frame = frames[this.time];
    if (frame.kind === "start") this.scroll.scrollTop = 0;
    const rows = frame.kind === "end" ? [0] : [frame.moves, frame.step, frame.target].filter((step) => step !== undefined && step < count);
    for (const step of rows) {
      const top = step * this.rowHeight, { scrollTop } = this.scroll;
      if (top < scrollTop) this.scroll.scrollTop = Math.max(0, top - this.rowHeight / 2);
      else if (top + this.rowHeight > scrollTop + this.room) this.scroll.scrollTop = top + 1.5 * this.rowHeight - this.room;
    }
  }

  render() {
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / this.rowHeight) - 4);
    const last = Math.min(count, first + Math.ceil(this.scroll.clientHeight / this.rowHeight) + 8);
    const rows = [];
    for (let step = first; step < last; step++) rows.push(this.row(step));
    this.above.firstChild.style.height = `${first * this.rowHeight}px`;
    this.below.firstChild.style.height = `${(count - last) * this.rowHeight}px`;
    this.body.replaceChildren(this.above, ...rows, this.below);
    $("table-note").textContent = count > last - first ? `${count.toLocaleString("en")} values` : "";
  }

  row(step) {
    const frame = frames[this.time], { time } = this;
    const row = element("tr");
    row.dataset.step = step;
    row.setAttribute("aria-rowindex", step + 2);
    row.classList.toggle("on", time < turn);
    if (frame.step === step) {
      row.classList.add("current");
      row.setAttribute("aria-current", "step");
    }
    if (frame.target === step) row.classList.add("receives");
    if (frame.moves === step) row.classList.add("moves");
    const name = element("th", "name");
    name.scope = "row";
    name.append(element("span", "title", titles[step]));
    if (steps.label[step] !== titles[step]) name.append(element("span", "formula", steps.label[step]));
    row.append(name);
    for (const column of this.columns) row.append(this[column](step, time));
    row.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") showTip(stepTip(step, time), row.getBoundingClientRect()); });
    row.addEventListener("pointerleave", hideTip);
    row.addEventListener("click", (event) => { event.stopPropagation(); showTip(stepTip(step, this.time), row.getBoundingClientRect()); });
    return row;
  }

  cell(column, formula, numbers, result, array, title) {
    const cell = element("td", column);
    cell.append(element("span", "formula", formula));
    const line = element("span", "result");
    if (result && array?.numbers) {
      cell.append(heatCell(array, () => openNumbers(title, array)));
      return cell;
    }
    if (result && numbers && numbers !== result) line.append(element("span", "numbers", `${numbers} =`));
    line.append(element("span", "number", result));
    cell.append(line);
    return cell;
  }

  value(step, time) {
    return this.cell("value", steps.operation[step] ? steps.formula[step] : kinds[step] === "data" ? "data" : "input", steps.numbers[step], valueAt(step, time), arrayOf(step), titles[step]);
  }

  tangent(step, time) {
    return this.cell("tangent", steps.tangentFormula[step] || (steps.operation[step] || !steps.tangent[step] ? "" : "seed"), steps.tangentNumbers[step], tangentAt(step, time), steps.tangentArray?.[step], tangentName(titles[step]));
  }

  adjoint(step, time) {
    const rows = arrivals[step], many = countArrived(step, time);
    const formula = rows.length ? rows.slice(0, 4).map((row) => back.formula[row] || (back.edge[row] < 0 ? "seed" : "parts")).join(" + ") + (rows.length > 4 ? " + …" : "") : "";
    const numbers = rows.length > 1 ? sumOf(step, many, "value") : rows.length ? back.numbers[rows[0]] : "";
    const cell = this.cell("adjoint", formula, many ? numbers : "", adjointAt(step, time), adjointArray(step, time), adjointName(titles[step]));
    if (rows.length > 1) cell.firstChild.prepend(element("span", many ? "paths some" : "paths", `${many}/${rows.length}`));
    return cell;
  }
}
