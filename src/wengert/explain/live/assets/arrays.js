// What recomputed programs consist of: arrays are flat lists of elements, single numbers are numbers.

const each = (n, element) => Array.from({ length: n }, (_, i) => element(i));
const take = (x, indices) => indices.map((i) => (i < 0 ? 0 : x[i]));

// Each element is a sum of weights times elements: rows of [index, weight, index, weight, ...].
const weigh = (x, rows) => rows.map((row) => {
  let sum = 0;
  for (let k = 0; k < row.length; k += 2) sum += row[k + 1] * x[row[k]];
  return sum;
});

// Each element is a sum of products of elements: rows of [index in x, index in y, weight, ...].
const contract = (x, y, rows) => rows.map((row) => {
  let sum = 0;
  for (let k = 0; k < row.length; k += 3) sum += row[k + 2] * x[row[k]] * y[row[k + 1]];
  return sum;
});

// Each element is a function of a list of elements.
const reduce = (x, groups, f) => groups.map((group) => f(group.map((i) => x[i])));

// A function of lists, whose results are written back to where the elements of the lists stood.
function along(x, groups, f) {
  const out = [...x];
  for (const group of groups) f(group.map((i) => x[i])).forEach((y, k) => { out[group[k]] = y; });
  return out;
}

const total = (list) => list.reduce((sum, x) => sum + x, 0);
const product = (list) => list.reduce((sum, x) => sum * x, 1);
const largest = (list) => list.reduce((most, x) => (x > most || Number.isNaN(x) ? x : most));
const smallest = (list) => list.reduce((least, x) => (x < least || Number.isNaN(x) ? x : least));
const finite = (list) => list.filter((x) => !Number.isNaN(x));
const firstOf = (list, x) => Math.max(0, list.findIndex((y) => y === x || Number.isNaN(y)));

function logsumexp(list) {
  const most = largest(list);
  return Number.isFinite(most) ? most + Math.log(total(list.map((x) => Math.exp(x - most)))) : most;
}

function softmax(list) {
  const most = largest(list), powers = list.map((x) => Math.exp(x - most)), sum = total(powers);
  return powers.map((x) => x / sum);
}

function norm(list, order) {
  const sizes = list.map(Math.abs), most = largest([0, ...sizes]);
  if (order === Infinity) return most;
  if (order === -Infinity) return smallest(sizes);
  if (order === 0) return sizes.filter((x) => x !== 0).length;
  if (!(most > 0) || most === Infinity) return most;
  return most * total(sizes.map((x) => (x / most) ** order)) ** (1 / order);
}
