// The agent's own tools of one session, behind the port every tool comes through.
import { Cell } from "../base/async/cell.js";
import { messageOf } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { JsonObject } from "../base/json/json.js";
import type { World } from "../base/ports/world.js";
import type { SourceCall, ToolSource } from "../tools/index.js";
import { askPerson, updatePlan } from "./ask-person.js";
import { editFile, writeFile } from "./edit-file.js";
import { fetchUrl } from "./fetch-url.js";
import { findFiles, listFolder } from "./find-files.js";
import { Folders } from "./folders.js";
import { grep } from "./grep.js";
import { type BuiltinPorts, type BuiltinPresentation, type BuiltinProgress, shortTitle } from "./ports.js";
import { readFile } from "./read-file.js";
import { Commands, commandEnvironment, commandOutput, runCommand, stopCommand } from "./run-command.js";
import {
  BUILTIN_NAMES,
  type BuiltinContext,
  type BuiltinName,
  type BuiltinRun,
  type BuiltinTool,
  failed,
  Texts,
} from "./tool.js";

const BUILTIN_TOOLS: ReadonlyMap<string, BuiltinTool> = new Map(
  [
    [readFile, writeFile, editFile, listFolder, findFiles, grep, runCommand, commandOutput, stopCommand, fetchUrl],
    [updatePlan, askPerson],
  ]
    .flat()
    .map((tool) => [tool.definition.name, tool]),
);

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
  const folders = new Folders(world.files, options.cwd, options.additionalDirectories);
  const commands = new Commands(world);
  const texts = new Texts(world.files, folders, ports);
  const environment = () => commandEnvironment(world, options.commandVariables?.());
  const context: BuiltinContext = { world, ports, folders, texts, commands, allowHosts, environment };
  const names: readonly string[] = only;
  const offered = [...BUILTIN_TOOLS.values()].filter((tool) => {
    return names.includes(tool.definition.name) && tool.isOffered(ports);
  });
  const prepare = (tool: string, args: JsonObject) => BUILTIN_TOOLS.get(tool)?.prepare(args, context);
  return {
    name: "builtin",
    origin: "builtin",
    tools: new Cell(offered.map(({ definition }) => definition)),
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
      const places = prepared.presentation.locations.map(({ path }) => folders.place(path));
      // An edit that does not fit its file fails whatever is answered: nobody is asked about it.
      const fits = tool === editFile.definition.name ? () => prepared.preview(new AbortController().signal) : () => {};
      return await Promise.all(places)
        .then(fits)
        .then(() => undefined, messageOf);
    },
    readText: async (path, signal) => {
      const place = await folders.place(path).catch(() => undefined);
      if (!place || (place.found && place.found.kind !== "file")) return { kind: "elsewhere" };
      const loaded = await texts.load(place, signal);
      if (loaded.kind === "text") return loaded;
      return { kind: "failed", reason: loaded.kind === "absent" ? "there is no such file" : loaded.reason };
    },
    call: async (call) => {
      const tool = offered.find(({ definition }) => definition.name === call.tool);
      if (!tool) return failed(`There is no built-in tool named "${call.tool}".`);
      const prepared = tool.prepare(call.arguments, context);
      if (!prepared.ok) return failed(`The call of ${call.tool} was not made: ${prepared.reason}.`);
      if (call.signal.aborted) return { kind: "cancelled" };
      try {
        return await prepared.run(runOf(call));
      } catch (thrown) {
        return call.signal.aborted ? { kind: "cancelled" } : failed(messageOf(thrown));
      }
    },
    [Symbol.asyncDispose]: () => commands[Symbol.asyncDispose](),
  };
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
