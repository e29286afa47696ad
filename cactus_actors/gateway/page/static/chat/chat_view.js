/** The part of the page for conversations. */

import { getJson } from '../parts/api.js';
import { h, say } from '../parts/dom.js';
import { newAnswer, receive } from './answer.js';
import { AnswerView } from './answer_view.js';
import { bodyOf, withProbabilities } from './body.js';
import { Composer } from './composer.js';
import { Conversation } from './conversation.js';
import { headOf } from './head.js';
import { questionView } from './question_view.js';
import { Sentences } from './sentences.js';
import { settingsPanel } from './settings_panel.js';
import { sidebar } from './sidebar.js';
import { allConversations, remove, save } from './store.js';
import { closeCard } from './token_card.js';
import { versionButtons } from './version_buttons.js';
import { welcome } from './welcome.js';

/** Show the chat in `root`; returns the function that leaves it. */
export function chatView(root) {
  const chat = new Chat(root);
  chat.load();
  return () => chat.close();
}

class Chat {
  #conversations = [];
  #models = [];
  #running = null;
  #frame = 0;
  #settingsOpen = matchMedia('(min-width: 90rem)').matches;

  constructor(root) {
    this.root = root;
    this.current = new Conversation();
    this.composer = new Composer(
      (text, images) => this.#ask(text, images),
      () => this.#running?.abort(),
    );
    this.list = h('ol', { 'aria-label': 'Turns' });
    this.turns = h('div', { class: 'turns', tabindex: '0', role: 'region', 'aria-label': 'Conversation' });
    this.head = h('div', { class: 'chat-head' });
    this.middle = h(
      'section',
      { class: 'chat-middle', 'aria-label': 'Chat' },
      this.head,
      this.turns,
      this.composer.element,
    );
    this.side = h('div');
    this.panel = h('div');
    root.append(this.side, this.middle, this.panel);
    this.#show();
    this.composer.text.focus({ preventScroll: true });
    root.addEventListener('keydown', (event) => this.#onKey(event));
  }

  /** Read what is kept in the browser, and ask for the models. */
  async load() {
    const kept = (await allConversations()).filter((one) => one.id !== this.current.id);
    for (const one of kept) one.settle();
    this.#conversations.push(...kept);
    this.#showLists();
    try {
      this.#models = (await getJson('/v1/models')).data;
      this.#showLists();
    } catch {
      /* the state of the service is shown above */
    }
  }

  close() {
    this.#running?.abort();
    cancelAnimationFrame(this.#frame);
    closeCard();
  }

  #show() {
    this.#showPanel();
    this.#showLists();
    this.#showTurns();
  }

  /** The settings: made anew for another conversation only, so that nothing is disturbed that is typed in. */
  #showPanel() {
    const panel = settingsPanel(this.current.settings, () => this.#keep(), {
      isOpen: this.#settingsOpen,
      close: () => this.#toggleSettings(),
    });
    this.root.classList.toggle('with-settings', this.#settingsOpen);
    this.panel.replaceWith(panel);
    this.panel = panel;
  }

  /** The list of conversations, and the line above the current one. */
  #showLists() {
    const known = this.#conversations.includes(this.current)
      ? this.#conversations
      : [this.current, ...this.#conversations];
    const side = sidebar({
      conversations: known,
      current: this.current,
      open: (one) => this.#open(one),
      create: () => this.#open(new Conversation({ settings: { ...this.current.settings } })),
      remove: (one) => this.#remove(one),
      close: () => this.#closeList(),
    });
    const head = headOf({
      conversation: this.current,
      models: this.#models,
      isSettingsOpen: this.#settingsOpen,
      changed: () => this.#keep(),
      openList: () => {
        this.root.classList.add('with-list');
        this.side.querySelector('button').focus();
      },
      toggleSettings: () => this.#toggleSettings(),
    });
    keepingFocus(this.side, () => {
      this.side.replaceWith(side);
      this.side = side;
      return side;
    });
    keepingFocus(this.head, () => {
      this.head.replaceChildren(...head);
      return this.head;
    });
  }

  #showTurns() {
    closeCard();
    const path = this.current.path();
    this.list.replaceChildren(...path.map((turn) => this.#element(turn)));
    this.turns.replaceChildren(
      path.length
        ? this.list
        : welcome((text) => {
            this.composer.text.value = text;
            this.composer.text.focus();
          }),
    );
    this.turns.scrollTop = this.turns.scrollHeight;
  }

  #element(turn) {
    const versions = () => versionButtons(this.current, turn, () => this.#showTurns());
    if (turn.role !== 'assistant') {
      return questionView(turn, { versions, resend: (text) => this.#ask(text, turn.images ?? [], turn.parent) });
    }
    return this.#answerView(turn, versions).element;
  }

  #answerView(turn, versions = () => versionButtons(this.current, turn, () => this.#showTurns())) {
    const isLast = this.current.leaf === turn.id;
    return new AnswerView(turn, {
      versions,
      retry: () => this.#answer(turn.parent),
      colour:
        turn.tokens.length || turn.seed === undefined || turn.handoff?.status === 'completed'
          ? null
          : () => this.#colour(turn),
      continueWith: (number, text) => this.#continueWith(turn, number, text),
      sendResults:
        isLast && turn.calls.length && turn.finish === 'tool_calls'
          ? (results) => this.#results(turn, results)
          : null,
    });
  }

  #ask(text, images, parent = this.current.leaf) {
    if (this.#running) return false;
    try {
      bodyOf(this.current, []);
    } catch (error) {
      this.composer.complain(error.message);
      return false;
    }
    const turn = this.current.add({ role: 'user', text, images }, parent);
    this.#answer(turn.id);
    return true;
  }

  #results(turn, results) {
    turn.calls.forEach((call, number) => this.current.add({ role: 'tool', text: results[number], callId: call.id }));
    this.#answer(this.current.leaf);
  }

  /** Repeat an answer with its seed, for its probabilities: the tokens are the same. */
  #colour(turn) {
    const body = bodyOf(this.current, this.current.path(turn.parent));
    this.#answer(turn.parent, withProbabilities(body, turn.seed_text ?? turn.seed));
  }

  /** Answer again from a token on, with another one in its place. */
  #continueWith(turn, number, text) {
    const whole = turn.tokens.map((token) => token.t).join('');
    const before = turn.tokens
      .slice(0, number)
      .map((token) => token.t)
      .join('');
    const lead = Math.max(0, whole.lastIndexOf(turn.text)); // thoughts are tokens too
    const kept = turn.text.endsWith(whole)
      ? turn.text.slice(0, turn.text.length - whole.length) + before
      : before.slice(lead);
    this.#answer(turn.parent, bodyOf(this.current, this.current.path(turn.parent), kept + text));
  }

  async #answer(parent, body = bodyOf(this.current, this.current.path(parent))) {
    if (this.#running) return;
    const conversation = this.current;
    const turn = conversation.add(newAnswer(), parent);
    const sentences = new Sentences(say);
    this.#running = new AbortController();
    this.composer.setBusy(true);
    this.#showTurns();
    const view = this.#answerView(turn);
    this.list.lastElementChild.replaceWith(view.element);
    this.turns.scrollTop = this.turns.scrollHeight;
    await receive(turn, body, this.#running.signal, () =>
      this.#later(() => {
        const { turns } = this;
        const follows = turns.scrollHeight - turns.scrollTop - turns.clientHeight < 80;
        view.update();
        sentences.read(turn.text);
        if (follows) turns.scrollTop = turns.scrollHeight;
      }),
    );
    this.#running = null;
    this.composer.setBusy(false);
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    sentences.end(turn.state === 'failed' ? turn.error : turn.text);
    await this.#keep(conversation);
    if (conversation !== this.current || !this.root.isConnected) return;
    const done = this.#answerView(turn);
    view.element.replaceWith(done.element);
    if (document.activeElement === document.body) this.composer.text.focus({ preventScroll: true });
    done.element.scrollIntoView({ block: 'nearest' });
    this.#showLists();
  }

  #later(work) {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      work();
    });
  }

  async #keep(conversation = this.current) {
    if (conversation.isEmpty) return;
    if (!this.#conversations.includes(conversation)) this.#conversations.unshift(conversation);
    await save(conversation);
  }

  #open(conversation) {
    this.#running?.abort();
    this.current = conversation;
    this.root.classList.remove('with-list');
    this.#show();
    this.composer.text.focus();
  }

  async #remove(conversation) {
    if (!conversation.isEmpty && !confirm(`Delete “${conversation.title}”?`)) return;
    this.#conversations = this.#conversations.filter((one) => one !== conversation);
    await remove(conversation.id);
    if (conversation === this.current) this.#open(new Conversation());
    else this.#showLists();
    this.root.querySelector('.chat-list button').focus();
  }

  #closeList() {
    this.root.classList.remove('with-list');
    this.head.querySelector('button').focus();
  }

  #onKey(event) {
    if (event.key !== 'Escape' || !matchMedia('(max-width: 64rem)').matches) return;
    if (this.root.classList.contains('with-list')) this.#closeList();
    else if (this.#settingsOpen && event.target.closest('.chat-settings')) this.#toggleSettings();
  }

  #toggleSettings() {
    this.#settingsOpen = !this.#settingsOpen;
    this.#showPanel();
    this.#showLists();
    const opener = this.head.querySelector('[aria-controls="chat-settings"]');
    if (this.#settingsOpen) this.root.querySelector('.chat-settings textarea').focus();
    else opener.focus();
  }
}

/** Make an element anew, and give the focus back to the same one of its controls. */
function keepingFocus(element, make) {
  const controls = (one) => [...one.querySelectorAll('button, select')];
  const index = controls(element).indexOf(document.activeElement);
  const made = make();
  if (index >= 0) controls(made)[index]?.focus();
}
