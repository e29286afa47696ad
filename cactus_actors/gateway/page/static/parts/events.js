/** Server-sent events of a response: the data of each, as text. `EventSource` cannot send a key. */

export async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const frames = (rest + value).split('\n\n');
      rest = frames.pop();
      for (const frame of frames) {
        const lines = frame.split('\n').filter((line) => line.startsWith('data:'));
        if (lines.length) yield lines.map((line) => line.slice(5).trimStart()).join('\n');
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
