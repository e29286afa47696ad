/** One answer: thoughts, text, calls, who gave it, and what can be done with it. */

import { button, h } from '../parts/dom.js';
import { callsElement } from './calls.js';
import { handoffNote } from './handoff_note.js';
import { markdown } from './markdown.js';
import { wireTokens } from './token_card.js';
import { legend, tokenLeaf } from './tokens.js';

export class AnswerView {
  #actions;

  /** `actions` are `retry`, `colour`, `continueWith`, `sendResults` (absent unless they are wanted), and `versions`. */
  constructor(turn, actions) {
    this.turn = turn;
    this.#actions = actions;
    this.thoughts = h('details', { class: 'thoughts', hidden: true }, h('summary', { text: 'Thoughts' }), h('p'));
    this.text = h('div', { class: 'markdown tokens' });
    this.more = h('div', { class: 'stack' });
    this.element = h(
      'li',
      { class: 'turn assistant' },
      h('div', { class: 'bubble stack' }, this.thoughts, this.text),
      this.more,
    );
    this.update();
  }

  /** Show what the turn has now. */
  update() {
    const { turn } = this;
    const isStreaming = turn.state === 'streaming';
    this.element.classList.toggle('streaming', isStreaming);
    this.thoughts.hidden = !turn.thoughts.trim();
    this.thoughts.firstElementChild.textContent = isStreaming && !turn.text ? 'Thinking …' : 'Thoughts';
    this.thoughts.lastElementChild.textContent = turn.thoughts.trim();
    const hasTokens = turn.tokens.length > 0;
    this.text.classList.toggle('coloured', hasTokens);
    this.text.replaceChildren(...markdown(turn.text, hasTokens ? tokenLeaf(turn.text, turn.tokens) : undefined));
    if (!isStreaming) this.#finish();
  }

  #finish() {
    const { turn } = this;
    if (turn.tokens.length && turn.text && !this.text.hasAttribute('tabindex')) {
      const attributes = {
        tabindex: '0',
        role: 'group',
        'aria-label': 'Answer; the arrow keys go through its tokens',
      };
      for (const [name, value] of Object.entries(attributes)) this.text.setAttribute(name, value);
      wireTokens(this.text, turn.tokens, this.#actions.continueWith);
    }
    const isMarked = this.text.querySelector('.p0, .p1, .p2, .p3') !== null;
    this.more.replaceChildren(
      ...[
        turn.calls.length ? callsElement(turn.calls, this.#actions.sendResults) : null,
        turn.state === 'failed' ? h('p', { class: 'note bad', role: 'alert', text: turn.error }) : null,
        turn.localText ? h('p', { class: 'note', text: `The local answer: ${turn.localText}` }) : null,
        turn.state === 'stopped' ? h('p', { class: 'muted small', text: 'Stopped.' }) : null,
        turn.finish === 'length'
          ? h('p', { class: 'muted small', text: 'The answer reached the largest number of tokens.' })
          : null,
        handoffNote(turn),
        isMarked ? legend() : null,
        h('div', {}, h('p', { class: 'facts', text: factsOf(turn) }), this.#acts()),
      ].filter(Boolean),
    );
  }

  #acts() {
    const { turn } = this;
    const { retry, colour, versions } = this.#actions;
    const copy = button(
      'Copy',
      async () => {
        await navigator.clipboard?.writeText(turn.text);
        copy.textContent = 'Copied';
      },
      { class: 'plain' },
    );
    return h(
      'div',
      { class: 'acts' },
      versions(),
      button('Retry', retry, { class: 'plain' }),
      copy,
      colour
        ? button('Colour it', colour, {
            class: 'plain',
            title: 'Ask again with the same seed, for the probabilities',
          })
        : null,
    );
  }
}

function factsOf({ model, usage, timings, confidence, seed, seed_text: seedText, handoff }) {
  const facts = [];
  if (model) facts.push(handoff?.status === 'completed' ? `${model} (larger model)` : model);
  if (usage) facts.push(usage.completion_tokens === 1 ? '1 token' : `${usage.completion_tokens} tokens`);
  if (timings?.predicted_per_second) facts.push(`${timings.predicted_per_second.toFixed(0)} tokens/s`);
  if (timings?.cache_n) facts.push(`${timings.cache_n} of the prompt cached`);
  if (typeof confidence === 'number') facts.push(`confidence ${confidence.toFixed(3)}`);
  if (seed !== undefined) facts.push(`seed ${seedText ?? seed}`);
  return facts.join(' · ');
}
