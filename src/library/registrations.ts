// The tools and sources that a program registered, by source, and how they are put into catalogs.
import { Cell } from "../base/async/cell.js";
import { failed, type ToolSource as InnerSource, type ToolDefinition } from "../tools/index.js";
import { CustomSource, type ToolSource } from "./source.js";
import { checkTool, OWN_SOURCE, RegisteredTools, type Tool } from "./tool.js";

/** Puts a source into a catalog; returns the way to take it out again. */
type AddSource = (source: InnerSource) => () => void;

interface Registered {
  readonly source: RegisteredTools | CustomSource;
  readonly remove: () => void;
}

export class Registrations {
  readonly #add: AddSource;
  readonly #bySource = new Map<string, Registered>();

  constructor(add: AddSource) {
    this.#add = add;
  }

  get sources(): readonly InnerSource[] {
    return [...this.#bySource.values()].map(({ source }) => source);
  }

  add(given: Tool | ToolSource): () => void {
    return isSource(given) ? this.#addSource(given) : this.#addTool(given);
  }

  /** All of a source, whether it was given as a whole or tool by tool. */
  remove(name: string): void {
    const known = this.#bySource.get(name);
    if (!known) return;
    this.#bySource.delete(name);
    if (known.source instanceof CustomSource) known.source.close();
    known.remove();
  }

  close(): void {
    for (const name of [...this.#bySource.keys()]) this.remove(name);
  }

  #addSource(given: ToolSource): () => void {
    const source = new CustomSource(given);
    this.remove(source.name);
    this.#bySource.set(source.name, { source, remove: this.#add(source) });
    return () => {
      if (this.#bySource.get(source.name)?.source === source) this.remove(source.name);
    };
  }

  #addTool(tool: Tool): () => void {
    checkTool(tool);
    const name = tool.source ?? OWN_SOURCE;
    const known = this.#bySource.get(name)?.source;
    const tools = known instanceof RegisteredTools ? known : new RegisteredTools(name);
    const remove = tools.add(tool);
    if (tools !== known) {
      this.remove(name);
      this.#bySource.set(name, { source: tools, remove: this.#add(tools) });
    }
    return () => {
      remove();
      if (tools.size === 0 && this.#bySource.get(name)?.source === tools) this.remove(name);
    };
  }
}

function isSource(given: Tool | ToolSource): given is ToolSource {
  const raw: unknown = given;
  return typeof raw === "object" && raw !== null && "call" in raw && typeof raw.call === "function";
}

/** The sources of a session by name: those of the runtime and its own may have the same one, and are then put together. */
export class SourceStack {
  readonly #add: AddSource;
  readonly #byName = new Map<string, { readonly sources: readonly InnerSource[]; readonly remove: () => void }>();

  constructor(add: AddSource) {
    this.#add = add;
  }

  /** Of two tools with the same name, the one that was added last counts. */
  add(source: InnerSource): () => void {
    this.#set(source.name, [...this.#of(source.name), source]);
    return () => this.remove(source);
  }

  remove(source: InnerSource): void {
    const rest = this.#of(source.name).filter((one) => one !== source);
    if (rest.length < this.#of(source.name).length) this.#set(source.name, rest);
  }

  #of(name: string): readonly InnerSource[] {
    return this.#byName.get(name)?.sources ?? [];
  }

  #set(name: string, sources: readonly InnerSource[]): void {
    this.#byName.get(name)?.remove();
    this.#byName.delete(name);
    const [first, ...rest] = sources;
    if (!first) return;
    const { source, stop } = rest.length === 0 ? { source: first, stop: () => {} } : merged(name, sources);
    const taken = this.#add(source);
    const remove = () => {
      stop();
      taken();
    };
    this.#byName.set(name, { sources, remove });
  }
}

function merged(name: string, sources: readonly InnerSource[]): { source: InnerSource; stop: () => void } {
  const all = () => {
    const byName = new Map(sources.flatMap(({ tools }) => tools.value.map((tool) => [tool.name, tool] as const)));
    return [...byName.values()];
  };
  const tools = new Cell<readonly ToolDefinition[]>(all());
  const stops = sources.map((source) => source.tools.subscribe(() => tools.set(all())));
  const source: InnerSource = {
    name,
    origin: "extra",
    hasPlainNames: true,
    tools,
    call: async (call) => {
      const owner = sources.findLast((one) => one.tools.value.some((tool) => tool.name === call.tool));
      return owner
        ? await owner.call(call)
        : failed(`The tool ${call.tool} is not registered any more.`, "tool.unknown");
    },
  };
  return {
    source,
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}
