// Integrals of analytic functions, by double-exponential quadrature: nearly all digits, also with singular ends.

const NODES = Array.from({ length: 385 }, (_, k) => {
  const t = (k - 192) / 32, u = (Math.PI / 2) * Math.sinh(t);
  const left = 1 / (1 + Math.exp(-2 * u)), right = 1 / (1 + Math.exp(2 * u));
  return [left, right, ((Math.PI / 32) * Math.cosh(t)) * left * right];
});

// The integral of f over an interval; f gets the distances of a point from both ends.
function integrate(f, length) {
  let sum = 0;
  for (const [left, right, weight] of NODES) {
    const term = f(length * left, length * right) * weight;
    if (Number.isFinite(term)) sum += term;
  }
  return sum * length;
}

// The mean of a periodic function over its period, by the trapezoidal rule.
function periodicMean(f, period, points) {
  let sum = 0;
  for (let k = 0; k < points; k++) sum += f((period * k) / points);
  return sum / points;
}

// The value at which an increasing or decreasing function is zero: Newton's steps, kept between two bounds.
function findRoot(f, slope, low, high, start) {
  const rises = f(low) < f(high);
  let x = start;
  for (let k = 0; k < 200; k++) {
    const y = f(x);
    if (y === 0) return x;
    if (y < 0 === rises) low = x;
    else high = x;
    let next = x - y / slope(x);
    if (!(next > low && next < high)) next = low > 0 && high / low > 4 ? Math.sqrt(low * high) : (low + high) / 2;
    if (Math.abs(next - x) <= 2e-16 * Math.abs(next)) return next;
    x = next;
  }
  return x;
}
