/** Conversations as files. */

import { download } from '../parts/download.js';

const WHO = { user: 'You', assistant: 'Answer', tool: 'Result of a tool' };

/** Save a conversation with all its branches. */
export function exportJson(conversation) {
  download(
    `${nameOf(conversation)}.json`,
    `${JSON.stringify(conversation.toRecord(), null, 2)}\n`,
    'application/json',
  );
}

/** Save the path that is shown. */
export function exportMarkdown(conversation) {
  download(`${nameOf(conversation)}.md`, asMarkdown(conversation), 'text/markdown');
}

/** The path that is shown, as a document. */
export function asMarkdown(conversation) {
  const parts = [`# ${conversation.title || 'Conversation'}`];
  if (conversation.settings.system.trim()) parts.push('## System', conversation.settings.system.trim());
  for (const turn of conversation.path()) {
    parts.push(`## ${WHO[turn.role]}${turn.model ? ` (${turn.model})` : ''}`);
    if (turn.images?.length)
      parts.push(`*${turn.images.length === 1 ? '1 picture' : `${turn.images.length} pictures`}*`);
    if (turn.thoughts?.trim())
      parts.push(
        turn.thoughts
          .trim()
          .split('\n')
          .map((line) => `> ${line}`)
          .join('\n'),
      );
    if (turn.text.trim()) parts.push(turn.text.trim());
    for (const call of turn.calls ?? []) parts.push(`\`\`\`json\n${call.name}(${call.args})\n\`\`\``);
  }
  return `${parts.join('\n\n')}\n`;
}

function nameOf({ title }) {
  return (
    (title || 'conversation')
      .replace(/[^\p{L}\p{N}]+/gu, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 40) || 'conversation'
  );
}
