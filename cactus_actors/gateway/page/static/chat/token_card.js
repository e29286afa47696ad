/**
 * The card of a token: its probability while the pointer is over it, and the alternatives after a click or Enter.
 *
 * The text of an answer is one stop of the Tab key; the arrow keys go from token to token in it.
 */

import { button, h, say } from '../parts/dom.js';
import { percent, shown } from './tokens.js';

const MARGIN = 8;
const NO_TEXT = /^<\|.*\|>$|^<\/?\w+>$|^bytes:|\uFFFD/; // control tokens, and parts of characters
let card = null;
let owner = null;

/** Show cards for the tokens in `element`; `continueWith(number, text)` is called for a chosen alternative. */
export function wireTokens(element, tokens, continueWith) {
  const at = () => element.querySelector('.at');
  const tokenOf = (target) => target.closest?.('[data-token]');
  element.addEventListener('pointerover', (event) => {
    const target = tokenOf(event.target);
    if (target && !card?.dataset.pinned) open(target, tokens, null);
  });
  element.addEventListener('pointerleave', () => {
    if (!card?.dataset.pinned) closeCard();
  });
  element.addEventListener('click', (event) => {
    const target = tokenOf(event.target);
    if (target) open(target, tokens, continueWith);
  });
  element.addEventListener('blur', () => at()?.classList.remove('at'));
  element.addEventListener('keydown', (event) => {
    const all = [...element.querySelectorAll('[data-token]')];
    const now = all.indexOf(at());
    const moves = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: all.length - 1 };
    if (event.key === 'Enter' && now >= 0) {
      event.preventDefault();
      open(all[now], tokens, continueWith).querySelector('button')?.focus();
    } else if (event.key in moves && all.length && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      const next = all[Math.max(0, Math.min(all.length - 1, moves[event.key]))];
      at()?.classList.remove('at');
      next.classList.add('at');
      next.scrollIntoView({ block: 'nearest' });
      open(next, tokens, null);
      const token = tokens[Number(next.dataset.token)];
      say(`${shown(token.t)}, ${percent(token.p)}`);
    }
  });
}

/** Take the card away. */
export function closeCard() {
  const back = card?.contains(document.activeElement) ? owner?.closest('.tokens') : null;
  card?.remove();
  card = null;
  owner = null;
  back?.focus();
}

function open(target, tokens, continueWith) {
  const number = Number(target.dataset.token);
  const token = tokens[number];
  card?.remove();
  owner = target;
  card = h(
    'div',
    { class: 'token-card', role: 'group', 'aria-label': 'Token' },
    h('p', {}, h('span', { class: 'piece', text: shown(token.t) }), ` ${percent(token.p)}`),
  );
  if (continueWith) {
    card.dataset.pinned = 'yes';
    card.append(alternatives(number, token, continueWith));
  }
  document.getElementById('main').append(card);
  place(target.getClientRects()[0] ?? target.getBoundingClientRect());
  return card;
}

function alternatives(number, token, continueWith) {
  const isListed = token.alternatives.some(([text]) => text === token.t);
  const all =
    isListed || !token.alternatives.length ? token.alternatives : [...token.alternatives, [token.t, token.p]];
  const rows = all.map(([text, probability]) => {
    const isChosen = text === token.t;
    const choose = () => {
      closeCard();
      continueWith(number, text);
    };
    let act = isChosen ? h('span', { class: 'muted small', text: 'chosen' }) : null;
    if (!isChosen && !NO_TEXT.test(text))
      act = button('Continue', choose, { 'aria-label': `Continue with ${shown(text)}` });
    return h(
      'tr',
      { class: isChosen ? 'chosen' : false },
      h('td', {}, h('span', { class: 'piece', text: shown(text) })),
      h(
        'td',
        {},
        h('meter', { min: '0', max: '1', value: probability, 'aria-label': `Probability of ${shown(text)}` }),
      ),
      h('td', { class: 'number', text: percent(probability) }),
      h('td', {}, act),
    );
  });
  if (!rows.length) return h('p', { class: 'muted', text: 'No alternatives were asked for.' });
  return h(
    'table',
    {},
    h('caption', { class: 'unseen', text: 'The likeliest tokens here' }),
    h('tbody', {}, ...rows),
  );
}

function place(box) {
  const { width, height } = card.getBoundingClientRect();
  const left = Math.min(Math.max(MARGIN, box.left), innerWidth - width - MARGIN);
  const below = box.bottom + MARGIN;
  const top = below + height > innerHeight ? Math.max(MARGIN, box.top - height - MARGIN) : below;
  card.style.left = `${left}px`;
  card.style.top = `${top}px`;
}

addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && card) closeCard();
});
addEventListener('pointerdown', (event) => {
  if (card && !card.contains(event.target) && !event.target.closest?.('[data-token]')) closeCard();
});
addEventListener(
  'scroll',
  () => {
    if (card && !card.contains(document.activeElement)) closeCard();
  },
  { capture: true, passive: true },
);
