// What the keys of the live terminal do in a chat, and how it begins and ends there.
import { handled } from "../../base/async/scope.js";
import { sharedLog } from "../../base/ports/world.js";
import { type ChatCommand, type CommandPorts, commandOf, ownCommands } from "./commands.js";
import { MentionableFiles } from "./mentions.js";
import type { Parts } from "./parts.js";
import { clipboardPicture, editText } from "./shell.js";
import { TranscriptPager } from "./transcript.js";

interface Actions {
  readonly ports: () => CommandPorts;
  readonly run: (command: ChatCommand) => Promise<void>;
  /** What this person began, a turn or a command. */
  readonly stop: () => void;
}

/** The terminal is on already; from now on its keys are for this chat. */
export function beginLive(parts: Parts, { run, stop }: Actions): void {
  const { options, record, clock, shared, liveView } = parts;
  const { live, cwd } = options;
  if (!live) return;
  const files = new MentionableFiles(
    cwd,
    () => clock.now(),
    () => {
      live.line.refresh();
      live.draw();
    },
  );
  live.sources = {
    commands: () => {
      const own = ownCommands(shared !== undefined);
      const names = new Set(own.map(({ text }) => text));
      return [...own, ...(record.commands ?? []).filter(({ text }) => !names.has(text))];
    },
    files: () => files.files,
  };
  live.status = () => {
    const other = shared?.isBusy && shared.other !== undefined ? `running for ${shared.other} · ` : "";
    return other + record.status.line(live.columns - other.length, clock.now());
  };
  live.canStop = () => record.stop !== undefined || shared?.hasOwn === true;
  live.onKey = (name) => press(name, parts, stop);
  live.onSubmit = (text) => {
    parts.notifier?.clear();
    const command = commandOf(text, shared !== undefined);
    if (!command?.command.isImmediate || !liveView?.isInTurn) return false;
    if (command.command.name === "quit") {
      record.stop?.();
      live.end();
    } else handled(run(command), sharedLog(), "run a command of the chat");
    return true;
  };
  live.draw();
}

/** Takes the changing lines away and says how to come back. */
export function endLive({ options, notifier }: Parts, farewell: string | undefined): void {
  const { live } = options;
  if (!live) {
    if (farewell !== undefined) options.output.write(`${farewell}\n`);
    return;
  }
  notifier?.clear();
  if (farewell !== undefined) live.commit(["", live.palette.dim(farewell)]);
  live.stop();
}

/** What was queued goes back into the line: the person stopped to say something else. */
export function stopTyping({ options: { live }, interrupts }: Parts): void {
  if (!live) return;
  const queued = live.queued.splice(0);
  if (queued.length > 0)
    live.line.editor.set([...queued, live.line.editor.text].filter((text) => text !== "").join("\n"));
  live.hint(interrupts.isArmed ? "Stopping. Ctrl-C again quits." : "Stopping.");
}

function press(name: string, parts: Parts, stop: () => void): void {
  const { options, interrupts, liveView } = parts;
  const { live } = options;
  if (!live) return;
  switch (name) {
    case "ctrl-c": {
      const hasText = !live.isAsking && !live.line.editor.isEmpty;
      if (!hasText) return interrupts.raise();
      live.line.clear();
      if (!interrupts.arm()) live.hint("Ctrl-C again quits.");
      return live.draw();
    }
    case "escape":
      return stop();
    case "ctrl-o":
      if (liveView) live.open(new TranscriptPager(liveView.transcript.lines, live.palette));
      return;
    case "ctrl-l":
      return live.redraw();
    case "backtab":
      return handled(nextMode(parts), sharedLog(), "change the mode");
    case "ctrl-g":
      return handled(edit(parts), sharedLog(), "open the editor");
    case "ctrl-v":
      return handled(pastePicture(parts), sharedLog(), "paste a picture");
    case "ctrl-z":
      return suspend(parts);
    default:
  }
}

async function nextMode({ record: { status }, session, options: { live } }: Parts): Promise<void> {
  const { modes, mode } = status;
  // What asks least is chosen by its name, not by passing over it.
  const offered = modes.filter(({ id }) => id !== "bypass");
  const next = offered[(offered.findIndex(({ id }) => id === mode) + 1) % Math.max(1, offered.length)];
  if (!next || next.id === mode) return;
  await session.set("mode", next.id);
  status.mode = next.id;
  live?.hint(`mode: ${next.id} (${next.name})`);
}

async function edit({ options: { live, env = {} } }: Parts): Promise<void> {
  if (!live) return;
  const before = live.line.editor.whole;
  const after = await live.outside(async () => await editText(before, env));
  if (after === undefined) live.hint("The editor failed; VISUAL or EDITOR says which one is started.");
  else live.line.editor.set(after);
  live.draw();
}

async function pastePicture({ options: { live }, pictures }: Parts): Promise<void> {
  if (!live) return;
  const bytes = await clipboardPicture();
  const kept = bytes && pictures.keep(bytes.toString("base64"), "image/png");
  if (kept && "path" in kept) live.line.editor.insert(`'${kept.path}' `);
  else live.hint("There is no picture in the clipboard, or no program (wl-paste, xclip, pngpaste) to read it.");
  live.draw();
}

/** As every program does at Ctrl-Z. */
function suspend({ options: { live } }: Parts): void {
  if (!live || process.platform === "win32") return;
  handled(
    live.outside(async () => {
      const resumed = untilContinued();
      process.kill(process.pid, "SIGSTOP");
      await resumed;
    }),
    sharedLog(),
    "stop the chat",
  );
}

const HOLD_MS = 60_000;

/** A timer keeps the process alive: its input is paused, and waiting for a signal alone does not. */
export async function untilContinued(): Promise<void> {
  const hold = setInterval(() => {}, HOLD_MS);
  await new Promise<void>((resolve) => {
    process.once("SIGCONT", () => resolve());
  });
  clearInterval(hold);
}
