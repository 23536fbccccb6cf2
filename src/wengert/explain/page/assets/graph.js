// The graph: a scene on the page, its state at a time, and the part of it that is in view.

const SMALLEST = 0.58, READABLE = 0.8, LARGEST = 1.25, SMALLEST_TEXT = 11, TEXT = 12.5;

// An edge is as thick as its local derivative is large, once that is known.
function edgeWeight(edge, time) {
  const size = edge >= 0 && isKnown(edges.to[edge], time) ? Math.abs(Number(edges.local[edge] || NaN)) : NaN;
  return Number.isNaN(size) ? 1.5 : 1 + 2.2 * (size === Infinity ? 1 : size / (1 + size));
}

class Graph {
  constructor(canvas) {
    this.canvas = canvas;
    this.svg = draw("svg", { role: "group", "aria-label": "Graph of the computation" });
    const definitions = draw("defs", {}, this.svg);
    for (const name of ["plain", "forward", "back"]) {
      const marker = draw("marker", { id: `arrow-${name}`, viewBox: "0 0 8 8", refX: 5, refY: 4, markerWidth: 10, markerHeight: 10, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" }, definitions);
      draw("path", { d: "M0 0.5L7 4L0 7.5z", class: `arrow ${name}` }, marker);
    }
    this.view = draw("g", { class: "view" }, this.svg);
    canvas.append(this.svg);
    this.map = new MiniMap(this, canvas);
    this.time = 0;
    this.opened = -1;
    this.scale = 1;
    this.shift = { x: 0, y: 0 };
    this.moved = false;
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.drag();
  }

  // Draw a scene from nothing.
  show(scene) {
    this.scene = scene;
    spread(scene);
    this.view.replaceChildren();
    const [layerEdges, layerBoxes, layerLabels] = ["edges", "boxes", "labels"].map((name) => draw("g", { class: name }, this.view));
    this.labels = layerLabels;
    this.boxOf = new Map();
    this.lineOf = new Map();
    for (const line of scene.lines) {
      line.path = curve(scene, line);
      line.shape = draw("g", { class: "edge" }, layerEdges);
      draw("path", { d: line.path, class: "stroke" }, line.shape);
      if (line.edge >= 0) {
        const hit = draw("path", { d: line.path, class: "hit", tabindex: 0, role: "img" }, line.shape);
        hit.setAttribute("aria-label", `Edge from ${titles[edges.from[line.edge]]} to ${titles[edges.to[line.edge]]}`);
        showOn(hit, () => edgeTip(line.edge, this.time));
        this.lineOf.set(line.edge, line);
      } else this.lineOf.set(`${line.a},${line.b}`, line);
    }
    scene.boxes.forEach((box, i) => {
      box.index = i;
      if (!box.ghost) this.boxOf.set(box.group >= 0 ? -1 - box.group : box.step, box);
      if (box.group >= 0) this.drawGroup(box, layerBoxes);
      else this.drawBox(box, layerBoxes);
    });
    this.fit(false);
    this.map.show();
    this.update(this.time);
  }

  drawBox(box, parent) {
    const { step } = box;
    const kind = box.ghost ? "ghost" : kinds[step];
    box.shape = draw("g", { class: `box ${kind}`, transform: `translate(${box.x} ${box.y})`, tabindex: 0, role: "img", "data-step": step }, parent);
    draw("rect", { x: -box.width / 2, y: -box.height / 2, width: box.width, height: box.height, rx: 8, class: "frame" }, box.shape);
    const left = -box.width / 2 + 9, right = box.width / 2 - 9;
    const top = -box.height / 2 + 19;
    box.text = {
      title: draw("text", { x: left, y: top, class: "title" }, box.shape),
      operation: draw("text", { x: right, y: top, class: "operation" }, box.shape),
      value: draw("text", { x: left, y: top + 19.5, class: "value" }, box.shape),
      tangent: draw("text", { x: left, y: top + 38, class: "tangent" }, box.shape),
      adjoint: draw("text", { x: hasTangents ? right : left, y: top + 38, class: hasTangents ? "adjoint end" : "adjoint" }, box.shape),
    };
    const paths = arrivals[step].length;
    box.pips = paths > 1 && paths < 5 && !box.ghost
      ? Array.from({ length: paths }, (_, i) => draw("circle", { cx: box.width / 2, cy: box.height / 2 - 14 - 11 * (paths - 1 - i), r: 4, class: "pip" }, box.shape))
      : [];
    box.heat = arrayOf(step) && !box.ghost ? SWEEPS.map((name, row) => this.drawHeat(box, name, row)) : [];
    showOn(box.shape, () => stepTip(step, this.time));
    if (box.heat.length) box.shape.addEventListener("dblclick", () => openArray(step, this.time));
    box.shape.addEventListener("keydown", (event) => { if (event.key === "Enter" && box.heat.length) openArray(step, this.time); });
  }

  // The picture of an array with its colour bar: of the value, and below it of the tangent and of the adjoint.
  drawHeat(box, name, row) {
    const group = draw("g", { class: `heat-map ${name}`, transform: `translate(${-box.width / 2 + 9} ${-box.height / 2 + 25 + 34 * row})` }, box.shape);
    const picture = draw("image", { width: 48, height: 28, preserveAspectRatio: "none" }, group);
    draw("rect", { width: 48, height: 28, class: "heat-frame" }, group);
    const range = draw("text", { x: 54, y: 12 }, group);
    const bar = Array.from({ length: 5 }, (_, i) => draw("rect", { x: 54 + 14 * i, y: 19, width: 14, height: 5 }, group));
    return { name, group, picture, range, bar, room: (box.width - 72) / 0.86 };
  }

  fillHeat(map, array) {
    map.group.toggleAttribute("hidden", !array || !array.numbers);
    if (!array || !array.numbers) return;
    map.picture.setAttribute("href", heatAddress(array));
    this.put(map.range, rangeText(array), map.room, map.name !== "value");
    barStops(array).forEach((colour, i) => map.bar[i].setAttribute("fill", colour));
  }

  drawGroup(box, parent) {
    const group = groups[box.group];
    box.shape = draw("g", { class: "box group", transform: `translate(${box.x} ${box.y})`, tabindex: 0, role: "button", "data-group": box.group }, parent);
    box.shape.setAttribute("aria-label", `Open ${group.heading}, ${group.counts}`);
    for (const shift of [6, 3, 0]) draw("rect", { x: -box.width / 2 + shift, y: -box.height / 2 + shift, width: box.width - 6, height: box.height - 6, rx: 8, class: shift ? "frame behind" : "frame" }, box.shape);
    const left = -box.width / 2 + 10, wide = box.width - 26;
    box.text = {
      heading: draw("text", { x: left, y: -16, class: "title" }, box.shape),
      code: draw("text", { x: left, y: 0, class: "code" }, box.shape),
      counts: draw("text", { x: left, y: 14, class: "counts" }, box.shape),
    };
    box.bars = (hasAdjoints ? ["forward", "back"] : ["forward"]).map((name, row) => {
      const bar = { x: left, y: 18 + 3.5 * row, height: 2.5 };
      draw("rect", { ...bar, width: wide, class: "rail" }, box.shape);
      return draw("rect", { ...bar, width: 0, class: `progress ${name}` }, box.shape);
    });
    box.shape.addEventListener("click", (event) => { event.stopPropagation(); this.open(box.group); });
    box.shape.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.open(box.group);
    });
  }

  open(group) {
    hideTip();
    this.opened = group;
    this.moved = false;
    $("collapse").hidden = group < 0;
    $("legend").hidden = group >= 0;
    if (group < 0) this.resize(true);
    else this.show(windowScene(groups[group], this.time, this.canvas));
    if (group >= 0) $("collapse").focus({ preventScroll: true });
  }

  // What a time shows.
  update(time) {
    this.time = time;
    if (!this.scene) return;
    const frame = frames[time];
    if (this.opened >= 0 && this.scene.leaves(frame.step)) return this.show(windowScene(groups[this.opened], time, this.canvas));
    const find = (step) => step === undefined ? undefined : this.boxOf.get(step) || this.boxOf.get(-1 - groupOf[step]);
    const current = find(frame.step), target = find(frame.target), moving = find(frame.moves);
    const phase = time < turn ? "forward" : "back";
    const litLines = new Map();
    const light = (edge, way) => {
      const a = find(edges.from[edge]), b = find(edges.to[edge]);
      const line = this.lineOf.get(edge) || (a && b && this.lineOf.get(`${a.index},${b.index}`));
      if (line) litLines.set(line, { edge, way });
    };
    const moved = frame.kind === "value" ? frame.step : frame.moves;
    if (moved !== undefined) for (const edge of entering[moved]) light(edge, "forward");
    if (frame.kind === "term") light(frame.edge, "back");
    for (const box of this.scene.boxes) {
      box.shape.classList.toggle("current", box === current);
      box.shape.classList.toggle("receives", box === target || (frame.kind === "end" && hasAdjoints && kinds[box.step] === "leaf"));
      box.shape.classList.toggle("moves", box === moving);
      box.shape.classList.toggle("on", phase === "forward");
      if (box.group >= 0) this.fillGroup(box, time);
      else this.fillBox(box, time);
    }
    for (const line of this.scene.lines) {
      const lit = litLines.get(line);
      line.shape.style.setProperty("--weight", `${edgeWeight(line.edge, time)}px`);
      line.shape.setAttribute("class", `edge ${lit ? `lit ${lit.way}` : this.isUsed(line, time) ? "used" : ""}`);
      if (lit) line.shape.parentNode.append(line.shape);
    }
    this.label(litLines, frame);
    if (current || moving) this.follow(target ? [target, current] : [current || moving]);
    this.map.follow(current, moving);
    $("graph-note").textContent = this.opened >= 0 ? this.scene.note : "";
  }

  isUsed(line, time) {
    return line.edge >= 0 ? isKnown(edges.to[line.edge], time) : time >= turn;
  }

  fillBox(box, time) {
    const { step, text } = box, wide = box.width - 18;
    const title = titles[step], roomy = this.scale > 0.85;
    const value = valueAt(step, time), tangent = tangentAt(step, time), adjoint = adjointAt(step, time);
    const other = box.ghost || step >= count ? "" : steps.operation[step] || (steps.label[step] !== title ? steps.label[step] : "");
    const isDrawn = box.heat.length > 0;
    const own = this.put(text.title, title, wide * (other ? 0.62 : 1), true);
    this.put(text.operation, isDrawn && value ? shapeText(arrayOf(step)) : other, wide - own - 8);
    text.operation.classList.toggle("shape-badge", isDrawn && value !== "");
    if (isDrawn) {
      const arrays = { value: value && arrayOf(step), tangent: tangent && steps.tangentArray[step], adjoint: adjointArray(step, time) };
      for (const map of box.heat) this.fillHeat(map, arrays[map.name]);
    }
    this.put(text.value, isDrawn ? "" : value, wide);
    const crowded = hasBoth && tangent && adjoint && this.measure(`${tangent}  ${adjoint}`, true) > wide;
    const derivative = (name, number) => (isDrawn ? "" : crowded ? twoDigits(number) : number && roomy && !hasBoth ? this.named(name, number, wide) : number);
    this.put(text.tangent, derivative(tangentName(title), tangent), crowded ? wide / 2 - 3 : wide, true);
    this.put(text.adjoint, derivative(adjointName(title), adjoint), crowded ? wide / 2 - 3 : wide, true);
    const many = countArrived(step, time);
    box.pips.forEach((pip, i) => pip.classList.toggle("in", i < many));
    box.shape.classList.toggle("known", value !== "");
    box.shape.setAttribute("aria-label", [title, value && `value ${value}`, tangent && `tangent ${tangent}`, adjoint && `adjoint ${adjoint}`].filter(Boolean).join(", "));
  }

  fillGroup(box, time) {
    const group = groups[box.group], wide = box.width - 26;
    this.put(box.text.heading, group.heading, wide, true);
    this.put(box.text.code, group.code, wide * 0.92);
    this.put(box.text.counts, group.counts, wide / 0.92);
    const parts = [before(group.members, time - 1) / group.members.length, group.done.length ? before(group.done, time) / group.done.length : 0];
    box.bars.forEach((bar, i) => bar.setAttribute("width", wide * parts[i]));
    box.shape.classList.toggle("known", parts[0] > 0);
  }

  // A number with its name, if there is space for both.
  named(name, number, wide) {
    const text = `${name} = ${number}`;
    return this.measure(text, true) > wide ? number : text;
  }

  // Writes a string, cut off if it is too wide; returns its width.
  put(text, content, wide, bold = false) {
    let shown = content;
    while (shown && this.measure(shown, bold) > wide) {
      const keep = Math.floor((shown.length * wide) / this.measure(shown, bold));
      shown = keep > 1 ? `${content.slice(0, Math.min(keep, shown.length) - 1)}…` : "";
    }
    if (text.textContent !== shown) text.textContent = shown;
    return this.measure(shown, bold);
  }

  measure(content, bold = false) {
    return width(content, bold) * this.textSize;
  }

  // The local derivative on the edges that are in use now.
  label(litLines, frame) {
    this.labels.replaceChildren();
    if (frame.kind === "value" && (hasBoth || !hasTangents)) return;
    for (const [line, { edge, way }] of litLines) {
      const local = edges.local[edge];
      if (!/^[-\d.e+]+$/.test(local)) continue;
      const content = `× ${local}`, wide = this.measure(content, true) + 12, high = this.textSize * 1.5;
      const label = draw("g", { class: `label ${way}`, transform: `translate(${line.middle.x} ${line.middle.y})` }, this.labels);
      draw("rect", { x: -wide / 2, y: -high / 2, width: wide, height: high, rx: high / 2 }, label);
      draw("text", { y: this.textSize * 0.36 }, label).textContent = content;
    }
  }

  get size() {
    return { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
  }

  get textSize() {
    return Math.max(TEXT, SMALLEST_TEXT / this.scale);
  }

  resize(fresh = false) {
    const { width, height } = this.size;
    if (!width || !height) return;
    if (this.opened >= 0) return this.show(windowScene(groups[this.opened], this.time, this.canvas));
    const [down, sideways] = [false, true].map((way) => this.fitting(extent(wholeScene(way))));
    const better = sideways > down * 1.05;
    if (fresh || !this.scene || this.scene.sideways !== better) this.show(wholeScene(better));
    else {
      if (!this.moved) this.fit(false);
      this.update(this.time);
    }
  }

  fitting({ width, height }) {
    return Math.min((this.size.width - 20) / width, (this.size.height - 18) / height);
  }

  // All of it if that can be read, else as much of it as can be read well.
  fit(smooth) {
    const all = extent(this.scene);
    const { width, height } = this.size, fitting = this.fitting(all);
    this.scale = fitting < SMALLEST ? READABLE : Math.min(LARGEST, fitting);
    const start = (room, first, length) => (length * this.scale <= room - 16 ? (room - length * this.scale) / 2 : 12) - first * this.scale;
    this.shift = { x: start(width, all.left, all.width), y: start(height, all.top, all.height) };
    this.apply(smooth);
  }

  apply(smooth) {
    this.view.classList.toggle("smooth", Boolean(smooth));
    this.view.style.transform = `translate(${this.shift.x}px, ${this.shift.y}px) scale(${this.scale})`;
    this.svg.style.setProperty("--text", `${this.textSize}px`);
    this.map.follow();
  }

  // Keep what happens now in view: the last of these boxes for sure.
  follow(boxes) {
    const { width, height } = this.size;
    const room = 10;
    let { x, y } = this.shift;
    for (const box of boxes) {
      const w = (box.width / 2) * this.scale, h = (box.height / 2) * this.scale;
      const cx = box.x * this.scale + x, cy = box.y * this.scale + y;
      if (cx - w < room) x += (boxes.length > 1 ? room + w : Math.min(width / 2, room + 2 * w)) - cx;
      else if (cx + w > width - room) x += (boxes.length > 1 ? width - room - w : Math.max(width / 2, width - room - 2 * w)) - cx;
      if (cy - h < room) y += (boxes.length > 1 ? room + h : Math.min(height / 2, height - room - h)) - cy;
      else if (cy + h > height - room) y += (boxes.length > 1 ? height - room - h : Math.max(height / 2, room + h)) - cy;
    }
    if (x !== this.shift.x || y !== this.shift.y) {
      const all = extent(this.scene);
      const held = (at, room, first, length) => (length * this.scale > room - 24 ? Math.max(room - 12 - (first + length) * this.scale, Math.min(12 - first * this.scale, at)) : at);
      [x, y] = [held(x, width, all.left, all.width), held(y, height, all.top, all.height)];
      this.shift = { x, y };
      this.apply(true);
    }
  }

  zoom(factor, at = { x: this.size.width / 2, y: this.size.height / 2 }) {
    hideTip();
    const scale = Math.min(3, Math.max(0.1, this.scale * factor));
    const ratio = scale / this.scale;
    this.shift = { x: at.x - (at.x - this.shift.x) * ratio, y: at.y - (at.y - this.shift.y) * ratio };
    this.scale = scale;
    this.moved = true;
    this.apply(false);
    this.map.show();
    this.update(this.time);
  }

  // Move by dragging, zoom by wheel or with two fingers.
  drag() {
    const fingers = new Map();
    const at = (event) => { const box = this.canvas.getBoundingClientRect(); return { x: event.clientX - box.left, y: event.clientY - box.top }; };
    const distance = () => { const [p, q] = [...fingers.values()]; return Math.hypot(p.x - q.x, p.y - q.y); };
    this.canvas.addEventListener("pointerdown", (event) => { fingers.set(event.pointerId, at(event)); });
    addEventListener("pointermove", (event) => {
      const last = fingers.get(event.pointerId);
      if (!last) return;
      const now = at(event), wide = fingers.size === 2 ? distance() : 0;
      fingers.set(event.pointerId, now);
      if (fingers.size === 2) this.zoom(distance() / wide, now);
      else {
        this.shift = { x: this.shift.x + now.x - last.x, y: this.shift.y + now.y - last.y };
        this.moved = true;
        this.apply(false);
      }
    });
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, (event) => fingers.delete(event.pointerId));
    this.canvas.addEventListener("wheel", (event) => { event.preventDefault(); this.zoom(Math.exp(-event.deltaY / 500), at(event)); }, { passive: false });
  }
}
