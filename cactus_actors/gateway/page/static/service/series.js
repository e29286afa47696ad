/** An hour of samples, and what charts show of it. */

const KEPT_S = 3600;

export class Series {
  #at = [];
  #columns = new Map();

  /** Add samples, each with a number for each of `fields`. */
  add(fields, samples) {
    for (const sample of samples) {
      const at = sample[0];
      if (this.#at.length && at <= this.#at.at(-1)) continue;
      this.#at.push(at);
      fields.forEach((name, column) => {
        if (!this.#columns.has(name)) this.#columns.set(name, []);
        this.#columns.get(name).push(sample[column]);
      });
    }
    const old = this.#at.findIndex((at) => at >= this.#at.at(-1) - KEPT_S);
    if (old > 0) for (const column of [this.#at, ...this.#columns.values()]) column.splice(0, old);
  }

  get isEmpty() {
    return this.#at.length < 2;
  }

  /** A number as it was: [time, value] pairs. */
  values(name) {
    const column = this.#columns.get(name) ?? [];
    return this.#at.map((at, index) => [at, column[index]]);
  }

  /** The growth of a total a second; a total that begins anew counts as none. */
  rate(name) {
    return this.#steps((index, seconds) => this.#growth(name, index) / seconds);
  }

  /** The growth of one total as a share of that of another, null where that does not grow. */
  share(part, whole) {
    return this.#steps((index) => {
      const all = this.#growth(whole, index);
      return all > 0 ? Math.min(1, this.#growth(part, index) / all) : null;
    });
  }

  #growth(name, index) {
    const column = this.#columns.get(name) ?? [];
    return Math.max(0, column[index] - column[index - 1]);
  }

  #steps(value) {
    const steps = [];
    for (let index = 1; index < this.#at.length; index += 1) {
      steps.push([this.#at[index], value(index, this.#at[index] - this.#at[index - 1])]);
    }
    return steps;
  }
}

/** Points in at most `count` equal spans of time, each with the mean of its values; null where there is none. */
export function thinned(points, count) {
  if (points.length <= count) return points;
  const first = points[0][0];
  const span = (points.at(-1)[0] - first) / count;
  const sums = Array.from({ length: count }, () => [0, 0]);
  for (const [at, value] of points) {
    if (value === null) continue;
    const sum = sums[Math.min(count - 1, Math.floor((at - first) / span))];
    sum[0] += value;
    sum[1] += 1;
  }
  return sums.map(([sum, number], index) => [first + (index + 0.5) * span, number ? sum / number : null]);
}
