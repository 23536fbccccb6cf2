// A link to a moment, with the inputs; pictures to save; and the page as part of another one.

function linkText(time) {
  const words = new URLSearchParams({ step: String(time) });
  if (isLive && !isRecorded()) words.set("inputs", inputs.map((list) => list.join(",")).join(";"));
  return `#${words}`;
}

// The moment that an address names; its inputs are set.
function readLink(hash, set) {
  const words = new URLSearchParams(hash.slice(1));
  const lists = (words.get("inputs") || "").split(";").map((text) => text.split(",").map(Number));
  if (isLive && words.has("inputs") && lists.length === recorded.length && lists.every((list, i) => list.length === recorded[i].length && list.every(Number.isFinite))) set(lists);
  const time = Number(words.get("step"));
  return words.has("step") && Number.isInteger(time) ? time : null;
}

function saveFile(name, content) {
  const link = Object.assign(element("a"), { href: URL.createObjectURL(new Blob([content], { type: "image/svg+xml" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Copy to the clipboard, if the browser allows it; else show what to copy.
async function copyLink(time, say) {
  const address = `${location.href.split("#")[0]}${linkText(time)}`;
  try {
    history.replaceState(null, "", linkText(time));
  } catch {
    return say("This frame has no address of its own.");
  }
  try {
    await navigator.clipboard.writeText(address);
    say("Link copied");
  } catch {
    say("The link is in the address bar");
  }
}

// HTML that shows the page, without its tables, in another one.
async function copyFrame(say) {
  const name = data.name.replace(/\W/g, "") || "f", file = location.protocol === "file:" ? location.pathname.split("/").pop() : location.href.split(/[?#]/)[0];
  const text = `<iframe src="${file}?embed" title="How the derivative of ${name} is computed" width="100%" height="600"></iframe>`;
  try {
    await navigator.clipboard.writeText(text);
    say("HTML copied");
  } catch {
    say(text);
  }
}

const isEmbedded = () => new URLSearchParams(location.search).has("embed");
