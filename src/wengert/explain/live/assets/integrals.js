// Exponential and trigonometric integrals, and Lambert's function.

function expi(x) {
  if (x < 0) return -exp1(-x);
  if (x > 40) {
    let term = 1, sum = 1;
    for (let k = 1; k < x; k++) sum += term *= k / x;
    return (Math.exp(x) / x) * sum;
  }
  let term = 1, sum = 0;
  for (let k = 1; k < 200; k++) sum += (term *= x / k) / k;
  return EULER + Math.log(x) + sum;
}

const exp1 = (x) => (x < 0 ? -expi(-x) : expn(x, 1));

// The series near zero, a continued fraction elsewhere.
function expn(x, n) {
  if (n <= 0) return n === 0 ? Math.exp(-x) / x : (Math.exp(-x) - n * expn(x, n + 1)) / x;
  if (x > 1.2) {
    let fraction = 0;
    for (let k = 200; k > 0; k--) fraction = (k * (n + k - 1)) / (x + n + 2 * k - fraction);
    return Math.exp(-x) / (x + n - fraction);
  }
  if (x === 0) return n > 1 ? 1 / (n - 1) : Infinity;
  let term = 1, here = -EULER - Math.log(x);
  for (let k = 1; k < 40; k++) here -= (term *= -x / k) / k;
  for (let k = 1; k < n; k++) here = (Math.exp(-x) - x * here) / k;
  return here;
}

// The auxiliary functions of the sine and cosine integrals, for large arguments.
function auxiliary(x) {
  const f = integrate((s) => (Math.exp(-s) * x) / (x * x + s * s), 45);
  const g = integrate((s) => (Math.exp(-s) * s) / (x * x + s * s), 45);
  return [f, g];
}

function si(x) {
  if (Math.abs(x) > 6) {
    const [f, g] = auxiliary(Math.abs(x));
    return Math.sign(x) * (Math.PI / 2 - f * Math.cos(x) - g * Math.sin(Math.abs(x)));
  }
  let term = x, sum = x;
  for (let k = 1; k < 40; k++) sum += (term *= (-x * x) / (2 * k * (2 * k + 1))) / (2 * k + 1);
  return sum;
}

function ci(x) {
  if (x > 6) {
    const [f, g] = auxiliary(x);
    return f * Math.sin(x) - g * Math.cos(x);
  }
  let term = 1, sum = EULER + Math.log(x);
  for (let k = 1; k < 40; k++) sum += (term *= (-x * x) / (2 * k * (2 * k - 1))) / (2 * k);
  return sum;
}

// The two real branches.
function lambertw(x, k) {
  if (x < -Math.exp(-1) - 1e-16 || (k === -1 && x >= 0) || (k !== 0 && k !== -1)) return NaN;
  if (x === 0) return 0;
  const p = Math.sqrt(Math.max(0, 2 * (Math.E * x + 1))) * (k === 0 ? 1 : -1);
  const far = k === 0 ? Math.log1p(x) : Math.log(-x) - Math.log(-Math.log(-x));
  let w = x < -0.25 ? -1 + p - (p * p) / 3 + (11 / 72) * p ** 3 : far;
  for (let n = 0; n < 50; n++) {
    const e = Math.exp(w), y = w * e - x;
    const step = y / (e * (w + 1) - ((w + 2) * y) / (2 * w + 2));
    if (!Number.isFinite(step)) return w;
    w -= step;
    if (Math.abs(step) <= 1e-16 * Math.abs(w)) break;
  }
  return w;
}
