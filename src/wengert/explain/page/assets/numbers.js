// Numbers as the tables print them: three decimals without trailing zeros, small arrays in full.

const EXACT = { f16: 1e-3, f32: 1e-6 }, SHOWN_ELEMENTS = 6;

// Without trailing zeros, unless these come from rounding.
function shorten(text, exact, near) {
  return text.includes(".") && Math.abs(Number(text) - exact) <= near * Math.abs(exact) ? text.replace(/\.?0+$/, "") : text;
}

// With so many decimals; a number in the middle between two goes to the even one, as in Python.
function fixed(x, decimals) {
  const scaled = x * 10 ** decimals;
  return (Math.abs(scaled % 1) === 0.5 ? (2 * Math.round(scaled / 2)) / 10 ** decimals : x).toFixed(decimals);
}

function formatNumber(x, near = 1e-12) {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x > 0 ? "inf" : "-inf";
  const size = Math.abs(x);
  if (Number.isInteger(x) && size < 1e6) return Object.is(x, -0) ? "-0" : String(x);
  if (size >= 1e6 || size < 1e-4) {
    const [mantissa, exponent] = x.toExponential(3).split("e");
    const power = Number(exponent), digits = String(Math.abs(power)).padStart(2, "0");
    return `${shorten(mantissa, x / 10 ** power, near)}e${power < 0 ? "-" : "+"}${digits}`;
  }
  let decimals = size >= 0.1 ? 3 : 2 - Math.floor(Math.log10(size));
  if (size >= 1000) decimals = Math.max(0, 5 - Math.floor(Math.log10(size)));
  return shorten(fixed(x, decimals), x, near);
}

// The element type and the shape of `f64[8,4]`.
function readSpec(spec) {
  const [type, rest] = spec.split("[");
  return { type, shape: rest && rest !== "]" ? rest.slice(0, -1).split(",").map(Number) : [] };
}

const formatElement = (x, type) => (type.startsWith("bool") ? (x ? "True" : "False") : formatNumber(x, EXACT[type]));

function nest(list, shape, type) {
  if (!shape.length) return formatElement(list[0], type);
  const inner = list.length / shape[0];
  return `[${Array.from({ length: shape[0] }, (_, i) => nest(list.slice(i * inner, (i + 1) * inner), shape.slice(1), type)).join(", ")}]`;
}

// A number, or a flat list of numbers with a shape.
function formatValue(x, spec) {
  const { type, shape } = readSpec(spec);
  if (typeof x === "number") return formatElement(x, type);
  if (x.length <= SHOWN_ELEMENTS) return nest([...x], shape, type);
  const known = x.filter(Number.isFinite), low = Math.min(...known), high = Math.max(...known);
  if (!known.length) return `${spec} nothing finite`;
  if (known.length < x.length) return `${spec} ${x.length - known.length} not finite, others from ${formatNumber(low)} to ${formatNumber(high)}`;
  if (low === high) return `${spec} all ${formatNumber(low)}`;
  return `${spec} mean ${formatNumber(known.reduce((sum, y) => sum + y, 0) / known.length)}, from ${formatNumber(low)} to ${formatNumber(high)}`;
}
