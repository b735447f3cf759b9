// The tools of a session as a set: listed, called beside the conversation, searched, watched.
import { contained } from "../base/async/scope.js";
import { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { JsonObject } from "../base/json/json.js";
import { sharedLog } from "../base/ports/world.js";
import type { Session as InnerSession, ProgramResult } from "../session/index.js";
import { type CatalogTool, WAIT_FOR_SERVER } from "../tools/index.js";
import { type SessionEvent, toolResult } from "./events.js";
import type { CallOptions, ToolInfo, ToolResult, ToolSet } from "./tool-set.js";

/** By id, the definition a tool had when it was last looked at. */
type SeenTools = ReadonlyMap<string, CatalogTool>;

interface ToolSetOptions {
  readonly isHeard: () => boolean;
  readonly tell: (event: SessionEvent) => void;
  /** Whether the program is answering a question of the session right now, and calls because of that. */
  readonly isApproving: () => boolean;
}

export class SessionToolSet implements ToolSet {
  readonly #session: InnerSession;
  readonly #listeners = new Set<() => void>();
  readonly #options: ToolSetOptions;
  #unwatch: (() => void) | undefined;
  #seen: SeenTools = new Map();
  #isDue = false;

  constructor(session: InnerSession, options: ToolSetOptions) {
    this.#session = session;
    this.#options = options;
    if (options.isHeard()) this.watch();
  }

  list(): readonly ToolInfo[] {
    const listed = this.#session.tools.list().filter(({ id }) => id !== WAIT_FOR_SERVER);
    return this.#infosOf(listed);
  }

  bySource(source: string): readonly ToolInfo[] {
    const known = this.#session.tools.all().filter(({ tool }) => tool.source === source);
    return known.map(({ tool, raw }) => infoOf(tool, raw.name));
  }

  async search(
    query: string,
    { limit, signal }: { readonly limit?: number; readonly signal?: AbortSignal } = {},
  ): Promise<readonly ToolInfo[]> {
    const answer = await this.#session.tools.search({ query, isTrial: true, ...defined({ limit }) }, signal);
    return answer.kind === "found" ? this.#infosOf(answer.tools.map(({ tool }) => tool)) : [];
  }

  /** Not `async`, which would have each call wait for one promise more. */
  call(name: string, args: JsonObject = {}, options?: CallOptions): Promise<ToolResult> {
    try {
      if (typeof name !== "string") throw new TenonError("usage.invalid", "the name of a tool must be a text");
      const call = { name, arguments: args, isNested: this.#options.isApproving() };
      return this.#session.callForProgram(call, readResult, options?.signal);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  onChange(listener: () => void): () => void {
    const own = () => listener();
    this.#listeners.add(own);
    this.watch();
    return () => {
      this.#listeners.delete(own);
    };
  }

  infoOf(tool: CatalogTool): ToolInfo {
    const known = this.#session.tools.all().find(({ tool: { id } }) => id === tool.id);
    return infoOf(tool, known?.raw.name);
  }

  /** From now on changes are looked for. Those of one moment are reported together. */
  watch(): void {
    if (this.#unwatch) return;
    this.#seen = this.#look();
    this.#unwatch = this.#session.tools.onChange(() => {
      if (this.#isDue) return;
      this.#isDue = true;
      queueMicrotask(() => this.#report());
    });
  }

  close(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#listeners.clear();
  }

  #look(): SeenTools {
    return new Map(this.#session.tools.all().map(({ tool }): [string, CatalogTool] => [tool.id, tool]));
  }

  #report(): void {
    this.#isDue = false;
    if (!this.#unwatch) return;
    const before = this.#seen;
    this.#seen = this.#look();
    const changes = changesOf(before, this.#seen);
    if (changes.length === 0) return;
    const { isHeard, tell } = this.#options;
    if (isHeard()) for (const change of changes) tell({ type: "tools_changed", ...change });
    for (const listener of [...this.#listeners]) contained(sharedLog(), "listener of a tool list", listener);
  }

  /** With the name each has where it comes from. */
  #infosOf(tools: readonly CatalogTool[]): readonly ToolInfo[] {
    const asked = new Set(tools.map(({ id }) => id));
    const own = new Map<string, string>();
    for (const { tool, raw } of this.#session.tools.all()) if (asked.has(tool.id)) own.set(tool.id, raw.name);
    return tools.map((tool) => infoOf(tool, own.get(tool.id)));
  }
}

function readResult({ outcome, forModel }: ProgramResult): ToolResult {
  return toolResult(outcome, forModel);
}

type ToolsChange = Omit<Extract<SessionEvent, { readonly type: "tools_changed" }>, "type">;

function changesOf(before: SeenTools, now: SeenTools): readonly ToolsChange[] {
  const sources = new Set([...before.values(), ...now.values()].map(({ source }) => source));
  return [...sources].flatMap((source): ToolsChange[] => {
    const had = [...before.values()].filter((tool) => tool.source === source);
    const has = [...now.values()].filter((tool) => tool.source === source);
    const added = has.filter(({ id }) => !before.has(id)).map(({ id }) => id);
    const removed = had.filter(({ id }) => !now.has(id)).map(({ id }) => id);
    const isOther = (tool: CatalogTool) => {
      const known = before.get(tool.id);
      return known !== undefined && known !== tool && known.definitionHash !== tool.definitionHash;
    };
    const changed = has.filter(isOther).map(({ id }) => id);
    return added.length + removed.length + changed.length === 0 ? [] : [{ source, added, removed, changed }];
  });
}

/** A tool of the catalog for programs. `own`: its source's name of it. */
function infoOf({ id, source, definition }: CatalogTool, own: string = definition.name): ToolInfo {
  const { title, description, inputSchema, outputSchema, annotations, providerOptions } = definition;
  return {
    name: id,
    source,
    originalName: own,
    description,
    inputSchema,
    ...defined({ title, outputSchema, annotations, providerOptions }),
  };
}
