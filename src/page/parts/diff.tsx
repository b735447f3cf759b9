// A change of a file, line by line, with what stayed the same folded away.
import { diffLines } from "diff";

interface Line {
  readonly kind: "same" | "added" | "removed" | "fold";
  readonly text: string;
  readonly before?: number;
  readonly after?: number;
}

const CONTEXT = 3;
/** Comparing takes time with the product of both sizes: larger texts are shown one after the other. */
const MAX_CHARS = 400_000;
const MAX_SHOWN = 2_000;

function diffOf(before: string, after: string): readonly Line[] {
  const changes = before.length + after.length > MAX_CHARS ? undefined : diffLines(before, after, { timeout: 200 });
  const parts = changes ?? [
    { value: before, added: false, removed: true },
    { value: after, added: true, removed: false },
  ];
  const lines: Line[] = [];
  let [old, now] = [1, 1];
  for (const [index, { value, added, removed }] of parts.entries()) {
    const texts = value.replace(/\n$/u, "").split("\n");
    if (value === "") continue;
    if (added) for (const text of texts) lines.push({ kind: "added", text, after: now++ });
    else if (removed) for (const text of texts) lines.push({ kind: "removed", text, before: old++ });
    else {
      const [head, tail] = [index === 0 ? 0 : CONTEXT, index === parts.length - 1 ? 0 : CONTEXT];
      const hidden = texts.length - head - tail;
      for (const [place, text] of texts.entries()) {
        const isFolded = hidden > 1 && place >= head && place < texts.length - tail;
        if (!isFolded) lines.push({ kind: "same", text, before: old, after: now });
        else if (place === head) lines.push({ kind: "fold", text: `${hidden} unchanged lines` });
        old += 1;
        now += 1;
      }
    }
  }
  return lines;
}

const SIGNS = { same: " ", added: "+", removed: "−", fold: "" } as const;

export function Diff({
  path,
  before,
  after,
}: {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}) {
  const lines = diffOf(before, after);
  const shown = lines.slice(0, MAX_SHOWN);
  const added = lines.filter(({ kind }) => kind === "added").length;
  const removed = lines.filter(({ kind }) => kind === "removed").length;
  return (
    <figure class="diff">
      <figcaption>
        <span class="diff-path">{path}</span>
        <span class="diff-added">+{added}</span>
        <span class="diff-removed">−{removed}</span>
      </figcaption>
      <div class="diff-lines" role="group" aria-label={`change of ${path}`} tabIndex={0}>
        {shown.map(({ kind, text, before: old, after: now }) => (
          <div class={`diff-line ${kind}`}>
            <span class="diff-number">{kind === "added" ? now : (old ?? "")}</span>
            <span class="diff-sign">{SIGNS[kind]}</span>
            <span class="diff-text">{text}</span>
          </div>
        ))}
        {shown.length < lines.length && <div class="diff-line fold">{lines.length - shown.length} more lines</div>}
      </div>
    </figure>
  );
}
