/** Who answered, and why. */

import { h } from '../parts/dom.js';

/** The note about a hand-off; null for an answer that no gate sent away. */
export function handoffNote(turn) {
  const { handoff } = turn;
  if (!handoff || handoff.status === 'none') return null;
  const why = reasonOf(handoff);
  if (handoff.status === 'completed') {
    const cost =
      handoff.cost === undefined ? '' : ` It cost ${handoff.cost.toPrecision(2)} ${handoff.currency ?? ''}.`;
    const time = handoff.latency_ms ? ` after ${inTime(handoff.latency_ms)}` : '';
    const provider = handoff.provider ? ` (${handoff.provider})` : '';
    const from = handoff.local_model ? ` in place of ${handoff.local_model}` : '';
    return note(
      'cloud',
      'Handed off',
      `${handoff.model ?? turn.model}${provider} answered${from}${time}. ${why}${cost}`,
    );
  }
  if (handoff.status === 'failed') return note('warn', 'Not handed off', `The larger model gave no answer. ${why}`);
  return note('warn', 'Unsure', `The local answer stayed. ${why}`);
}

function reasonOf({ signal, confidence, threshold, reason, status }) {
  const because =
    confidence === null || confidence === undefined
      ? ''
      : `${signal} ${confidence.toFixed(3)} is below ${threshold.toFixed(3)}.`;
  const detail = reason && status !== 'completed' ? ` ${reason.endsWith('.') ? reason : `${reason}.`}` : '';
  return `${because}${detail}`.trim();
}

function note(kind, title, text) {
  return h('p', { class: `note ${kind}`, 'data-handoff': kind }, h('strong', { text: `${title}: ` }), text);
}

function inTime(milliseconds) {
  return milliseconds < 950 ? `${Math.ceil(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}
