// The error function and the normal distribution.

// The scaled function exp(x²) erfc(x) and its derivatives.
function erfcx(x, order = 0) {
  let [last, here] = [0, erfcxValue(x)];
  for (let n = 1; n <= order; n++) [last, here] = [here, 2 * x * here + (n > 1 ? 2 * (n - 1) * last : -2 / Math.sqrt(Math.PI))];
  return here;
}

// Beyond 2 by Laplace's continued fraction.
function erfcxValue(x) {
  if (x < 2) return Math.exp(x * x) * erfc(x);
  let fraction = 0;
  for (let k = 120; k > 0; k--) fraction = (k / 2) / (x + fraction);
  return 1 / (Math.sqrt(Math.PI) * (x + fraction));
}

// Up to 2.5 by the series without cancellation.
function erf(x) {
  if (Math.abs(x) > 2.5) return Math.sign(x) * (1 - erfc(Math.abs(x)));
  let term = x, sum = x;
  for (let k = 1; k < 80; k++) sum += term *= (2 * x * x) / (2 * k + 1);
  return ((2 / Math.sqrt(Math.PI)) * Math.exp(-x * x)) * sum;
}

const erfc = (x) => (x < 2 ? 1 - erf(x) : Math.exp(-x * x) * erfcxValue(x));

// Inverses: a rough start, then steps of third order.
function erfcinv(p) {
  if (p > 1) return -erfcinv(2 - p);
  if (p <= 0) return p === 0 ? Infinity : NaN;
  const t = Math.sqrt(-2 * Math.log(p / 2));
  let x = -0.70711 * ((2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)) - t);
  for (let k = 0; k < 4; k++) {
    const step = (erfc(x) - p) / ((2 / Math.sqrt(Math.PI)) * Math.exp(-x * x));
    x += step / (1 + x * step);
  }
  return x;
}

function erfinv(y) {
  if (Math.abs(y) > 0.5) return Math.sign(y) * erfcinv(1 - Math.abs(y));
  let x = y * (Math.sqrt(Math.PI) / 2);
  for (let k = 0; k < 5; k++) {
    const step = (erf(x) - y) / ((2 / Math.sqrt(Math.PI)) * Math.exp(-x * x));
    x -= step / (1 + x * step);
  }
  return x;
}

const ndtr = (x) => (x < 0 ? erfc(-x / Math.SQRT2) / 2 : 1 - erfc(x / Math.SQRT2) / 2);
const logNdtr = (x) => (x < -1 ? Math.log(erfcxValue(-x / Math.SQRT2) / 2) - (x * x) / 2 : x < 0 ? Math.log(ndtr(x)) : Math.log1p(-ndtr(-x)));
const ndtri = (p) => (p > 0.25 && p < 0.75 ? Math.SQRT2 * erfinv(2 * p - 1) : -Math.SQRT2 * erfcinv(2 * p));
