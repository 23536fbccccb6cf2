// Explanations in frames have the theme of the site, also when the reader changes it.

const sendTheme = (frame) => frame.postMessage({ wengert: "theme", theme: document.body.dataset.mdColorScheme === "slate" ? "dark" : "light" }, "*");
const sendToAll = () => document.querySelectorAll("iframe.explanation").forEach((frame) => sendTheme(frame.contentWindow));

addEventListener("message", (event) => { if (event.data?.wengert === "ready") sendTheme(event.source); });
new MutationObserver(sendToAll).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
sendToAll();
