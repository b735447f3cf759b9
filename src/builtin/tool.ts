// One built-in tool: its definition for the model, its typed arguments, how its calls look, and what it does.
import { messageOf } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { JsonObject } from "../base/json/json.js";
import type { World } from "../base/ports/world.js";
import { type ContentBlock, text } from "../base/text/content.js";
import type { ToolAnnotations, ToolDefinition, ToolOutcome } from "../tools/index.js";
import type { CommandEnvironment, Commands } from "./commands.js";
import { type Fields, objectSchema, readFields, type Values } from "./fields.js";
import type { Folders } from "./folders.js";
import type { BuiltinPorts, BuiltinPresentation } from "./ports.js";
import type { Texts } from "./texts.js";

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
export interface CallLook extends Pick<BuiltinPresentation, "kind" | "title"> {
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

export type PreparedTool =
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
