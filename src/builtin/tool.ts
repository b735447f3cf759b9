// One built-in tool: its definition for the model, its typed arguments, its looks, and what it does.
import { messageOf } from "../base/errors.js";
import type { JsonObject } from "../base/json/json.js";
import type { World } from "../base/ports/world.js";
import { type ContentBlock, text } from "../base/text/content.js";
import type { ToolAnnotations, ToolDefinition, ToolOutcome } from "../tools/index.js";
import type { CommandEnvironment, Commands } from "./commands.js";
import { type Field, type Given, objectSchema, refuseStrangers } from "./fields.js";
import type { Folders } from "./folders.js";
import type { BuiltinPorts, BuiltinPresentation } from "./ports.js";
import type { Texts } from "./texts.js";

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
  /** By which the client knows the call. */
  readonly toolCallId?: string;
  /** The `basis` of the preview that the person allowed. */
  readonly expected?: string;
  /** Replaces how the call looks. */
  present(presentation: BuiltinPresentation): void;
  /** Says how far it is. */
  report(progress: number, message: string): void;
}

export interface ToolSpec<Name extends BuiltinName, A> {
  readonly name: Name;
  readonly title: string;
  readonly description: string;
  readonly annotations: ToolAnnotations;
  readonly fields: readonly Field<unknown>[];
  /** Throws `tool.invalid_arguments`. */
  parse(given: Given): A;
  /** At all times unless given. */
  isOffered?(ports: BuiltinPorts): boolean;
  describe(args: A, context: BuiltinContext): BuiltinPresentation;
  /** The same with what only a look at the files tells: for a person who is asked whether it may be done. */
  preview?(args: A, context: BuiltinContext, signal: AbortSignal): Promise<BuiltinPresentation>;
  /** What it throws is a failure of the call, and its message is for the model; an aborted call is cancelled. */
  run(args: A, run: BuiltinRun, context: BuiltinContext): Promise<ToolOutcome>;
}

export type PreparedTool =
  | {
      readonly ok: true;
      readonly presentation: BuiltinPresentation;
      readonly preview: (signal: AbortSignal) => Promise<BuiltinPresentation>;
      readonly run: (run: BuiltinRun) => Promise<ToolOutcome>;
    }
  | { readonly ok: false; readonly reason: string };

/** A tool whose types of arguments are its own business. */
export interface BuiltinTool<Name extends BuiltinName = BuiltinName> {
  readonly name: Name;
  readonly definition: ToolDefinition;
  isOffered(ports: BuiltinPorts): boolean;
  prepare(given: JsonObject, context: BuiltinContext): PreparedTool;
}

export function builtinTool<Name extends BuiltinName, A>(spec: ToolSpec<Name, A>): BuiltinTool<Name> {
  const { name, title, description, annotations, fields } = spec;
  return {
    name,
    definition: { name, title, description, inputSchema: objectSchema(fields), annotations },
    isOffered: (ports) => spec.isOffered?.(ports) ?? true,
    prepare: (values, context) => {
      try {
        const given: Given = { values, where: "" };
        refuseStrangers(given, fields);
        const args = spec.parse(given);
        const presentation = spec.describe(args, context);
        return {
          ok: true,
          presentation,
          preview: async (signal) => (await spec.preview?.(args, context, signal)) ?? presentation,
          run: (run) => spec.run(args, run, context),
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

// The names of the agent's own tools, as models call them: one closed union.
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

export function isBuiltinName(name: string): name is BuiltinName {
  return BUILTIN_NAMES.some((known) => known === name);
}
