// The program: the functions that ran, with the expression marked that is computed now.

class Listing {
  constructor(parent) {
    this.parent = parent;
    this.lines = data.listing.blocks.map((block) => {
      const section = element("section", "block");
      section.append(element("h3", "", block.file.startsWith("<") ? block.title : `${block.title} · ${block.file}`));
      const list = element("ol");
      list.start = block.first;
      list.style.setProperty("--digits", String(block.first + block.lines.length).length);
      const made = block.lines.map((text, i) => {
        const line = element("li");
        line.value = block.first + i;
        line.dataset.line = block.first + i;
        line.append(element("code", "", text || " "));
        list.append(line);
        return line;
      });
      section.append(list);
      parent.append(section);
      return made;
    });
    if (!this.lines.length) parent.append(element("p", "missing", "The source of this function is not available. Its formulas are in the trace."));
    this.marked = [];
  }

  update(time) {
    for (const [line, text] of this.marked) {
      line.classList.remove("current", "on", "back");
      line.firstChild.textContent = text;
    }
    this.marked = [];
    const { step } = frames[time];
    const span = step === undefined ? -1 : data.listing.span[step];
    if (span === undefined || span < 0) return;
    const [block, first, begin, last, end] = data.listing.spans[span];
    const phase = time < turn ? "on" : "back";
    for (let i = first; i <= last; i++) {
      const line = this.lines[block][i], text = data.listing.blocks[block].lines[i];
      const from = i === first ? begin : text.length - text.trimStart().length, to = i === last ? end : text.length;
      line.classList.add("current", phase);
      this.marked.push([line, text || " "]);
      if (to > from) line.firstChild.replaceChildren(text.slice(0, from), element("mark", "", text.slice(from, to)), text.slice(to));
    }
    this.reveal(this.lines[block][first]);
  }

  reveal(line) {
    const box = line.getBoundingClientRect(), room = this.parent.getBoundingClientRect();
    if (box.top < room.top + 24) this.parent.scrollTop -= room.top + 24 - box.top;
    else if (box.bottom > room.bottom - 8) this.parent.scrollTop += box.bottom - room.bottom + 8;
  }
}
