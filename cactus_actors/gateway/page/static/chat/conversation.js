/**
 * A conversation: a tree of turns, of which one path is shown. Editing or retrying adds a branch, and loses nothing.
 *
 * A turn has a `role`. One of the user has `text` and `images`, one of a tool `text` and `callId`; one of the assistant
 * has `text`, `thoughts`, `tokens`, `calls`, `state` (`streaming`, `done`, `stopped`, `failed`), and what the service
 * said of the answer.
 */

export const DEFAULT_SETTINGS = {
  model: '',
  system: '',
  temperature: '',
  top_p: '',
  top_k: '',
  max_tokens: '',
  seed: '',
  thinking: '',
  tools: '',
  probabilities: true,
  handoff: '',
};
const MAX_TITLE = 60;

export class Conversation {
  /** A new one, or that of a stored record. */
  constructor(record = {}) {
    const now = Date.now();
    this.id = record.id ?? crypto.randomUUID?.() ?? `${now}-${Math.random().toString(36).slice(2)}`;
    this.title = record.title ?? '';
    this.createdAt = record.createdAt ?? now;
    this.updatedAt = record.updatedAt ?? now;
    this.settings = { ...DEFAULT_SETTINGS, ...record.settings };
    this.turns = record.turns ?? {};
    this.leaf = record.leaf ?? null;
    this.numTurns = record.numTurns ?? 0;
  }

  /** What is stored and exported. */
  toRecord() {
    const { id, title, createdAt, updatedAt, settings, turns, leaf, numTurns } = this;
    return structuredClone({ id, title, createdAt, updatedAt, settings, turns, leaf, numTurns });
  }

  get isEmpty() {
    return this.leaf === null;
  }

  /** The turns from the first to the last one that is shown. */
  path(leaf = this.leaf) {
    const found = [];
    for (let id = leaf; id !== null; id = this.turns[id].parent) found.unshift(this.turns[id]);
    return found;
  }

  /** Add a turn after another, by default the last one, and show it. */
  add(turn, parent = this.leaf) {
    this.numTurns += 1;
    const added = { ...turn, id: String(this.numTurns), parent };
    this.turns[added.id] = added;
    this.leaf = added.id;
    this.updatedAt = Date.now();
    if (!this.title && turn.role === 'user') this.title = titleOf(turn);
    return added;
  }

  /** The turn and its alternatives, in the order in which they were made. */
  versions(id) {
    const { parent, role } = this.turns[id];
    return Object.values(this.turns)
      .filter((turn) => turn.parent === parent && turn.role === role)
      .sort((one, other) => one.id - other.id);
  }

  /** Show the newest path through a turn. */
  show(id) {
    let last = id;
    for (;;) {
      const after = Object.values(this.turns).filter((turn) => turn.parent === last);
      if (!after.length) break;
      last = after.reduce((newest, turn) => (Number(turn.id) > Number(newest.id) ? turn : newest)).id;
    }
    this.leaf = last;
  }

  /** End answers that were under way when the page was closed. */
  settle() {
    for (const turn of Object.values(this.turns)) if (turn.state === 'streaming') turn.state = 'stopped';
  }
}

function titleOf({ text, images }) {
  const line = text.trim().split('\n')[0];
  if (!line) return images?.length ? 'A picture' : 'Untitled';
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE - 1)}…` : line;
}
