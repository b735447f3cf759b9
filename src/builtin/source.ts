// The agent's own tools of one session, behind the port every tool comes through.
import { Cell } from "../base/async/cell.js";
import { messageOf } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { JsonObject } from "../base/json/json.js";
import type { World } from "../base/ports/world.js";
import type { SourceCall, ToolDefinition, ToolOutcome, ToolSource } from "../tools/index.js";
import { askPerson, updatePlan } from "./ask-person.js";
import { Commands, commandEnvironment } from "./commands.js";
import { editFile } from "./edit-file.js";
import { fetchUrl } from "./fetch-url.js";
import { findFiles, listFolder } from "./find-files.js";
import { Folders } from "./folders.js";
import { grep } from "./grep.js";
import { type BuiltinPorts, type BuiltinPresentation, type BuiltinProgress, shortTitle } from "./ports.js";
import { readFile } from "./read-file.js";
import { commandOutput, runCommand, stopCommand } from "./run-command.js";
import { Texts } from "./texts.js";
import {
  BUILTIN_NAMES,
  type BuiltinContext,
  type BuiltinName,
  type BuiltinRun,
  type BuiltinTool,
  failed,
  type PreparedTool,
} from "./tool.js";
import { writeFile } from "./write-file.js";

const BUILTIN_TOOLS: Readonly<Record<BuiltinName, BuiltinTool>> = {
  read_file: readFile,
  write_file: writeFile,
  edit_file: editFile,
  list_folder: listFolder,
  find_files: findFiles,
  grep,
  run_command: runCommand,
  command_output: commandOutput,
  stop_command: stopCommand,
  fetch_url: fetchUrl,
  update_plan: updatePlan,
  ask_person: askPerson,
};

export interface BuiltinOptions {
  readonly world: World;
  /** The session's directory: base of relative paths, and where commands run. */
  readonly cwd: string;
  readonly additionalDirectories?: readonly string[];
  readonly ports?: BuiltinPorts;
  /** Hosts the user allows `fetch_url` to reach without TLS and at private addresses: `host` or `host:port`. */
  readonly allowHosts?: () => readonly string[];
  /** Variables that commands get although they look like secrets. */
  readonly commandVariables?: () => readonly string[];
  /** Only these; all of them unless given. */
  readonly only?: readonly BuiltinName[];
}

/** Closing it ends every command it started. */
export interface BuiltinSource extends ToolSource, AsyncDisposable {
  /** How a call will look, before it is made. Undefined for an unknown tool or arguments that cannot be read. */
  describe(tool: string, args: JsonObject): BuiltinPresentation | undefined;
  /** The same with the change it would make, as far as that is known now: for the permission question. */
  preview(tool: string, args: JsonObject, signal: AbortSignal): Promise<BuiltinPresentation | undefined>;
  /** Why the call fails even when allowed: a path outside of the session's directories. Undefined when nothing is known. */
  impossible(tool: string, args: JsonObject): Promise<string | undefined>;
  /** A whole text file of the session's directories, as the person's editor has it. `elsewhere`: not in them, or no file. */
  readText(path: string, signal: AbortSignal): Promise<TextFile>;
}

export type TextFile =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "elsewhere" }
  | { readonly kind: "failed"; readonly reason: string };

export function builtinSource(options: BuiltinOptions): BuiltinSource {
  const { world, ports = {}, only = BUILTIN_NAMES, allowHosts = () => [] } = options;
  const folders = new Folders(world.files, options);
  const commands = new Commands(world);
  const texts = new Texts(world.files, folders, ports);
  const environment = () => commandEnvironment(world, options.commandVariables?.());
  const context: BuiltinContext = { world, ports, folders, texts, commands, allowHosts, environment };
  const offered = BUILTIN_NAMES.filter((name) => only.includes(name) && BUILTIN_TOOLS[name].isOffered(ports));
  const prepare = (tool: string, args: JsonObject): PreparedTool | undefined => {
    const name = BUILTIN_NAMES.find((known) => known === tool);
    return name && BUILTIN_TOOLS[name].prepare(args, context);
  };
  return {
    name: "builtin",
    origin: "builtin",
    tools: new Cell<readonly ToolDefinition[]>(offered.map((name) => BUILTIN_TOOLS[name].definition)),
    describe: (tool, args) => {
      const prepared = prepare(tool, args);
      return prepared?.ok ? titled(prepared.presentation) : undefined;
    },
    preview: async (tool, args, signal) => {
      const prepared = prepare(tool, args);
      if (!prepared?.ok) return undefined;
      // A file that cannot be read now is no reason not to ask: the call itself will say what is wrong.
      return titled(await prepared.preview(signal).catch(() => prepared.presentation));
    },
    impossible: async (tool, args) => {
      const prepared = prepare(tool, args);
      if (!prepared) return undefined;
      if (!prepared.ok) return `${prepared.reason}.`;
      for (const { path } of prepared.presentation.locations) {
        const located = await folders.locate(path);
        if (!located.ok) return located.reason;
      }
      return undefined;
    },
    readText: async (path, signal) => {
      const located = await folders.locate(path);
      if (!located.ok || (located.place.found && located.place.found.kind !== "file")) return { kind: "elsewhere" };
      const loaded = await texts.load(located.place, signal);
      if (loaded.kind === "text") return loaded;
      return { kind: "failed", reason: loaded.kind === "absent" ? "there is no such file" : loaded.reason };
    },
    call: async (call) => {
      const name = offered.find((candidate) => candidate === call.tool);
      if (name === undefined) return failed(`There is no built-in tool named "${call.tool}".`);
      return await run(name, BUILTIN_TOOLS[name].prepare(call.arguments, context), call);
    },
    [Symbol.asyncDispose]: () => commands[Symbol.asyncDispose](),
  };
}

async function run(name: BuiltinName, prepared: PreparedTool, call: SourceCall): Promise<ToolOutcome> {
  if (!prepared.ok) return failed(`The call of ${name} was not made: ${prepared.reason}.`);
  if (call.signal.aborted) return { kind: "cancelled" };
  try {
    return await prepared.run(runOf(call));
  } catch (thrown) {
    return call.signal.aborted ? { kind: "cancelled" } : failed(messageOf(thrown));
  }
}

/** A presentation counts as progress too: a client that knows nothing of it shows its title. */
function runOf({ signal, toolCallId, expected, onProgress }: SourceCall): BuiltinRun {
  let progress = 0;
  return {
    signal,
    ...defined({ toolCallId, expected }),
    present: (presentation) => {
      const shown = titled(presentation);
      const notice: BuiltinProgress = { progress, message: shown.title, presentation: shown };
      onProgress(notice);
    },
    report: (reached, message) => {
      progress = Math.max(progress, reached);
      onProgress({ progress, message });
    },
  };
}

function titled(presentation: BuiltinPresentation): BuiltinPresentation {
  return { ...presentation, title: shortTitle(presentation.title) };
}
