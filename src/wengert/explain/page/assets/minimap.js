// The whole graph in a corner, with the part that is in view; a click moves there.

class MiniMap {
  constructor(graph, parent) {
    this.graph = graph;
    this.svg = draw("svg", { class: "minimap", role: "img", "aria-label": "Overview of the graph" }, parent);
    this.svg.addEventListener("pointerdown", (event) => { event.stopPropagation(); this.move(event); });
  }

  show() {
    const all = extent(this.graph.scene), { width, height } = this.graph.size;
    this.scale = Math.min(120 / all.width, 90 / all.height);
    this.all = all;
    const isWhole = all.width * this.graph.scale <= width && all.height * this.graph.scale <= height;
    this.svg.toggleAttribute("hidden", isWhole);
    this.svg.replaceChildren();
    if (isWhole) return;
    this.svg.setAttribute("width", all.width * this.scale + 8);
    this.svg.setAttribute("height", all.height * this.scale + 8);
    const at = (x, y) => [(x - all.left) * this.scale + 4, (y - all.top) * this.scale + 4];
    this.marks = this.graph.scene.boxes.map((box) => {
      const [x, y] = at(box.x - box.width / 2, box.y - box.height / 2);
      return draw("rect", { x, y, width: Math.max(2, box.width * this.scale), height: Math.max(2, box.height * this.scale), class: "mini" }, this.svg);
    });
    this.frame = draw("rect", { class: "in-view" }, this.svg);
    this.follow();
  }

  // Mark the part in view, and the boxes where something happens.
  follow(current, moving) {
    if (!this.frame || this.svg.hasAttribute("hidden")) return;
    const { scale, shift, size } = this.graph;
    this.frame.setAttribute("x", (-shift.x / scale - this.all.left) * this.scale + 4);
    this.frame.setAttribute("y", (-shift.y / scale - this.all.top) * this.scale + 4);
    this.frame.setAttribute("width", (size.width / scale) * this.scale);
    this.frame.setAttribute("height", (size.height / scale) * this.scale);
    if (!current && !moving) return;
    this.marks.forEach((mark, i) => {
      mark.classList.toggle("here", i === current?.index);
      mark.classList.toggle("moves", i === moving?.index);
    });
  }

  move(event) {
    const box = this.svg.getBoundingClientRect(), { size, scale } = this.graph;
    const x = (event.clientX - box.left - 4) / this.scale + this.all.left, y = (event.clientY - box.top - 4) / this.scale + this.all.top;
    this.graph.shift = { x: size.width / 2 - x * scale, y: size.height / 2 - y * scale };
    this.graph.moved = true;
    this.graph.apply(true);
  }
}
