// A custom source of tools: anything with a list and a way to call them, beside servers and single tools.
import { Cell } from "../base/async/cell.js";
import { contained } from "../base/async/scope.js";
import { messageOf } from "../base/errors.js";
import type { JsonObject } from "../base/json/json.js";
import { sharedLog } from "../base/ports/world.js";
import {
  failed,
  type ToolSource as InnerSource,
  type SourceCall,
  type ToolDefinition,
  type ToolOutcome,
} from "../tools/index.js";
import { checkDefinition, misused, outcomeOf, type ToolContext, type ToolReply } from "./tool.js";

/**
 * A source of tools of your own: a plug-in system, a remote registry, a test double.
 *
 * @example
 * const source: ToolSource = {
 *   name: "math",
 *   list: () => [{ name: "double", description: "Doubles n", inputSchema: { type: "object" } }],
 *   call: (_name, { n }) => String(2 * Number(n)),
 * };
 * session.register(source);
 */
export interface ToolSource {
  /** By which its tools are listed and unregistered. */
  readonly name: string;
  /** The tools it has now. */
  list(): readonly ToolDefinition[];
  /** May throw: that fails the call, with the message. */
  call(name: string, args: JsonObject, context: ToolContext): ToolReply | Promise<ToolReply>;
  /** To be told when `list` gives others; returns the way to stop. */
  onChange?(listener: () => void): () => void;
}

function toolsOf(source: ToolSource): readonly ToolDefinition[] {
  const listed: readonly ToolDefinition[] = source.list();
  const what = `of the source ${JSON.stringify(source.name)}`;
  const isList: boolean = Array.isArray(listed);
  if (!isList) throw misused(`list() ${what} must return a list of tools`);
  for (const [index, tool] of listed.entries()) checkDefinition(tool, `tool ${index} ${what}`);
  return [...listed];
}

/** The source as the catalog takes it. Its list is read again after each change; one that throws stays as it was. */
export class CustomSource implements InnerSource {
  readonly name: string;
  readonly origin = "extra";
  readonly hasPlainNames = true;
  readonly tools: Cell<readonly ToolDefinition[]>;
  readonly #source: ToolSource;
  readonly #stop: (() => void) | undefined;

  constructor(source: ToolSource) {
    const isNamed = typeof source.name === "string" && source.name.trim() !== "";
    if (!isNamed || typeof source.list !== "function" || typeof source.call !== "function") {
      throw misused("a source of tools needs a name, list() and call()");
    }
    this.name = source.name;
    this.#source = source;
    this.tools = new Cell(toolsOf(source));
    this.#stop = source.onChange?.(() => {
      contained(sharedLog(), `list of the source ${source.name}`, () => this.tools.set(toolsOf(source)));
    });
  }

  async call({ tool, arguments: args, signal, onProgress }: SourceCall): Promise<ToolOutcome> {
    try {
      return outcomeOf(await this.#source.call(tool, args, { signal, onProgress }));
    } catch (error) {
      return signal.aborted ? { kind: "cancelled" } : failed(`${tool} failed: ${messageOf(error)}`);
    }
  }

  close(): void {
    contained(sharedLog(), `source ${this.name}`, () => this.#stop?.());
  }
}
