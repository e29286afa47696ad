/** Numbers for people. */

/** A number in few digits. */
export function short(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
  if (value >= 1e4) return `${(value / 1e3).toFixed(0)} k`;
  if (value >= 1e3) return `${(value / 1e3).toFixed(1)} k`;
  return value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2);
}

export const inPercent = (value) => `${(value * 100).toFixed(value < 0.1 && value > 0 ? 1 : 0)} %`;
