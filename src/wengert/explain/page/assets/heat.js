// Arrays as heat maps: blue below zero, orange above, which all kinds of colour vision tell apart; and their numbers.

const COLD = [33, 102, 172], WARM = [201, 95, 2], LOST = [128, 128, 128];

const largestOf = (numbers) => numbers.reduce((most, x) => (x === null || !Number.isFinite(x) ? most : Math.max(most, Math.abs(x))), 0) || 1;

function heatColour(x, largest) {
  if (x === null || !Number.isFinite(x)) return LOST;
  const part = Math.min(1, Math.abs(x) / largest) ** 0.8;
  return (x < 0 ? COLD : WARM).map((end) => Math.round(250 + (end - 250) * part));
}

const drawnHeat = new WeakMap();

// A picture of one pixel for each element, as an address.
function heatAddress(array) {
  if (!drawnHeat.has(array)) {
    const [rows, columns] = array.grid, canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [columns, rows];
    const pencil = canvas.getContext("2d"), image = pencil.createImageData(columns, rows), most = largestOf(array.numbers);
    array.numbers.forEach((x, i) => image.data.set([...heatColour(x, most), 255], 4 * i));
    pencil.putImageData(image, 0, 0);
    drawnHeat.set(array, canvas.toDataURL());
  }
  return drawnHeat.get(array);
}

const twoDigits = (x) => (Number.isFinite(Number(x)) ? String(Number(Number(x).toPrecision(2))) : x);
const shapeText = (array) => array.shape.join("×");

function rangeText(array) {
  const known = array.numbers.filter((x) => x !== null && Number.isFinite(x));
  if (!known.length) return "nothing finite";
  const low = Math.min(...known), high = Math.max(...known);
  return low === high ? `all ${twoDigits(low)}` : `${twoDigits(low)} to ${twoDigits(high)}`;
}

// The colours from the smallest to the largest element, as stops of a gradient.
function barStops(array) {
  const known = array.numbers.filter((x) => x !== null && Number.isFinite(x)), most = largestOf(known);
  const low = Math.min(...known), high = Math.max(...known);
  return [0, 0.25, 0.5, 0.75, 1].map((part) => `rgb(${heatColour(low + (high - low) * part, most).join(" ")})`);
}

// A thumbnail for the table: picture, colour bar, and the range of elements.
function heatCell(array, open) {
  const cell = element("button", "heat");
  cell.type = "button";
  const picture = Object.assign(new Image(), { src: heatAddress(array), alt: "" });
  const bar = element("span", "colour-bar");
  bar.style.background = `linear-gradient(90deg, ${barStops(array).join(",")})`;
  const range = element("span", "range", rangeText(array));
  range.append(bar);
  cell.append(picture, range, element("span", "badge", shapeText(array)));
  cell.setAttribute("aria-label", `Array of shape ${shapeText(array)}, from ${rangeText(array)}. Open the numbers.`);
  cell.addEventListener("click", (event) => { event.stopPropagation(); hideTip(); open(); });
  return cell;
}

// The dialog with the numbers of an array.
function openNumbers(title, array) {
  const dialog = $("numbers"), table = element("table", "numbers-grid"), [rows, columns] = array.grid, most = largestOf(array.numbers);
  for (let r = 0; r < rows; r++) {
    const row = element("tr");
    for (let c = 0; c < columns; c++) {
      const x = array.numbers[r * columns + c], cell = element("td", "", x === null ? "nan" : formatNumber(x));
      const colour = heatColour(x, most), bright = 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2];
      cell.style.background = `rgb(${colour.join(" ")})`;
      cell.style.color = bright > 120 ? "#111" : "#fff";
      row.append(cell);
    }
    table.append(row);
  }
  $("numbers-title").textContent = `${title}, shape ${shapeText(array)}`;
  const stacked = array.shape.length > 2 ? "Axes before the last stand below one another." : "";
  const blocks = array.size ? `The array has ${array.size.toLocaleString("en")} elements; each cell is the mean of a block.` : "";
  $("numbers-note").textContent = blocks || stacked;
  $("numbers-body").replaceChildren(table);
  dialog.showModal();
}

// The numbers of the value that is known, or of the adjoint once it is.
function openArray(step, time) {
  const adjoint = adjointArray(step, time);
  if (adjoint?.numbers) openNumbers(adjointName(titles[step]), adjoint);
  else if (arrayOf(step) && isKnown(step, time)) openNumbers(titles[step], arrayOf(step));
}
