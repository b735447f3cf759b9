// One built-in tool: its definition for the model, its typed arguments, how its calls look, and what it does.

import { createHash } from "node:crypto";
import { messageOf } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { JsonObject } from "../base/json/json.js";
import type { Files, World } from "../base/ports/world.js";
import { type ContentBlock, text } from "../base/text/content.js";
import type { ToolAnnotations, ToolDefinition, ToolOutcome } from "../tools/index.js";
import { type Fields, objectSchema, readFields, type Values } from "./fields.js";
import type { Folders, LocatedPath } from "./folders.js";
import { BUILTIN_LIMITS } from "./limits.js";
import type { BuiltinPorts, BuiltinPresentation } from "./ports.js";
import type { CommandEnvironment, Commands } from "./run-command.js";

/** The names models call the tools by, in the order they are offered. */
export const BUILTIN_NAMES = [
  "read_file",
  "write_file",
  "edit_file",
  "list_folder",
  "find_files",
  "grep",
  "run_command",
  "command_output",
  "stop_command",
  "fetch_url",
  "update_plan",
  "ask_person",
] as const;

/**
 * The names of Tenon's own tools.
 *
 * @example
 * const builtin: BuiltinName[] = ["read_file", "list_folder"];
 */
export type BuiltinName = (typeof BUILTIN_NAMES)[number];

/** What every tool of one session works with. */
export interface BuiltinContext {
  readonly world: World;
  readonly ports: BuiltinPorts;
  readonly folders: Folders;
  readonly texts: Texts;
  readonly commands: Commands;
  /** Hosts that may be fetched without TLS and at private addresses. */
  readonly allowHosts: () => readonly string[];
  /** Of commands, as it is now. */
  readonly environment: () => CommandEnvironment;
}

/** One call while it runs. */
export interface BuiltinRun {
  readonly signal: AbortSignal;
  /** The id of the call that the client knows. */
  readonly toolCallId?: string;
  /** The `basis` of the preview that the person allowed. */
  readonly expected?: string;
  /** Replaces how the call looks. */
  present(presentation: BuiltinPresentation): void;
  report(progress: number, message: string): void;
}

/** How a call looks: `path` is the file or folder it works on. */
interface CallLook extends Pick<BuiltinPresentation, "kind" | "title"> {
  readonly path?: string;
  readonly line?: number;
}

export interface ToolSpec<F extends Fields> {
  readonly name: BuiltinName;
  readonly title: string;
  readonly description: string;
  readonly annotations: ToolAnnotations;
  readonly fields: F;
  /** Always offered unless given. */
  isOffered?(ports: BuiltinPorts): boolean;
  look(args: Values<F>, context: BuiltinContext): CallLook;
  /** The presentation with facts that only the files have: for the question whether the call is allowed. */
  preview?(
    args: Values<F>,
    look: BuiltinPresentation,
    context: BuiltinContext,
    signal: AbortSignal,
  ): Promise<BuiltinPresentation>;
  /** A thrown error is a failure of the call with its message for the model; an aborted call is cancelled. */
  run(args: Values<F>, run: BuiltinRun, context: BuiltinContext, look: BuiltinPresentation): Promise<ToolOutcome>;
}

/** Annotations of tools that change nothing and reach nothing beyond this machine. */
export const READ_ONLY: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };

type PreparedTool =
  | {
      readonly ok: true;
      readonly presentation: BuiltinPresentation;
      readonly preview: (signal: AbortSignal) => Promise<BuiltinPresentation>;
      readonly run: (run: BuiltinRun) => Promise<ToolOutcome>;
    }
  | { readonly ok: false; readonly reason: string };

/** A tool that hides the types of its arguments. */
export interface BuiltinTool {
  readonly definition: ToolDefinition;
  isOffered(ports: BuiltinPorts): boolean;
  prepare(given: JsonObject, context: BuiltinContext): PreparedTool;
}

export function builtinTool<F extends Fields>(spec: ToolSpec<F>): BuiltinTool {
  const { name, title, description, annotations, fields } = spec;
  return {
    definition: { name, title, description, inputSchema: objectSchema(fields), annotations },
    isOffered: (ports) => spec.isOffered?.(ports) ?? true,
    prepare: (given, context) => {
      try {
        const args = readFields(fields, given);
        const { kind, title: shown, path, line } = spec.look(args, context);
        const locations = path === undefined ? [] : [{ path: context.folders.absolute(path), ...defined({ line }) }];
        const presentation: BuiltinPresentation = { kind, title: shown, locations };
        return {
          ok: true,
          presentation,
          preview: async (signal) => (await spec.preview?.(args, presentation, context, signal)) ?? presentation,
          run: (run) => spec.run(args, run, context, presentation),
        };
      } catch (thrown) {
        return { ok: false, reason: messageOf(thrown) };
      }
    },
  };
}

export function done(...content: readonly (ContentBlock | string)[]): ToolOutcome {
  return { kind: "done", content: content.map(block) };
}

export function failed(...content: readonly (ContentBlock | string)[]): ToolOutcome {
  return { kind: "failed", content: content.map(block) };
}

function block(part: ContentBlock | string): ContentBlock {
  return typeof part === "string" ? text(part) : part;
}

type Loaded =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "absent" }
  /** There is something, and it is no text that could be changed. A whole sentence. */
  | { readonly kind: "unusable"; readonly reason: string };

export class Texts {
  readonly #files: Files;
  readonly #folders: Folders;
  readonly #ports: Pick<BuiltinPorts, "fs">;

  /** The ports are asked anew for every file: a session may change hands. */
  constructor(files: Files, folders: Folders, ports: Pick<BuiltinPorts, "fs">) {
    this.#files = files;
    this.#folders = folders;
    this.#ports = ports;
  }

  /** Exactly what is there: nothing is replaced or normalised, so that it can be written back. */
  async load(place: LocatedPath, signal: AbortSignal): Promise<Loaded> {
    const { found } = place;
    const shown = this.#folders.show(place.path);
    if (found && found.kind !== "file") return { kind: "unusable", reason: `${shown} is not a file.` };
    if (found && found.bytes > BUILTIN_LIMITS.editMaxBytes) {
      const reason = `${shown} has ${found.bytes} bytes; at most ${BUILTIN_LIMITS.editMaxBytes} are edited.`;
      return { kind: "unusable", reason };
    }
    // The disk is asked first even where there is an editor: an editor may show bytes as text that are none.
    const onDisk = found ? await this.#fromDisk(place, found.bytes) : { kind: "absent" as const };
    if (onDisk.kind === "unusable") return onDisk;
    return (await this.fromEditor(place, signal)) ?? onDisk;
  }

  /** Undefined when there is no editor to ask. */
  async fromEditor(place: LocatedPath, signal: AbortSignal): Promise<Loaded | undefined> {
    const { fs } = this.#ports;
    if (!fs?.readText) return undefined;
    try {
      return { kind: "text", text: await fs.readText(place.path, {}, signal) };
    } catch (thrown) {
      signal.throwIfAborted();
      // Whoever was asked is gone: another editor has the file now, or the disk.
      if (this.#ports.fs !== fs) return await this.fromEditor(place, signal);
      if (!place.found) return { kind: "absent" };
      // Not read past the editor: it may keep files from agents on purpose.
      const reason = `The editor did not give ${this.#folders.show(place.path)}: ${messageOf(thrown)}`;
      return { kind: "unusable", reason };
    }
  }

  async #fromDisk(place: LocatedPath, bytes: number): Promise<Loaded> {
    const raw = await this.#files.readBytes(place.realPath, { start: 0, length: bytes });
    const shown = this.#folders.show(place.path);
    const sniffed = sniff(raw.subarray(0, BUILTIN_LIMITS.sniffBytes));
    if (sniffed.kind !== "text") {
      const what = sniffed.kind === "image" ? "an image" : sniffed.what;
      return { kind: "unusable", reason: `${shown} is ${what}, not UTF-8 text.` };
    }
    try {
      return { kind: "text", text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw) };
    } catch {
      return { kind: "unusable", reason: `${shown} is not valid UTF-8: editing it as text would damage it.` };
    }
  }

  /** The file a change is made from, to be compared: its real path and its content. */
  async basisOf({ realPath, found }: LocatedPath, loaded: Loaded): Promise<string> {
    if (loaded.kind === "text") return `text ${hashOf(loaded.text)} ${realPath}`;
    if (loaded.kind === "absent") return `absent ${realPath}`;
    const bytes = found?.bytes ?? 0;
    const length = Math.min(bytes, BUILTIN_LIMITS.editMaxBytes);
    const raw = found?.kind === "file" ? await this.#files.readBytes(realPath, { start: 0, length }) : "";
    return `bytes ${bytes} ${hashOf(raw)} ${realPath}`;
  }

  /**
   * Whether the file on the disk is still what a change was made from, right before it is written. An editor's buffer was
   * read just now, and is not asked for twice.
   */
  async isStill(place: LocatedPath, basis: string, signal: AbortSignal): Promise<boolean> {
    if (this.#ports.fs?.readText) return true;
    const found = await this.#files.find(place.path);
    const now: LocatedPath = { ...place, realPath: found?.realPath ?? place.realPath, found };
    return (await this.basisOf(now, await this.load(now, signal))) === basis;
  }

  /** Undefined when it is saved. */
  async save(place: LocatedPath, text: string, signal: AbortSignal): Promise<ToolOutcome | undefined> {
    signal.throwIfAborted();
    const shown = this.#folders.show(place.path);
    const { fs } = this.#ports;
    try {
      if (fs?.writeText) await fs.writeText(place.path, text, signal);
      else await this.#files.saveText(place.realPath, text);
      return undefined;
    } catch (thrown) {
      if (!signal.aborted && fs?.writeText && this.#ports.fs !== fs) {
        return await this.save(place, text, signal);
      }
      if (signal.aborted) return { kind: "unknown", reason: `cancelled while the editor was writing ${shown}` };
      return failed(`${shown} could not be written: ${messageOf(thrown)}`);
    }
  }
}

function hashOf(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

// What the first bytes of a file say it is: an image models can see, text, or something neither.
type Sniffed =
  | { readonly kind: "text" }
  | { readonly kind: "image"; readonly mimeType: string }
  | { readonly kind: "binary"; readonly what: string };

const ascii = (text: string): number[] => [...Buffer.from(text, "latin1")];
const anything = (count: number): undefined[] => Array.from({ length: count }, () => undefined);
const image = (mimeType: string): Sniffed => ({ kind: "image", mimeType });
const binary = (what: string): Sniffed => ({ kind: "binary", what });

/** Images are those every provider takes. */
const SIGNATURES: readonly (readonly [bytes: readonly (number | undefined)[], sniffed: Sniffed])[] = [
  [[0x89, ...ascii("PNG\r\n"), 0x1a, 0x0a], image("image/png")],
  [[0xff, 0xd8, 0xff], image("image/jpeg")],
  [ascii("GIF87a"), image("image/gif")],
  [ascii("GIF89a"), image("image/gif")],
  [[...ascii("RIFF"), ...anything(4), ...ascii("WEBP")], image("image/webp")],
  [ascii("%PDF-"), binary("a PDF")],
  [[0x1f, 0x8b], binary("gzip data")],
  [[0xff, 0xfe], binary("UTF-16 text")],
  [[0xfe, 0xff], binary("UTF-16 text")],
];

export function sniff(start: Uint8Array): Sniffed {
  const known = SIGNATURES.find(([bytes]) => bytes.every((byte, at) => byte === undefined || byte === start[at]));
  if (known && start.length >= known[0].length) return known[1];
  return start.includes(0) ? binary("binary data") : { kind: "text" };
}
