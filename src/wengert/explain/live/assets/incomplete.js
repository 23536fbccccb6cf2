// Incomplete gamma and beta functions, their derivatives with respect to parameters, and their inverses.

const gammaDensity = (a, x) => Math.exp((a - 1) * Math.log(x) - x - gammaln(a));

function gammaSeries(a, x) {
  let term = 1 / a, sum = term;
  for (let k = 1; k < 2000 && Math.abs(term) > 1e-18 * sum; k++) sum += term *= x / (a + k);
  return sum * x * gammaDensity(a, x);
}

function gammaFraction(a, x) {
  let fraction = 0;
  for (let k = 400; k > 0; k--) fraction = (k * (a - k)) / (x + 2 * k + 1 - a + fraction);
  return (x * gammaDensity(a, x)) / (x + 1 - a + fraction);
}

function gammainc(a, x, order = 0) {
  if (x <= 0) return x === 0 ? 0 : NaN;
  if (order === 0) return x < a + 1 ? gammaSeries(a, x) : 1 - gammaFraction(a, x);
  const moved = integrate((t) => Math.exp((a - 1) * Math.log(t) - t - gammaln(a)) * Math.log(t), x);
  return moved - digamma(a) * gammainc(a, x);
}

const gammaincc = (a, x) => (x === 0 ? 1 : x < a + 1 ? 1 - gammaSeries(a, x) : gammaFraction(a, x));

const betaDensity = (a, b, x, y) => Math.exp((a - 1) * Math.log(x) + (b - 1) * Math.log(y) - betaln(a, b));

// By a continued fraction, on the side where it converges at once.
function betaLower(a, b, x, y) {
  if (x > (a + 1) / (a + b + 2)) return 1 - betaLower(b, a, y, x);
  let fraction = 1;
  for (let m = 200; m > 0; m--) {
    fraction = 1 + ((m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))) / fraction;
    fraction = 1 - (((a + m - 1) * (a + b + m - 1) * x) / ((a + 2 * m - 2) * (a + 2 * m - 1))) / fraction;
  }
  return ((x * y * betaDensity(a, b, x, y)) / a) / fraction;
}

// `order` has the derivatives with respect to a and b: none, or one of them.
function betainc(a, b, x, order = [0, 0], y = 1 - x) {
  if (!(x > 0) || !(y > 0)) return x === 0 ? 0 : y === 0 ? (order[0] + order[1] ? 0 : 1) : NaN;
  if (!order[0] && !order[1]) return betaLower(a, b, x, y);
  const logarithm = order[0] ? (t) => Math.log(t) : (_, rest) => Math.log(rest);
  const moved = integrate((t, rest) => betaDensity(a, b, t, y + rest) * logarithm(t, y + rest), x);
  return moved - (digamma(order[0] ? a : b) - digamma(a + b)) * betaLower(a, b, x, y);
}

// The derivative with respect to b of betainc(1/2, b, w² / (1 + w²)), with the sign of w.
function oddIntegral(b, w, order) {
  const square = w * w, rest = 1 / (1 + square);
  const near = square < 1 ? betainc(0.5, b, square * rest, [0, order], rest) : (order ? 0 : 1) - betainc(b, 0.5, rest, [order, 0], square * rest);
  return Math.sign(w) * near;
}

function stdtr(df, z) {
  const rest = df / (df + z * z), tail = betainc(df / 2, 0.5, rest, [0, 0], (z * z) / (df + z * z)) / 2;
  return z < 0 ? tail : 1 - tail;
}

const widest = (f, from, to) => { let high = from; while (f(high) === to && high < 1e300) high *= 2; return high; };

function gammaincinv(a, p) {
  if (p <= 0 || p >= 1) return p === 0 ? 0 : p === 1 ? Infinity : NaN;
  const high = widest((x) => gammainc(a, x) < p, 1, true);
  return findRoot((x) => gammainc(a, x) - p, (x) => gammaDensity(a, x), 1e-300, high, Math.min(a, high / 2));
}

function gammainccinv(a, p) {
  if (p <= 0 || p >= 1) return p === 0 ? Infinity : p === 1 ? 0 : NaN;
  const high = widest((x) => gammaincc(a, x) > p, 1, true);
  return findRoot((x) => gammaincc(a, x) - p, (x) => -gammaDensity(a, x), 1e-300, high, Math.min(a, high / 2));
}

function betaincinv(a, b, p) {
  if (p <= 0 || p >= 1) return p === 0 || p === 1 ? p : NaN;
  if (betainc(a, b, 0.5) < p) return 1 - betaincinv(b, a, 1 - p);
  return findRoot((x) => betainc(a, b, x) - p, (x) => betaDensity(a, b, x, 1 - x), 1e-300, 0.5, 0.25);
}

function stdtrit(df, p) {
  if (p === 0.5) return 0;
  if (p > 0.5) return -stdtrit(df, 1 - p);
  const density = (z) => Math.exp(-((df + 1) / 2) * Math.log1p((z * z) / df) - betaln(df / 2, 0.5)) / Math.sqrt(df);
  const high = widest((z) => stdtr(df, -z) > p, 1, true);
  return -findRoot((z) => stdtr(df, -z) - p, (z) => -density(z), 0, high, high / 2);
}
