// The time, its caption, and the controls that change it.

const graph = new Graph($("canvas"));
const trace = new Trace($("rows"), $("columns"), $("body"));
const listed = new Listing($("listing"));
const slider = $("time");

const SHAPES = { play: "M4 2.5v11l9-5.5z", pause: "M4 3h3v10H4zM9 3h3v10H9z" };
const RATE = 1.1, LONGEST = 120;

let now = 0;
let playing = 0;

function go(time) {
  hideTip();
  now = Math.max(0, Math.min(lastFrame, time));
  slider.value = now;
  const frame = frames[now], phase = now < turn ? "forward" : "back";
  document.documentElement.dataset.phase = frame.kind === "start" ? "start" : hasAdjoints ? phase : "forward";
  slider.style.setProperty("--at", `${(100 * now) / lastFrame}%`);
  const [heading, equation, sum] = caption(frame), moved = frame.moves === undefined ? "" : tangentEquation(frame.moves);
  slider.setAttribute("aria-valuetext", `${heading}: ${[moved, equation].filter(Boolean).join("; ")}`);
  $("phase").textContent = heading;
  if (heading === BOTH) $("equation").replaceChildren(element("span", "tangent", moved), " ", element("span", "adjoint", equation));
  else $("equation").textContent = equation;
  $("sum").textContent = sum;
  $("words").textContent = spoken(frame);
  drawSketch($("sketch"), frame.kind === "value" || frame.kind === "term" ? frame.step : -1);
  showCosts(now);
  $("count").textContent = `${now} / ${lastFrame}`;
  graph.update(now);
  trace.update(now);
  listed.update(now);
  if (now === lastFrame) pause();
}

const BOTH = "Both sweeps";
const STEPS_OF = {
  reverse: "Values are computed forward, then adjoints in the backward pass.",
  both: "Values are computed first; then tangents forward and, at the same time, adjoints in the backward pass.",
  forward: "Values and tangents are computed together, forward.",
  hvp: "Values and tangents are computed together, forward.",
};

// An equation of one of two sweeps, which share the line: without the value if that would be long.
const half = (parts) => { const whole = chain(parts, 60); return whole.length > 60 && parts[1] ? chain(parts.slice(0, 2)) : whole; };

function tangentEquation(step) {
  const parts = [tangentName(titles[step]), steps.tangentFormula[step], steps.tangentNumbers[step], steps.tangent[step]];
  return hasBoth ? half(parts) : chain(parts);
}

// The caption of a frame: its kind, its equation, and the sum that it adds to.
function caption(frame) {
  const inputs = data.inputs.slice(0, 6).map((name, i) => `${name} = ${steps.value[i]}`).join(", ") + (data.inputs.length > 6 ? ", …" : "");
  if (frame.kind === "start") return ["Start", `${data.name} at ${inputs}`, STEPS_OF[data.mode]];
  if (frame.kind === "end") return ["Result", ends(), hasTangents ? `${hasAdjoints ? `${tangents()} ` : ""}along ${directions()}` : ""];
  const title = titles[frame.step];
  if (frame.kind === "value") {
    const moved = tangentAt(frame.step, now) ? tangentEquation(frame.step) : hasTangents && !hasBoth ? "does not change" : "";
    return [isComputed(frame) ? "Forward" : "Input", chain([title, steps.formula[frame.step], steps.numbers[frame.step], steps.value[frame.step]], 84), moved];
  }
  const heading = hasBoth ? BOTH : "Back";
  if (frame.kind === "tangent") return [heading, "", ""];
  const { row } = frame, target = back.step[row];
  const rows = arrivals[target], count = rows.indexOf(row) + 1;
  const sum = count > 1 ? `${adjointName(titles[target])} = ${chain([sumOf(target, count, "value"), back.total[row]])}` : "";
  const paths = rows.length > 1 ? `path ${count} of ${rows.length}` : "";
  if (frame.kind === "seed") return [heading, chain([adjointName(title), back.value[row]]), [`${title} is what is differentiated`, paths].filter(Boolean).join(" · ")];
  const parts = [adjointName(titles[target]), back.formula[row], back.numbers[row], back.value[row]];
  const term = hasBoth ? half(parts) : chain(parts, 84);
  const adds = count > 1 ? term.replace(" = ", " gains ") : term;
  return [heading, adds, [sum, paths || `through ${title}`].filter(Boolean).join(" · ")];
}

const tangents = () => data.outputs.slice(0, 4).map((step) => `${tangentName(titles[step])} = ${steps.tangent[step] || 0}`).join(", ");

const directions = () => data.inputs.slice(0, 5).map((name, i) => `d${name} = ${steps.tangent[i] || 0}`).join(", ");

function ends() {
  if (!hasAdjoints) return tangents();
  const shown = data.inputs.slice(0, 5).map((name, i) => `∂${data.name}/∂${name} = ${adjointAt(i, lastFrame) || "0"}`);
  return shown.join(",  ") + (data.inputs.length > 5 ? ", …" : "");
}

let last = 0, owed = 0;
function tick(moment) {
  if (!playing) return;
  owed += ((moment - last) / 1000) * Math.max(RATE, lastFrame / LONGEST) * Number($("speed").value);
  last = moment;
  if (owed >= 1) {
    go(now + Math.floor(owed));
    owed %= 1;
  }
  if (playing) playing = requestAnimationFrame(tick);
}

function play() {
  if (now === lastFrame) go(0);
  last = performance.now();
  owed = 0.6;
  playing = requestAnimationFrame(tick);
  setPlayButton("pause");
}

function pause() {
  cancelAnimationFrame(playing);
  playing = 0;
  setPlayButton("play");
}

// While the page plays, a screen reader could not keep up.
function setPlayButton(shape) {
  $("play-shape").setAttribute("d", SHAPES[shape]);
  $("play").setAttribute("aria-label", shape === "play" ? "Play" : "Pause");
  $("equation").setAttribute("aria-live", shape === "play" ? "polite" : "off");
}

const toggle = () => (playing ? pause() : play());
const stepTo = (time) => { pause(); go(time); };

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

function showKeys(open) {
  $("keys").hidden = !open;
  $("help").setAttribute("aria-expanded", String(open));
}

const KEYS = {
  ArrowRight: () => stepTo(now + 1),
  ArrowLeft: () => stepTo(now - 1),
  Home: () => stepTo(0),
  End: () => stepTo(lastFrame),
  " ": toggle,
  b: () => stepTo(hasAdjoints ? turn : lastFrame),
  t: switchTheme,
  "/": () => $("search").focus(),
  c: () => copyLink(now, say),
  "?": () => showKeys($("keys").hidden),
  Escape: () => {
    hideTip();
    if (!$("keys").hidden) showKeys(false);
    else if (graph.opened >= 0) graph.open(-1);
  },
};

addEventListener("keydown", (event) => {
  const isField = event.target.tagName === "INPUT" && event.target.id !== "time";
  const typing = event.target.tagName === "SELECT" || isField || document.querySelector("dialog[open]") || (event.key === " " && ["BUTTON", "SUMMARY"].includes(event.target.tagName));
  if (!(event.key in KEYS) || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  KEYS[event.key]();
});

const clicks = {
  first: KEYS.Home, previous: KEYS.ArrowLeft, play: toggle, next: KEYS.ArrowRight, last: KEYS.End, theme: switchTheme, help: KEYS["?"],
  "show-schedule": () => $("schedule").showModal(),
  collapse: () => graph.open(-1),
  "copy-link": () => copyLink(now, say),
  "copy-frame": () => copyFrame(say),
  "save-picture": () => saveFile(`${data.name}-${now}.svg`, makePicture(graph, [now], showMoment)),
  "save-film": () => saveFile(`${data.name}.svg`, makeFilm()),
  "zoom-in": () => graph.zoom(1.25), "zoom-out": () => graph.zoom(0.8), "zoom-fit": () => { graph.moved = false; graph.fit(true); graph.update(now); },
};
for (const [id, action] of Object.entries(clicks)) $(id).addEventListener("click", action);
slider.addEventListener("input", () => stepTo(Number(slider.value)));

const say = (text) => { $("share-note").textContent = text; };

// Show a moment, and return its caption.
function showMoment(time) {
  go(time);
  return [$("phase").textContent, [...$("equation").childNodes].map((part) => part.textContent.trim()).filter(Boolean).join("\n")];
}

function makeFilm() {
  const time = now, film = makePicture(graph, filmMoments(), showMoment);
  go(time);
  return film;
}

function showTitle() {
  $("name").textContent = `${data.name}(${data.inputs.slice(0, 5).join(", ")}${data.inputs.length > 5 ? ", …" : ""})`;
  $("result").textContent = data.results.length === 1 ? `= ${data.results[0]}` : "";
}

document.body.dataset.mode = data.mode;
$("show-schedule").hidden = !data.schedule;
if (data.schedule) $("schedule-body").append(Object.assign(new Image(), { id: "schedule-picture", alt: "The checkpoint schedule of the loop", src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(data.schedule)}` }));
document.body.classList.toggle("embedded", isEmbedded());
slider.max = lastFrame;
const turned = hasAdjoints ? `${(100 * (turn - 0.5)) / lastFrame}%` : "100%";
slider.style.setProperty("--turn", turned);
$("forward-label").style.width = turned;
$("back-label").hidden = !hasAdjoints;
if (hasBoth) [$("forward-label").textContent, $("back-label").textContent] = ["values", "tangents ↓ and adjoints ↑"];
// With both, boxes have two numbers side by side, without names.
for (const [name, text] of [["leaf", "input"], ...(hasBoth ? [] : [["value", "value"]]), ["data", "data"]])
  if (kinds.some((kind) => kind === name || (name === "value" && kind === "result"))) $("legend").append(element("span", `swatch ${name}`, text));
if (hasBoth) for (const name of ["tangent", "adjoint"]) $("legend").append(element("span", name, name));
setPlayButton("play");
graph.resize();
const controls = new Inputs($("inputs-panel"), () => { showTitle(); go(now); });
new Search($("search"), $("search-note"), stepTo);
const openAddress = () => { const time = readLink(location.hash, (lists) => controls.set(lists)); if (time !== null) stepTo(time); };
addEventListener("hashchange", openAddress);
addEventListener("message", ({ data: told }) => {
  if (told?.wengert === "end") stepTo(lastFrame);
  if (told?.wengert === "theme") document.documentElement.dataset.theme = told.theme === "dark" ? "dark" : "light";
});
showTitle();
go(0);
openAddress();
document.documentElement.dataset.ready = "yes";
if (isEmbedded()) parent.postMessage({ wengert: "ready" }, "*"); // the page around may answer with its theme
