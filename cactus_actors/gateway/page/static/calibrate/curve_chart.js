/** A risk-coverage curve as SVG: the share of answers that stay, and the share of wrong ones among them. */

import { svg } from '../parts/dom.js';
import { inPercent } from '../parts/numbers.js';

const WIDTH = 640;
const NARROW = 380;
const HEIGHT = 300;
const LEFT = 52;
const BOTTOM = 40;
const TOP = 14;
const RIGHT = 14;
const STEPS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25];

/**
 * The chart; `granted` and `chosen` are places on the curve, `granted` may be null, and so may `allowed`, the share of
 * wrong answers that was asked for. `choose` gets the place that was clicked.
 */
export function curveChart(points, total, { granted, chosen, allowed, choose }) {
  // The chart is drawn to the size of the screen: on a phone its letters stay as large.
  const width = innerWidth < WIDTH ? NARROW : WIDTH;
  const risk = ({ kept, wrong }) => (kept ? wrong / kept : 0);
  const counted = points.filter(({ kept }) => kept >= Math.min(20, total / 10));
  const highest = Math.max(allowed ?? 0, ...counted.map(risk));
  const most = 4 * (STEPS.find((step) => 4 * step >= highest * 1.03) ?? 0.25);
  const x = (share) => LEFT + share * (width - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - (Math.min(value, most) / most) * (HEIGHT - BOTTOM - TOP);
  const at = (place) => [x(points[place].kept / total), y(risk(points[place]))];
  const line = points
    .slice(1)
    .map((point) => `${x(point.kept / total).toFixed(1)} ${y(risk(point)).toFixed(1)}`)
    .join('L');
  const text = (content, properties) => svg('text', properties, content);
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  const chart = svg(
    'svg',
    { class: 'curve', viewBox: `0 0 ${width} ${HEIGHT}`, role: 'img', 'aria-label': words(points, total, granted) },
    svg('path', {
      class: 'rule',
      d:
        ticks.map((share) => `M${x(share)} ${TOP}V${HEIGHT - BOTTOM}`).join('') +
        ticks.map((share) => `M${LEFT} ${y(share * most)}H${width - RIGHT}`).join(''),
    }),
    ...ticks.map((share) =>
      text(inPercent(share), { x: x(share), y: HEIGHT - BOTTOM + 16, 'text-anchor': 'middle' }),
    ),
    ...ticks.map((share) =>
      text(inPercent(share * most), { x: LEFT - 6, y: y(share * most) + 4, 'text-anchor': 'end' }),
    ),
    text('answers that stay', {
      class: 'name',
      x: (LEFT + width - RIGHT) / 2,
      y: HEIGHT - 6,
      'text-anchor': 'middle',
    }),
    text('wrong among them', {
      class: 'name',
      x: 12,
      y: (HEIGHT - BOTTOM) / 2,
      'text-anchor': 'middle',
      transform: `rotate(-90 12 ${(HEIGHT - BOTTOM) / 2})`,
    }),
    allowed === null ? '' : svg('path', { class: 'allowed', d: `M${LEFT} ${y(allowed)}H${width - RIGHT}` }),
    line ? svg('path', { class: 'line', d: `M${line}` }) : '',
    granted === null ? '' : mark('granted', ...at(granted)),
    mark('chosen', ...at(chosen)),
  );
  chart.addEventListener('click', (event) => {
    const box = chart.getBoundingClientRect();
    const share = (((event.clientX - box.left) / box.width) * width - LEFT) / (width - LEFT - RIGHT);
    choose(nearest(points, Math.min(1, Math.max(0, share)) * total));
  });
  return chart;
}

function mark(kind, x, y) {
  return svg(
    'g',
    { class: `mark ${kind}` },
    svg('path', { d: `M${x} ${TOP}V${HEIGHT - BOTTOM}` }),
    svg('circle', { cx: x, cy: y, r: 6 }),
  );
}

function nearest(points, kept) {
  let best = 0;
  points.forEach((point, place) => {
    if (Math.abs(point.kept - kept) < Math.abs(points[best].kept - kept)) best = place;
  });
  return best;
}

function words(points, total, granted) {
  const last = points.at(-1);
  const all = `If all ${total} answers stay, ${inPercent(last.wrong / last.kept)} of them are wrong.`;
  if (granted === null) return `Risk by coverage. ${all} No threshold was found.`;
  const { kept, wrong } = points[granted];
  return `Risk by coverage. ${all} At the threshold that was found ${kept} stay, ${wrong} of them wrong.`;
}
