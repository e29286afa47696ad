/** The field for a message, with pictures. Enter sends; Shift+Enter is a new line. */

import { button, h, newId } from '../parts/dom.js';
import { pictureUrl, picturesIn } from './pictures.js';

export class Composer {
  #images = [];
  #send;
  #stop;

  /** `send(text, images)` returns true if the message was taken; `stop()` ends the answer. */
  constructor(send, stop) {
    this.#send = send;
    this.#stop = stop;
    const id = newId('message');
    this.text = h('textarea', {
      id,
      rows: '1',
      placeholder: 'Ask something',
      onkeydown: (event) => this.#onKey(event),
    });
    this.list = h('ul', { class: 'pictures', 'aria-label': 'Attached pictures', hidden: true });
    this.problem = h('p', { class: 'note bad', role: 'alert', hidden: true });
    this.file = h('input', {
      type: 'file',
      accept: 'image/*',
      multiple: true,
      class: 'unseen',
      tabindex: '-1',
      'aria-label': 'Pictures',
      onchange: () => this.#add([...this.file.files]),
    });
    this.attach = button('Picture', () => this.file.click());
    this.submit = h('button', { type: 'submit', class: 'main', text: 'Send' });
    this.halt = button('Stop', () => this.#stop(), { hidden: true, class: 'danger' });
    const form = h(
      'form',
      { onsubmit: (event) => this.#onSubmit(event) },
      this.problem,
      this.list,
      h('label', { for: id, class: 'unseen', text: 'Message' }),
      this.text,
      h(
        'div',
        { class: 'row' },
        h('div', { class: 'row' }, this.attach, this.file),
        h('div', { class: 'row' }, this.halt, this.submit),
      ),
    );
    this.element = h('div', { class: 'composer' }, form);
    form.addEventListener('paste', (event) => this.#onTransfer(event, event.clipboardData));
    form.addEventListener('dragover', (event) => {
      event.preventDefault();
      form.classList.add('dropping');
    });
    form.addEventListener('dragleave', () => form.classList.remove('dropping'));
    form.addEventListener('drop', (event) => {
      form.classList.remove('dropping');
      this.#onTransfer(event, event.dataTransfer);
    });
  }

  /** Show that an answer is under way, or not. */
  setBusy(isBusy) {
    this.halt.hidden = !isBusy;
    this.submit.hidden = isBusy;
  }

  /** Say why a message was not taken; an empty text takes that back. */
  complain(text) {
    this.problem.textContent = text;
    this.problem.hidden = !text;
  }

  #onKey(event) {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.element.querySelector('form').requestSubmit();
  }

  #onSubmit(event) {
    event.preventDefault();
    const text = this.text.value;
    if (!this.halt.hidden || (!text.trim() && !this.#images.length)) return;
    if (!this.#send(text, this.#images)) return;
    this.text.value = '';
    this.#images = [];
    this.complain('');
    this.#show();
  }

  #onTransfer(event, transfer) {
    const files = picturesIn(transfer);
    if (!files.length && event.type === 'paste') return;
    event.preventDefault();
    if (files.length) this.#add(files);
    else this.complain('Only pictures can be dropped here.');
  }

  async #add(files) {
    this.complain('');
    for (const file of files) {
      try {
        this.#images.push(await pictureUrl(file));
      } catch (error) {
        this.complain(error.message);
      }
    }
    this.file.value = '';
    this.#show();
  }

  #show() {
    this.list.hidden = !this.#images.length;
    this.list.replaceChildren(
      ...this.#images.map((url, number) =>
        h(
          'li',
          {},
          h('img', { src: url, alt: `Picture ${number + 1}` }),
          button(
            '×',
            () => {
              this.#images.splice(number, 1);
              this.#show();
            },
            { 'aria-label': `Remove picture ${number + 1}` },
          ),
        ),
      ),
    );
  }
}
