// How a chat comes to its session: a new one, an earlier one, or one of a gateway; and the command that leads back to it.
import { TenonError } from "../../base/errors.js";
import { visibleLine } from "../terminal/text.js";
import type { Parts } from "./parts.js";
import type { ListedSession } from "./session.js";

/** `wanted`: in the place of what the options say. */
export async function openSession(parts: Parts, wanted?: "new" | { readonly id: string }): Promise<void> {
  const { options, session, record, liveView } = parts;
  if (options.join) return await join(parts, options.join);
  const resume = wanted === "new" ? undefined : (wanted ?? options.resume);
  const earlier = resume && (typeof resume === "object" ? { id: resume.id } : await pick(parts, resume));
  if (!earlier) {
    record.status.choose(await session.open(options.cwd));
  } else {
    liveView?.replay();
    record.status.choose(await session.load(earlier.id, options.cwd));
    parts.view.joined();
  }
  record.status.starting = undefined;
  record.sessionId = session.id;
  liveView?.onServer();
  options.live?.draw();
  if (earlier && options.live) parts.screen.line("");
  if (earlier) parts.screen.line(parts.palette.dim(`Going on with session ${earlier.id}.`));
  else if (wanted === "new") parts.screen.line(parts.palette.dim("A new session."));
}

/** Undefined where the person chose to begin anew. Throws where there is none. */
async function pick(parts: Parts, which: "last" | "choose"): Promise<ListedSession | undefined> {
  const { session, options, reader, interrupts } = parts;
  const found = await session.list(options.cwd);
  const [last] = found;
  if (!last) {
    throw new TenonError("session.not_found", "there are no sessions of this folder to go on with", {
      hint: "tenon sessions list --all shows those of others; tenon chat --resume ID takes one from its folder.",
    });
  }
  if (which === "last" || !options.interactive) return last;
  const shown = found.slice(0, MOST);
  const title = "Which session?";
  const choices = [
    ...shown.map(({ title: name, id }) => ({ label: `${visibleLine(name) || "untitled"} (${id.slice(0, 8)})` })),
    { label: "None: begin a new one" },
  ];
  const chosen = await reader.choose({ title, choices }, { signal: interrupts.quit, isFresh: true });
  return chosen === undefined ? undefined : shown[chosen];
}

/** With the answer "None" each has a number key. */
const MOST = 8;

async function join(parts: Parts, wanted: NonNullable<Parts["options"]["join"]>): Promise<void> {
  const {
    shared,
    view,
    screen,
    palette,
    reader,
    permission,
    elicitation,
    interrupts,
    session,
    options,
    record,
    liveView,
  } = parts;
  const { interactive, yes } = options;
  if (interactive) {
    // Questions come at any time, and end with the request: who leaves has answered nothing.
    permission.beginTurn(interrupts.quit);
    elicitation.beginTurn(interrupts.quit);
  }
  const isReplayed = interactive || wanted.isWatching;
  if (isReplayed) liveView?.replay();
  const { meta, id, title, ...choices } = await session.join({
    ...wanted,
    isUnattended: yes || !interactive,
    isReplayed,
    onIdentified: (client) => shared?.identify(client),
  });
  shared?.hear(meta);
  record.status.choose(choices);
  record.sessionId = id;
  record.status.starting = undefined;
  liveView?.onServer();
  view.joined();
  if (!interactive && meta["state"] === "waiting") {
    const words = `Session ${id} waits for an answer, and prompts wait with it: tenon attach in a terminal gives one.`;
    options.errorOutput.write(`${words}\n`);
  }
  // In plain mode it is said with the line to type in.
  const leaves = options.live && interactive ? " /quit leaves; it goes on." : "";
  const words = `Attached to ${visibleLine(title) || "a session"} (${id}).${leaves}`;
  if (!isReplayed) return;
  if (options.live) screen.line("");
  reader.interject(() => screen.line(palette.dim(words)));
}

/** The command that goes on with the session, for a person who leaves it; nothing where nothing was said in it. */
export function resumeWords({ options, session, record, shared }: Parts): string | undefined {
  if (!options.interactive || options.prompt !== undefined || session.id === undefined) return undefined;
  if (shared) return `tenon attach ${session.id} comes back to it.`;
  if (record.promptCount === 0 && !options.resume) return undefined;
  const { tokens, costUsd } = record.status;
  const cost = costUsd === undefined ? "" : `, $${costUsd.toFixed(4)}`;
  const used = tokens === 0 ? "" : ` (${tokens} tokens${cost})`;
  return `To go on: tenon chat --resume ${session.id}${used}`;
}
