// The field for the formula. A formula with an error leaves the last picture and says which character is to blame.

const $ = (id) => document.getElementById(id);
const start = JSON.parse($("start").textContent);
const token = new URLSearchParams(location.search).get("token");
const DELAY = 160;

let values = start.values, newest = 0, pictured = 0, waiting = 0, shown = null;

// JSON has no NaN and no infinities: they are strings.
const nameNumber = (_, x) => typeof x === "number" && !Number.isFinite(x) ? String(x) : x;

async function ask() {
  const number = ++newest, formula = $("formula").value;
  let found;
  try {
    const headers = { "Content-Type": "application/json", "X-Wengert-Token": token };
    const body = JSON.stringify({ formula, mode: $("mode").value, values }, nameNumber);
    const response = await fetch("/page", { method: "POST", headers, body });
    if (!response.ok) throw new Error(await response.text());
    found = await response.json();
  } catch (error) {
    found = { message: `The server does not answer: ${error.message}` };
  }
  if (number === newest) showProblem(found);
  if (!found.page || number < pictured) return; // an older picture is better than none, if the newest formula has none
  pictured = number;
  Object.assign(values, found.values);
  showPage(found.page);
}

// Carets under the characters, and the message.
function showProblem({ message, at, width }) {
  $("problem").hidden = !message;
  $("formula").setAttribute("aria-invalid", String(Boolean(message)));
  if (message) $("problem").textContent = `${at !== undefined ? `${" ".repeat(at)}${"^".repeat(Math.max(1, width))}\n` : ""}${message}`;
}

// The new page replaces the old one when it is ready, at the end of its run, where all numbers are known.
function showPage(text) {
  const frame = document.createElement("iframe");
  frame.className = "waiting";
  frame.title = "How the derivative is computed";
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.srcdoc = text;
  frame.addEventListener("load", () => {
    for (const other of [...$("pages").children]) if (other !== frame) other.remove();
    frame.contentWindow.postMessage({ wengert: "end" }, "*");
    frame.classList.remove("waiting");
    shown = frame;
  });
  $("pages").append(frame);
}

// The inputs that are dragged on the page are kept for the next formula.
addEventListener("message", (event) => {
  if (event.source === shown?.contentWindow && event.data?.wengert === "inputs") Object.assign(values, event.data.values);
});

$("formula").value = start.formula;
$("mode").value = start.mode;
$("formula").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(ask, DELAY); });
$("mode").addEventListener("change", ask);
ask();
