// Bessel functions, by their integrals: over a period for an integer order, else with a second integral.

const pointsFor = (v, x) => 2 * Math.ceil(24 + Math.abs(v) + Math.abs(x));
const isInteger = (v) => v === Math.floor(v);

// The integral over t > 0 of a function that decays like exp(-x exp(t) / 2).
const decaying = (f, v, x) => integrate(f, Math.log(2 * (750 + 40 * Math.abs(v)) / Math.max(x, 1e-300)) + 1);

function jv(v, x) {
  if (isInteger(v)) return periodicMean((a) => Math.cos(v * a - x * Math.sin(a)), 2 * Math.PI, pointsFor(v, x));
  if (x < 0) return NaN;
  const whole = integrate((a) => Math.cos(v * a - x * Math.sin(a)), Math.PI);
  return (whole - Math.sin(v * Math.PI) * decaying((t) => Math.exp(-x * Math.sinh(t) - v * t), v, x)) / Math.PI;
}

function yv(v, x) {
  if (!(x > 0)) return x === 0 ? -Infinity : NaN;
  const whole = integrate((a) => Math.sin(x * Math.sin(a) - v * a), Math.PI);
  const rest = decaying((t) => (Math.exp(v * t) + Math.exp(-v * t) * Math.cos(v * Math.PI)) * Math.exp(-x * Math.sinh(t)), v, x);
  return (whole - rest) / Math.PI;
}

// Scaled by exp(-|x|).
function ive(v, x) {
  const size = Math.abs(x);
  if (isInteger(v)) return periodicMean((a) => Math.exp(x * Math.cos(a) - size) * Math.cos(v * a), 2 * Math.PI, pointsFor(v, x));
  if (x < 0) return NaN;
  const whole = integrate((a) => Math.exp(x * Math.cos(a) - x) * Math.cos(v * a), Math.PI);
  return (whole - Math.sin(v * Math.PI) * decaying((t) => Math.exp(-x * Math.cosh(t) - x - v * t), v, x)) / Math.PI;
}

const iv = (v, x) => Math.exp(Math.abs(x)) * ive(v, x);

// Scaled by exp(x).
const kve = (v, x) => (x > 0 ? decaying((t) => Math.exp(-2 * x * Math.sinh(t / 2) ** 2) * Math.cosh(v * t), v, x) : x === 0 ? Infinity : NaN);
const kv = (v, x) => Math.exp(-x) * kve(v, x);
