// Run in a pseudo-terminal by `bench/terminal.ts`: writes 10,000 pieces of Markdown in 60 frames a second, plainly or as the chat shows
// them, and says in a file how much CPU that took.

import { writeFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { InputHistory } from "../../src/cli/terminal/live/history.js";
import { LiveTerminal } from "../../src/cli/terminal/live/live-terminal.js";
import { MarkdownStream } from "../../src/cli/terminal/markdown-stream.js";
import { createPalette, systemClock } from "../../src/cli/terminal/stream.js";

const CHUNKS = 10_000;
const FRAMES_A_SECOND = 60;
/** 360 a second: faster than models answer. */
const CHUNKS_A_FRAME = 6;

const DOCUMENT = `## What was found

The function **reads** the file twice: once in \`open()\`, and once more when the first line is asked for. Both are slow on a network drive.

1. Keep the text that \`open()\` has read.
2. Give it to the parser, which takes pieces already.

\`\`\`ts
export async function open(path: string): Promise<Source> {
  const text = await readFile(path, "utf8"); // the only time
  return new Source(path, text);
}
\`\`\`

| file | before | after |
|---|--:|--:|
| small | 3 ms | 2 ms |
| large | 410 ms | 205 ms |

> It was measured five times; the middle value is shown.

`;

const [, , mode = "plain", report = ""] = process.argv;
const whole = DOCUMENT.repeat(Math.ceil((CHUNKS * 5) / DOCUMENT.length));
const chunks = Array.from({ length: CHUNKS }, (_, index) => whole.slice(index * 5, index * 5 + 5));

function shown(): { readonly push: (text: string) => void; readonly end: () => void } {
  if (mode === "plain") return { push: (text) => process.stdout.write(text.replaceAll("\n", "\r\n")), end: () => {} };
  const palette = createPalette(true);
  const terminal = new LiveTerminal({
    ...{ input: new PassThrough(), output: process.stdout, palette, clock: systemClock },
    ...{ history: new InputHistory(), hasInputLine: true },
  });
  const stream = new MarkdownStream(() => ({ columns: terminal.columns, palette }));
  terminal.show("answer", {
    render: () => {
      terminal.commit(stream.take());
      return stream.live();
    },
  });
  terminal.status = () => "a model · mode ask";
  terminal.start();
  return {
    push: (text) => {
      stream.push(text);
      terminal.draw();
    },
    end: () => {
      terminal.commit(stream.end());
      terminal.stop();
    },
  };
}

const view = shown();
const before = process.cpuUsage();
let at = 0;
const timer = setInterval(() => {
  for (const chunk of mode === "plain"
    ? [chunks.slice(at, at + CHUNKS_A_FRAME).join("")]
    : chunks.slice(at, at + CHUNKS_A_FRAME))
    view.push(chunk);
  at += CHUNKS_A_FRAME;
  if (at < CHUNKS) return;
  clearInterval(timer);
  view.end();
  const { user, system } = process.cpuUsage(before);
  writeFileSync(report, JSON.stringify({ cpuMs: (user + system) / 1_000 }));
}, 1_000 / FRAMES_A_SECOND);
