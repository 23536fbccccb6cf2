// Search among names, formulas, operations and source lines; Enter goes to the next hit.

class Search {
  constructor(field, note, go) {
    [this.field, this.note, this.hits] = [field, note, []];
    field.addEventListener("input", () => { this.find(field.value.trim().toLowerCase()); this.visit(0, go); });
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") { event.preventDefault(); this.visit(this.at + (event.shiftKey ? -1 : 1), go); }
      if (event.key === "Escape") { field.value = ""; this.find(""); field.blur(); this.visit(0, go); }
    });
  }

  find(text) {
    this.hits = [];
    if (text) for (let step = 0; step < count; step++)
      if ([titles[step], steps.label[step], steps.operation[step], steps.formula[step], sourceOf(step)].some((part) => part.toLowerCase().includes(text))) this.hits.push(step);
    this.text = text;
  }

  visit(at, go) {
    if (!this.hits.length) { this.note.textContent = this.text ? "nothing found" : ""; return; }
    this.at = (at + this.hits.length) % this.hits.length;
    this.note.textContent = `${this.at + 1} of ${this.hits.length}`;
    go(valueFrame[this.hits[this.at]]);
  }
}

// The source line of a step.
function sourceOf(step) {
  const span = data.listing.spans[data.listing.span[step]];
  return span ? data.listing.blocks[span[0]].lines[span[1]] : "";
}
