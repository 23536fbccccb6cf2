// The graph as a picture of its own: one moment, or all of them as a film.

const STYLED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "marker-end", "marker-start", "display"];
const MOST_MOMENTS = 60, CAPTION = 64;

// A copy of what is drawn, with its styles as classes of a style sheet.
function copyView(graph, classes) {
  const view = graph.view.cloneNode(true), from = [graph.view, ...graph.view.querySelectorAll("*")], to = [view, ...view.querySelectorAll("*")];
  to.forEach((part, i) => {
    const style = getComputedStyle(from[i]), text = STYLED.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";");
    if (!classes.has(text)) classes.set(text, `c${classes.size}`);
    for (const { name } of [...part.attributes]) if (/^(class|style|role|tabindex|aria-|data-)/.test(name)) part.removeAttribute(name);
    part.setAttribute("class", classes.get(text));
  });
  for (const hit of view.querySelectorAll("path")) if (getComputedStyle(from[to.indexOf(hit)]).stroke === "rgba(0, 0, 0, 0)") hit.remove();
  return view;
}

const serialize = (node) => new XMLSerializer().serializeToString(node).replaceAll(' xmlns="http://www.w3.org/2000/svg"', "");
const escapeText = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

// A string in lines of at most so many characters.
function wrapText(text, most) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines[lines.length - 1].length + word.length > most) lines.push("");
    lines[lines.length - 1] += `${lines[lines.length - 1] ? " " : ""}${word}`;
  }
  return lines;
}

// The heading and the equation of a moment, above the graph.
function drawCaption([heading, equation], x, y, wide) {
  const { fontFamily, color } = getComputedStyle(document.body), family = fontFamily.replaceAll('"', "'");
  const write = (content, below, size, fill) => `<text x="${x}" y="${y + below}" style="font:600 ${size}px ${family};fill:${fill}">${escapeText(content)}</text>`;
  const lines = equation.split("\n").flatMap((line) => wrapText(line, Math.floor(wide / 8.2))).slice(0, 2);
  return write(heading, 24, 13, getComputedStyle($("phase")).color) + lines.map((line, i) => write(line, 43 + 18 * i, 15, color)).join("");
}

// Moments one after the other, each for some seconds; all that is drawn of a moment is in one group.
function filmStyle(moments, seconds) {
  const part = (100 / moments).toFixed(4);
  return [
    `.m{visibility:hidden;animation:m ${seconds * moments}s infinite step-end}`,
    `@keyframes m{0%{visibility:visible}${part}%{visibility:hidden}}`,
    "@media (prefers-reduced-motion:reduce){.m{animation:none}.m:last-child{visibility:visible}}",
  ].join("");
}

function drawMarkers(svg) {
  const markers = svg.querySelector("defs"), copied = markers.cloneNode(true), shapes = markers.querySelectorAll("path");
  copied.querySelectorAll("path").forEach((path, i) => path.setAttribute("fill", getComputedStyle(shapes[i]).fill));
  return serialize(copied);
}

// A picture of the given moments.
function makePicture(graph, moments, show, seconds = 1.4) {
  const all = extent(graph.scene), classes = new Map(), isFilm = moments.length > 1;
  const wide = Math.max(all.width + 40, 460), high = all.height + CAPTION + 40;
  const left = all.left - (wide - all.width) / 2, top = all.top - CAPTION - 16;
  const groups = moments.map((time, i) => {
    const text = drawCaption(show(time), left + 20, top, wide) + serialize(copyView(graph, classes));
    return isFilm ? `<g class="m" style="animation-delay:${(i * seconds).toFixed(2)}s">${text}</g>` : text;
  });
  const sheet = [...classes].map(([text, name]) => `.${name}{${text.replaceAll('"', "'")}}`).join("\n");
  const ground = getComputedStyle($("graph-panel")).backgroundColor;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${left} ${top} ${wide} ${high}" width="${wide}" height="${high}" role="img"`,
    ` aria-label="${escapeText(data.name)}: how its derivative is computed">`,
    `<style>${isFilm ? filmStyle(moments.length, seconds) : ""}${sheet.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</style>`,
    drawMarkers(graph.svg),
    `<rect x="${left}" y="${top}" width="100%" height="100%" rx="10" fill="${ground}"/>`,
    ...groups,
    "</svg>",
  ].join("");
}

// The moments of a film: all, or evenly spaced ones of a long run.
function filmMoments() {
  if (lastFrame < MOST_MOMENTS) return Array.from({ length: lastFrame + 1 }, (_, time) => time);
  return Array.from({ length: MOST_MOMENTS }, (_, i) => Math.round((i * lastFrame) / (MOST_MOMENTS - 1)));
}
