// Functions of single numbers that JavaScript lacks.

const SCRATCH = new DataView(new ArrayBuffer(8));

function remainder(x, y) {
  const rest = x % y;
  return rest !== 0 && rest < 0 !== y < 0 ? rest + y : rest;
}

// To the nearest integer, halves to the even one.
function rint(x) {
  const near = Math.round(x);
  return Math.abs(x % 1) === 0.5 && near % 2 !== 0 ? near - 1 : near;
}

function nextafter(x, y) {
  if (x === y || Number.isNaN(x) || Number.isNaN(y)) return x === y ? y : NaN;
  if (x === 0) return Math.sign(y) * Number.MIN_VALUE;
  SCRATCH.setFloat64(0, x);
  SCRATCH.setBigInt64(0, SCRATCH.getBigInt64(0) + (y > x === x > 0 ? 1n : -1n));
  return SCRATCH.getFloat64(0);
}

// A number as mantissa and exponent.
function split(x) {
  if (x === 0 || !Number.isFinite(x)) return [x, 0];
  let exponent = Math.max(-1022, Math.floor(Math.log2(Math.abs(x))) + 1), mantissa = x * 2 ** -exponent;
  while (Math.abs(mantissa) < 0.5) { mantissa *= 2; exponent--; }
  while (Math.abs(mantissa) >= 1) { mantissa /= 2; exponent++; }
  return [mantissa, exponent];
}

// The n-th derivative of sin(πx) / (πx): from x s⁽ⁿ⁾ + n s⁽ⁿ⁻¹⁾ = πⁿ⁻¹ sin(πx + nπ/2), or near zero by its series.
function sinc(x, n) {
  if (Math.abs(x) > 1) {
    let s = Math.sin(Math.PI * x) / (Math.PI * x);
    for (let k = 1; k <= n; k++) s = (Math.PI ** (k - 1) * Math.sin(Math.PI * x + (k * Math.PI) / 2) - k * s) / x;
    return s;
  }
  let sum = 0, term = 1;
  for (let k = 0; k < 30; k++) {
    let falling = 1;
    for (let j = 0; j < n; j++) falling *= 2 * k - j;
    if (2 * k >= n) sum += term * falling * x ** (2 * k - n);
    term *= -(Math.PI ** 2) / ((2 * k + 2) * (2 * k + 3));
  }
  return sum;
}

function logaddexp(x, y) {
  if (x === y) return x + Math.LN2;
  const distance = -Math.abs(x - y);
  return Number.isNaN(distance) ? x + y : Math.max(x, y) + Math.log1p(Math.exp(distance));
}

const sigmoid = (x) => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)));
const xlogy = (x, y) => (x === 0 && !Number.isNaN(y) ? 0 : x * Math.log(y));
const xlog1py = (x, y) => (x === 0 && !Number.isNaN(y) ? 0 : x * Math.log1p(y));
const entr = (x) => (x < 0 ? -Infinity : -xlogy(x, x));
const relEntr = (x, y) => (x > 0 && y > 0 ? x * Math.log(x / y) : x === 0 && y >= 0 ? 0 : Number.isNaN(x + y) ? NaN : Infinity);
const maximum = (x, y) => (Number.isNaN(x) || x > y ? x : y);
const minimum = (x, y) => (Number.isNaN(x) || x < y ? x : y);
const copysign = (x, y) => (Object.is(y, -0) || y < 0 ? -Math.abs(x) : Math.abs(x));
const log2 = (x) => { const [mantissa, exponent] = split(x); return x > 0 && Number.isFinite(x) ? exponent + Math.log(mantissa) / Math.LN2 : Math.log2(x); };
const divisor = (x, y) => { [x, y] = [Math.abs(x), Math.abs(y)]; while (y) [x, y] = [y, x % y]; return x; };
const ones = (x) => [...BigInt(Math.abs(x)).toString(2)].filter((digit) => digit === "1").length;
