/** Charts as SVG, each with its numbers in words for those who do not see it. */

import { h, newId, svg } from '../parts/dom.js';
import { short } from '../parts/numbers.js';
import { thinned } from './series.js';

const WIDTH = 320;
const HEIGHT = 96;
const TOP = 8;
const NUM_POINTS = 160;

/**
 * A chart over time in a card. `lines` are `{ name, points }` with at most two; the last value stands in the head.
 * `most` is the upper end of the scale, by default that of the data.
 */
export function timeChart(title, lines, { format = short, most = null, hint = '' } = {}) {
  const shown = lines.map(({ name, points }) => ({ name, points: thinned(points, NUM_POINTS) }));
  const values = shown.flatMap(({ points }) => points.map(([, value]) => value)).filter((value) => value !== null);
  const top = most ?? Math.max(1e-9, ...values);
  const times = shown[0].points.map(([at]) => at);
  const [first, last] = [times[0] ?? 0, times.at(-1) ?? 1];
  const x = (at) => ((at - first) / Math.max(1, last - first)) * WIDTH;
  const y = (value) => HEIGHT - (Math.min(value, top) / top) * (HEIGHT - TOP);
  const paths = shown.flatMap(({ points }, number) =>
    pathsOf(points, x, y).flatMap(([line, area]) => [
      number === 0 ? svg('path', { class: 'area', d: area }) : null,
      svg('path', { class: `line l${number}`, d: line }),
    ]),
  );
  const minutes = Math.round((last - first) / 60);
  const words = shown.map(({ name, points }) => summary(name, points, format)).join(' ');
  return card(
    title,
    latest(shown, format),
    hint,
    svg(
      'svg',
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: 'none',
        role: 'img',
        'aria-label': `${title}. ${words}`,
      },
      svg('path', { class: 'rule', d: `M0 ${HEIGHT}H${WIDTH}M0 ${TOP}H${WIDTH}` }),
      ...paths,
    ),
    h(
      'p',
      { class: 'axis' },
      h('span', { text: minutes ? `${minutes} min ago` : `${Math.round(last - first)} s ago` }),
      h('span', { text: values.length ? `top ${format(top)}` : 'no data yet' }),
      h('span', { text: 'now' }),
    ),
  );
}

/** A histogram in a card: `counts` of values up to each of `bounds`, and above the last. */
export function histogram(title, { bounds, counts }, { hint = '', unit = 's' } = {}) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const most = Math.max(1, ...counts);
  const width = WIDTH / counts.length;
  const names = counts.map((_, index) =>
    index < bounds.length ? `up to ${bounds[index]} ${unit}` : `above ${bounds.at(-1)} ${unit}`,
  );
  const bars = counts.map((count, index) =>
    svg(
      'rect',
      {
        class: 'bar-of',
        x: index * width + 1,
        width: Math.max(1, width - 2),
        y: HEIGHT - (count / most) * (HEIGHT - TOP),
        height: (count / most) * (HEIGHT - TOP),
      },
      svg('title', {}, `${names[index]}: ${count}`),
    ),
  );
  const words = total
    ? counts
        .map((count, index) => (count ? `${count} ${names[index]}` : ''))
        .filter(Boolean)
        .join(', ')
    : 'No data yet';
  const median = total ? medianOf(bounds, counts, total) : null;
  return card(
    title,
    median === null ? '–' : `half ${median}`,
    hint,
    svg(
      'svg',
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: 'none',
        role: 'img',
        'aria-label': `${title}. ${words}.`,
      },
      svg('path', { class: 'rule', d: `M0 ${HEIGHT}H${WIDTH}` }),
      ...bars,
    ),
    h(
      'p',
      { class: 'axis' },
      h('span', { text: `${bounds[0]} ${unit}` }),
      h('span', { text: `${short(total)} answers` }),
      h('span', { text: `${bounds.at(-1)} ${unit}` }),
    ),
  );
}

function medianOf(bounds, counts, total) {
  let sum = 0;
  for (const [index, count] of counts.entries()) {
    sum += count;
    if (sum * 2 >= total) return index < bounds.length ? `≤ ${bounds[index]} s` : `> ${bounds.at(-1)} s`;
  }
  return '–';
}

function card(title, value, hint, ...content) {
  const id = newId('chart');
  return h(
    'section',
    { class: 'card chart', 'aria-labelledby': id },
    h('div', { class: 'chart-head' }, h('h2', { id, text: title }), h('p', { class: 'value', text: value })),
    ...content,
    hint ? h('p', { class: 'hint muted small', text: hint }) : null,
  );
}

function latest(shown, format) {
  return shown
    .map(({ name, points }) => {
      const value = points.findLast(([, one]) => one !== null)?.[1];
      return `${value === undefined ? '–' : format(value)}${name ? ` ${name}` : ''}`;
    })
    .join(' · ');
}

function summary(name, points, format) {
  const values = points.map(([, value]) => value).filter((value) => value !== null);
  if (!values.length) return `${name}: no data yet.`;
  const [least, most] = [Math.min(...values), Math.max(...values)].map((value) => format(value));
  return `${name || 'Value'}: now ${format(values.at(-1))}, between ${least} and ${most}.`;
}

/** The lines of points without gaps, and the areas below them. */
function pathsOf(points, x, y) {
  const runs = [[]];
  for (const [at, value] of points) {
    if (value === null) runs.push([]);
    else runs.at(-1).push([x(at), y(value)]);
  }
  return runs
    .filter((run) => run.length)
    .map((run) => (run.length === 1 ? widened(run[0]) : run))
    .map((run) => {
      const line = `M${run.map(([across, down]) => `${across.toFixed(1)} ${down.toFixed(1)}`).join('L')}`;
      return [line, `${line}V${HEIGHT}H${run[0][0].toFixed(1)}Z`];
    });
}

/** A value between two gaps, as wide as can be seen. */
function widened([across, down]) {
  return [
    [across - 2, down],
    [across + 2, down],
  ];
}
