// The gamma function and its relatives, for real arguments.

const EULER = 0.5772156649015329;
const LANCZOS = [0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];
const BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330];

const isPole = (x) => x <= 0 && x === Math.floor(x);

function gamma(x) {
  if (isPole(x)) return x === 0 ? 1 / x : NaN;
  if (x === Math.floor(x) && x < 171) {
    let product = 1;
    for (let k = 2; k < x; k++) product *= k;
    return product;
  }
  if (x < 0.5) return Math.PI / (Math.sin(Math.PI * x) * gamma(1 - x));
  if (x > 171.7) return Infinity;
  const shifted = x - 1, base = shifted + 7.5;
  let sum = LANCZOS[0];
  for (let k = 1; k < 9; k++) sum += LANCZOS[k] / (shifted + k);
  const half = base ** ((shifted + 0.5) / 2);
  return Math.sqrt(2 * Math.PI) * half * Math.exp(-base) * half * sum;
}

const rgamma = (x) => (isPole(x) ? 0 : 1 / gamma(x));
const gammasgn = (x) => (x > 0 ? 1 : isPole(x) ? (x === 0 ? 1 : NaN) : Math.floor(x) % 2 === 0 ? 1 : -1);

// The logarithm of |gamma|: Stirling's series far from zero, which smaller arguments are moved to.
function gammaln(x) {
  if (isPole(x)) return Infinity;
  if (x < 0.5) return Math.log(Math.PI / Math.abs(Math.sin(Math.PI * x))) - gammaln(1 - x);
  if (x < 20) return Math.log(Math.abs(gamma(x)));
  let sum = (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI), power = x;
  BERNOULLI.forEach((b, k) => { sum += b / ((2 * k + 2) * (2 * k + 1) * power); power *= x * x; });
  return sum;
}

function digamma(x) {
  if (isPole(x)) return x === 0 ? -1 / x : NaN;
  if (x < 0) return digamma(1 - x) - Math.PI / Math.tan(Math.PI * x);
  let sum = 0;
  while (x < 12) sum -= 1 / x++;
  sum += Math.log(x) - 0.5 / x;
  let power = x * x;
  BERNOULLI.forEach((b, k) => { sum -= b / ((2 * k + 2) * power); power *= x * x; });
  return sum;
}

// Hurwitz's zeta function, by the formula of Euler and Maclaurin.
function zeta(s, q) {
  if (s === 1) return Infinity;
  if (s < 1) return NaN;
  let sum = 0, x = q;
  for (let k = 0; k < 20; k++) sum += x++ ** -s;
  sum += x ** (1 - s) / (s - 1) + 0.5 * x ** -s;
  let rising = s, power = x ** (-s - 1), factorial = 2;
  BERNOULLI.forEach((b, k) => {
    sum += (b * rising * power) / factorial;
    const n = 2 * k + 1;
    rising *= (s + n) * (s + n + 1);
    power /= x * x;
    factorial *= (n + 2) * (n + 3);
  });
  return sum;
}

const polygamma = (n, x) => (n === 0 ? digamma(x) : (n % 2 ? 1 : -1) * gamma(n + 1) * zeta(n + 1, x));
const betaln = (x, y) => gammaln(x) + gammaln(y) - gammaln(x + y);
const beta = (x, y) => (Math.abs(x) + Math.abs(y) < 100 ? gamma(x) * gamma(y) * rgamma(x + y) : Math.exp(betaln(x, y)));
const binom = (n, k) => gamma(n + 1) * rgamma(k + 1) * rgamma(n - k + 1);

// Gauss's hypergeometric series; a negative argument is moved into the unit interval by Pfaff's transformation.
function hyp2f1(a, b, c, z) {
  if (z < 0) return (1 - z) ** -a * hyp2f1(a, c - b, c, z / (z - 1));
  let term = 1, sum = 1;
  for (let k = 0; k < 20000; k++) {
    term *= ((a + k) * (b + k) * z) / ((c + k) * (k + 1));
    sum += term;
    if (term === 0 || (k > Math.abs(a) + Math.abs(b) && Math.abs(term) < 1e-17 * Math.abs(sum))) return sum;
  }
  return NaN;
}
