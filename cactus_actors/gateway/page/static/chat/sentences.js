/** A streamed text for screen readers: whole sentences, each once. */

const END = /[.!?:。！？]["')\]]*\s|\n/g;

export class Sentences {
  #said = 0;
  #say;

  constructor(say) {
    this.#say = say;
  }

  /** Say the sentences that are complete in the text so far. */
  read(text) {
    let end = this.#said;
    for (const found of text.slice(this.#said).matchAll(END)) end = this.#said + found.index + found[0].length;
    this.#until(text, end);
  }

  /** Say the rest. */
  end(text) {
    this.#until(text, text.length);
  }

  #until(text, end) {
    const part = text.slice(this.#said, end).trim();
    this.#said = Math.max(this.#said, end);
    if (part) this.#say(part);
  }
}
